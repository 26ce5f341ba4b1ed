/*
 * Send and receive in one call: the receive is posted first, so that two processes
 * that do the same at once cannot wait for each other.
 */
#include "mpi/pt2pt/pt2pt.h"

#include <stdlib.h>

#include "mpi/pt2pt/p2p.h"
#include "util/err.h"

struct half {
    void *buf;
    size_t count;
    struct dm_type *type;
    int peer;
    int tag;
    uint32_t ctx;
};

static int sendrecv_exchange(const struct half *s, const struct half *d, struct dm_comm *comm,
                             MPI_Status *status)
{
    struct dm_p2p_req r;
    int err, recv_err;

    if (d->peer == MPI_PROC_NULL) {
        err = dm_p2p_send_on(s->buf, s->count, s->type, s->peer, s->tag, comm, s->ctx,
                             DM_SEND_STANDARD);
        recv_err = dm_p2p_recv_on(d->buf, d->count, d->type, d->peer, d->tag, comm, d->ctx, status);
        return err != DM_OK ? err : recv_err;
    }
    dm_p2p_req_init(&r, DM_REQ_RECV, comm, d->buf, d->count, d->type);
    dm_p2p_recv_start(&r, d->peer, d->tag, d->ctx);
    err =
        dm_p2p_send_on(s->buf, s->count, s->type, s->peer, s->tag, comm, s->ctx, DM_SEND_STANDARD);
    /* The request is on this stack: nobody may know it any more when we return. */
    if (err != DM_OK && r.is_posted)
        dm_p2p_recv_withdraw(&r, DM_OK);
    dm_wait_for(&r.req.n_pending);
    if (err != DM_OK)
        return err;
    dm_p2p_status(&r.req, status);
    return r.req.err == DM_OK ? DM_OK : dm_p2p_req_explain(&r);
}

static struct half sendrecv_half(const void *buf, size_t count, struct dm_type *type, int peer,
                                 int tag, uint32_t ctx)
{
    return (struct half){(void *)(uintptr_t)buf, count, type, peer, tag, ctx};
}

int dm_sendrecv(const void *sbuf, size_t scount, struct dm_type *stype, int dest, int stag,
                void *rbuf, size_t rcount, struct dm_type *rtype, int source, int rtag,
                struct dm_comm *comm, MPI_Status *status)
{
    struct half s = sendrecv_half(sbuf, scount, stype, dest, stag, comm->ctx_send);
    struct half d = sendrecv_half(rbuf, rcount, rtype, source, rtag, comm->ctx);

    return sendrecv_exchange(&s, &d, comm, status);
}

int dm_p2p_sendrecv_coll(const void *sbuf, size_t scount, struct dm_type *stype, int dest,
                         void *rbuf, size_t rcount, struct dm_type *rtype, int source, int tag,
                         struct dm_comm *comm)
{
    struct half s = sendrecv_half(sbuf, scount, stype, dest, tag, comm->ctx_send + 1);
    struct half d = sendrecv_half(rbuf, rcount, rtype, source, tag, comm->ctx + 1);

    return sendrecv_exchange(&s, &d, comm, MPI_STATUS_IGNORE);
}

int dm_sendrecv_replace(void *buf, size_t count, struct dm_type *type, int dest, int stag,
                        int source, int rtag, struct dm_comm *comm, MPI_Status *status)
{
    size_t len = count * (size_t)type->size;
    struct dm_type *bytes = dm_type_get(MPI_BYTE);
    char small[1024], *copy = len <= sizeof(small) ? small : malloc(len);
    struct half s, d;
    int err;

    if (copy == NULL)
        return DM_FAIL(DM_ENOMEM, "copy of the message, %zu bytes", len);
    if (dest != MPI_PROC_NULL && len > 0)
        dm_type_pack(buf, count, type, 0, copy, len);
    s = sendrecv_half(copy, len, bytes, dest, stag, comm->ctx_send);
    d = sendrecv_half(buf, count, type, source, rtag, comm->ctx);
    err = sendrecv_exchange(&s, &d, comm, status);
    if (copy != small)
        free(copy);
    return err;
}
