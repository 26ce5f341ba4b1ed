/*
 * The target of one-sided packets: applies data and answers; target_note.c handles notices.
 *
 * Handlers run inside the progress engine and never wait. A packet for a window handle that does
 * not exist is dropped with a warning: it can only come from a program that freed a window inside
 * an epoch.
 */
#include <stdlib.h>
#include <string.h>

#include "onesided/am_get.h"
#include "onesided/combine.h"
#include "onesided/flush.h"
#include "onesided/msg.h"
#include "onesided/region.h"
#include "onesided/state.h"
#include "onesided/target.h"
#include "util/copy.h"
#include "util/log.h"

/* A packet that is handled later: its payload comes in pieces, or it is deferred. */
struct pending {
    struct dm_list link; /* in dm_win_target.deferred */
    union {
        struct dm_pkt pkt;
        struct dm_pkt_rma_acc acc;
        struct dm_pkt_rma_note note;
    } hdr;
    int proc;
    char data[];
};

static struct dm_win *find_win(int32_t handle, int proc)
{
    struct dm_win *win = dm_win_get(handle);

    if (win == NULL)
        dm_log_warn("one-sided packet from process %d for a window that does not exist (any more)",
                    proc);
    return win;
}

/* ---- data ---- */

char *dm_rma_place(const struct dm_win *win, uint64_t offset, uint64_t len)
{
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return (char *)win->base + offset;
    return dm_rma_is_attached(win, offset, len) ? (char *)(uintptr_t)offset : NULL;
}

static void reply_done(struct dm_chan_send *send, int err)
{
    (void)err;
    dm_pool_put(&dm_rma_state.msgs, dm_container_of(send, struct dm_rma_msg, send));
}

static struct dm_rma_msg *reply_new(void)
{
    struct dm_rma_msg *msg = dm_pool_get(&dm_rma_state.msgs);

    if (msg == NULL)
        dm_world.abort(dm_world.abort_arg, 1, "out of memory for the answer to a one-sided call");
    else
        msg->send.done = reply_done;
    return msg;
}

/* Send the first len bytes of the message's data. */
static void reply_send(int proc, struct dm_rma_msg *msg, uint64_t id, size_t len, int flags)
{
    struct dm_pkt_rma_reply reply = {
        .pkt = {.type = DM_PKT_RMA_REPLY,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(reply),
                .flags = (uint8_t)flags,
                .data_len = (uint32_t)len},
        .id = id,
    };

    if (len <= 64 && !dm_chan_is_software(dm_world.chan, proc) &&
        dm_chan_send_now(dm_world.chan, proc, &reply.pkt, msg->data) == DM_OK) {
        dm_pool_put(&dm_rma_state.msgs, msg);
        return;
    }
    msg->send.data = msg->data;
    msg->send.read = NULL;
    dm_chan_answer(dm_world.chan, proc, &reply.pkt, &msg->send);
}

int dm_rma_apply(const struct dm_win *win, const struct dm_pkt_rma_acc *acc,
                 const struct dm_rma_run *run, const char *data, char *old)
{
    const struct dm_type *type = dm_type_get(run->basic);
    char *dst = dm_rma_place(win, run->offset, dm_rma_span(type, run->n));
    int err = DM_OK;

    if (dst == NULL)
        return DM_ERR_RMA_RANGE;
    if (acc->pkt.flags & DM_RMA_SWAP)
        dm_rma_swap(win, win->comm->rank, dst, run->basic, data, data + type->size, old);
    else
        err = dm_rma_combine(win, win->comm->rank, dm_op_get(acc->op), dst, run->n, run->basic,
                             acc->op == MPI_NO_OP ? NULL : data, old);
    return err;
}

/* The packet's records hold the places of its data. */
static int apply_runs(const struct dm_win *win, const struct dm_pkt_rma_acc *acc,
                      const char *records, char *old, size_t *old_len_p)
{
    const char *data = records + acc->n_runs * sizeof(struct dm_rma_run);
    int err = DM_OK;

    *old_len_p = 0;
    for (uint32_t i = acc->n_runs; i > 0 && err == DM_OK; i--) {
        struct dm_rma_run run;
        size_t len;

        memcpy(&run, records + (i - 1) * sizeof(run), sizeof(run));
        len = run.n * (size_t)dm_type_get(run.basic)->size;
        err = dm_rma_apply(win, acc, &run, data, old != NULL ? old + *old_len_p : NULL);
        if (acc->op != MPI_NO_OP)
            data += len;
        *old_len_p += len;
    }
    return err;
}

/* The source gets it with its next acknowledgement. */
static void note_failure(struct dm_win *win, int proc, int err)
{
    int rank = dm_group_rank_of(win->group, proc);

    if (rank != MPI_UNDEFINED && win->peers[rank].target_err == DM_OK)
        win->peers[rank].target_err = err;
}

/* Apply, and answer with what was there. */
static void apply_fetch(struct dm_win *win, int proc, const struct dm_pkt_rma_acc *acc,
                        const char *records)
{
    struct dm_rma_msg *msg = reply_new();
    struct dm_rma_run id;
    size_t len;
    int err;

    if (msg == NULL)
        return;
    memcpy(&id, records, sizeof(id));
    err = apply_runs(win, acc, records + sizeof(id), msg->data, &len);
    reply_send(proc, msg, id.offset, err == DM_OK ? len : 0, err == DM_OK ? 0 : DM_RMA_REFUSED);
}

/* All packets of rank so far have been applied; how that went. */
void dm_rma_acknowledge(struct dm_win *win, int rank, int32_t handle)
{
    struct dm_win_peer *peer = &win->peers[rank];

    dm_rma_answer(win, rank, handle, DM_PKT_RMA_SYNC_ACK, peer->target_err);
    peer->target_err = DM_OK;
}

static void apply_acc(struct dm_win *win, int proc, const struct dm_pkt_rma_acc *acc,
                      const char *data)
{
    size_t len;
    int err;

    if (acc->pkt.flags & DM_RMA_FETCH) {
        apply_fetch(win, proc, acc, data);
        return;
    }
    if (acc->n_runs == 0 || acc->pkt.flags & DM_RMA_ACK) {
        const struct dm_rma_run run = {.offset = acc->offset,
                                       .n = acc->pkt.data_len /
                                            (uint32_t)dm_type_get(acc->basic)->size,
                                       .basic = acc->basic};

        err = dm_rma_apply(win, acc, &run, data, NULL);
    } else {
        err = apply_runs(win, acc, data, NULL, &len);
    }
    if (err != DM_OK)
        note_failure(win, proc, err);
    if (acc->pkt.flags & DM_RMA_ACK)
        dm_rma_acknowledge(win, dm_group_rank_of(win->group, proc), acc->from);
}

/* A copy of the packet; NULL: the job is about to end. */
static struct pending *pending_new(int proc, const struct dm_pkt *pkt)
{
    struct pending *p = malloc(sizeof(*p) + pkt->data_len);

    if (p == NULL) {
        /* the origin's next synchronization would wait for memory that cannot be had */
        dm_world.abort(dm_world.abort_arg, 1, "out of memory for a one-sided packet that arrived");
        return NULL;
    }
    memcpy(&p->hdr, pkt, pkt->hdr_len);
    p->proc = proc;
    return p;
}

/*
 * Packets that have to wait stay in order, and so do the notices behind them, which say that they
 * have been applied.
 */
static bool has_deferred(const struct dm_win *win)
{
    return !dm_list_is_empty(&win->target.deferred);
}

static void target_defer(struct dm_win *win, struct pending *p)
{
    dm_list_add_tail(&win->target.deferred, &p->link);
    dm_chan_hook_add(dm_world.chan, &win->target.deferred_hook);
}

/* Everything is in p, which is freed. */
static void acc_handle(struct pending *p)
{
    struct dm_win *win = find_win(p->hdr.acc.win, p->proc);

    if (win != NULL && dm_op_get(p->hdr.acc.op) != NULL) {
        if (has_deferred(win) || !dm_rma_try_enter(win)) {
            target_defer(win, p);
            return;
        }
        apply_acc(win, p->proc, &p->hdr.acc, p->data);
        dm_rma_leave(win);
    }
    free(p);
}

static void acc_write(void *arg, size_t offset, const void *data, size_t len)
{
    dm_copy(((struct pending *)arg)->data + offset, data, len);
}

static void acc_done(void *arg)
{
    acc_handle(arg);
}

static void discard_write(void *arg, size_t offset, const void *data, size_t len)
{
    (void)arg, (void)offset, (void)data, (void)len;
}

static void discard_done(void *arg)
{
    (void)arg;
}

static void on_acc(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                   struct dm_chan_sink *sink)
{
    const struct dm_pkt_rma_acc *acc = (const struct dm_pkt_rma_acc *)pkt;
    struct dm_win *win = find_win(acc->win, proc);
    struct pending *p;

    (void)arg;
    if (avail == pkt->data_len) {
        if (win == NULL || dm_op_get(acc->op) == NULL)
            return;
        if (!has_deferred(win) && dm_rma_try_enter(win)) {
            apply_acc(win, proc, acc, data);
            dm_rma_leave(win);
            return;
        }
    }
    p = pending_new(proc, pkt);
    if (p == NULL) {
        if (avail != pkt->data_len)
            *sink = (struct dm_chan_sink){.write = discard_write, .done = discard_done};
    } else if (avail == pkt->data_len) {
        dm_copy(p->data, data, avail);
        target_defer(win, p);
    } else {
        *sink = (struct dm_chan_sink){.arg = p, .write = acc_write, .done = acc_done};
    }
}

static void on_get(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                   struct dm_chan_sink *sink)
{
    const struct dm_pkt_rma_get *get = (const struct dm_pkt_rma_get *)pkt;
    struct dm_win *win = find_win(get->win, proc);
    struct dm_rma_msg *msg;
    const char *src;

    (void)arg, (void)data, (void)avail, (void)sink;
    if (win == NULL)
        return;
    msg = reply_new();
    if (msg == NULL)
        return;
    src = dm_rma_place(win, get->offset, get->len);
    if (src == NULL) {
        reply_send(proc, msg, get->id, 0, DM_RMA_REFUSED);
        return;
    }
    /* a snapshot: the reply may wait in a queue while the program goes on */
    dm_copy(msg->data, src, get->len);
    reply_send(proc, msg, get->id, get->len, 0);
}

static void reply_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_rma_xfer *x = arg;

    dm_type_unpack(x->buf, x->count, x->type, x->offset + offset, data, len);
}

static void reply_over(void *arg)
{
    dm_rma_xfer_over(arg, DM_OK);
}

static void on_reply(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                     struct dm_chan_sink *sink)
{
    const struct dm_pkt_rma_reply *reply = (const struct dm_pkt_rma_reply *)pkt;
    struct dm_rma_xfer *x = (struct dm_rma_xfer *)(uintptr_t)reply->id;

    (void)arg, (void)proc;
    if (!dm_rma_am_get_replied(x)) {
        if (avail != pkt->data_len)
            *sink = (struct dm_chan_sink){.write = discard_write, .done = discard_done};
        return;
    }
    if (pkt->flags & DM_RMA_REFUSED) {
        dm_rma_xfer_over(x, DM_ERR_RMA_RANGE);
    } else if (avail == pkt->data_len) {
        reply_write(x, 0, data, avail);
        reply_over(x);
    } else {
        *sink = (struct dm_chan_sink){.arg = x, .write = reply_write, .done = reply_over};
    }
}

/* ---- notices ---- */

static void on_note(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    const struct dm_pkt_rma_note *note = (const struct dm_pkt_rma_note *)pkt;
    struct dm_win *win = find_win(note->win, proc);
    struct pending *p;

    (void)arg, (void)data, (void)avail, (void)sink;
    if (win == NULL)
        return;
    if (dm_likely(!has_deferred(win))) {
        dm_rma_note_handle(win, note);
        return;
    }
    p = pending_new(proc, pkt);
    if (p != NULL)
        target_defer(win, p);
}

/* The holder of the exclusive lock is done soon: until then nobody sleeps. */
static int target_handle_deferred(struct dm_chan_hook *hook)
{
    struct dm_win *win = dm_container_of(hook, struct dm_win, target.deferred_hook);

    while (has_deferred(win)) {
        struct pending *p = dm_container_of(win->target.deferred.next, struct pending, link);

        if (p->hdr.pkt.type == DM_PKT_RMA_ACC) {
            if (!dm_rma_try_enter(win)) {
                dm_wait_short(&win->target.n_tries);
                return 1;
            }
            apply_acc(win, p->proc, &p->hdr.acc, p->data);
            dm_rma_leave(win);
        } else {
            dm_rma_note_handle(win, &p->hdr.note);
        }
        dm_list_del(&p->link);
        free(p);
    }
    dm_chan_hook_del(dm_world.chan, hook);
    return 1;
}

void dm_rma_deferred_init(struct dm_win *win)
{
    dm_list_init(&win->target.deferred);
    win->target.deferred_hook.fn = target_handle_deferred;
}

void dm_rma_target_start(void)
{
    struct dm_chan *chan = dm_world.chan;

    dm_chan_on_packet(chan, (enum dm_pkt_type)DM_PKT_RMA_ACC, on_acc, NULL);
    dm_chan_on_packet(chan, (enum dm_pkt_type)DM_PKT_RMA_GET, on_get, NULL);
    dm_chan_on_packet(chan, (enum dm_pkt_type)DM_PKT_RMA_REPLY, on_reply, NULL);
    for (int type = DM_PKT_RMA_SYNC; type <= DM_PKT_RMA_FENCE; type++)
        dm_chan_on_packet(chan, (enum dm_pkt_type)type, on_note, NULL);
    dm_chan_on_packet(chan, (enum dm_pkt_type)DM_PKT_RMA_WAKE, dm_rma_on_wake, NULL);
}
