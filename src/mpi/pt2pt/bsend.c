/*
 * Buffered sends: pieces of the buffer that the program attached.
 *
 * Invariant: dm_p2p.bsends lists the pieces in use by address; each starts with
 * struct piece inside the buffer. MPI_BSEND_OVERHEAD covers it with its alignment. A message
 * that the pipe takes at once needs no copy, but it needs space all the same: whether a
 * program is right must not depend on timing.
 */
#include "mpi/pt2pt/pt2pt.h"

#include "mpi/pt2pt/p2p.h"
#include "util/err.h"

#define ALIGN 16

struct piece {
    struct dm_list node;
    size_t len; /* with this header */
    struct dm_req *req;
};

_Static_assert(sizeof(struct piece) + 3 * ALIGN <= MPI_BSEND_OVERHEAD, "what is promised");

static uintptr_t bsend_round_up(uintptr_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Give back the pieces whose messages are gone. */
static void bsend_reap(void)
{
    dm_list_for_each_safe (it, tmp, &dm_p2p.bsends) {
        struct piece *p = dm_container_of(it, struct piece, node);

        if (!dm_req_is_done(p->req))
            continue;
        dm_list_del(&p->node);
        dm_req_unref(p->req);
    }
}

/* First place where len bytes fit; *before_p is the list node that follows it. NULL: none. */
static struct piece *bsend_find_space(size_t len, struct dm_list **before_p)
{
    uintptr_t at = bsend_round_up((uintptr_t)dm_p2p.bsend_buf);
    uintptr_t end = (uintptr_t)dm_p2p.bsend_buf + dm_p2p.bsend_size;

    dm_list_for_each (it, &dm_p2p.bsends) {
        struct piece *p = dm_container_of(it, struct piece, node);

        if ((uintptr_t)p - at >= len) {
            *before_p = it;
            return (struct piece *)at;
        }
        at = (uintptr_t)p + p->len;
    }
    *before_p = &dm_p2p.bsends;
    return at <= end && end - at >= len ? (struct piece *)at : NULL;
}

int dm_p2p_bsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                 struct dm_comm *comm, struct dm_p2p_req **r_p)
{
    size_t data_len = count * (size_t)type->size;
    size_t len = bsend_round_up(sizeof(struct piece) + data_len);
    struct dm_mkey key = {.ctx = comm->ctx_send, .source = comm->rank, .tag = tag};
    struct dm_list *before;
    struct dm_p2p_req *r;
    struct piece *p;

    *r_p = NULL;
    if (dest == MPI_PROC_NULL)
        return DM_OK;
    if (dm_unlikely(dm_p2p.send_id % DM_FLOW_POLL_EVERY == 0))
        dm_p2p_flow_poll();
    bsend_reap();
    p = bsend_find_space(len, &before);
    if (p == NULL) {
        dm_chan_progress(dm_world.chan);
        bsend_reap();
        p = bsend_find_space(len, &before);
    }
    if (p == NULL)
        return DM_FAIL(DM_ERR_BUFFER,
                       "no space for %zu bytes and %d of overhead in the attached buffer of %zu "
                       "bytes; MPI_Buffer_attach a larger one",
                       data_len, MPI_BSEND_OVERHEAD, dm_p2p.bsend_size);
    dm_type_pack(buf, count, type, 0, p + 1, data_len);
    r = dm_p2p_req_new(DM_REQ_SEND, comm, (void *)(uintptr_t)buf, count, type);
    if (r == NULL)
        return DM_ENOMEM;
    r->addr = (char *)(p + 1);
    r->proc = dm_comm_proc(comm, dest);
    r->is_counted = true;
    dm_p2p.n_sends++;
    p->len = len;
    p->req = &r->req;
    dm_list_add_tail(before, &p->node);
    dm_req_ref(&r->req);
    *r_p = r;
    dm_p2p_send_start(r, &key, DM_SEND_BUFFERED);
    return DM_OK;
}

void dm_p2p_bsend_flush(void)
{
    for (bsend_reap(); !dm_list_is_empty(&dm_p2p.bsends); bsend_reap())
        dm_chan_progress_wait(dm_world.chan);
}

int dm_bsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
             struct dm_comm *comm)
{
    struct dm_p2p_req *r;
    int err = dm_p2p_bsend(buf, count, type, dest, tag, comm, &r);

    if (r != NULL)
        dm_req_unref(&r->req);
    return err;
}

/* Complete at once; the send proper goes on and is there for MPI_Cancel. */
int dm_ibsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
              struct dm_comm *comm, struct dm_req **req_p)
{
    struct dm_p2p_req *r, *outer;
    int err;

    if (dest == MPI_PROC_NULL)
        return dm_req_new_done(req_p);
    outer = dm_p2p_req_new(DM_REQ_SEND, comm, NULL, 0, type);
    if (outer == NULL)
        return DM_ENOMEM;
    outer->req.obj.refs = 1;
    err = dm_p2p_bsend(buf, count, type, dest, tag, comm, &r);
    if (err != DM_OK) {
        dm_req_unref(&outer->req);
        return err;
    }
    outer->req.n_pending = 0;
    outer->inner = r;
    *req_p = &outer->req;
    return DM_OK;
}

int dm_buffer_attach(void *buffer, MPI_Count size)
{
    if (dm_p2p.bsend_buf != NULL)
        return DM_FAIL(DM_ERR_BUFFER, "a buffer is attached already; MPI_Buffer_detach it first");
    if (size < 0)
        return DM_FAIL(DM_ERR_ARG, "buffer size %lld", (long long)size);
    dm_p2p.bsend_buf = buffer;
    dm_p2p.bsend_size = (size_t)size;
    return DM_OK;
}

int dm_buffer_detach(void *buffer_addr, MPI_Count *size)
{
    dm_p2p_bsend_flush();
    *(void **)buffer_addr = dm_p2p.bsend_buf;
    *size = (MPI_Count)dm_p2p.bsend_size;
    dm_p2p.bsend_buf = NULL;
    dm_p2p.bsend_size = 0;
    return DM_OK;
}
