/*
 * MPI_Comm_idup: the agreement of agree.c with rounds that are persistent collectives, started by
 * the progress engine.
 *
 * The first round offers nothing, so that no mask is held before all processes have come; only then
 * others have to let this agreement go first. A round that fails is repeated in a later pass.
 */
#include <stdlib.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/agree.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/comm_state.h"
#include "mpi/comm/intercomm.h"

#define KEY_BIT 0x80000000u /* others have it only with the tag INT_MAX */

struct idup {
    struct dm_req req;
    struct dm_agreement me;
    bool is_known;        /* me is in the list of agreements */
    struct dm_list retry; /* in dm_comm_state.retries */
    struct dm_comm *comm; /* the new one, */
    struct dm_req *round; /* persistent: ORs the words */
    uint32_t words[DM_AGREE_WORDS];
};

static void idup_free(struct dm_req *req)
{
    struct idup *d = (struct idup *)req;

    if (d->round != NULL)
        dm_req_unref(d->round);
    dm_comm_unref(req->comm);
    free(d);
}

static int idup_finish(struct dm_req *req, MPI_Status *status)
{
    struct idup *d = (struct idup *)req;

    return d->round->err != DM_OK ? d->round->ops->finish(d->round, status) : req->err;
}

static const struct dm_req_ops ops = {.free = idup_free, .finish = idup_finish};

/* The agreement has ended; without ids the communicator is of no use. */
static void idup_over(struct idup *d, int err, const uint32_t ctxs[2])
{
    if (d->is_known)
        dm_list_del(&d->me.link);
    dm_comm_state.n_idups--;
    if (err == DM_OK) {
        d->comm->ctx = ctxs[0];
        d->comm->ctx_send = ctxs[0];
        if (d->comm->local != NULL) {
            d->comm->local->ctx = ctxs[1];
            d->comm->local->ctx_send = ctxs[1];
        }
    } else {
        dm_attr_discard(d->comm->obj.handle, &d->comm->attrs);
        /* The program's handle becomes invalid. */
        dm_handle_drop(DM_KIND_COMM, &d->comm->obj);
        dm_comm_unref(d->comm);
    }
    dm_comm_unref(d->comm);
    d->req.err = err;
    d->req.n_pending = 0;
    dm_req_unref(&d->req);
}

static void idup_round_done(void *arg)
{
    struct idup *d = arg;
    uint32_t ctxs[2] = {DM_CTX_NONE, DM_CTX_NONE};
    int err = d->round->err;

    if (err != DM_OK)
        dm_agree_withdraw(&d->me);
    else
        err = dm_agree_result(&d->me, d->words, ctxs, d->comm->local != NULL ? 2 : 1);
    if (err != DM_EAGAIN) {
        idup_over(d, err, ctxs);
        return;
    }
    if (!d->is_known)
        dm_list_add_tail(&dm_comm_state.agreements, &d->me.link);
    d->is_known = true;
    dm_list_add_tail(&dm_comm_state.retries, &d->retry);
    dm_chan_hook_add(dm_world.chan, &dm_comm_state.hook);
}

/* One round for each that wants one; those that fail at once come again in the next pass. */
static int idup_retry(struct dm_chan_hook *hook)
{
    struct dm_list now;
    int n = 0;

    dm_chan_hook_del(dm_world.chan, hook);
    dm_list_init(&now);
    while (!dm_list_is_empty(&dm_comm_state.retries)) {
        struct dm_list *first = dm_comm_state.retries.next;

        dm_list_del(first);
        dm_list_add_tail(&now, first);
    }
    while (!dm_list_is_empty(&now)) {
        struct idup *d = dm_container_of(now.next, struct idup, retry);

        dm_list_del(&d->retry);
        dm_agree_offer(&d->me, true, d->words);
        (void)d->round->ops->start(d->round);
        n++;
    }
    return n;
}

/* The new communicator, without context ids as yet. */
static int idup_make(struct dm_comm *comm, struct dm_comm **comm_p)
{
    int err = dm_comm_new(comm->group, DM_CTX_NONE, comm->eh, comm_p);

    if (err == DM_OK && comm->remote != NULL) {
        dm_group_ref(comm->remote);
        (*comm_p)->remote = comm->remote;
        err = dm_comm_new(comm->group, DM_CTX_NONE, comm->eh, &(*comm_p)->local);
    }
    if (err == DM_OK)
        err = dm_comm_inherit(comm, *comm_p);
    if (err != DM_OK) {
        dm_comm_unref(*comm_p);
        *comm_p = NULL;
    }
    return err;
}

/* An operation whose rounds end in done(). DM_ENOMEM. */
static int idup_open(struct dm_comm *comm, void (*done)(void *arg), struct idup **d_p)
{
    struct idup *d = calloc(1, sizeof(*d));
    int err;

    if (d == NULL)
        return DM_FAIL(DM_ENOMEM, "request of MPI_Comm_idup, %zu bytes", sizeof(*d));
    dm_req_init(&d->req, DM_REQ_COLL, &ops, comm);
    dm_comm_ref(comm);
    dm_list_init(&d->retry);
    dm_agree_init(&d->me, (uint64_t)comm->ctx << 32 | KEY_BIT | (comm->coll_seq & ~KEY_BIT), 0);
    err = dm_coll_or_init(d->words, DM_AGREE_WORDS, comm, done, d, &d->round);
    if (err != DM_OK)
        dm_req_unref(&d->req);
    *d_p = d;
    return err;
}

static void idup_notified(void *arg)
{
    struct idup *d = arg;

    dm_req_unref(&d->req);
}

/* The call has failed here: take part in the first round all the same, and say so. */
static void idup_notify_failed(struct dm_comm *comm)
{
    struct idup *d;

    if ((comm->size == 1 && comm->remote == NULL) || idup_open(comm, idup_notified, &d) != DM_OK)
        return;
    d->words[DM_AGREE_FLAGS] = DM_AGREE_FAILED;
    (void)d->round->ops->start(d->round);
}

static int idup_begin(struct dm_comm *comm, struct dm_comm *new, struct dm_req **req_p)
{
    struct idup *d;
    int err = idup_open(comm, idup_round_done, &d);

    if (err != DM_OK)
        return err;
    d->comm = new;
    dm_comm_ref(new);
    dm_req_ref(&d->req); /* the operation's */
    dm_comm_state.n_idups++;
    *req_p = &d->req;
    if (comm->size == 1 && comm->remote == NULL) {
        idup_over(d, DM_OK, (uint32_t[2]){dm_ctx_alone(), DM_CTX_NONE});
        return DM_OK;
    }
    dm_agree_offer(&d->me, false, d->words);
    return d->round->ops->start(d->round);
}

int dm_comm_idup(struct dm_comm *comm, struct dm_comm **comm_p, struct dm_req **req_p)
{
    struct dm_comm *new;
    int err = idup_make(comm, &new);

    *comm_p = new;
    if (err != DM_OK) {
        idup_notify_failed(comm);
        return err;
    }
    dm_comm_ref(new);
    err = idup_begin(comm, new, req_p);
    if (err != DM_OK) {
        dm_attr_discard(new->obj.handle, &new->attrs);
        dm_comm_unref(new);
    } else if (dm_req_is_done(*req_p) && (*req_p)->err != DM_OK) {
        /* It has failed at once, and idup_over() has dropped the communicator. */
        err = idup_finish(*req_p, MPI_STATUS_IGNORE);
        dm_req_unref(*req_p);
    }
    dm_comm_unref(new);
    if (err != DM_OK)
        *comm_p = NULL;
    return err;
}

int dm_comm_idup_with_info(struct dm_comm *comm, struct dm_info *info, struct dm_comm **comm_p,
                           struct dm_req **req_p)
{
    int err = dm_comm_idup(comm, comm_p, req_p);

    return err == DM_OK ? dm_comm_set_info(*comm_p, info) : err;
}

void dm_idup_start(void)
{
    dm_comm_state.n_idups = 0;
    dm_list_init(&dm_comm_state.retries);
    dm_comm_state.hook.fn = idup_retry;
}

void dm_idup_stop(void)
{
    dm_chan_hook_del(dm_world.chan, &dm_comm_state.hook);
}
