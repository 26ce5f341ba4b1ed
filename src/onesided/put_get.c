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

/* One run to registered memory. */
static int move_direct(const struct dm_rma_call *call, void *local, uint64_t remote,
                       const struct dm_rkey *rkey, size_t len, bool is_put)
{
    struct dm_rma_xfer *x = dm_rma_xfer_new(call);
    int proc = dm_rma_proc(call->win, call->target);
    int err;

    if (x == NULL)
        return DM_ENOMEM;
    dm_rma_state.counts.n_rdma++;
    if (is_put)
        err = dm_chan_rdma_write(dm_world.chan, proc, &x->rdma, local, NULL, remote, rkey, len);
    else
        err = dm_chan_rdma_read(dm_world.chan, proc, &x->rdma, local, NULL, remote, rkey, len);
    if (err != DM_OK)
        dm_rma_xfer_over(x, err);
    return err;
}

/* Bytes that replace what is there. */
static int put_packet(const struct dm_rma_call *call, const char *local, uint64_t offset,
                      size_t len)
{
    struct dm_rma_msg *msg = dm_rma_msg_new(call);
    struct dm_pkt_rma_acc acc = {
        .pkt = {.type = DM_PKT_RMA_ACC,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(acc),
                .data_len = (uint32_t)len},
        .win = call->win->parts[call->target].handle,
        .op = MPI_REPLACE,
        .offset = offset,
        .basic = MPI_BYTE,
    };

    if (msg == NULL)
        return DM_ENOMEM;
    memcpy(msg->data, local, len);
    return dm_rma_msg_send(msg, &acc.pkt, msg->data);
}

/* A request that is answered. */
static int get_packet(const struct dm_rma_call *call, char *local, uint64_t offset, size_t len)
{
    struct dm_pkt_rma_get get = {
        .pkt = {.type = DM_PKT_RMA_GET, .version = DM_PKT_VERSION, .hdr_len = sizeof(get)},
        .win = call->win->parts[call->target].handle,
        .len = (uint32_t)len,
        .offset = offset,
    };
    struct dm_rma_xfer *x;
    int err = dm_rma_reply_new(call, local, len, dm_type_get(MPI_BYTE), 0, &x);

    if (err != DM_OK)
        return err;
    get.id = (uint64_t)(uintptr_t)x;
    err = dm_chan_send_ctl(dm_world.chan, dm_rma_proc(call->win, call->target), &get.pkt);
    if (err != DM_OK)
        dm_rma_xfer_over(x, err);
    return err;
}

/* One run as packets. */
static int move_packets(const struct dm_rma_call *call, char *local, uint64_t offset, size_t len,
                        bool is_put)
{
    int err = DM_OK;

    while (len > 0 && err == DM_OK) {
        size_t part = len < DM_RMA_ACC_BYTES ? len : DM_RMA_ACC_BYTES;

        err =
            is_put ? put_packet(call, local, offset, part) : get_packet(call, local, offset, part);
        local += part;
        offset += part;
        len -= part;
    }
    return err;
}

/* One short run by a target that is looking. */
static bool move_by_target(const struct dm_rma_call *call, void *local, uint64_t offset, size_t len,
                           bool is_put)
{
    const struct dm_pkt_rma_acc acc = {
        .pkt.data_len = (uint32_t)len, .op = MPI_REPLACE, .offset = offset, .basic = MPI_BYTE};

    return is_put ? dm_rma_errand(call, &acc, local, NULL, 0)
                  : dm_rma_errand(call, &acc, NULL, local, len);
}

static int move_run(const struct dm_rma_call *call, void *local, uint64_t remote, size_t len,
                    bool is_put)
{
    const struct dm_win_part *part = &call->win->parts[call->target];
    struct dm_rkey rkey = part->rkey;
    bool is_direct = part->is_direct, is_file = false;
    char *map = dm_rma_reach(call);

    if (map != NULL) {
        dm_rma_state.counts.n_mapped++;
        map += remote - part->base;
        memmove(is_put ? map : local, is_put ? local : map, len);
        return DM_OK;
    }
    if (call->win->flavor == MPI_WIN_FLAVOR_DYNAMIC && call->target != call->win->comm->rank)
        is_direct = dm_rma_region_key(call->win, call->target, remote, len, &rkey, &is_file);
    if (len <= DM_RMA_ERRAND_BYTES && !is_file &&
        move_by_target(call, local, remote - part->base, len, is_put))
        return DM_OK;
    if (is_direct)
        return move_direct(call, local, remote, &rkey, len, is_put);
    return move_packets(call, local, remote - part->base, len, is_put);
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

/* Runs that both sides have in common; there is the target's address of the first element. */
static DM_NOINLINE int move_runs(const struct dm_rma_call *call, void *origin, size_t origin_count,
                                 struct dm_type *origin_type, const void *there,
                                 size_t target_count, struct dm_type *target_type, bool is_put)
{
    struct run_walk o = {.buf = origin, .count = origin_count, .type = origin_type};
    struct run_walk t = {.buf = there, .count = target_count, .type = target_type};
    struct iovec *orun, *trun;
    int err;

    while ((orun = walk_run(&o)) != NULL && (trun = walk_run(&t)) != NULL) {
        size_t len = orun->iov_len < trun->iov_len ? orun->iov_len : trun->iov_len;

        err = move_run(call, orun->iov_base, (uint64_t)(uintptr_t)trun->iov_base, len, is_put);
        if (err != DM_OK)
            return err;
        walk_advance(orun, len);
        walk_advance(trun, len);
    }
    return DM_OK;
}

static int move(const struct dm_rma_call *call, void *origin, size_t origin_count,
                struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
                struct dm_type *target_type, bool is_put)
{
    uint64_t offset, there;
    int err;

    err = dm_rma_check_call(call->win, origin_count, origin_type, call->target, disp, target_count,
                            target_type, &offset);
    if (err != DM_OK)
        return err;
    if (origin_count * (uint64_t)origin_type->size == 0)
        return DM_OK;
    there = call->win->parts[call->target].base + offset;
    if (dm_likely(origin_type->is_contig && target_type->is_contig))
        return move_run(call, (char *)origin + origin_type->true_lb,
                        there + (uint64_t)target_type->true_lb,
                        origin_count * (size_t)origin_type->size, is_put);
    return move_runs(call, origin, origin_count, origin_type, (void *)(uintptr_t)there,
                     target_count, target_type, is_put);
}

int dm_rma_put(const struct dm_rma_call *call, const void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type)
{
    /* only read from: the transfer's direction is in is_put */
    return move(call, (void *)(uintptr_t)origin, origin_count, origin_type, disp, target_count,
                target_type, true);
}

int dm_rma_get(const struct dm_rma_call *call, void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type)
{
    return move(call, origin, origin_count, origin_type, disp, target_count, target_type, false);
}

/* Short copies are all that a call of memcpy costs. */
static inline void copy(char *dst, const char *src, size_t len)
{
    switch (len) {
    case 1:
        *dst = *src;
        break;
    case 4:
        memcpy(dst, src, 4);
        break;
    case 8:
        memcpy(dst, src, 8);
        break;
    case 16:
        memmove(dst, src, 16);
        break;
    default:
        memmove(dst, src, len);
    }
}

/* What programs time: equal contiguous types, memory that can be addressed. Else NULL. */
static inline char *quick_place(const struct dm_win *win, int target, MPI_Aint disp,
                                size_t origin_count, const struct dm_type *origin_type,
                                size_t target_count, const struct dm_type *target_type,
                                size_t *len_p)
{
    if (origin_type != target_type || origin_count != target_count || !origin_type->is_builtin ||
        origin_count > INT32_MAX)
        return NULL;
    *len_p = origin_count * (size_t)origin_type->size;
    return origin_type->is_contig ? dm_rma_quick(win, target, disp, *len_p) : NULL;
}

int dm_put(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
           MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win)
{
    const struct dm_rma_call call = {.win = win, .target = target};
    size_t len;
    char *at =
        quick_place(win, target, disp, origin_count, origin_type, target_count, target_type, &len);

    if (dm_likely(at != NULL)) {
        copy(at, origin, len);
        return DM_OK;
    }
    return target == MPI_PROC_NULL ? DM_OK
                                   : dm_rma_put(&call, origin, origin_count, origin_type, disp,
                                                target_count, target_type);
}

int dm_get(void *origin, size_t origin_count, struct dm_type *origin_type, int target,
           MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win)
{
    const struct dm_rma_call call = {.win = win, .target = target};
    size_t len;
    char *at =
        quick_place(win, target, disp, origin_count, origin_type, target_count, target_type, &len);

    if (dm_likely(at != NULL)) {
        copy(origin, at, len);
        return DM_OK;
    }
    return target == MPI_PROC_NULL ? DM_OK
                                   : dm_rma_get(&call, origin, origin_count, origin_type, disp,
                                                target_count, target_type);
}
