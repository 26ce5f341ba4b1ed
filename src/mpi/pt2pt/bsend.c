/*
 * Buffered sends: pieces of the buffer that the program attached to the communicator, to its session or to the
 * process, the first of them that has one (MPI-4.1 section 3.6).
 *
 * Invariant: the pieces of a buffer are listed by address; each starts with struct piece inside the
 * buffer. MPI_BSEND_OVERHEAD covers it with its alignment. An automatic buffer is the heap, each piece a
 * block of it. A message that the pipe takes at once needs no copy, but it needs space all the same: whether
 * a program is right must not depend on timing.
 */
#include "mpi/pt2pt/pt2pt.h"

#include <stdlib.h>

#include "mpi/pt2pt/p2p.h"
#include "util/err.h"

#define ALIGN 16

/* What is attached. */
struct dm_bsend {
    struct dm_list node; /* in dm_p2p.bsends */
    void *buf;
    size_t size;
    bool is_automatic;
    struct dm_list pieces;
    struct dm_list flushes; /* struct flush */
    uint64_t n_pieces;      /* so far */
    int n_waiting;          /* threads that flush it */
    bool is_detached;       /* the last of them frees it */
};

struct piece {
    struct dm_list node;
    size_t len; /* with this header */
    struct dm_p2p_req *send;
    struct dm_bsend *owner;
    uint64_t number;
};

/* MPI_Comm_iflush_buffer and its kin: pending until the first n pieces have gone. */
struct flush {
    struct dm_req req;
    struct dm_list node;
    uint64_t n;
};

_Static_assert(sizeof(struct piece) + 3 * ALIGN <= MPI_BSEND_OVERHEAD, "what is promised");

static uintptr_t bsend_round_up(uintptr_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* What serves a communicator; NULL: nothing is attached. */
static struct dm_bsend *bsend_of(const struct dm_comm *comm)
{
    const struct dm_session *session;

    if (comm->bsend != NULL)
        return comm->bsend;
    if (comm->group->session == MPI_SESSION_NULL)
        return dm_p2p.bsend;
    session = dm_handle_get(DM_KIND_SESSION, comm->group->session);
    return session != NULL && session->bsend != NULL ? session->bsend : dm_p2p.bsend;
}

/* Give back the pieces whose messages are gone. */
static void bsend_reap(struct dm_bsend *b)
{
    dm_list_for_each_safe (it, tmp, &b->pieces) {
        struct piece *p = dm_container_of(it, struct piece, node);

        if (!dm_req_is_done(&p->send->req))
            continue;
        dm_list_del(&p->node);
        dm_p2p_watch(&p->send->req, NULL,
                     NULL); /* others may hold it longer than the buffer is there */
        dm_req_unref(&p->send->req);
        if (b->is_automatic)
            free(p);
    }
}

/* First place where len bytes fit; *before_p is the list node that follows it. NULL: none. */
static struct piece *bsend_find_space(struct dm_bsend *b, size_t len, struct dm_list **before_p)
{
    uintptr_t at = bsend_round_up((uintptr_t)b->buf);
    uintptr_t end = (uintptr_t)b->buf + b->size;

    *before_p = &b->pieces;
    if (b->is_automatic)
        return malloc(len);
    dm_list_for_each (it, &b->pieces) {
        struct piece *p = dm_container_of(it, struct piece, node);

        if ((uintptr_t)p - at >= len) {
            *before_p = it;
            return (struct piece *)at;
        }
        at = (uintptr_t)p + p->len;
    }
    return at <= end && end - at >= len ? (struct piece *)at : NULL;
}

/* Space for data_len bytes behind the header, listed. */
static int bsend_take(struct dm_bsend *b, size_t data_len, struct piece **p_p)
{
    size_t len = bsend_round_up(sizeof(struct piece) + data_len);
    struct dm_list *before;
    struct piece *p;

    bsend_reap(b);
    p = bsend_find_space(b, len, &before);
    if (p == NULL) {
        dm_chan_progress(dm_world.chan);
        bsend_reap(b);
        p = bsend_find_space(b, len, &before);
    }
    *p_p = p;
    if (p == NULL && b->is_automatic)
        return DM_FAIL(DM_ENOMEM, "buffered message of %zu bytes", data_len);
    if (p == NULL)
        return DM_FAIL(DM_ERR_BUFFER,
                       "no space for %zu bytes and %d of overhead in the attached buffer of %zu "
                       "bytes; attach a larger one, or MPI_BUFFER_AUTOMATIC",
                       data_len, MPI_BSEND_OVERHEAD, b->size);
    *p = (struct piece){.len = len, .owner = b, .number = b->n_pieces++};
    dm_list_add_tail(before, &p->node);
    return DM_OK;
}

static void bsend_untake(struct piece *p)
{
    dm_list_del(&p->node);
    if (p->owner->is_automatic)
        free(p);
}

int dm_p2p_bsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                 struct dm_comm *comm, struct dm_p2p_req **r_p)
{
    struct dm_mkey key = {.ctx = comm->ctx_send, .source = comm->rank, .tag = tag};
    size_t len = count * (size_t)type->size;
    struct dm_bsend *b = bsend_of(comm);
    struct dm_p2p_req *r;
    struct piece *p;
    int err;

    *r_p = NULL;
    if (dest == MPI_PROC_NULL)
        return DM_OK;
    if (b == NULL)
        return DM_FAIL(DM_ERR_BUFFER,
                       "no buffer is attached for the %zu bytes; MPI_Buffer_attach one", len);
    if (dm_unlikely(dm_p2p.send_id % DM_FLOW_POLL_EVERY == 0))
        dm_p2p_flow_poll();
    err = bsend_take(b, len, &p);
    if (err != DM_OK)
        return err;
    dm_type_pack(buf, count, type, 0, p + 1, len);
    r = dm_p2p_req_new(DM_REQ_SEND, comm, (void *)(uintptr_t)buf, count, type);
    if (r == NULL) {
        bsend_untake(p);
        return DM_ENOMEM;
    }
    r->addr = (char *)(p + 1);
    r->proc = dm_comm_proc(comm, dest);
    r->is_counted = true;
    dm_p2p.n_sends++;
    p->send = r;
    dm_req_ref(&r->req);
    *r_p = r;
    dm_p2p_send_start(r, &key, DM_SEND_BUFFERED);
    return DM_OK;
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

/* ---- attach and detach ---- */

static int bsend_attach(struct dm_bsend **b_p, void *buffer, MPI_Count size)
{
    bool is_automatic = buffer == MPI_BUFFER_AUTOMATIC;
    struct dm_bsend *b = *b_p;

    if (b != NULL && b->buf != NULL)
        return DM_FAIL(DM_ERR_BUFFER, "a buffer is attached already; detach it first");
    if (size < 0 && !is_automatic)
        return DM_FAIL(DM_ERR_ARG, "buffer size %lld", (long long)size);
    if (b == NULL) {
        b = calloc(1, sizeof(*b));
        if (b == NULL)
            return DM_FAIL(DM_ENOMEM, "attached buffer, %zu bytes", sizeof(*b));
        dm_list_init(&b->pieces);
        dm_list_init(&b->flushes);
        dm_list_add_tail(&dm_p2p.bsends, &b->node);
        *b_p = b;
    }
    b->buf = buffer;
    b->size = is_automatic ? 0 : (size_t)size;
    b->is_automatic = is_automatic;
    return DM_OK;
}

static void bsend_flush(struct dm_bsend *b)
{
    for (bsend_reap(b); !dm_list_is_empty(&b->pieces); bsend_reap(b))
        dm_chan_progress_wait(dm_world.chan);
}

static void bsend_free(struct dm_bsend *b)
{
    dm_list_del(&b->node);
    free(b);
}

void dm_p2p_bsend_end(struct dm_bsend **b_p)
{
    struct dm_bsend *b = *b_p;

    if (b == NULL)
        return;
    *b_p = NULL; /* other threads run while this one waits */
    b->is_detached = true;
    bsend_flush(b);
    if (b->n_waiting == 0)
        bsend_free(b);
}

void dm_p2p_bsend_flush_all(void)
{
    dm_list_for_each (it, &dm_p2p.bsends)
        bsend_flush(dm_container_of(it, struct dm_bsend, node));
}

void dm_p2p_bsend_stop(void)
{
    while (!dm_list_is_empty(&dm_p2p.bsends))
        bsend_free(dm_container_of(dm_p2p.bsends.next, struct dm_bsend, node));
    dm_p2p.bsend = NULL;
}

static int bsend_detach(struct dm_bsend **b_p, void *buffer_addr, MPI_Count *size)
{
    void *buf = *b_p != NULL ? (*b_p)->buf : NULL;

    *size = *b_p != NULL ? (MPI_Count)(*b_p)->size : 0;
    dm_p2p_bsend_end(b_p);
    *(void **)buffer_addr = buf;
    return DM_OK;
}

/* ---- flush ---- */

static void flush_free(struct dm_req *req)
{
    free(req);
}

static const struct dm_req_ops flush_ops = {.free = flush_free};

/* Has one of the first n pieces not gone yet? */
static bool bsend_has_before(const struct dm_bsend *b, uint64_t n)
{
    dm_list_for_each (it, &b->pieces) {
        const struct piece *p = dm_container_of(it, struct piece, node);

        if (p->number < n && !dm_req_is_done(&p->send->req))
            return true;
    }
    return false;
}

/* A piece has gone. */
static void bsend_over(void *arg)
{
    struct dm_bsend *b = arg;

    dm_list_for_each_safe (it, tmp, &b->flushes) {
        struct flush *f = dm_container_of(it, struct flush, node);

        if (bsend_has_before(b, f->n))
            continue;
        dm_list_del(&f->node);
        f->req.n_pending = 0;
        dm_req_unref(&f->req);
    }
}

bool dm_p2p_bsend_is_flushed(const struct dm_p2p_req *r)
{
    return r->on_over == bsend_over;
}

static int bsend_iflush(struct dm_bsend *b, struct dm_req **req_p)
{
    struct flush *f;

    if (b == NULL || !bsend_has_before(b, b->n_pieces))
        return dm_req_new_done(req_p);
    f = malloc(sizeof(*f));
    if (f == NULL)
        return DM_FAIL(DM_ENOMEM, "request, %zu bytes", sizeof(*f));
    dm_req_init(&f->req, DM_REQ_SEND, &flush_ops, NULL);
    f->req.n_pending = 1;
    dm_req_ref(&f->req);
    f->n = b->n_pieces;
    dm_list_add_tail(&b->flushes, &f->node);
    dm_list_for_each (it, &b->pieces)
        dm_p2p_watch(&dm_container_of(it, struct piece, node)->send->req, bsend_over, b);
    *req_p = &f->req;
    return DM_OK;
}

/* Those that are in it now; others may come meanwhile. */
static int bsend_wait_flushed(struct dm_bsend *b)
{
    uint64_t n;

    if (b == NULL)
        return DM_OK;
    n = b->n_pieces;
    b->n_waiting++;
    while (bsend_has_before(b, n))
        dm_chan_progress_wait(dm_world.chan);
    if (--b->n_waiting == 0 && b->is_detached && dm_list_is_empty(&b->pieces))
        bsend_free(b);
    return DM_OK;
}

/* ---- bodies ---- */

int dm_buffer_attach(void *buffer, MPI_Count size)
{
    return bsend_attach(&dm_p2p.bsend, buffer, size);
}

int dm_buffer_detach(void *buffer_addr, MPI_Count *size)
{
    return bsend_detach(&dm_p2p.bsend, buffer_addr, size);
}

int dm_buffer_flush(void)
{
    return bsend_wait_flushed(dm_p2p.bsend);
}

int dm_buffer_iflush(struct dm_req **req_p)
{
    return bsend_iflush(dm_p2p.bsend, req_p);
}

int dm_comm_attach_buffer(struct dm_comm *comm, void *buffer, MPI_Count size)
{
    return bsend_attach(&comm->bsend, buffer, size);
}

int dm_comm_detach_buffer(struct dm_comm *comm, void *buffer_addr, MPI_Count *size)
{
    return bsend_detach(&comm->bsend, buffer_addr, size);
}

int dm_comm_flush_buffer(struct dm_comm *comm)
{
    return bsend_wait_flushed(comm->bsend);
}

int dm_comm_iflush_buffer(struct dm_comm *comm, struct dm_req **req_p)
{
    return bsend_iflush(comm->bsend, req_p);
}

int dm_session_attach_buffer(struct dm_session *session, void *buffer, MPI_Count size)
{
    return bsend_attach(&session->bsend, buffer, size);
}

int dm_session_detach_buffer(struct dm_session *session, void *buffer_addr, MPI_Count *size)
{
    return bsend_detach(&session->bsend, buffer_addr, size);
}

int dm_session_flush_buffer(struct dm_session *session)
{
    return bsend_wait_flushed(session->bsend);
}

int dm_session_iflush_buffer(struct dm_session *session, struct dm_req **req_p)
{
    return bsend_iflush(session->bsend, req_p);
}
