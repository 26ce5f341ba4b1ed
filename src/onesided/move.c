/*
 * The paths of puts and gets: one run of contiguous memory between this process and a part that it
 * cannot address.
 */
#include "onesided/am_get.h"
#include "onesided/assist.h"
#include "onesided/move.h"
#include "onesided/msg.h"
#include "onesided/path_select.h"
#include "onesided/region.h"
#include "onesided/split_copy.h"
#include "onesided/state.h"
#include "onesided/update.h"
#include "onesided/xfer.h"
#include "util/clock.h"
#include "util/log.h"

#define ASSIST_LONG 65536 /* bytes, in pieces; beyond, copies by the kernel are faster */

/*
 * RDMA reaches the target's side by rkey (is_direct); where that is memory that providers map
 * (is_file), RDMA is no system call.
 */
struct run {
    const struct dm_rma_call *call;
    char *local;
    uint64_t remote; /* address in the target */
    uint64_t offset; /* in its part */
    size_t len;
    bool is_put;
    bool is_direct;
    bool is_file;
    struct dm_rkey rkey;
};

static struct run run_describe(const struct dm_rma_call *call, void *local, uint64_t offset,
                               size_t len, bool is_put)
{
    const struct dm_win_part *part = &call->win->parts[call->target];
    struct run r = {.call = call,
                    .local = local,
                    .remote = part->base + offset,
                    .offset = offset,
                    .len = len,
                    .is_put = is_put,
                    .is_direct = part->is_direct,
                    .rkey = part->rkey};

    if (dm_unlikely(call->win->flavor == MPI_WIN_FLAVOR_DYNAMIC &&
                    call->target != call->win->comm->rank))
        r.is_direct =
            dm_rma_region_key(call->win, call->target, r.remote, len, &r.rkey, &r.is_file);
    return r;
}

/* ---- by the target: assists, split copies, active-message gets ---- */

static bool run_may_assist(const struct run *r)
{
    return !r->is_file && dm_rma_assist_may(r->call->win, r->call->target);
}

/* The first n bytes. */
static bool assist_bytes(const struct run *r, size_t n)
{
    const struct dm_pkt_rma_acc acc = {.pkt.data_len = r->is_put ? (uint32_t)n : 0,
                                       .op = MPI_REPLACE,
                                       .offset = r->offset,
                                       .basic = MPI_BYTE};

    return r->is_put ? dm_rma_assist(r->call, DM_ASSIST_PUT, &acc, r->local, NULL, 0)
                     : dm_rma_assist(r->call, DM_ASSIST_GET, &acc, NULL, r->local, n);
}

/* A long one goes in pieces: the target copies one while this process copies the next. */
static int run_assist(struct run *r)
{
    size_t most = r->len > DM_RMA_ASSIST_BYTES ? dm_rma_assist_piece(r->call->win) : r->len;

    if (most == 0)
        return DM_EAGAIN;
    while (r->len > 0) {
        size_t n = r->len < most ? r->len : most;

        if (!assist_bytes(r, n))
            return DM_EAGAIN;
        r->local += n;
        r->remote += n;
        r->offset += n;
        r->len -= n;
    }
    return DM_OK;
}

static bool run_may_split(const struct run *r)
{
    return r->is_direct && !r->is_file;
}

static int run_split(struct run *r)
{
    int err;

    return dm_rma_split_copy(r->call, r->local, r->remote, &r->rkey, r->len, r->is_put, &err)
               ? err
               : DM_EAGAIN;
}

static bool run_may_ask(const struct run *r)
{
    return r->is_direct && !r->is_put;
}

static int run_ask(struct run *r)
{
    return dm_rma_am_get(r->call, r->local, r->remote, r->len);
}

/* ---- without the target: RDMA ---- */

static bool run_is_direct(const struct run *r)
{
    return r->is_direct;
}

int dm_rma_move_rdma(const struct dm_rma_call *call, void *local, uint64_t remote,
                     const struct dm_rkey *rkey, size_t len, bool is_put)
{
    struct dm_rma_xfer *x = dm_rma_xfer_new(call);
    int proc = dm_rma_proc(call->win, call->target);
    int err;

    if (x == NULL)
        return DM_ENOMEM;
    dm_rma_state.counts.n_path[DM_PATH_RDMA]++;
    if (is_put)
        err = dm_chan_rdma_write(dm_world.chan, proc, &x->rdma, local, NULL, remote, rkey, len);
    else
        err = dm_chan_rdma_read(dm_world.chan, proc, &x->rdma, local, NULL, remote, rkey, len);
    if (err != DM_OK)
        dm_rma_xfer_over(x, err == DM_EAGAIN ? DM_OK : err);
    return err;
}

static int run_rdma(struct run *r)
{
    return dm_rma_move_rdma(r->call, r->local, r->remote, &r->rkey, r->len, r->is_put);
}

/* ---- by packets ---- */

/* Bytes that replace what is there. */
static struct dm_pkt_rma_acc put_header(const struct run *r, uint64_t offset, size_t len)
{
    struct dm_pkt_rma_acc acc = dm_rma_acc_header(r->call, MPI_REPLACE, 0, len);

    acc.offset = offset;
    acc.basic = MPI_BYTE;
    return acc;
}

/*
 * Does a short put to another host travel with the synchronization? The target comes to a fence or
 * MPI_Win_wait anyway, and the notice behind the packet says that it has been applied.
 */
static bool run_may_defer(const struct run *r)
{
    int access = r->call->win->epoch.access;

    return r->is_direct && r->is_put && (access == DM_EPOCH_FENCE || access == DM_EPOCH_START) &&
           dm_rma_prefers_packets(r->call->win, r->call->target);
}

static int run_defer(struct run *r)
{
    const struct dm_pkt_rma_acc acc = put_header(r, r->offset, r->len);

    return dm_rma_defer(r->call, &acc, r->local);
}

/* A request that is answered. */
static int run_request(const struct dm_rma_call *call, char *local, uint64_t offset, size_t len)
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
    dm_rma_state.counts.n_path[DM_PATH_PACKETS]++;
    get.id = (uint64_t)(uintptr_t)x;
    err = dm_chan_send_ctl(dm_world.chan, dm_rma_proc(call->win, call->target), &get.pkt);
    if (err != DM_OK)
        dm_rma_xfer_over(x, err);
    return err;
}

static bool run_may_send(const struct run *r)
{
    (void)r;
    return true;
}

static int run_send(struct run *r)
{
    int err = DM_OK;

    for (size_t at = 0; at < r->len && err == DM_OK; at += DM_RMA_ACC_BYTES) {
        size_t part = r->len - at < DM_RMA_ACC_BYTES ? r->len - at : DM_RMA_ACC_BYTES;
        const struct dm_pkt_rma_acc acc = put_header(r, r->offset + at, part);

        err = r->is_put ? dm_rma_packet(r->call, &acc, r->local + at)
                        : run_request(r->call, r->local + at, r->offset + at, part);
    }
    return err;
}

/* ---- the choice ---- */

/*
 * The first row that is usable for a run of that many bytes is taken. Its start may return
 * DM_EAGAIN: what is left of the run was not done, and the next row follows.
 */
static const struct {
    enum dm_rma_path path;
    size_t min_len;
    size_t max_len;
    bool (*is_usable)(const struct run *r);
    int (*start)(struct run *r);
} run_paths[] = {
    /* a store and a doorbell; a waiting target copies in its next pass */
    {DM_PATH_ASSIST, 0, ASSIST_LONG, run_may_assist, run_assist},
    /* a copy; no packet of its own for the synchronization behind it */
    {DM_PATH_PACKETS, 0, DM_RMA_ACC_BYTES, run_may_defer, run_defer},
    /* a packet each way, where the data cost processor time anyway */
    {DM_PATH_AM_GET, 0, DM_RMA_ACC_BYTES, run_may_ask, run_ask},
    /* half the time of RDMA, if the target waits; a system call more, if it does not */
    {DM_PATH_SPLIT_COPY, DM_RMA_SPLIT_MIN, SIZE_MAX, run_may_split, run_split},
    /* an adapter's transfer, or a system call */
    {DM_PATH_RDMA, 0, SIZE_MAX, run_is_direct, run_rdma},
    /* copies on both sides; the target has to make progress */
    {DM_PATH_PACKETS, 0, SIZE_MAX, run_may_send, run_send},
};

/* Its target might help, or be left alone. */
static bool run_has_choice(const struct run *r)
{
    return r->len > DM_RMA_SELECT_SHORT && r->is_direct && !r->is_file && r->call->req == NULL &&
           dm_rma_assist_may(r->call->win, r->call->target);
}

static enum dm_rma_side run_choose(const struct run *r)
{
    struct dm_rma_select *select = &dm_rma_state.select;
    enum dm_rma_side side = dm_rma_select_begin(select, r->call->win, r->len, r->is_put);

    if (dm_unlikely(dm_rma_select_is_timed(select)))
        select->since = dm_clock_ns();
    return side;
}

int dm_rma_move_start(const struct dm_rma_call *call, void *local, uint64_t offset, size_t len,
                      bool is_put)
{
    struct run r = run_describe(call, local, offset, len, is_put);
    int err = DM_EAGAIN;

    if (!run_has_choice(&r))
        dm_rma_state.select.is_void = true;
    else if (run_choose(&r) == DM_RMA_ALONE)
        return run_rdma(&r);
    for (size_t i = 0; i < sizeof(run_paths) / sizeof(run_paths[0]) && err == DM_EAGAIN; i++) {
        if (r.len < run_paths[i].min_len || r.len > run_paths[i].max_len ||
            !run_paths[i].is_usable(&r))
            continue;
        DM_TRACE(RMA, "%s of %zu bytes, rank %d: %s", r.is_put ? "put" : "get", r.len,
                 r.call->target, dm_rma_path_name(run_paths[i].path));
        err = run_paths[i].start(&r);
        if (err != DM_EAGAIN && run_paths[i].path != DM_PATH_ASSIST &&
            run_paths[i].path != DM_PATH_SPLIT_COPY)
            dm_rma_state.select.is_void = true;
    }
    return err;
}

int dm_rma_move_redo(const struct dm_rma_call *call, void *local, uint64_t offset, size_t len,
                     bool is_put)
{
    struct run r = run_describe(call, local, offset, len, is_put);
    int err = r.is_direct ? run_rdma(&r) : DM_EAGAIN;

    return err != DM_EAGAIN ? err : run_send(&r);
}
