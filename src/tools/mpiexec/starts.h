/*
 * What Hydra has started on this host and is not in MPI_Init yet: who ends there is waited for by the others for ever.
 */
#ifndef DM_TOOLS_MPIEXEC_STARTS_H
#define DM_TOOLS_MPIEXEC_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dm_mpiexec_start {
    int rank;
    int pid;
    int pid_fd;       /* readable when it has ended; -1: it need not be watched any more */
    int status;       /* wait status when it is dead, -1: unknown */
    uint64_t died_at; /* nanoseconds; when it was noticed */
    size_t nth_over;  /* Hydra waited for it as the nth, SIZE_MAX: not yet */
    bool is_dead;
    bool is_up; /* its rank has come to MPI_Init */
};

struct dm_mpiexec_starts {
    int poll_fd; /* epoll, the caller's */
    struct dm_mpiexec_start *starts;
    size_t n_starts;
    size_t max_starts;
    size_t n_over;    /* that Hydra has waited for */
    size_t n_dead;    /* without having come to MPI_Init */
    bool is_through;  /* all ranks have come to MPI_Init */
    uint64_t look_at; /* nanoseconds; when to judge, 0: there is nothing to */
};

/* A process that will be this rank. Its death is an event of poll_fd with the number data + its index. */
void dm_mpiexec_starts_add(struct dm_mpiexec_starts *starts, int rank, int pid, uint64_t data);
/* This rank is in MPI_Init. */
void dm_mpiexec_starts_up(struct dm_mpiexec_starts *starts, int rank);
void dm_mpiexec_starts_died(struct dm_mpiexec_starts *starts, size_t i);
/* How Hydra's proxy found that this process had ended; dm_mpiexec_starts_status gives it back, or -1. */
void dm_mpiexec_starts_over(struct dm_mpiexec_starts *starts, int pid, int status);
int dm_mpiexec_starts_status(const struct dm_mpiexec_starts *starts, int pid);
/* All ranks have come to MPI_Init: none is waited for any more. */
void dm_mpiexec_starts_through(struct dm_mpiexec_starts *starts);
/* Forget everybody. */
void dm_mpiexec_starts_clear(struct dm_mpiexec_starts *starts);
/*
 * One that has ended and will not come, one that failed by preference; NULL: none, or it cannot be told yet, and look_at
 * says when to ask again. Processes that a rank has left behind may be MPI programs yet.
 */
const struct dm_mpiexec_start *dm_mpiexec_starts_lost(struct dm_mpiexec_starts *starts);
/* The first that has died, by a signal or with another status than 0, without having come to MPI_Init, or NULL. */
const struct dm_mpiexec_start *dm_mpiexec_starts_failed(const struct dm_mpiexec_starts *starts);

#endif
