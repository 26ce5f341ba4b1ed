/*
 * Launch: starting processes as a job of their own, names that other jobs look up, and which jobs
 * are connected.
 *
 * Where the launcher cannot start processes (no launcher, PMIx of Slurm), a mpiexec of ours is
 * started, which is the launcher of the new job.
 *
 * All calls are blocking and answered within the launcher's time (DATUM_TIMEOUT). Like the rest of
 * the client they are made by one thread at a time.
 */
#ifndef DM_PMI_PMI_SPAWN_H
#define DM_PMI_PMI_SPAWN_H

#include <stdint.h>

#include "pmi/pmi.h"

/* Bytes of a service name or of a published port with its NUL, at most. */
#define DM_PMI_SERVICE_MAX 256

struct dm_pmi_pair {
    const char *key;
    const char *val;
};

/* One program of a spawn: MPI_Comm_spawn has one, MPI_Comm_spawn_multiple some. */
struct dm_pmi_program {
    const char *command;
    char *const *argv; /* its arguments without the command, ended by NULL; NULL: none */
    int maxprocs;      /* at least 0 */
    /* The info as it is: host, hosts, hostfile, wdir, path, env, mpi_initial_errhandler; others are ignored. */
    const struct dm_pmi_pair *info;
    int n_info;
};

struct dm_pmi_spawn {
    const struct dm_pmi_program *programs;
    int n_programs; /* at least 1 */
    /* Pairs that the new processes find in their key-value space, from the start. */
    const struct dm_pmi_pair *preput;
    int n_preput;
};

/*
 * Start the processes of all programs as one job; DM_OK: they run, or will. *n_started_p is how
 * many. DM_ERR_SPAWN: how many there was room for when not all could be started, 0: that is unknown.
 *
 * codes has an entry for each process of all programs, in order of the programs: DM_OK, or
 * DM_ERR_SPAWN for those that could not be started; NULL: not wanted.
 *
 * DM_ERR_SPAWN: none was started, codes tells whose fault it was: a program or a directory that
 * is not there, a host that is none, a full process table. DM_ERR_ARG: an argument holds what
 * this launcher cannot carry. DM_ELAUNCH: the launcher is gone. DM_ENOMEM. The detail says more.
 */
int dm_pmi_spawn(struct dm_pmi *pmi, const struct dm_pmi_spawn *spawn, int *codes,
                 int *n_started_p);

/*
 * Has the last job that a mpiexec of its own runs ended? Who waits for its processes asks now and
 * then. Jobs of the launcher fail together with this one instead.
 */
bool dm_pmi_spawned_is_over(struct dm_pmi *pmi);

/*
 * Names: known to all jobs of one launcher; with -nameserver of mpiexec to those of others, too.
 * They are gone when the job that has published them is.
 *
 * DM_ERR_SERVICE: the name is published already, or, unpublish, not published by this job.
 * DM_ERR_NAME: lookup has not found it. DM_ENOTSUP: this launcher has no such thing.
 */
int dm_pmi_publish(struct dm_pmi *pmi, const char *service, const char *port);
int dm_pmi_unpublish(struct dm_pmi *pmi, const char *service);
int dm_pmi_lookup(struct dm_pmi *pmi, const char *service, char *port, size_t len);

/*
 * Connected jobs end together when one of them fails, others do not: the launcher must be told. A
 * spawned job is connected to the one that has spawned it from its start, each of its processes;
 * other connections begin with this process's first reference to a process of that job, and all end
 * with its last. Jobs are named by numbers that all processes agree on (struct dm_proc_id); own is
 * this job's, to be set before the first of these calls and before dm_pmi_spawn. A job that the
 * launcher does not know, one of another mpiexec, is none of its business: no error.
 */
void dm_pmi_set_own(struct dm_pmi *pmi, uint64_t own);
void dm_pmi_connected(struct dm_pmi *pmi, uint64_t job);
void dm_pmi_disconnected(struct dm_pmi *pmi, uint64_t job);

#endif
