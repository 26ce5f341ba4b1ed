/*
 * Sends: the protocol by size and mode, blocking and nonblocking.
 *
 * A short contiguous message goes straight into the pipe and needs no request. What
 * cannot go at once waits in the channel's queue with a request around it: on the
 * stack when the call blocks.
 */
#include "mpi/pt2pt/pt2pt.h"

#include <string.h>

#include "mpi/pt2pt/p2p.h"
#include "util/copy.h"
#include "util/err.h"
#include "util/log.h"
#include "util/port.h"

static void *send_address(const void *buf, const struct dm_type *type)
{
    return (void *)((uintptr_t)buf + (uintptr_t)type->true_lb);
}

static DM_NOINLINE int send_pack_now(const void *buf, size_t count, struct dm_type *type, int proc,
                                     const struct dm_pkt *pkt)
{
    void *place = dm_chan_reserve(dm_world.chan, proc, pkt);

    if (place == NULL)
        return DM_EAGAIN;
    dm_type_pack(buf, count, type, 0, place, pkt->data_len);
    return dm_chan_commit(dm_world.chan, proc);
}

/*
 * The header, written by words because it is read by words: a load that has to put together what
 * two stores wrote waits until both have left the core, and with them the last message's, to a
 * distant cache line.
 */
static inline void send_fill_header(struct dm_pkt_eager *h, uint32_t ctx, int source, int tag,
                                    size_t len, uint32_t id)
{
    static const struct dm_pkt start = {
        .type = DM_PKT_EAGER, .version = DM_PKT_VERSION, .hdr_len = sizeof(*h)};
    uint32_t first;
    uint64_t words[3];

    memcpy(&first, &start, sizeof(first));
    words[0] = dm_word_of(first, (uint32_t)len);
    words[1] = dm_word_of(ctx, (uint32_t)source);
    words[2] = dm_word_of((uint32_t)tag, id);
    dm_in_register(words[0]);
    dm_in_register(words[1]);
    dm_in_register(words[2]);
    memcpy(h, words, sizeof(words));
}

/* The whole send at once. DM_EAGAIN: a request is needed. */
static inline int send_immediate(const void *buf, size_t count, struct dm_type *type, int proc,
                                 uint32_t ctx, int source, int tag, size_t len, uint32_t id)
{
    struct dm_pkt_eager h;

    send_fill_header(&h, ctx, source, tag, len, id);

    if (dm_likely(type->is_contig))
        return dm_chan_send_now(dm_world.chan, proc, &h.pkt, send_address(buf, type));
    return send_pack_now(buf, count, type, proc, &h.pkt);
}

void dm_p2p_eager_sent(struct dm_chan_send *send, int err)
{
    struct dm_p2p_req *r = dm_container_of(send, struct dm_p2p_req, io.send);

    /* What did not go is not matched either. */
    if (err != DM_OK)
        r->req.n_pending = 1 + r->is_recalling;
    dm_p2p_req_step(r, err);
}

/* A buffered send's data are packed at addr, and those of the program may have changed. */
void dm_p2p_pack(const struct dm_p2p_req *r, size_t offset, void *dst, size_t len)
{
    if (r->addr != NULL)
        dm_copy(dst, r->addr + offset, len);
    else
        dm_type_pack(r->buf, r->count, r->type, offset, dst, len);
}

void dm_p2p_read(struct dm_chan_send *send, size_t offset, void *dst, size_t len)
{
    struct dm_p2p_req *r = dm_container_of(send, struct dm_p2p_req, io.send);

    dm_p2p_pack(r, r->rndv.base + offset, dst, len);
}

void dm_p2p_send_as_rndv(struct dm_chan_send *send)
{
    if (send->done == dm_p2p_eager_sent)
        dm_p2p_rndv_instead(dm_container_of(send, struct dm_p2p_req, io.send));
}

static DM_NOINLINE bool send_may_be_eager(size_t len, int proc, enum dm_send_mode mode)
{
    if (len > dm_p2p.eager_limit &&
        (!dm_p2p.is_eager_by_peer || len > dm_chan_eager_good(dm_world.chan, proc)))
        return false;
    return mode == DM_SEND_READY || !dm_p2p_flow_is_limited(proc);
}

/* While messages are tallied all of them have a request, and none goes at once. */
static DM_NOINLINE bool send_is_eager_for(size_t len, int proc, enum dm_send_mode mode)
{
    return !dm_p2p.is_tallied && send_may_be_eager(len, proc, mode);
}

/* Is a message of this length eager, and may go without a request? */
static inline bool send_is_eager(size_t len, int proc, enum dm_send_mode mode)
{
    return dm_likely(len < dm_p2p.eager_below) || send_is_eager_for(len, proc, mode);
}

/* The same of a message with a request. */
static DM_NOINLINE bool send_req_is_eager(const struct dm_p2p_req *r, enum dm_send_mode mode)
{
    if (dm_p2p.is_tallied)
        dm_p2p_tally_sent(r);
    return send_may_be_eager(r->len, r->proc, mode);
}

void dm_p2p_send_start(struct dm_p2p_req *r, const struct dm_mkey *key, enum dm_send_mode mode)
{
    struct dm_pkt_sync h = {
        .pkt = {.type = DM_PKT_EAGER,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(struct dm_pkt_eager),
                .data_len = (uint32_t)r->len},
        .key = *key,
        .id = dm_p2p_next_id(),
        .sreq = (uintptr_t)r,
    };

    r->id = h.id;
    r->node.key = *key;
    if (r->len >= dm_p2p.eager_below && !send_req_is_eager(r, mode)) {
        dm_p2p_rndv_send(r, key);
        return;
    }
    if (mode == DM_SEND_SYNC) {
        h.pkt.type = DM_PKT_EAGER_SYNC;
        h.pkt.hdr_len = sizeof(h);
        r->req.n_pending = 2; /* sent, and matched */
        dm_p2p_req_activate(r);
    }
    dm_p2p.counts.n_eager++;
    r->rndv.base = 0;
    r->io.send.done = dm_p2p_eager_sent;
    r->io.send.data = r->addr;
    r->io.send.read = dm_p2p_read;
    (void)dm_chan_send(dm_world.chan, r->proc, &h.pkt, &r->io.send);
}

int dm_p2p_send_now(struct dm_p2p_req *r, const struct dm_mkey *key, enum dm_send_mode mode)
{
    int err;

    if (mode == DM_SEND_SYNC || !send_is_eager(r->len, r->proc, mode))
        return DM_EAGAIN;
    r->id = dm_p2p_next_id();
    r->node.key = *key;
    err = send_immediate(r->buf, r->count, r->type, r->proc, key->ctx, key->source, key->tag,
                         r->len, r->id);
    dm_p2p.counts.n_eager += err == DM_OK;
    return err;
}

/* The send with a request, on this stack. */
static DM_NOINLINE int send_wait(const void *buf, size_t count, struct dm_type *type, int proc,
                                 struct dm_comm *comm, const struct dm_mkey *key,
                                 enum dm_send_mode mode)
{
    struct dm_p2p_req r;

    dm_p2p_req_init(&r, DM_REQ_SEND, comm, (void *)(uintptr_t)buf, count, type);
    r.proc = proc;
    r.is_waited = true;
    dm_p2p_send_start(&r, key, mode);
    dm_wait_for(&r.req.n_pending);
    return r.req.err == DM_OK ? DM_OK : dm_p2p_req_explain(&r);
}

/* What could not go at once: a short message is copied, the call waits for others. */
static DM_NOINLINE int send_later(const void *buf, size_t count, struct dm_type *type, int proc,
                                  struct dm_comm *comm, const struct dm_mkey *key,
                                  enum dm_send_mode mode)
{
    struct dm_pkt_eager h;
    size_t len = count * (size_t)type->size;
    int err = DM_EAGAIN;

    send_fill_header(&h, key->ctx, key->source, key->tag, len, 0);
    if (len <= DM_CHAN_SMALL && type->is_contig)
        err = dm_chan_send_copy(dm_world.chan, proc, &h.pkt, send_address(buf, type));
    if (err == DM_EAGAIN)
        return send_wait(buf, count, type, proc, comm, key, mode);
    dm_p2p.counts.n_eager++;
    return err;
}

static inline int send_on(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                          struct dm_comm *comm, uint32_t ctx, enum dm_send_mode mode)
{
    struct dm_mkey key = {.ctx = ctx, .source = comm->rank, .tag = tag};
    size_t len = count * (size_t)type->size;
    int proc = dm_comm_proc(comm, dest);
    int err;

    if (dm_likely(mode != DM_SEND_SYNC && send_is_eager(len, proc, mode))) {
        err = send_immediate(buf, count, type, proc, ctx, comm->rank, tag, len, 0);
        if (dm_likely(err != DM_EAGAIN)) {
            dm_p2p.counts.n_eager++;
            return err;
        }
        return send_later(buf, count, type, proc, comm, &key, mode);
    }
    return send_wait(buf, count, type, proc, comm, &key, mode);
}

int dm_p2p_send_on(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                   struct dm_comm *comm, uint32_t ctx, enum dm_send_mode mode)
{
    return dm_unlikely(dest == MPI_PROC_NULL)
               ? DM_OK
               : send_on(buf, count, type, dest, tag, comm, ctx, mode);
}

int dm_p2p_isend_on(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                    struct dm_comm *comm, uint32_t ctx, enum dm_send_mode mode,
                    struct dm_req **req_p)
{
    struct dm_mkey key = {.ctx = ctx, .source = comm->rank, .tag = tag};
    size_t len = count * (size_t)type->size;
    struct dm_p2p_req *r;
    int proc, err;

    if (dm_unlikely(dest == MPI_PROC_NULL))
        return dm_req_new_done(req_p);
    proc = dm_comm_proc(comm, dest);
    if (mode != DM_SEND_SYNC && send_is_eager(len, proc, mode)) {
        uint32_t id = dm_p2p_next_id();

        err = send_immediate(buf, count, type, proc, ctx, comm->rank, tag, len, id);
        if (err == DM_OK) {
            dm_p2p.counts.n_eager++;
            dm_p2p.sent[id % DM_P2P_N_SENT] = (struct dm_p2p_sent){key, id, proc};
            return dm_req_new_done_as(id, req_p);
        }
        if (err != DM_EAGAIN)
            return err;
    }
    r = dm_p2p_req_new(DM_REQ_SEND, comm, (void *)(uintptr_t)buf, count, type);
    if (r == NULL)
        return DM_ENOMEM;
    r->proc = proc;
    r->is_counted = true;
    dm_p2p.n_sends++;
    *req_p = &r->req;
    dm_p2p_send_start(r, &key, mode);
    return DM_OK;
}

/* ---- bodies ---- */

int dm_send_to(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
               struct dm_comm *comm)
{
    if (dm_unlikely(++dm_p2p.n_blocking % DM_FLOW_POLL_EVERY == 0))
        dm_p2p_flow_poll();
    return send_on(buf, count, type, dest, tag, comm, comm->ctx_send, DM_SEND_STANDARD);
}

int dm_ssend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
             struct dm_comm *comm)
{
    return dm_p2p_send_on(buf, count, type, dest, tag, comm, comm->ctx_send, DM_SEND_SYNC);
}

int dm_rsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
             struct dm_comm *comm)
{
    return dm_p2p_send_on(buf, count, type, dest, tag, comm, comm->ctx_send, DM_SEND_READY);
}

int dm_isend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
             struct dm_comm *comm, struct dm_req **req_p)
{
    if (dm_unlikely(dm_p2p.send_id % DM_FLOW_POLL_EVERY == 0))
        dm_p2p_flow_poll();
    return dm_p2p_isend_on(buf, count, type, dest, tag, comm, comm->ctx_send, DM_SEND_STANDARD,
                           req_p);
}

int dm_issend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
              struct dm_comm *comm, struct dm_req **req_p)
{
    return dm_p2p_isend_on(buf, count, type, dest, tag, comm, comm->ctx_send, DM_SEND_SYNC, req_p);
}

int dm_irsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
              struct dm_comm *comm, struct dm_req **req_p)
{
    return dm_p2p_isend_on(buf, count, type, dest, tag, comm, comm->ctx_send, DM_SEND_READY, req_p);
}

/* ---- for collectives ---- */

int dm_p2p_isend_coll(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                      struct dm_comm *comm, struct dm_req **req_p)
{
    return dm_p2p_isend_on(buf, count, type, dest, tag, comm, comm->ctx_send + 1, DM_SEND_STANDARD,
                           req_p);
}

int dm_p2p_send_coll(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                     struct dm_comm *comm)
{
    return dm_p2p_send_on(buf, count, type, dest, tag, comm, comm->ctx_send + 1, DM_SEND_STANDARD);
}
