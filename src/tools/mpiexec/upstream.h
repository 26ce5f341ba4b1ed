/*
 * What an agent says to the others, through the engine: messages grow with the number of hosts, not
 * of ranks.
 */
#ifndef DM_TOOLS_MPIEXEC_UPSTREAM_H
#define DM_TOOLS_MPIEXEC_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "pmi/pmi.h"
#include "tools/mpiexec/loop.h"
#include "tools/mpiexec/node.h"

/* An agent, as others see it. */
struct dm_launch_peer {
    int n_fetched;      /* barriers whose pairs of it are here */
    int waiting;        /* a rank that was in the last of these, -1: none */
    int dead;           /* a rank that will not come, -1: none */
    int status;         /* its exit status then, */
    uint64_t status_ms; /* and since when it has it, CLOCK_REALTIME */
};

struct dm_launch_up {
    struct dm_pmi *pmi;
    struct dm_launch_loop *loop;
    struct dm_launch_node *node;
    struct dm_launch_watch watch; /* of the engine's connection, while in a barrier */
    struct dm_launch_peer *peers; /* by number of the agent */
    const int *agent_of;          /* by number of the host, -1: it has no ranks */
    int n_agents;
    int own;                               /* number of this agent */
    int n_fences;                          /* barriers that are over */
    size_t n_published;                    /* pairs of this node that the others can get */
    void (*done)(void *arg, bool is_good); /* the barrier is over */
    void *arg;
};

/* Put what the ranks have put since the last barrier, and enter the next; done is called when it is
 * over. False: the engine is gone. */
bool dm_launch_up_barrier(struct dm_launch_up *up, void (*done)(void *arg, bool is_good),
                          void *arg);
/* The value of a key of another node's rank, see dm_launch_upstream. */
const char *dm_launch_up_lookup(struct dm_launch_up *up, const char *key, bool *is_lost_p);
/* A rank of another node that was in the last barrier, -1: none. */
int dm_launch_up_waiting(struct dm_launch_up *up);
/* After the last barrier: of all agents' exit statuses that are not 0 the first. */
int dm_launch_up_first_status(struct dm_launch_up *up);

#endif
