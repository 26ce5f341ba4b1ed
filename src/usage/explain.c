/*
 * Why an operation of a nonblocking or persistent collective has failed: rank 0 of the communicator finds that the
 * calls differ, but later, perhaps, than another process finds that data do not fit.
 */
#include "mpi/pt2pt/pt2pt.h"
#include "usage/state.h"
#include "util/clock.h"

/* Rank 0 may compute. */
#define EXPLAIN_NS UINT64_C(2000000000)

/* At rank 0. */
static void explain_at_first(struct dm_comm *comm, uint64_t until, struct dm_usage_verdict *verdict)
{
    while (!dm_usage_compared(comm, verdict) && dm_clock_ns() < until)
        (void)dm_chan_progress_test(dm_world.chan);
}

static void explain_at_others(struct dm_comm *comm, uint64_t until,
                              struct dm_usage_verdict *verdict)
{
    struct dm_req *req;

    verdict->err = DM_OK;
    if (dm_p2p_irecv_coll(verdict, sizeof(*verdict), dm_type_get(MPI_BYTE), 0, DM_USAGE_TAG_LATE,
                          comm, &req) != DM_OK)
        return;
    while (!dm_req_is_done(req) && dm_clock_ns() < until)
        (void)dm_chan_progress_test(dm_world.chan);
    if (!dm_req_is_done(req) && req->ops->cancel != NULL)
        req->ops->cancel(req);
    dm_req_unref(req);
}

/* That the causes are in the statuses is for who looks there. */
static bool explain_may(const struct dm_comm *comm, int err)
{
    return err == DM_ERR_TRUNCATE || err == DM_EUSAGE ||
           (err == DM_ERR_IN_STATUS && dm_errhandler_is_fatal(comm->eh));
}

int dm_usage_explained(struct dm_comm *comm, int err)
{
    uint64_t until = dm_clock_ns() + EXPLAIN_NS;
    struct dm_usage_verdict verdict;

    if (!dm_usage_has(DM_USAGE_COLLECTIVES) || comm == NULL || !explain_may(comm, err))
        return err;
    if (comm->remote != NULL)
        comm = comm->local;
    if (comm == NULL || comm->size == 1 || comm->n_compared == 0)
        return err;
    if (comm->rank == 0)
        explain_at_first(comm, until, &verdict);
    else
        explain_at_others(comm, until, &verdict);
    return verdict.err == DM_OK ? err : DM_FAIL(verdict.err, "%s", verdict.text);
}
