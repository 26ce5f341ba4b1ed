/*
 * Split: the receiver reads the first part of a message, and the sender writes the rest meanwhile, so that
 * both processors copy.
 *
 * A sender that waits gets its part with the CTS. Of others the receiver reads one message after the other:
 * it says so by a CTS, and reads piece by piece; a sender that sees the CTS in time offers its
 * help, and gets half of the rest.
 * When the receiver has all, it sends FIN; if a part failed, all goes through the pipe.
 */
#include "mpi/pt2pt/rndv_split.h"

#include "mpi/pt2pt/rndv_proto.h"
#include "util/err.h"

#define SPLIT_ALIGN ((uintptr_t)4096)   /* the parts meet at such an address */
#define SPLIT_PIECE ((size_t)32 << 10)  /* what is read before one looks whether the sender helps */
#define SPLIT_ASKED ((size_t)512 << 10) /* from that length on one that may not wait is asked */

static void split_fetch(struct dm_p2p_req *r);
static void split_next(void);

void dm_p2p_split_step(struct dm_p2p_req *r, int err)
{
    bool is_lost = dm_chan_is_lost(dm_world.chan, r->proc);

    r->rndv.is_part_lost |= err != DM_OK;
    r->rndv.n_parts--;
    if (r->is_reading || (r->rndv.n_parts > 0 && !is_lost))
        return;
    if (r->rndv.n_parts == 0 && !r->rndv.is_part_lost) {
        dm_p2p_rndv_fin(r);
        dm_p2p_req_step(r, DM_OK);
    } else if (is_lost) {
        r->rndv.n_parts = 0;
        dm_p2p_req_step(r, DM_EPEER);
    } else {
        if (r->rndv.select != NULL)
            dm_p2p_rndv_measured(r, 0);
        dm_p2p_rndv_cts(r, NULL);
    }
}

static void split_was_read(struct dm_rdma *rdma, int err)
{
    struct dm_p2p_req *r = dm_container_of(rdma, struct dm_p2p_req, io.rdma);
    bool is_turn;

    if (err == DM_OK && r->rndv.base < r->rndv.part) {
        split_fetch(r);
        return;
    }
    r->is_reading = false;
    dm_p2p.n_reads--;
    is_turn = dm_p2p.splitting == r;
    dm_p2p_split_step(r, err);
    if (is_turn) {
        dm_p2p.splitting = NULL;
        split_next();
    }
}

/* The receiver's next piece, of growing length; all of its part at once when that is known. */
static void split_fetch(struct dm_p2p_req *r)
{
    const struct dm_p2p_rts *rts = &r->rndv.head.rts;
    size_t at = r->rndv.base, len = r->rndv.part - at, piece = (at - r->rndv.got) / 2;
    int err;

    if (piece < SPLIT_PIECE)
        piece = SPLIT_PIECE;
    if (r->rndv.n_parts == 1 && len > piece)
        len = piece;
    r->rndv.base += len;
    err = dm_chan_rdma_read(dm_world.chan, r->proc, &r->io.rdma, r->addr + at, r->rndv.mr,
                            rts->addr + at, &rts->key, len);
    if (err != DM_OK)
        split_was_read(&r->io.rdma, err);
}

/* Give the sender the second half of what is not read yet. */
static void split_grant(struct dm_p2p_req *r, struct dm_p2p_cts *where)
{
    uintptr_t first = (uintptr_t)r->addr + r->rndv.base;
    uintptr_t middle = first + (r->rndv.part - r->rndv.base) / 2;

    if ((middle & ~(SPLIT_ALIGN - 1)) > first)
        middle &= ~(SPLIT_ALIGN - 1);
    r->rndv.part = middle - (uintptr_t)r->addr;
    r->rndv.n_parts = 2;
    where->part = r->rndv.part;
    dm_p2p.counts.n_split++;
    dm_p2p_rndv_cts(r, where);
}

static bool split_prepare(struct dm_p2p_req *r, const struct dm_p2p_rts *rts,
                          struct dm_p2p_cts *where)
{
    if (!dm_p2p_rndv_describe(r, where))
        return false;
    r->rndv.head.rts = *rts;
    r->rndv.base = r->rndv.got;
    r->rndv.part = r->rndv.want;
    r->rndv.n_parts = 1;
    r->rndv.is_part_lost = false;
    r->io.rdma.done = split_was_read;
    r->is_reading = true;
    dm_p2p.n_reads++;
    return true;
}

bool dm_p2p_split_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    struct dm_p2p_cts where;

    if (r->rndv.want - r->rndv.got < 2 || !split_prepare(r, rts, &where))
        return false;
    split_grant(r, &where);
    split_fetch(r);
    return true;
}

/* The next one of those that the sender was not given a part of. */
static void split_next(void)
{
    struct dm_p2p_req *r;
    struct dm_p2p_cts where = {.is_invitation = 1};

    if (dm_p2p.splitting != NULL || dm_list_is_empty(&dm_p2p.splits))
        return;
    r = dm_container_of(dm_p2p.splits.next, struct dm_p2p_req, rndv.turn);
    dm_list_del(&r->rndv.turn);
    dm_p2p.splitting = r;
    if (!dm_chan_is_lost(dm_world.chan, r->proc))
        dm_p2p_rndv_cts(r, &where);
    split_fetch(r);
}

/* The sender may help when it comes to wait. */
static bool split_invite(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    struct dm_p2p_cts where;

    if (!split_prepare(r, rts, &where))
        return false;
    dm_list_add_tail(&dm_p2p.splits, &r->rndv.turn);
    split_next();
    return true;
}

bool dm_p2p_split_begin(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    size_t len = r->rndv.want - r->rndv.got;

    /* Both send: each processor has a message to copy, and reading one's own is faster than helping the other. */
    if (dm_p2p.n_offers > 0)
        return false;
    if (dm_chan_rndv_may_split(dm_world.chan, r->proc, len, rts->helps_until))
        return dm_p2p_split_start(r, rts);
    return len >= SPLIT_ASKED && dm_chan_rndv_may_split(dm_world.chan, r->proc, len, UINT64_MAX) &&
           split_invite(r, rts);
}

/* The answer comes when the receiver has both. */
static void split_written(struct dm_rdma *rdma, int err)
{
    struct dm_p2p_req *r = dm_container_of(rdma, struct dm_p2p_req, io.rdma);

    r->is_reading = false;
    if (dm_chan_is_lost(dm_world.chan, r->proc))
        dm_p2p_req_step(r, DM_EPEER);
    else
        dm_p2p_rndv_answer(r, DM_PKT_FIN, err != DM_OK);
}

void dm_p2p_split_send(struct dm_p2p_req *r)
{
    const struct dm_p2p_cts *cts = &r->rndv.head.cts;
    size_t at = cts->part;
    int err;

    if (cts->is_invitation) {
        dm_p2p_rndv_answer(r, DM_PKT_HELP, 0);
        return;
    }
    r->io.rdma.done = split_written;
    r->is_reading = true;
    err = dm_chan_rdma_write(dm_world.chan, r->proc, &r->io.rdma, r->addr + at, r->rndv.mr,
                             cts->addr + at, &cts->key, r->rndv.want - at);
    if (err != DM_OK)
        split_written(&r->io.rdma, err);
}

/* The receive that a sender wants to help with may be over by now. */
static void on_help(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    const struct dm_pkt_answer *help = (const struct dm_pkt_answer *)(const void *)pkt;
    struct dm_p2p_req *r = dm_p2p.splitting;
    struct dm_p2p_cts where = {0};

    (void)arg;
    (void)data;
    (void)avail;
    (void)sink;
    if (r == NULL || (uintptr_t)r != help->sreq || r->proc != proc || r->rndv.n_parts != 1 ||
        r->rndv.part - r->rndv.base < SPLIT_PIECE)
        return;
    where.addr = (uintptr_t)r->addr;
    dm_adapt_rkey(r->rndv.mr, &where.key);
    split_grant(r, &where);
}

void dm_p2p_split_listen(void)
{
    dm_list_init(&dm_p2p.splits);
    dm_p2p.splitting = NULL;
    dm_chan_on_packet(dm_world.chan, DM_PKT_HELP, on_help, NULL);
}
