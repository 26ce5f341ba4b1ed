/*
 * Launch: who am I in the job, and a key-value space to exchange addresses in.
 *
 * Speaks the PMI-1 wire protocol of MPICH's Hydra (the descriptor in PMI_FD, or
 * PMI_PORT); without a launcher the process is a job of one. When the
 * environment of any launcher says that there are several processes and the
 * wire-up cannot be done, opening fails with the cause: never n singletons.
 */
#ifndef DM_PMI_PMI_H
#define DM_PMI_PMI_H

#include <stddef.h>

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
    int local_rank;     /* my place among them */
    int is_singleton;   /* started without a launcher */
};

/* Connect to the launcher (or become a job of one). DM_ELAUNCH with the cause. */
int dm_pmi_open(struct dm_pmi **pmi_p);
/* Facts about the job. */
const struct dm_pmi_job *dm_pmi_job(const struct dm_pmi *pmi);
/* The key-value operations of this client (put, get, fence), for the layers above. */
struct dm_kv_ops dm_pmi_kv(struct dm_pmi *pmi);
/* Barrier over the job without publishing anything. */
int dm_pmi_barrier(struct dm_pmi *pmi);
/* Host name of a rank, "?" when unknown; cached. */
const char *dm_pmi_host_of(struct dm_pmi *pmi, int rank);
/* Tell the launcher to end the job with this exit code; does not return. */
void dm_pmi_abort(struct dm_pmi *pmi, int code, const char *text) __attribute__((noreturn));
/* Say goodbye to the launcher and free. Every rank of a job must call it. */
int dm_pmi_close(struct dm_pmi *pmi);

#endif
