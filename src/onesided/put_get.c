/*
 * MPI_Put and MPI_Get (MPI-4.0 sections 12.3.1, 12.3.2).
 *
 * The origin knows both layouts, so it moves each run of contiguous memory that both sides
 * have in common by one RDMA transfer; the target's processor has no part in it. Runs to
 * a part that is not registered go as packets.
 */
#include <string.h>

#include "onesided/rma.h"

/* Runs looked at in one go, on each side. */
#define N_RUNS 32

static void xfer_done(struct dm_rdma *rdma, int err)
{
    struct dm_rma_xfer *x = dm_container_of(rdma, struct dm_rma_xfer, rdma);

    if (err != DM_OK && x->win->err == DM_OK)
        x->win->err = err;
    x->win->n_pending--;
    x->win->peers[x->target].n_pending--;
    dm_pool_put(&dm_rma_state.xfers, x);
}

struct dm_rma_xfer *dm_rma_xfer_new(struct dm_win *win, int target)
{
    struct dm_rma_xfer *x = dm_pool_get(&dm_rma_state.xfers);

    if (x == NULL) {
        DM_FAIL(DM_ENOMEM, "record of a one-sided transfer");
        return NULL;
    }
    x->rdma.done = xfer_done;
    x->win = win;
    x->target = target;
    win->n_pending++;
    win->peers[target].n_pending++;
    return x;
}

/* One run to registered memory. */
static int move_direct(struct dm_win *win, int target, void *local, uint64_t remote, size_t len,
                       bool is_put)
{
    struct dm_rma_xfer *x = dm_rma_xfer_new(win, target);
    const struct dm_rkey *rkey = &win->parts[target].rkey;
    int proc = dm_rma_proc(win, target);
    int err;

    if (x == NULL)
        return DM_ENOMEM;
    if (is_put)
        err = dm_chan_rdma_write(dm_world.chan, proc, &x->rdma, local, NULL, remote, rkey, len);
    else
        err = dm_chan_rdma_read(dm_world.chan, proc, &x->rdma, local, NULL, remote, rkey, len);
    if (err != DM_OK)
        xfer_done(&x->rdma, err);
    return err;
}

/* One run as packets: bytes that replace, or requests that are answered. */
static int move_packets(struct dm_win *win, int target, char *local, uint64_t offset, size_t len,
                        bool is_put)
{
    int err = DM_OK;

    while (len > 0 && err == DM_OK) {
        size_t part = len < DM_RMA_ACC_BYTES ? len : DM_RMA_ACC_BYTES;

        if (is_put) {
            struct dm_rma_msg *msg = dm_rma_msg_new(win, target);
            struct dm_pkt_rma_acc acc = {
                .pkt = {.type = DM_PKT_RMA_ACC,
                        .version = DM_PKT_VERSION,
                        .hdr_len = sizeof(acc),
                        .data_len = (uint32_t)part},
                .win = win->parts[target].handle,
                .op = MPI_REPLACE,
                .offset = offset,
                .basic = MPI_BYTE,
            };

            if (msg == NULL)
                return DM_ENOMEM;
            memcpy(msg->data, local, part);
            err = dm_rma_msg_send(msg, &acc.pkt, msg->data);
        } else {
            struct dm_rma_xfer *x = dm_rma_xfer_new(win, target);
            struct dm_pkt_rma_get get = {
                .pkt = {.type = DM_PKT_RMA_GET, .version = DM_PKT_VERSION, .hdr_len = sizeof(get)},
                .win = win->parts[target].handle,
                .len = (uint32_t)part,
                .offset = offset,
                .id = (uint64_t)(uintptr_t)x,
            };

            if (x == NULL)
                return DM_ENOMEM;
            x->dst = local;
            err = dm_chan_send_ctl(dm_world.chan, dm_rma_proc(win, target), &get.pkt);
            if (err != DM_OK)
                xfer_done(&x->rdma, err);
        }
        local += part;
        offset += part;
        len -= part;
    }
    return err;
}

static int move_run(struct dm_win *win, int target, void *local, uint64_t remote, size_t len,
                    bool is_put)
{
    const struct dm_win_part *part = &win->parts[target];

    if (part->is_direct)
        return move_direct(win, target, local, remote, len, is_put);
    return move_packets(win, target, local, remote - part->base, len, is_put);
}

/* Runs of one side, refilled as they are used up. */
struct run_walk {
    const void *buf;
    size_t count;
    const struct dm_type *type;
    size_t offset; /* packed bytes covered by what is in iov */
    struct iovec iov[N_RUNS];
    int n, i;
};

/* The current run, NULL at the end. */
static struct iovec *walk_run(struct run_walk *w)
{
    while (w->i < w->n && w->iov[w->i].iov_len == 0)
        w->i++;
    if (w->i == w->n) {
        w->i = 0;
        w->offset += dm_type_iov(w->buf, w->count, w->type, w->offset, w->iov, N_RUNS, &w->n);
        if (w->n == 0)
            return NULL;
    }
    return &w->iov[w->i];
}

static void walk_advance(struct iovec *run, size_t len)
{
    run->iov_base = (char *)run->iov_base + len;
    run->iov_len -= len;
}

static int move(void *origin, size_t origin_count, struct dm_type *origin_type, int target,
                MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win,
                bool is_put)
{
    struct run_walk o = {.buf = origin, .count = origin_count, .type = origin_type};
    struct run_walk t = {.count = target_count, .type = target_type};
    struct iovec *orun, *trun;
    uint64_t offset;
    int err;

    if (target == MPI_PROC_NULL)
        return DM_OK;
    err = dm_rma_check_call(win, origin_count, origin_type, target, disp, target_count, target_type,
                            &offset);
    if (err != DM_OK)
        return err;
    if (origin_count * (uint64_t)origin_type->size == 0)
        return DM_OK;
    t.buf = (void *)(uintptr_t)(win->parts[target].base + offset);
    if (dm_likely(origin_type->is_contig && target_type->is_contig))
        return move_run(win, target, (char *)origin + origin_type->true_lb,
                        (uint64_t)(uintptr_t)t.buf + (uint64_t)target_type->true_lb,
                        origin_count * (size_t)origin_type->size, is_put);
    while ((orun = walk_run(&o)) != NULL && (trun = walk_run(&t)) != NULL) {
        size_t len = orun->iov_len < trun->iov_len ? orun->iov_len : trun->iov_len;

        err =
            move_run(win, target, orun->iov_base, (uint64_t)(uintptr_t)trun->iov_base, len, is_put);
        if (err != DM_OK)
            return err;
        walk_advance(orun, len);
        walk_advance(trun, len);
    }
    return DM_OK;
}

int dm_put(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
           MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win)
{
    /* only read from: the transfer's direction is in is_put */
    return move((void *)(uintptr_t)origin, origin_count, origin_type, target, disp, target_count,
                target_type, win, true);
}

int dm_get(void *origin, size_t origin_count, struct dm_type *origin_type, int target,
           MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win)
{
    return move(origin, origin_count, origin_type, target, disp, target_count, target_type, win,
                false);
}
