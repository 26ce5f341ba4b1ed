/*
 * Persistent sends and receives (MPI-4.0 section 3.9), and the start of persistent requests of
 * every layer; core.h says what these must do.
 *
 * The request of a round is the persistent one itself: a start needs no memory.
 */
#include "mpi/pt2pt/pt2pt.h"

#include <stdio.h>

#include "mpi/pt2pt/p2p.h"
#include "mpi/pt2pt/wait.h"
#include "util/err.h"

struct persist {
    struct dm_p2p_req r;
    int peer;
    int tag;
    enum dm_send_mode mode; /* of a send */
};

static void persist_free(struct dm_req *req)
{
    struct persist *p = (struct persist *)req;

    if (p->r.inner != NULL)
        dm_req_unref(&p->r.inner->req);
    dm_comm_unref(req->comm);
    dm_type_unref(p->r.type);
    dm_obj_free(DM_KIND_REQUEST, p);
}

/* Something is awaited: the operation holds the request. */
static void persist_pend(struct persist *p)
{
    p->r.req.n_pending = 1;
    dm_req_ref(&p->r.req);
}

static int persist_start_recv(struct dm_req *req)
{
    struct persist *p = (struct persist *)req;

    if (p->peer == MPI_PROC_NULL) {
        dm_status_set_proc_null(&req->status);
        return DM_OK;
    }
    persist_pend(p);
    dm_p2p_recv_start(&p->r, p->peer, p->tag, req->comm->ctx);
    return DM_OK;
}

static int persist_start_send(struct dm_req *req)
{
    struct persist *p = (struct persist *)req;
    struct dm_mkey key = {.ctx = req->comm->ctx_send, .source = req->comm->rank, .tag = p->tag};
    int err;

    p->r.id = 0;
    p->r.is_recalling = false;
    if (p->peer == MPI_PROC_NULL)
        return DM_OK;
    p->r.proc = dm_comm_proc(req->comm, p->peer);
    if (dm_unlikely(dm_p2p.send_id % DM_FLOW_POLL_EVERY == 0))
        dm_p2p_flow_poll();
    err = dm_p2p_send_now(&p->r, &key, p->mode);
    if (err != DM_EAGAIN)
        return err;
    persist_pend(p);
    p->r.is_counted = true;
    dm_p2p.n_sends++;
    dm_p2p_send_start(&p->r, &key, p->mode);
    return DM_OK;
}

/* The message is in the attached buffer when this returns. */
static int persist_start_bsend(struct dm_req *req)
{
    struct persist *p = (struct persist *)req;

    if (p->r.inner != NULL)
        dm_req_unref(&p->r.inner->req);
    p->r.is_recalling = false;
    return dm_p2p_bsend(p->r.buf, p->r.count, p->r.type, p->peer, p->tag, req->comm, &p->r.inner);
}

static const struct dm_req_ops recv_ops = {.free = persist_free,
                                           .start = persist_start_recv,
                                           .cancel = dm_p2p_cancel_recv,
                                           .finish = dm_p2p_req_finish};
static const struct dm_req_ops send_ops = {.free = persist_free,
                                           .start = persist_start_send,
                                           .cancel = dm_p2p_cancel_send,
                                           .finish = dm_p2p_req_finish};
static const struct dm_req_ops bsend_ops = {
    .free = persist_free, .start = persist_start_bsend, .cancel = dm_p2p_cancel_send};

static int persist_make(const struct dm_req_ops *ops, enum dm_send_mode mode, void *buf,
                        size_t count, struct dm_type *type, int peer, int tag, struct dm_comm *comm,
                        struct dm_req **req_p)
{
    struct persist *p = dm_obj_take(DM_KIND_REQUEST, sizeof(*p));

    if (p == NULL)
        return DM_FAIL(DM_ENOMEM, "persistent request, %zu bytes", sizeof(*p));
    dm_p2p_req_init(&p->r, DM_REQ_PERSISTENT, comm, buf, count, type);
    p->r.req.obj.refs = 1;
    p->r.req.ops = ops;
    dm_req_rest(&p->r.req);
    dm_comm_ref(comm);
    dm_type_ref(type);
    p->peer = peer;
    p->tag = tag;
    p->mode = mode;
    *req_p = &p->r.req;
    return DM_OK;
}

int dm_send_init(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                 struct dm_comm *comm, struct dm_req **req_p)
{
    return persist_make(&send_ops, DM_SEND_STANDARD, (void *)(uintptr_t)buf, count, type, dest, tag,
                        comm, req_p);
}

int dm_bsend_init(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                  struct dm_comm *comm, struct dm_req **req_p)
{
    return persist_make(&bsend_ops, DM_SEND_BUFFERED, (void *)(uintptr_t)buf, count, type, dest,
                        tag, comm, req_p);
}

int dm_ssend_init(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                  struct dm_comm *comm, struct dm_req **req_p)
{
    return persist_make(&send_ops, DM_SEND_SYNC, (void *)(uintptr_t)buf, count, type, dest, tag,
                        comm, req_p);
}

int dm_rsend_init(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                  struct dm_comm *comm, struct dm_req **req_p)
{
    return persist_make(&send_ops, DM_SEND_READY, (void *)(uintptr_t)buf, count, type, dest, tag,
                        comm, req_p);
}

int dm_recv_init(void *buf, size_t count, struct dm_type *type, int source, int tag,
                 struct dm_comm *comm, struct dm_req **req_p)
{
    return persist_make(&recv_ops, DM_SEND_STANDARD, buf, count, type, source, tag, comm, req_p);
}

/* ---- start ---- */

static DM_COLD int persist_error(const MPI_Request *request, int i, const struct dm_req *req)
{
    char where[32] = "";

    if (i >= 0)
        snprintf(where, sizeof(where), " (number %d)", i);
    if (req == NULL)
        return DM_FAIL(DM_ERR_REQUEST, "MPI_REQUEST_NULL%s cannot be started", where);
    if (req->kind != DM_REQ_PERSISTENT)
        return DM_FAIL(DM_ERR_REQUEST, "request 0x%x%s is not persistent", (unsigned)*request,
                       where);
    dm_p2p_blame(req);
    return DM_FAIL(DM_ERR_REQUEST, "request 0x%x%s is active: it was started and not completed",
                   (unsigned)*request, where);
}

/* Is it a persistent request at rest? i: its place in an array, or -1. */
static int persist_check(const MPI_Request *request, int i, struct dm_req **req_p)
{
    int err = dm_p2p_resolve(request, req_p);

    if (dm_unlikely(err != DM_OK))
        return err;
    return dm_likely(*req_p != NULL && dm_req_is_inactive(*req_p))
               ? DM_OK
               : persist_error(request, i, *req_p);
}

static int persist_start(struct dm_req *req)
{
    int err;

    req->is_started = true;
    err = req->ops->start(req);
    if (err != DM_OK) {
        dm_p2p_blame(req);
        dm_req_rest(req);
    }
    return err;
}

int dm_start(MPI_Request *request)
{
    struct dm_req *req;
    int err = persist_check(request, -1, &req);

    return err != DM_OK ? err : persist_start(req);
}

int dm_startall(int count, MPI_Request requests[])
{
    struct dm_req *req;
    int err = DM_OK;

    for (int i = 0; i < count && err == DM_OK; i++)
        err = persist_check(&requests[i], i, &req);
    for (int i = 0; i < count && err == DM_OK; i++) {
        /* Again, for one that is there twice. */
        err = persist_check(&requests[i], i, &req);
        if (err == DM_OK)
            err = persist_start(req);
    }
    return err;
}
