/*
 * The ranks of one host: those of a whole job, or an agent's. Started, served, watched, ended.
 */
#ifndef DM_TOOLS_MPIEXEC_NODE_H
#define DM_TOOLS_MPIEXEC_NODE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "pmi/pmi_wire.h"
#include "tools/mpiexec/kvs.h"
#include "tools/mpiexec/loop.h"
#include "tools/mpiexec/options.h"
#include "tools/mpiexec/placement.h"

struct dm_launch_node;
struct dm_launch_jobs;
struct dm_launch_request;

/* One of the two streams of a rank, where it is passed on. */
struct dm_launch_stream {
    struct dm_launch_watch watch;
    int to;     /* descriptor; -1: none */
    char *text; /* a line that is not whole yet */
    size_t len;
    size_t max;
    struct dm_launch_rank *rank;
};

/* What a rank has said of another job. */
struct dm_launch_tie {
    uint64_t job; /* by the number that jobs are called by; 0: the job has not said its own yet, */
    int serial;   /* and it is known by this; else -1 */
    bool is_on;   /* the rank is to end when that job fails */
};

struct dm_launch_rank {
    struct dm_launch_node *node;
    int rank;
    int app;
    pid_t pid;  /* 0: not started, or waited for */
    pid_t was;  /* the same, and stays */
    int status; /* wait status, when has_ended */
    bool has_ended;
    bool has_spoken; /* in MPI_Init, or further */
    bool has_finalized;
    bool is_in_barrier;
    bool is_closed;     /* its connection is */
    bool is_undecided;  /* has ended as if by the engine: that will be known soon */
    bool has_no_answer; /* to a question that cannot be answered before the job ends */
    struct dm_pmi_wire *wire;
    struct dm_launch_watch watch;  /* of the connection */
    struct dm_launch_timer closed; /* how long it may live without its connection, be undecided */
    struct dm_launch_stream streams[2];
    struct dm_launch_request *request; /* to start processes, which it has not said all of yet */
    struct dm_launch_tie *ties;
    int n_ties;
};

/* How a node speaks with those of other hosts. All but arg are NULL where there are none. */
struct dm_launch_upstream {
    void *arg;
    /* All ranks of this node are in the barrier, or will not come: dm_launch_pmi_release when all
     * others are. */
    void (*barrier)(void *arg);
    /* The value of a key that no rank of this node has put; NULL: there is none. *is_lost_p: who
     * should have put it will not come. */
    const char *(*lookup)(void *arg, const char *key, bool *is_lost_p);
};

/* What a node is in a family of jobs, see jobs.h. */
struct dm_launch_kin {
    struct dm_launch_jobs *jobs;
    struct dm_launch_node *next;
    int serial;      /* 0: the first job */
    uint64_t id;     /* what its processes call it; 0: they have not said */
    bool is_over;    /* nothing of it is left */
    bool has_parent; /* a process has started this mpiexec for it, parent.h */
    bool is_spawned; /* by a process, whose words it owns: options, place and names */
    pid_t mpiexec;   /* another one runs it, on other hosts; 0: we do, or that has ended */
    int report_fd;   /* from that one */
    struct dm_launch_watch report_watch;
    struct dm_launch_rank *asker; /* who waits for how its start went, NULL: nobody any more */
};

struct dm_launch_node {
    struct dm_launch_loop *loop;
    struct dm_launch_kin kin;
    const struct dm_launch_options *options;
    const struct dm_launch_place *place;
    int host;              /* which of place */
    const char *host_name; /* for messages */
    const char *kvs_name;  /* of the job */
    struct dm_launch_rank *ranks;
    int n_ranks;
    int n_running; /* not waited for */
    int n_in_barrier;
    int pmi_fd;          /* the number of the connection in a rank */
    int arena_fd;        /* memory that the ranks share, while they are started; -1: none */
    char arena_text[64]; /* and how they find it */
    int port_fd;         /* -pmi-port: listening, else -1 */
    int port;
    struct dm_launch_watch port_watch;
    struct dm_launch_kvs kvs;
    struct dm_launch_upstream upstream;
    pid_t pid;                 /* ours */
    sigset_t mask;             /* signals that a rank blocks */
    struct rlimit files;       /* its limit */
    bool is_ending;            /* everybody is being killed */
    bool is_agents;            /* an engine may end the ranks beside us */
    char why[512];             /* a rank could not be started */
    int status;                /* the exit status of the job so far, */
    uint64_t status_ms;        /* and since when, CLOCK_REALTIME; 0: always */
    void (*failed)(void *arg); /* the job is to end everywhere, with status */
    void *arg;
    struct dm_launch_timer kill;
};

/* ---- node.c ---- */

/* Start all ranks; kvs is initialized, and may have pairs. False: why and status say it, and those that had been started are killed. */
bool dm_launch_node_start(struct dm_launch_node *node);
/* Have all ranks ended? Then what they have left is killed, and ended is called. */
void dm_launch_node_check(struct dm_launch_node *node);
/* The rank that is this process, NULL: none. */
struct dm_launch_rank *dm_launch_node_rank_of(struct dm_launch_node *node, pid_t pid);
/* A rank's process has ended: note it. What that means is asked afterwards, dm_launch_node_judge. */
void dm_launch_node_note_end(struct dm_launch_rank *rank, int status);
/* What the end of these ranks means. */
void dm_launch_node_judge(struct dm_launch_rank *const *ended, int n);
/* Kill all ranks and what they have started; ended is called when they are gone. */
void dm_launch_node_kill(struct dm_launch_node *node);
/* Send a signal to the process groups of all ranks; SIGTSTP as SIGSTOP. */
void dm_launch_node_signal(struct dm_launch_node *node, int signo);
void dm_launch_node_free(struct dm_launch_node *node);

/* ---- pmi_server.c ---- */

/* Serve a rank over fd, which is taken over. False: no memory, no descriptor (reported). */
bool dm_launch_pmi_serve(struct dm_launch_rank *rank, int fd);
/* Read all that a rank has said. */
void dm_launch_pmi_drain(struct dm_launch_rank *rank);
void dm_launch_pmi_close(struct dm_launch_rank *rank);
/* Let the ranks of this node out of the barrier. */
void dm_launch_pmi_release(struct dm_launch_node *node);
/* Has everybody of this node come to the barrier who will? Then it is over, or the others are
 * asked. */
void dm_launch_pmi_check_barrier(struct dm_launch_node *node);
/* -pmi-port: listen on the loopback; false: reported. */
bool dm_launch_pmi_listen(struct dm_launch_node *node);

/* ---- verdict.c ---- */

/* A rank has ended, or closed its connection: what does it mean for the job? */
void dm_launch_verdict_look(struct dm_launch_rank *rank);
/* A rank has come to the barrier: does it wait for one who will not come? */
void dm_launch_verdict_barrier(struct dm_launch_node *node);
/* A rank has asked for the end of the job. */
void dm_launch_verdict_abort(struct dm_launch_rank *rank, int code);
/* A status of the job, which keeps the first that is not 0. */
void dm_launch_verdict_status(struct dm_launch_node *node, int status);
/* The job has failed with this exit status; who knows more has said so. */
void dm_launch_verdict_fail(struct dm_launch_node *node, int status);
/* One of this node that will not come to the barrier, NULL: all have, or may yet. */
struct dm_launch_rank *dm_launch_verdict_missing(const struct dm_launch_node *node);
/* Say that a rank waits for the one that is missing, and end the job. */
void dm_launch_verdict_missed(struct dm_launch_rank *missing, int waiting);
/* The exit status that a wait status stands for. */
int dm_launch_verdict_code(int wait_status);
/* All have ended, and none has spoken: were they programs of another MPI? */
void dm_launch_verdict_unheard(const struct dm_launch_node *node);

#endif
