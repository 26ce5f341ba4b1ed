/*
 * Requests of point-to-point: where they come from, how they end.
 */
#include "mpi/pt2pt/p2p.h"

#include <stdlib.h>

#include "util/err.h"
#include "util/log.h"

static void req_free_req(struct dm_req *req)
{
    struct dm_p2p_req *r = (struct dm_p2p_req *)req;

    if (r->holds_refs) {
        dm_comm_unref(req->comm);
        if (!r->type->is_builtin)
            dm_type_unref(r->type);
    }
    if (r->inner != NULL)
        dm_req_unref(&r->inner->req);
    if (r->is_listed)
        dm_list_del(&r->active);
    dm_pool_put(&dm_p2p.reqs, r);
}

int dm_p2p_cancel_recv(struct dm_req *req)
{
    struct dm_p2p_req *r = (struct dm_p2p_req *)req;

    /* Matched or done: it completes as if nothing had been said. */
    if (!r->is_posted)
        return DM_OK;
    req->is_cancelled = true;
    dm_status_set_cancelled(&req->status, true);
    dm_p2p_recv_withdraw(r, DM_OK);
    return DM_OK;
}

int dm_p2p_req_finish(struct dm_req *req, MPI_Status *status)
{
    (void)status;
    return req->err == DM_OK ? DM_OK : dm_p2p_req_explain((struct dm_p2p_req *)req);
}

static const struct dm_req_ops send_ops = {
    .free = req_free_req, .cancel = dm_p2p_cancel_send, .finish = dm_p2p_req_finish};
static const struct dm_req_ops recv_ops = {
    .free = req_free_req, .cancel = dm_p2p_cancel_recv, .finish = dm_p2p_req_finish};

bool dm_p2p_req_is_plain(const struct dm_req *req)
{
    return req->ops == &send_ops || req->ops == &recv_ops;
}

void dm_p2p_req_init(struct dm_p2p_req *r, enum dm_req_kind kind, struct dm_comm *comm, void *buf,
                     size_t count, struct dm_type *type)
{
    r->req.obj = (struct dm_obj){.handle = 0, .refs = 2};
    r->req.kind = kind;
    r->req.n_pending = 1;
    r->req.err = DM_OK;
    r->req.is_cancelled = false;
    r->req.is_started = false;
    r->req.has_copies = false;
    r->req.comm = comm;
    r->req.win = NULL;
    r->req.ops = kind == DM_REQ_SEND ? &send_ops : &recv_ops;
    dm_status_set_empty(&r->req.status);
    /* Arithmetic on integers: MPI_BOTTOM is a null pointer. */
    r->addr =
        dm_likely(type->is_contig) ? (char *)((uintptr_t)buf + (uintptr_t)type->true_lb) : NULL;
    r->len = count * (size_t)type->size;
    r->buf = buf;
    r->count = count;
    r->type = type;
    r->is_posted = false;
    r->is_active = false;
    r->is_reading = false;
    r->is_counted = false;
    r->holds_refs = false;
    r->rndv.mr = NULL;
    r->rndv.select = NULL;
    r->rndv.n_parts = 0;
    r->rndv.is_offer = false;
    r->is_waited = false;
    r->on_over = NULL;
    r->unexp = NULL;
    r->id = 0;
    r->inner = NULL;
    r->is_recalling = false;
    r->is_listed = false;
}

struct dm_p2p_req *dm_p2p_req_new(enum dm_req_kind kind, struct dm_comm *comm, void *buf,
                                  size_t count, struct dm_type *type)
{
    struct dm_p2p_req *r = dm_pool_get(&dm_p2p.reqs);

    if (r == NULL) {
        (void)DM_FAIL(DM_ENOMEM, "request, %zu bytes", sizeof(*r));
        return NULL;
    }
    dm_p2p_req_init(r, kind, comm, buf, count, type);
    dm_comm_ref(comm);
    if (!type->is_builtin)
        dm_type_ref(type);
    r->holds_refs = true;
    return r;
}

void dm_p2p_req_over(struct dm_p2p_req *r)
{
    if (r->is_active) {
        r->is_active = false;
        dm_list_del(&r->active);
    }
    if (dm_unlikely(r->rndv.mr != NULL)) {
        dm_adapt_unreg(dm_chan_adapt(dm_world.chan), r->rndv.mr);
        r->rndv.mr = NULL;
    }
    if (dm_unlikely(r->rndv.select != NULL))
        dm_p2p_rndv_measured(r, r->req.err == DM_OK ? r->rndv.want : 0);
    dm_p2p.n_sends -= r->is_counted;
    r->is_counted = false;
    dm_p2p.n_offers -= r->rndv.is_offer;
    r->rndv.is_offer = false;
    /* One of two holders: the last one frees. */
    if (--r->req.obj.refs == 0) {
        r->req.obj.refs = 1;
        dm_req_unref(&r->req);
        return;
    }
    if (dm_unlikely(r->on_over != NULL))
        r->on_over(r->on_over_arg);
}

void dm_p2p_watch(struct dm_req *req, void (*fn)(void *arg), void *arg)
{
    struct dm_p2p_req *r = (struct dm_p2p_req *)req;

    if (req->kind == DM_REQ_DONE)
        return;
    r->on_over = fn;
    r->on_over_arg = arg;
}

void dm_p2p_req_activate(struct dm_p2p_req *r)
{
    r->is_active = true;
    dm_list_add_tail(&dm_p2p.active, &r->active);
}

int dm_p2p_fail_lost(int proc)
{
    char who[DM_PROC_TEXT_MAX];
    const char *host =
        dm_world.host_of != NULL ? dm_world.host_of(dm_world.host_arg, proc) : "unknown host";

    if (dm_world_is_foreign(proc))
        return DM_FAIL(DM_EPEER, "%s: %s",
                       dm_adapt_proc_text(dm_chan_adapt(dm_world.chan), proc, who, sizeof(who)),
                       dm_adapt_proc_has_ended(dm_chan_adapt(dm_world.chan), proc)
                           ? "it has called MPI_Finalize"
                           : "the connection is lost: that process died or was killed");
    return DM_FAIL(DM_EPEER,
                   "the connection to rank %d of the job on %s is lost: that process "
                   "died or was killed",
                   proc, host);
}

int dm_p2p_req_explain(const struct dm_p2p_req *r)
{
    int err = r->req.err;

    if (err == DM_ERR_TRUNCATE && r->msg_len <= r->len)
        return DM_FAIL(err,
                       "the message from rank %d with tag %d has %zu bytes, which is no whole "
                       "number of basic elements of the datatype",
                       r->req.status.MPI_SOURCE, r->req.status.MPI_TAG, r->msg_len);
    if (err == DM_ERR_TRUNCATE)
        return DM_FAIL(err,
                       "the message from rank %d with tag %d has %zu bytes, the receive "
                       "buffer %zu",
                       r->req.status.MPI_SOURCE, r->req.status.MPI_TAG, r->msg_len, r->len);
    if (err == DM_EPEER)
        return dm_p2p_fail_lost(r->proc);
    return err;
}

void dm_p2p_fatal(const char *what)
{
    dm_log_error("point-to-point: %s", what);
    dm_world.abort(dm_world.abort_arg, 1, what);
    abort();
}
