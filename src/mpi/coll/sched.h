/*
 * Schedules: collectives recorded step by step, for the nonblocking and the persistent forms.
 *
 * A schedule is a request. It holds the temporary memory of its algorithm and references of
 * the communicator, types and operations, so that the program may free those at once. It executes
 * steps until one has to wait; what it waits for puts it on the list of ready schedules when
 * it ends, and the progress engine's next pass takes it further: one that waits costs nothing.
 */
#ifndef DM_MPI_COLL_SCHED_H
#define DM_MPI_COLL_SCHED_H

#include "mpi/coll/run.h"

enum dm_step_kind {
    DM_STEP_SEND,
    DM_STEP_RECV,
    DM_STEP_SENDRECV,
    DM_STEP_ISEND,
    DM_STEP_IRECV,
    DM_STEP_WAIT,
    DM_STEP_COPY,
    DM_STEP_PACK,
    DM_STEP_UNPACK,
    DM_STEP_MOVE,
    DM_STEP_COMBINE
};

/* A call of the step of that name in run.h; lower and upper of combine are src and dst. */
struct dm_coll_step {
    enum dm_step_kind kind;
    bool is_local; /* in the local group of an intercommunicator */
    bool is_whole; /* of dm_coll_recv_whole and dm_coll_forward */
    int dest;
    int source;
    const void *src;
    void *dst;
    size_t scount;
    size_t dcount;
    struct dm_type *stype; /* NULL where the step has none */
    struct dm_type *dtype;
    struct dm_op *op;
};

/* The tag of the next collective over comm. */
static inline int dm_coll_next_tag(struct dm_comm *comm)
{
    return dm_coll_tag(comm->coll_seq++);
}
/* Add a step to the schedule that run records. */
void dm_sched_add(struct dm_run *run, const struct dm_coll_step *step);
/*
 * Record alg and, unless it is persistent, start it; the request is *how.req_p, the caller's.
 * DM_ENOMEM.
 */
int dm_sched_make(dm_coll_alg *alg, const struct dm_coll_args *args, struct dm_comm *comm,
                  struct dm_coll_how how);
/* done(arg) is called each time the request of a schedule is complete. */
void dm_sched_watch(struct dm_req *req, void (*done)(void *arg), void *arg);
/* Start and stop with the layer. */
void dm_sched_start(void);
void dm_sched_stop(void);

#endif
