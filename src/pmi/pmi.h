/*
 * Launch: who am I in the job, and a key-value space to exchange addresses in.
 *
 * Speaks PMI-1 (MPICH's Hydra), PMI-2 (Slurm's srun --mpi=pmi2) or PMIx (Open
 * MPI's mpirun, srun --mpi=pmix), whatever the environment offers; without a
 * launcher the process is a job of one. When the environment of any launcher
 * says that there are several processes and the wire-up cannot be done, opening
 * fails with the cause: never n singletons. docs/RUNNING.md tells what is chosen.
 *
 * A key that ends in "-N" must be published by rank N: some launchers ask it.
 *
 * pmi_spawn.h has what concerns other jobs.
 */
#ifndef DM_PMI_PMI_H
#define DM_PMI_PMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/kv.h"

struct dm_pmi;

/* What the launcher says; strings live as long as the client. */
struct dm_pmi_job {
    int rank;
    int size;
    int appnum;         /* MPI_APPNUM, -1 when not given */
    int universe_size;  /* MPI_UNIVERSE_SIZE, -1 when not given */
    const char *name;   /* name of the key-value space: unique per job */
    const int *node_of; /* size entries: an id for the host of each rank, 0, 1, ... */
    int n_local;        /* ranks on this host, at least 1 */
    int n_cores;        /* that these are bound to together, 0: the launcher does not say */
    int local_rank;     /* my place among them */
    int is_singleton;   /* started without a launcher */
    int is_spawned;     /* started by another job: pairs that it gave are in the key-value space */
};

/* What the launcher was asked so far. */
struct dm_pmi_stats {
    uint64_t n_msgs;   /* requests; with PMIx calls of its library */
    uint64_t n_bytes;  /* in both directions; with PMIx keys and values */
    uint64_t n_fences; /* barriers among them */
};

/* Connect to the launcher (or become a job of one). DM_ELAUNCH with the cause. */
int dm_pmi_open(struct dm_pmi **pmi_p);
/* Facts about the job. */
const struct dm_pmi_job *dm_pmi_job(const struct dm_pmi *pmi);
/* Counters for DATUM_STATS. */
void dm_pmi_stats(const struct dm_pmi *pmi, struct dm_pmi_stats *stats_p);
/* Which clients this build has, in words, for datum-info. */
const char *dm_pmi_clients(void);
/* The key-value operations of this client (put, get, fence), for the layers above. */
struct dm_kv_ops dm_pmi_kv(struct dm_pmi *pmi);
/* Barrier over the job without publishing anything. */
int dm_pmi_barrier(struct dm_pmi *pmi);
/*
 * The same in two halves, for who must not wait: dm_pmi_fd is readable when the barrier is over,
 * and nothing else may be asked before dm_pmi_fence_end. DM_ENOTSUP: this launcher has no such
 * thing (PMIx).
 */
int dm_pmi_fence_start(struct dm_pmi *pmi);
int dm_pmi_fence_end(struct dm_pmi *pmi);
/* The connection to the launcher, -1: none that can be watched. */
int dm_pmi_fd(const struct dm_pmi *pmi);
/* The launcher's name of this node, if it is not the host's: there may be several nodes on one host. NULL: it is. */
const char *dm_pmi_node_name(void);
/* Host name of a rank, "?" when unknown; cached. */
const char *dm_pmi_host_of(struct dm_pmi *pmi, int rank);
/*
 * A peer is gone: tell the launcher, and give it a moment to end this process. When one dies it
 * ends the others, one after the other, and those it ends first must not be taken for the one that
 * died.
 */
void dm_pmi_peer_lost(struct dm_pmi *pmi);
/* Tell the launcher to end the job with this exit code; does not return. */
void dm_pmi_abort(struct dm_pmi *pmi, int code, const char *text) __attribute__((noreturn));
/*
 * Ask for the end of the job with this exit code; true when that was said. False: this launcher
 * (PMI-2) takes the code from a process that exits with it, so that is the caller's to do.
 */
bool dm_pmi_end(struct dm_pmi *pmi, int code);
/* Say goodbye to the launcher and free. Every rank of a job must call it. */
int dm_pmi_close(struct dm_pmi *pmi);

#endif
