/*
 * MPI_Put and MPI_Get (MPI-4.0 sections 12.3.1, 12.3.2).
 *
 * The origin knows both layouts, so it moves each run of contiguous memory that both sides have in
 * common by itself. A table says how; docs/ARCHITECTURE.md explains its rows. Many short runs go as
 * packets in active epochs.
 */
#include <string.h>

#include "onesided/call.h"
#include "onesided/map.h"
#include "onesided/move.h"
#include "util/cfg.h"
#include "util/port.h"

/* Runs looked at in one go, on each side. */
#define N_RUNS 32

/* So many runs, of so many bytes on average, are scattered. */
#define SCATTERED_RUNS  8
#define SCATTERED_BYTES 2048

/* Memory that this process can address needs no choice. */
static int transfer_run(const struct dm_rma_call *call, void *local, uint64_t remote, size_t len,
                        bool is_put)
{
    uint64_t offset = remote - call->win->parts[call->target].base;
    char *map = dm_rma_reach(call);

    if (map != NULL) {
        dm_rma_state.counts.n_path[DM_PATH_LOAD_STORE]++;
        dm_move_by(&dm_rma_state.copies, is_put ? map + offset : local,
                   is_put ? local : map + offset, len);
        return DM_OK;
    }
    return dm_rma_move_start(call, local, offset, len, is_put);
}

/* The layout of one side: its runs, refilled as they are used up. */
struct side {
    const void *buf;
    size_t count;
    const struct dm_type *type;
    size_t offset; /* packed bytes covered by what is in iov */
    struct iovec iov[N_RUNS];
    int n, i;
};

/* The current run, NULL at the end. */
static struct iovec *side_run(struct side *w)
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

static void side_advance(struct iovec *run, size_t len)
{
    run->iov_base = (char *)run->iov_base + len;
    run->iov_len -= len;
}

/* Runs that both sides have in common; there is the target's address of the first element. */
static DM_NOINLINE int transfer_runs(const struct dm_rma_call *call, void *origin,
                                     size_t origin_count, struct dm_type *origin_type,
                                     const void *there, size_t target_count,
                                     struct dm_type *target_type, bool is_put)
{
    struct side o = {.buf = origin, .count = origin_count, .type = origin_type};
    struct side t = {.buf = there, .count = target_count, .type = target_type};
    struct iovec *orun, *trun;
    int err;

    while ((orun = side_run(&o)) != NULL && (trun = side_run(&t)) != NULL) {
        size_t len = orun->iov_len < trun->iov_len ? orun->iov_len : trun->iov_len;

        err = transfer_run(call, orun->iov_base, (uint64_t)(uintptr_t)trun->iov_base, len, is_put);
        if (err != DM_OK)
            return err;
        side_advance(orun, len);
        side_advance(trun, len);
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

static int put_get(const struct dm_rma_call *call, void *origin, size_t origin_count,
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
        return transfer_runs(call, origin, origin_count, origin_type, (void *)(uintptr_t)there,
                             target_count, target_type, is_put);
    dm_rma_state.counts.n_path[DM_PATH_LOAD_STORE]++;
    map += offset;
    return is_put ? dm_type_copy(origin, origin_count, origin_type, map, target_count, target_type)
                  : dm_type_copy(map, target_count, target_type, origin, origin_count, origin_type);
}

int dm_rma_put(const struct dm_rma_call *call, const void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type)
{
    /* only read from: the transfer's direction is in is_put */
    return put_get(call, (void *)(uintptr_t)origin, origin_count, origin_type, disp, target_count,
                   target_type, true);
}

int dm_rma_get(const struct dm_rma_call *call, void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type)
{
    return put_get(call, origin, origin_count, origin_type, disp, target_count, target_type, false);
}

/* Short copies are all that a call of memcpy costs. */
static inline void transfer_copy(char *dst, const char *src, size_t len)
{
    switch (len) {
    case 0:
        break;
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
        dm_move_by(&dm_rma_state.copies, dst, src, len);
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
