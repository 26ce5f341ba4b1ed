/*
 * The choice of algorithms, by the rows that choices.c has made of the user's wishes and of the
 * table in algs.h.
 */
#include "mpi/coll/select.h"

#include <stdio.h>

#include "mpi/coll/alg/alg.h"
#include "mpi/coll/choices.h"
#include "mpi/coll/coll_state.h"
#include "mpi/coll/sched.h"
#include "mpi/coll/shm/coll_shm.h"
#include "mpi/node/node.h"
#include "util/cfg.h"
#include "util/log.h"

/* clang-format off */
/* Between two groups there is one way each; NULL: none. */
static dm_coll_alg *const inter[DM_COLL_N] = {
    [DM_COLL_BARRIER] = dm_coll_inter_barrier,     [DM_COLL_BCAST] = dm_coll_inter_bcast,
    [DM_COLL_GATHER] = dm_coll_inter_gather,       [DM_COLL_GATHERV] = dm_coll_inter_gather,
    [DM_COLL_SCATTER] = dm_coll_inter_scatter,     [DM_COLL_SCATTERV] = dm_coll_inter_scatter,
    [DM_COLL_ALLGATHER] = dm_coll_inter_allgather, [DM_COLL_ALLGATHERV] = dm_coll_inter_allgather,
    [DM_COLL_ALLTOALL] = dm_coll_inter_alltoall,   [DM_COLL_ALLTOALLV] = dm_coll_inter_alltoall,
    [DM_COLL_REDUCE] = dm_coll_inter_reduce,       [DM_COLL_ALLREDUCE] = dm_coll_inter_allreduce,
    [DM_COLL_REDUCE_SCATTER] = dm_coll_inter_reduce_scatter,
};

/* What one rank alone does; NULL: the table's algorithm can do it. */
static dm_coll_alg *const alone[DM_COLL_N] = {
    [DM_COLL_BARRIER] = dm_coll_alone_nothing, [DM_COLL_BCAST] = dm_coll_alone_nothing,
    [DM_COLL_GATHER] = dm_coll_alone_move,     [DM_COLL_GATHERV] = dm_coll_alone_move,
    [DM_COLL_SCATTER] = dm_coll_alone_move,    [DM_COLL_SCATTERV] = dm_coll_alone_move,
    [DM_COLL_ALLGATHER] = dm_coll_alone_move,  [DM_COLL_ALLGATHERV] = dm_coll_alone_move,
    [DM_COLL_ALLTOALL] = dm_coll_alone_move,   [DM_COLL_ALLTOALLV] = dm_coll_alone_move,
    [DM_COLL_REDUCE] = dm_coll_alone_reduce,   [DM_COLL_ALLREDUCE] = dm_coll_alone_reduce,
    [DM_COLL_REDUCE_SCATTER] = dm_coll_alone_reduce,
    [DM_COLL_SCAN] = dm_coll_alone_reduce,     [DM_COLL_EXSCAN] = dm_coll_alone_nothing,
};
/* clang-format on */

#define LAYOUTS (DM_COLL_ONE_NODE | DM_COLL_SEVERAL_NODES | DM_COLL_OVERSUBSCRIBED)

/* Which of these comm meets. */
static DM_NOINLINE unsigned int find_layout(struct dm_comm *comm)
{
    comm->layout = DM_COLL_SEVERAL_NODES;
    if (dm_node_is_one(comm->group)) {
        comm->layout = DM_COLL_ONE_NODE;
        if (dm_group_is_own(comm->group) && dm_chan_is_job_oversubscribed(dm_world.chan))
            comm->layout |= DM_COLL_OVERSUBSCRIBED;
    }
    return comm->layout;
}

/* fits: what the communicator has to offer for this call, of the needs. */
static bool has_needs(unsigned int needs, const struct dm_coll_args *args, struct dm_comm *comm,
                      unsigned int fits)
{
    unsigned int layout = needs & LAYOUTS;
    bool commutes = args->op != NULL && args->op->is_commutative;

    if ((needs & (DM_COLL_SHARED | DM_COLL_NODES) & ~fits) != 0)
        return false;
    if ((needs & DM_COLL_ORDERED & ~fits) != 0 && !commutes)
        return false;
    if ((needs & DM_COLL_COMMUTES) != 0 && !commutes)
        return false;
    if ((needs & DM_COLL_POW2) != 0 && (comm->size & (comm->size - 1)) != 0)
        return false;
    return (layout & ~(comm->layout != 0 ? comm->layout : find_layout(comm))) == 0;
}

static struct dm_coll_choice *select_choose(enum dm_coll_kind kind, size_t bytes,
                                            const struct dm_coll_args *args, struct dm_comm *comm,
                                            unsigned int fits)
{
    struct dm_coll_choice *row = dm_coll_state.rows[kind];

    while (comm->size > row->max_ranks || bytes > row->max_bytes || comm->size < row->min_ranks ||
           bytes < row->min_bytes || (row->needs != 0 && !has_needs(row->needs, args, comm, fits)))
        row++;
    return row;
}

/* Once for each row: what was called, and who wants this algorithm for it. */
static DM_NOINLINE void select_explain(struct dm_coll_choice *row, size_t bytes,
                                       const struct dm_comm *comm)
{
    char place[400] = "built in";

    row->is_explained = true;
    if (row->line > 0)
        snprintf(place, sizeof(place), "%s:%d",
                 row->is_tuned ? dm_tune_path() : dm_cfg()->coll_file, row->line);
    else if (row->line < 0)
        snprintf(place, sizeof(place), "DATUM_COLL");
    dm_log_info("%s of %zu bytes, %d ranks: %s (%s)", dm_coll_kind_name(row->algo->kind), bytes,
                comm->size, row->algo->name, place);
}

int dm_coll_run_alg(dm_coll_alg *alg, const struct dm_coll_args *args, struct dm_comm *comm,
                    struct dm_coll_how how)
{
    struct dm_run run;

    if (dm_unlikely(how.req_p != NULL))
        return dm_sched_make(alg, args, comm, how);
    dm_coll_run_open(&run, comm);
    alg(&run, args);
    return dm_coll_run_close(&run);
}

/* A nonblocking collective is over when its call returns. */
static int select_done(const struct dm_comm *comm, struct dm_coll_how how)
{
    if (how.req_p == NULL)
        return DM_OK;
    dm_req_new_done_coll(how.req_p);
    dm_event_raise(DM_EVENT_COLL_OVER, comm->ctx, DM_OK, 0, 0);
    return DM_OK;
}

/* What one rank does needs no tag, no requests and no memory, and is done at once. */
static int select_run_alone(dm_coll_alg *alg, const struct dm_coll_args *args, struct dm_comm *comm,
                            struct dm_coll_how how)
{
    struct dm_run run;

    if (dm_unlikely(how.is_persistent))
        return dm_coll_run_alg(alg, args, comm, how);
    run.sched = NULL;
    run.is_stopped = false;
    run.err = DM_OK;
    alg(&run, args);
    return run.err != DM_OK ? run.err : select_done(comm, how);
}

/* Where there is nothing to choose. */
static DM_NOINLINE int run_special(enum dm_coll_kind kind, const struct dm_coll_args *args,
                                   struct dm_comm *comm, struct dm_coll_how how)
{
    dm_coll_alg *alg = comm->remote != NULL ? inter[kind] : alone[kind];

    if (alg == NULL)
        return DM_FAIL(DM_ERR_COMM, "%s on an intercommunicator", dm_coll_kind_name(kind));
    DM_TRACE(COLL, "%s %s, comm %u seq %u", dm_coll_kind_name(kind),
             comm->remote != NULL ? "between groups" : "alone", comm->ctx, comm->coll_seq);
    return comm->remote != NULL ? dm_coll_run_alg(alg, args, comm, how)
                                : select_run_alone(alg, args, comm, how);
}

int dm_coll_run(enum dm_coll_kind kind, size_t bytes, const struct dm_coll_args *args,
                struct dm_comm *comm, struct dm_coll_how how)
{
    struct dm_coll_choice *row;

    if (dm_unlikely(comm->remote != NULL || (comm->size == 1 && alone[kind] != NULL)))
        return run_special(kind, args, comm, how);
    row = select_choose(kind, bytes, args, comm, how.req_p == NULL ? dm_coll_shm_fits(comm) : 0);
    if (dm_unlikely(dm_coll_state.explains) && !row->is_explained)
        select_explain(row, bytes, comm);
    DM_TRACE(COLL, "%s %s, comm %u seq %u, %zu bytes", dm_coll_kind_name(kind), row->algo->name,
             comm->ctx, comm->coll_seq, bytes);
    return dm_coll_run_alg(row->algo->fn, args, comm, how);
}

int dm_coll_nothing_more(struct dm_comm *comm, struct dm_coll_how how)
{
    static const struct dm_coll_args none;

    return how.is_persistent ? dm_coll_run_alg(dm_coll_alone_nothing, &none, comm, how)
                             : select_done(comm, how);
}

int dm_coll_run_some(enum dm_coll_kind kind, size_t bytes, const struct dm_coll_args *args,
                     struct dm_comm *comm, struct dm_coll_how how)
{
    if (bytes == 0 && comm->remote == NULL)
        return dm_coll_nothing(comm, how);
    return dm_coll_run(kind, bytes, args, comm, how);
}
