/*
 * MPI_Put and MPI_Get (MPI-4.0 sections 12.3.1, 12.3.2).
 *
 * The origin knows both layouts, so it moves each run of contiguous memory that both sides
 * have in common by one RDMA transfer; the target's processor has no part in it. Runs to
 * a part that is not registered go as packets, and so do many short ones in active epochs.
 */
#include <string.h>

#include "onesided/am_get.h"
#include "onesided/assist.h"
#include "onesided/call.h"
#include "onesided/map.h"
#include "onesided/msg.h"
#include "onesided/region.h"
#include "onesided/split_copy.h"
#include "onesided/state.h"
#include "util/cfg.h"
#include "util/port.h"
#include "util/copy.h"

/* Runs looked at in one go, on each side. */
#define N_RUNS 32

/* So many runs, of so many bytes on average, are scattered. */
#define SCATTERED_RUNS  8
#define SCATTERED_BYTES 2048

int dm_rma_move(const struct dm_rma_call *call, void *local, uint64_t remote,
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
        dm_rma_xfer_over(x, err == DM_EAGAIN ? DM_OK : err);
    return err;
}

/* Bytes that replace what is there; held back when a synchronization is going to follow. */
static int put_packet(const struct dm_rma_call *call, const char *local, uint64_t offset,
                      size_t len, bool is_held)
{
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

    return is_held ? dm_rma_defer(call, &acc, local) : dm_rma_packet(call, &acc, local);
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

        err = is_put ? put_packet(call, local, offset, part, false)
                     : get_packet(call, local, offset, part);
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
    const struct dm_pkt_rma_acc acc = {.pkt.data_len = is_put ? (uint32_t)len : 0,
                                       .op = MPI_REPLACE,
                                       .offset = offset,
                                       .basic = MPI_BYTE};

    return is_put ? dm_rma_assist(call, DM_ASSIST_PUT, &acc, local, NULL, 0)
                  : dm_rma_assist(call, DM_ASSIST_GET, &acc, NULL, local, len);
}

/*
 * Does a short put to another host travel with the synchronization? The target comes to a fence or
 * MPI_Win_wait anyway, and the notice behind the packet says that it has been applied.
 */
static bool is_aggregated(const struct dm_rma_call *call, size_t len)
{
    return len <= DM_RMA_ACC_BYTES &&
           (call->win->epoch.access == DM_EPOCH_FENCE ||
            call->win->epoch.access == DM_EPOCH_START) &&
           dm_rma_prefers_packets(call->win, call->target);
}

/*
 * The key to len bytes of the target at this address, if RDMA reaches them; and whether it is no
 * system call.
 */
static bool find_key(const struct dm_rma_call *call, uint64_t remote, size_t len,
                     struct dm_rkey *rkey_p, bool *is_file_p)
{
    const struct dm_win_part *part = &call->win->parts[call->target];

    *is_file_p = false;
    *rkey_p = part->rkey;
    if (call->win->flavor != MPI_WIN_FLAVOR_DYNAMIC || call->target == call->win->comm->rank)
        return part->is_direct;
    return dm_rma_region_key(call->win, call->target, remote, len, rkey_p, is_file_p);
}

int dm_rma_move_remote(const struct dm_rma_call *call, void *local, uint64_t offset, size_t len,
                       bool is_put)
{
    uint64_t remote = call->win->parts[call->target].base + offset;
    struct dm_rkey rkey;
    bool is_file;
    int err = DM_EAGAIN;

    if (find_key(call, remote, len, &rkey, &is_file))
        err = dm_rma_move(call, local, remote, &rkey, len, is_put);
    return err != DM_EAGAIN ? err : move_packets(call, local, offset, len, is_put);
}

static int transfer_run(const struct dm_rma_call *call, void *local, uint64_t remote, size_t len,
                        bool is_put)
{
    const struct dm_win_part *part = &call->win->parts[call->target];
    struct dm_rkey rkey;
    bool is_direct, is_file;
    char *map = dm_rma_reach(call);
    int err;

    if (map != NULL) {
        dm_rma_state.counts.n_mapped++;
        map += remote - part->base;
        dm_move(is_put ? map : local, is_put ? local : map, len);
        return DM_OK;
    }
    is_direct = find_key(call, remote, len, &rkey, &is_file);
    if (len <= DM_RMA_ASSIST_BYTES && !is_file &&
        move_by_target(call, local, remote - part->base, len, is_put))
        return DM_OK;
    if (is_direct && is_put && is_aggregated(call, len))
        return put_packet(call, local, remote - part->base, len, true);
    if (is_direct && !is_put && dm_rma_am_get(call, local, remote, len, &err))
        return err;
    if (is_direct && !is_file && dm_rma_split_copy(call, local, remote, &rkey, len, is_put, &err))
        return err;
    err = is_direct ? dm_rma_move(call, local, remote, &rkey, len, is_put) : DM_EAGAIN;
    if (err != DM_EAGAIN)
        return err;
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

        err = transfer_run(call, orun->iov_base, (uint64_t)(uintptr_t)trun->iov_base, len, is_put);
        if (err != DM_OK)
            return err;
        walk_advance(orun, len);
        walk_advance(trun, len);
    }
    return DM_OK;
}

static bool is_scattered(const void *buf, size_t count, const struct dm_type *type)
{
    struct iovec iov[SCATTERED_RUNS];
    int n;
    size_t covered = dm_type_iov(buf, count, type, 0, iov, SCATTERED_RUNS, &n);

    return n == SCATTERED_RUNS && covered < SCATTERED_RUNS * SCATTERED_BYTES;
}

/*
 * Do packets of many runs cost less than an RDMA transfer for each, which may be a system call?
 * Only where the target comes to the end of the epoch, or has to apply everything anyway.
 */
static bool may_gather(const struct dm_rma_call *call)
{
    return !call->win->parts[call->target].is_direct ||
           (dm_cfg()->rma == DM_RMA_AUTO && (call->win->epoch.access == DM_EPOCH_FENCE ||
                                             call->win->epoch.access == DM_EPOCH_START));
}

static int transfer(const struct dm_rma_call *call, void *origin, size_t origin_count,
                    struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
                    struct dm_type *target_type, bool is_put)
{
    uint64_t offset, there;
    char *map;
    int err;

    err = dm_rma_check_call(call->win, origin_count, origin_type, call->target, disp, target_count,
                            target_type, &offset);
    if (err != DM_OK)
        return err;
    if (origin_count * (uint64_t)origin_type->size == 0)
        return DM_OK;
    there = call->win->parts[call->target].base + offset;
    if (dm_likely(origin_type->is_contig && target_type->is_contig))
        return transfer_run(call, (char *)origin + origin_type->true_lb,
                            there + (uint64_t)target_type->true_lb,
                            origin_count * (size_t)origin_type->size, is_put);
    map = dm_rma_reach(call);
    if (map == NULL && may_gather(call) &&
        (is_scattered((void *)(uintptr_t)there, target_count, target_type) ||
         is_scattered(origin, origin_count, origin_type)))
        return is_put ? dm_rma_accumulate(call, origin, origin_count, origin_type, disp,
                                          target_count, target_type, dm_op_get(MPI_REPLACE))
                      : dm_rma_get_accumulate(call, NULL, 0, origin_type, origin, origin_count,
                                              origin_type, disp, target_count, target_type,
                                              dm_op_get(MPI_NO_OP));
    if (map == NULL)
        return move_runs(call, origin, origin_count, origin_type, (void *)(uintptr_t)there,
                         target_count, target_type, is_put);
    dm_rma_state.counts.n_mapped++;
    map += offset;
    return is_put ? dm_type_copy(origin, origin_count, origin_type, map, target_count, target_type)
                  : dm_type_copy(map, target_count, target_type, origin, origin_count, origin_type);
}

int dm_rma_put(const struct dm_rma_call *call, const void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type)
{
    /* only read from: the transfer's direction is in is_put */
    return transfer(call, (void *)(uintptr_t)origin, origin_count, origin_type, disp, target_count,
                    target_type, true);
}

int dm_rma_get(const struct dm_rma_call *call, void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type)
{
    return transfer(call, origin, origin_count, origin_type, disp, target_count, target_type,
                    false);
}

/* Short copies are all that a call of memcpy costs. */
static inline void transfer_copy(char *dst, const char *src, size_t len)
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
        dm_move(dst, src, len);
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
        transfer_copy(at, origin, len);
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
        transfer_copy(origin, at, len);
        return DM_OK;
    }
    return target == MPI_PROC_NULL ? DM_OK
                                   : dm_rma_get(&call, origin, origin_count, origin_type, disp,
                                                target_count, target_type);
}
