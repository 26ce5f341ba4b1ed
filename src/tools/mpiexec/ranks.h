/*
 * The ranks: who they are, and which of them died first.
 */
#ifndef DM_TOOLS_MPIEXEC_RANKS_H
#define DM_TOOLS_MPIEXEC_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/mpiexec/remote.h"
#include "tools/mpiexec/starts.h"

enum { DM_MPIEXEC_TEXT_LEN = 512 };

struct dm_mpiexec_rank {
    int rank; /* -1: it has not said yet */
    int pid;
    int pmi_fd;    /* copy of its connection to Hydra; -1: it is on another host */
    int pid_fd;    /* readable when it has ended; -1: it said goodbye, or is on another host */
    int remote_fd; /* its connection from another host, which ends with it; else -1 */
    bool is_remote;
    bool is_dead;
    bool has_left; /* it said goodbye */
    char host[256];
    bool is_excused; /* it has ended the job and said why */
    char *text;      /* what it has said and is not a whole line yet, if it is remote */
};

struct dm_mpiexec_ranks {
    int report_fd; /* socket to the ranks of this host, -1 when all have closed it */
    int poll_fd;   /* epoll over the sockets and every pid_fd and remote_fd */
    struct dm_mpiexec_remote remote;
    struct dm_mpiexec_starts starts;
    bool is_ended;      /* the end of the job has been ordered: deaths mean nothing any more */
    bool is_alone;      /* no rank runs on another host */
    int helper_pid;     /* Hydra's on this host, 0: unknown */
    int n_all;          /* ranks of the job, 0: not known yet */
    uint64_t died_at;   /* the first of them */
    uint64_t decide_at; /* nanoseconds; when to look at the deaths, 0: there is none */
    uint64_t order_at;  /* nanoseconds; when to have Hydra end the job, 0: not */
    size_t first;       /* index of the first that died */
    bool is_accused;    /* another rank said that it died */
    bool is_guilty;     /* it ended the job */
    bool is_doubtful;   /* or one on another host did */
    int status;         /* its wait status, -1: unknown */
    int lost_rank;      /* -1, or who ended the job by not coming to MPI_Init, */
    int lost_pid;       /* while the first was in it */
    struct dm_mpiexec_rank *ranks;
    size_t n_ranks;
    size_t max_ranks;
};

/*
 * Listen at one end of a socket pair whose other end the ranks of this host inherit, and at remote, which is
 * theirs from now on, for those on others.
 */
void dm_mpiexec_ranks_init(struct dm_mpiexec_ranks *ranks, int report_fd,
                           const struct dm_mpiexec_remote *remote);
/* A descriptor that is readable when dm_mpiexec_ranks_run has something to do. */
int dm_mpiexec_ranks_fd(const struct dm_mpiexec_ranks *ranks);
/* When to call dm_mpiexec_ranks_run in any case, UINT64_MAX: never. */
uint64_t dm_mpiexec_ranks_deadline(const struct dm_mpiexec_ranks *ranks);
/*
 * Look at news and deaths. A rank that died without MPI_Finalize, or before MPI_Init while others are in it,
 * ends the job: then Hydra does so, now or after a while. True once, when one has died.
 */
bool dm_mpiexec_ranks_run(struct dm_mpiexec_ranks *ranks);
/* The job is being ended: from now on a death means nothing. */
void dm_mpiexec_ranks_ignore(struct dm_mpiexec_ranks *ranks);
/*
 * When Hydra has ended with this exit status (0: killed): say which rank ended
 * the job, if one did.
 */
void dm_mpiexec_ranks_report(struct dm_mpiexec_ranks *ranks, int hydra_status);
/*
 * The exit status of the job: of the rank that has ended it, as a signal's number or as its own, else this one of
 * Hydra, which may also be that of a rank that Hydra has killed, or of an assertion of its own.
 */
int dm_mpiexec_ranks_status(const struct dm_mpiexec_ranks *ranks, int hydra_status);
void dm_mpiexec_ranks_fini(struct dm_mpiexec_ranks *ranks);

/* How a dead process ended that nobody has waited for yet; -1: it lives, or unknown. */
int dm_mpiexec_zombie_status(int pid);
/* The same whether somebody has waited or not, where the kernel tells (Linux 6.15). */
int dm_mpiexec_wait_status(int pid, int pid_fd);

#endif
