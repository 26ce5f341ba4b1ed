/*
 * The paths of updates: accumulates and fetches whose elements are of one basic type, contiguous on
 * both sides, and in memory that this process cannot address, or is not to combine by itself.
 *
 * The target executes assists, if it waits in the library; if it computes, private memory of this
 * host is updated by get-modify-put. Packets do everything.
 */
#include <string.h>

#include "onesided/assist.h"
#include "onesided/combine.h"
#include "onesided/get_modify_put.h"
#include "onesided/msg.h"
#include "onesided/state.h"
#include "onesided/update.h"
#include "onesided/update_atomic.h"
#include "onesided/xfer.h"
#include "util/copy.h"
#include "util/log.h"

#define RECORD_SPARE 256 /* bytes of a record that are left to headers */
#define LONG_SKIPS   7   /* long updates at most before it is tried again if the target executes */

static size_t update_len(const struct dm_rma_update *u)
{
    return u->n * (size_t)dm_type_get(u->acc.basic)->size;
}

/* The first n elements are under way: what is left of it. */
static void update_skip(struct dm_rma_update *u, size_t n)
{
    const struct dm_type *type = dm_type_get(u->acc.basic);
    size_t len = n * (size_t)type->size;

    u->n -= n;
    u->acc.offset += n * (size_t)type->extent;
    u->data += u->data != NULL ? len : 0;
    u->result += u->result != NULL ? len : 0;
    u->acc.pkt.data_len = u->data != NULL ? (uint32_t)update_len(u) : 0;
}

/* ---- by the provider's atomic operations ---- */

static bool update_is_word(const struct dm_rma_update *u)
{
    return dm_rma_is_word(u->call->win, u->acc.basic, u->acc.offset);
}

static int update_words(struct dm_rma_update *u)
{
    return dm_rma_update_words(u->call, dm_op_get(u->acc.op), (u->acc.pkt.flags & DM_RMA_SWAP) != 0,
                               u->acc.offset, u->n, u->acc.basic, u->data, u->result);
}

/* ---- by the target: assists ---- */

static bool update_may_assist(const struct dm_rma_update *u)
{
    const struct dm_type *type = dm_type_get(u->acc.basic);

    return dm_rma_lrank(u->call->win, u->call->target) >= 0 && type->size == type->extent;
}

/* The first n elements; is_awaited: not with those behind them. */
static bool assist_piece(const struct dm_rma_update *u, size_t n, bool is_awaited)
{
    bool (*assist)(const struct dm_rma_call *call, enum dm_rma_assist_kind kind,
                   const struct dm_pkt_rma_acc *acc, const void *data, void *result,
                   size_t result_len) = is_awaited ? dm_rma_assist_now : dm_rma_assist;
    size_t len = n * (size_t)dm_type_get(u->acc.basic)->size;
    struct dm_pkt_rma_acc acc = u->acc;

    if (n < u->n)
        acc.pkt.data_len = u->data != NULL ? (uint32_t)len : 0;
    return assist(u->call, DM_ASSIST_UPDATE, &acc, u->data, u->result, u->result != NULL ? len : 0);
}

/*
 * A long one goes in pieces. It is tried more often than others, as the way without the target is slow; not
 * much is copied for one that does not come.
 */
static int update_assist(struct dm_rma_update *u)
{
    struct dm_backoff *backoff = &u->call->win->peers[u->call->target].assist_backoff;
    size_t most = u->n;

    if (update_len(u) > DM_RMA_ASSIST_BYTES) {
        most = dm_rma_assist_piece(u->call->win) / (size_t)dm_type_get(u->acc.basic)->size;
        backoff->left = backoff->left < LONG_SKIPS ? backoff->left : LONG_SKIPS;
        if (most == 0)
            return DM_EAGAIN;
    }
    while (u->n > 0) {
        size_t n = u->n < most ? u->n : most;

        if (!assist_piece(u, n, n < u->n && backoff->last > 0))
            return DM_EAGAIN;
        update_skip(u, n);
    }
    return DM_OK;
}

/* ---- without the target: get-modify-put ---- */

static bool update_is_guarded(const struct dm_rma_update *u)
{
    return dm_rma_is_guarded(u->call->win, u->call->target) &&
           !dm_rma_is_busy(u->call->win, u->call->target);
}

static int update_get_modify_put(struct dm_rma_update *u)
{
    int err;

    return dm_rma_get_modify_put(u->call, &u->acc, u->n, u->data, u->result, &err) ? err
                                                                                   : DM_EAGAIN;
}

/* ---- by packets ---- */

/* Does the update travel with the synchronization that follows? */
static bool update_may_defer(const struct dm_rma_update *u)
{
    return u->result == NULL && u->call->req == NULL &&
           dm_rma_prefers_packets(u->call->win, u->call->target);
}

static int update_defer(struct dm_rma_update *u)
{
    return dm_rma_defer(u->call, &u->acc, u->data);
}

static bool update_may_send(const struct dm_rma_update *u)
{
    (void)u;
    return true;
}

static int update_send(struct dm_rma_update *u)
{
    return u->send(u);
}

/* ---- the choice ---- */

/*
 * The first row that is usable, up to its number of bytes, is taken. Its start may return
 * DM_EAGAIN: what is left of the update was not done, and the next row follows.
 */
static const struct {
    enum dm_rma_path path;
    size_t max_len;
    bool (*is_usable)(const struct dm_rma_update *u);
    int (*start)(struct dm_rma_update *u);
} update_paths[] = {
    /* an adapter's transfer for each element; nobody else updates these elements */
    {DM_PATH_ATOMIC, SIZE_MAX, update_is_word, update_words},
    /* a store and a doorbell; a waiting target combines it in its next pass */
    {DM_PATH_ASSIST, SIZE_MAX, update_may_assist, update_assist},
    /* two system calls, and the exclusive lock */
    {DM_PATH_GET_MODIFY_PUT, SIZE_MAX, update_is_guarded, update_get_modify_put},
    /* a copy; no packet of its own for the synchronization behind it */
    {DM_PATH_PACKETS, DM_RMA_ACC_BYTES, update_may_defer, update_defer},
    /* a packet for each piece; the target has to make progress */
    {DM_PATH_PACKETS, SIZE_MAX, update_may_send, update_send},
};

int dm_rma_update_start(struct dm_rma_update *u)
{
    int err = DM_EAGAIN;

    for (size_t i = 0; i < sizeof(update_paths) / sizeof(update_paths[0]) && err == DM_EAGAIN;
         i++) {
        size_t len = update_len(u);

        /* assists are not overtaken by another path */
        if (update_paths[i].path != DM_PATH_ASSIST)
            dm_rma_assist_flush(u->call->win, u->call->target);
        if (len > update_paths[i].max_len || !update_paths[i].is_usable(u))
            continue;
        DM_TRACE(RMA, "update of %zu bytes, rank %d: %s", len, u->call->target,
                 dm_rma_path_name(update_paths[i].path));
        err = update_paths[i].start(u);
    }
    return err;
}

/* ---- packets of contiguous elements ---- */

/*
 * Bytes of data that a packet may have if it goes at once: a record of the pipe is long where each
 * costs system calls.
 */
static size_t longest_now(const struct dm_win *win, int target)
{
    size_t good = dm_chan_eager_good(dm_world.chan, dm_rma_proc(win, target)) / 2;

    return good > 2 * DM_RMA_ACC_BYTES ? good - RECORD_SPARE : DM_RMA_ACC_BYTES;
}

int dm_rma_update_send(const struct dm_rma_update *u)
{
    size_t step = longest_now(u->call->win, u->call->target);
    size_t size = (size_t)dm_type_get(u->acc.basic)->size, len = update_len(u);
    struct dm_pkt_rma_acc piece = u->acc;
    const char *data = u->data;

    while (len > 0) {
        size_t part = (len < step ? len : step) / size * size;
        int err;

        piece.pkt.data_len = (uint32_t)part;
        err = dm_rma_packet(u->call, &piece, data);
        if (err == DM_EAGAIN) {
            step = DM_RMA_ACC_BYTES;
            continue;
        }
        if (err != DM_OK)
            return err;
        data += part;
        piece.offset += part;
        len -= part;
    }
    return DM_OK;
}

/* n elements in one packet, of data_len bytes of operands; what was there comes to result. */
static int send_fetch_piece(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                            size_t n, const char *data, size_t data_len, char *result)
{
    struct dm_rma_msg *msg = dm_rma_msg_new(call);
    struct dm_rma_run *records;
    struct dm_pkt_rma_acc head = *acc;
    struct dm_rma_xfer *x;
    int err;

    if (msg == NULL)
        return DM_ENOMEM;
    err = dm_rma_reply_new(call, result, n, dm_type_get(acc->basic), 0, &x);
    if (err != DM_OK) {
        dm_pool_put(&dm_rma_state.msgs, msg);
        return err;
    }
    records = &msg->runs[DM_RMA_ACC_RUNS - 1];
    records[0] = (struct dm_rma_run){.offset = (uint64_t)(uintptr_t)x};
    records[1] = (struct dm_rma_run){.offset = acc->offset, .n = (uint32_t)n, .basic = acc->basic};
    dm_copy(msg->data, data, data_len);
    head.pkt.data_len = (uint32_t)(2 * sizeof(*records) + data_len);
    head.n_runs = 1;
    err = dm_rma_msg_send(msg, &head.pkt, records);
    if (err != DM_OK)
        dm_rma_xfer_over(x, err);
    return err;
}

int dm_rma_update_send_fetch(const struct dm_rma_update *u)
{
    size_t size = (size_t)dm_type_get(u->acc.basic)->size, n = u->n;
    struct dm_pkt_rma_acc head = u->acc;
    const char *data = u->data;
    char *result = u->result;
    int err = DM_OK;

    while (n > 0 && err == DM_OK) {
        size_t part = n < DM_RMA_ACC_BYTES / size ? n : DM_RMA_ACC_BYTES / size;
        size_t len = head.pkt.flags & DM_RMA_SWAP ? 2 * size
                     : head.op != MPI_NO_OP       ? part * size
                                                  : 0;

        err = send_fetch_piece(u->call, &head, part, data, len, result);
        data += data != NULL ? len : 0;
        result += part * size;
        head.offset += part * size;
        n -= part;
    }
    return err;
}

int dm_rma_update_redo(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                       const char *data, char *result, size_t result_len)
{
    bool is_fetch = (acc->pkt.flags & DM_RMA_FETCH) != 0;
    size_t size = (size_t)dm_type_get(acc->basic)->size;
    struct dm_rma_update u = {
        .call = call,
        .acc = dm_rma_acc_header(call, acc->op, acc->pkt.flags, acc->pkt.data_len),
        .n = (is_fetch ? result_len : acc->pkt.data_len) / size,
        .data = data,
        .result = is_fetch ? result : NULL,
        .send = is_fetch ? dm_rma_update_send_fetch : dm_rma_update_send,
    };
    int err;

    u.acc.offset = acc->offset;
    u.acc.basic = acc->basic;
    if (dm_rma_get_modify_put(call, &u.acc, u.n, data, u.result, &err))
        return err;
    return u.send(&u);
}
