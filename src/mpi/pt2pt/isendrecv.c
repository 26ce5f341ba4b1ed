/*
 * MPI_Isendrecv (MPI-4.0 section 3.10): one request for a send and a receive.
 *
 * It is complete when both halves are, which are part of its memory, and has the
 * status of the receive. The operation's reference goes with the last half.
 */
#include "mpi/pt2pt/pt2pt.h"

#include <stdlib.h>

#include "mpi/pt2pt/p2p.h"
#include "util/err.h"

struct pair {
    struct dm_req req;
    struct dm_p2p_req send;
    struct dm_p2p_req recv;
    struct dm_type *rtype;
    struct dm_type *stype;
    char *copy; /* of what is replaced, or NULL */
};

static void pair_free(struct dm_req *req)
{
    struct pair *pair = (struct pair *)req;

    dm_comm_unref(req->comm);
    dm_type_unref(pair->rtype);
    dm_type_unref(pair->stype);
    free(pair->copy);
    free(pair);
}

static int isendrecv_finish(struct dm_req *req, MPI_Status *status)
{
    struct pair *pair = (struct pair *)req;

    (void)status;
    if (req->err == DM_OK)
        return DM_OK;
    return dm_p2p_req_explain(req->err == pair->recv.req.err ? &pair->recv : &pair->send);
}

static const struct dm_req_ops ops = {.free = pair_free, .finish = isendrecv_finish};

static void pair_half_over(struct pair *pair, int err)
{
    if (pair->req.err == DM_OK)
        pair->req.err = err;
    if (--pair->req.n_pending == 0)
        dm_req_unref(&pair->req);
}

static void pair_send_over(void *arg)
{
    struct pair *pair = arg;

    pair_half_over(pair, pair->send.req.err);
}

static void pair_recv_over(void *arg)
{
    struct pair *pair = arg;

    pair->req.status = pair->recv.req.status;
    pair_half_over(pair, pair->recv.req.err);
}

static int pair_new(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                    size_t rcount, struct dm_type *rtype, struct dm_comm *comm,
                    struct pair **pair_p)
{
    struct pair *pair = malloc(sizeof(*pair));

    *pair_p = pair;
    if (pair == NULL)
        return DM_FAIL(DM_ENOMEM, "request of two halves, %zu bytes", sizeof(*pair));
    dm_req_init(&pair->req, DM_REQ_RECV, &ops, comm);
    pair->req.n_pending = 2;
    dm_req_ref(&pair->req);
    dm_comm_ref(comm);
    dm_type_ref(rtype);
    dm_type_ref(stype);
    dm_p2p_req_init(&pair->send, DM_REQ_SEND, comm, (void *)(uintptr_t)sbuf, scount, stype);
    dm_p2p_req_init(&pair->recv, DM_REQ_RECV, comm, rbuf, rcount, rtype);
    dm_p2p_watch(&pair->send.req, pair_send_over, pair);
    dm_p2p_watch(&pair->recv.req, pair_recv_over, pair);
    pair->stype = stype;
    pair->rtype = rtype;
    pair->copy = NULL;
    return DM_OK;
}

/* The receive first: a message to oneself finds it. */
static void isendrecv_start(struct pair *pair, int dest, int stag, int source, int rtag)
{
    struct dm_comm *comm = pair->req.comm;
    struct dm_mkey key = {.ctx = comm->ctx_send, .source = comm->rank, .tag = stag};

    if (source == MPI_PROC_NULL) {
        dm_status_set_proc_null(&pair->recv.req.status);
        pair->recv.proc = -1;
        dm_p2p_req_step(&pair->recv, DM_OK);
    } else {
        dm_p2p_recv_start(&pair->recv, source, rtag, comm->ctx);
    }
    if (dest == MPI_PROC_NULL) {
        pair->send.proc = -1;
        dm_p2p_req_step(&pair->send, DM_OK);
        return;
    }
    pair->send.proc = dm_comm_proc(comm, dest);
    pair->send.is_counted = true;
    dm_p2p.n_sends++;
    dm_p2p_send_start(&pair->send, &key, DM_SEND_STANDARD);
}

int dm_isendrecv(const void *sbuf, size_t scount, struct dm_type *stype, int dest, int stag,
                 void *rbuf, size_t rcount, struct dm_type *rtype, int source, int rtag,
                 struct dm_comm *comm, struct dm_req **req_p)
{
    struct pair *pair;
    int err = pair_new(sbuf, scount, stype, rbuf, rcount, rtype, comm, &pair);

    if (err != DM_OK)
        return err;
    *req_p = &pair->req;
    isendrecv_start(pair, dest, stag, source, rtag);
    return DM_OK;
}

int dm_isendrecv_replace(void *buf, size_t count, struct dm_type *type, int dest, int stag,
                         int source, int rtag, struct dm_comm *comm, struct dm_req **req_p)
{
    size_t len = count * (size_t)type->size;
    char *copy = malloc(len + 1);
    struct pair *pair;
    int err;

    if (copy == NULL)
        return DM_FAIL(DM_ENOMEM, "copy of the message, %zu bytes", len);
    if (dest != MPI_PROC_NULL && len > 0)
        dm_type_pack(buf, count, type, 0, copy, len);
    err = pair_new(copy, len, dm_type_get(MPI_BYTE), buf, count, type, comm, &pair);
    if (err != DM_OK) {
        free(copy);
        return err;
    }
    pair->copy = copy;
    *req_p = &pair->req;
    isendrecv_start(pair, dest, stag, source, rtag);
    return DM_OK;
}
