/*
 * What the target of one-sided packets does: apply data, answer, grant locks.
 *
 * Handlers run inside the progress engine and never wait. A packet for a window
 * handle that does not exist is dropped with a warning: it can only come from a
 * program that freed a window inside an epoch.
 */
#include <stdlib.h>
#include <string.h>

#include "onesided/rma.h"
#include "util/log.h"

/* A lock request that had to wait. */
struct lock_waiter {
    struct dm_list link;
    int rank;
    int mode;
};

/* Payload that arrived in pieces, applied when it is complete. */
struct pending_acc {
    struct dm_pkt_rma_acc hdr;
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

/*
 * Combine n elements of a basic type, packed at src, into the window. Data in the ring lies
 * at any address and pair types are packed without their holes, so most of it passes
 * through an aligned buffer.
 */
static int apply_run(struct dm_win *win, const struct dm_op *op, uint64_t offset, size_t n,
                     int basic, const char *src)
{
    const struct dm_type *type = dm_type_get(basic);
    size_t size = (size_t)type->size;
    size_t extent = (size_t)type->extent;
    char *dst = (char *)win->base + offset;
    _Alignas(16) char aligned[1024];

    if (size == extent && ((uintptr_t)src & 15) == 0)
        return dm_op_apply_basic(op, src, dst, n, basic, false);
    while (n > 0) {
        size_t part = n < sizeof(aligned) / extent ? n : sizeof(aligned) / extent;
        int err;

        dm_type_unpack(aligned, part, type, 0, src, part * size);
        err = dm_op_apply_basic(op, aligned, dst, part, basic, false);
        if (err != DM_OK)
            return err;
        src += part * size;
        dst += part * extent;
        n -= part;
    }
    return DM_OK;
}

static void apply_acc(int proc, const struct dm_pkt_rma_acc *acc, const char *data)
{
    struct dm_win *win = find_win(acc->win, proc);
    const struct dm_op *op = dm_op_get(acc->op);
    const char *runs = data;
    int err = DM_OK;

    if (win == NULL || op == NULL)
        return;
    if (acc->n_runs == 0) {
        size_t size = (size_t)dm_type_get(acc->basic)->size;

        err = apply_run(win, op, acc->offset, acc->pkt.data_len / size, acc->basic, data);
    }
    data += acc->n_runs * sizeof(struct dm_rma_run);
    for (uint32_t i = acc->n_runs; i > 0 && err == DM_OK; i--) {
        struct dm_rma_run run;

        memcpy(&run, runs + (i - 1) * sizeof(run), sizeof(run));
        err = apply_run(win, op, run.offset, run.n, run.basic, data);
        data += run.n * (size_t)dm_type_get(run.basic)->size;
    }
    if (err != DM_OK)
        dm_log_error("accumulate from process %d failed: %s", proc, dm_err_detail());
}

static void acc_write(void *arg, size_t offset, const void *data, size_t len)
{
    memcpy(((struct pending_acc *)arg)->data + offset, data, len);
}

static void acc_done(void *arg)
{
    struct pending_acc *p = arg;

    /* the process number is only for a warning that cannot happen twice in this window */
    apply_acc(-1, &p->hdr, p->data);
    free(p);
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
    struct pending_acc *p;

    (void)arg;
    if (avail == pkt->data_len) {
        apply_acc(proc, acc, data);
        return;
    }
    p = malloc(sizeof(*p) + pkt->data_len);
    if (p == NULL) {
        /* the origin's next synchronization would wait for memory that cannot be had */
        dm_world.abort(dm_world.abort_arg, 1, "out of memory for an accumulate that arrived");
        *sink = (struct dm_chan_sink){.write = discard_write, .done = discard_done};
        return;
    }
    p->hdr = *acc;
    *sink = (struct dm_chan_sink){.arg = p, .write = acc_write, .done = acc_done};
}

static void reply_done(struct dm_chan_send *send, int err)
{
    (void)err;
    dm_pool_put(&dm_rma_state.msgs, dm_container_of(send, struct dm_rma_msg, send));
}

static void on_get(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                   struct dm_chan_sink *sink)
{
    const struct dm_pkt_rma_get *get = (const struct dm_pkt_rma_get *)pkt;
    struct dm_win *win = find_win(get->win, proc);
    struct dm_pkt_rma_get_reply reply = {
        .pkt = {.type = DM_PKT_RMA_GET_REPLY,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(reply),
                .data_len = get->len},
        .id = get->id,
    };
    struct dm_rma_msg *msg;

    (void)arg, (void)data, (void)avail, (void)sink;
    if (win == NULL)
        return;
    msg = dm_pool_get(&dm_rma_state.msgs);
    if (msg == NULL) {
        dm_world.abort(dm_world.abort_arg, 1, "out of memory for the answer to a get");
        return;
    }
    /* a snapshot: the reply may wait in a queue while the program goes on */
    memcpy(msg->data, (char *)win->base + get->offset, get->len);
    msg->send.done = reply_done;
    msg->send.data = msg->data;
    msg->send.read = NULL;
    dm_chan_send(dm_world.chan, proc, &reply.pkt, &msg->send);
}

static void get_write(void *arg, size_t offset, const void *data, size_t len)
{
    memcpy((char *)((struct dm_rma_xfer *)arg)->dst + offset, data, len);
}

static void get_done(void *arg)
{
    struct dm_rma_xfer *x = arg;

    x->rdma.done(&x->rdma, DM_OK);
}

static void on_get_reply(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                         size_t avail, struct dm_chan_sink *sink)
{
    const struct dm_pkt_rma_get_reply *reply = (const struct dm_pkt_rma_get_reply *)pkt;
    struct dm_rma_xfer *x = (struct dm_rma_xfer *)(uintptr_t)reply->id;

    (void)arg, (void)proc;
    if (avail == pkt->data_len) {
        memcpy(x->dst, data, avail);
        get_done(x);
        return;
    }
    *sink = (struct dm_chan_sink){.arg = x, .write = get_write, .done = get_done};
}

/* ---- notices ---- */

static void on_sync(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    dm_rma_note(win, note->source, DM_PKT_RMA_SYNC_ACK, 0);
}

/* An acknowledgement, or a lock that was granted. */
static void on_answer(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    win->peers[note->source].n_awaited--;
    win->n_awaited--;
}

static void on_post(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    win->peers[note->source].n_posts++;
}

static void on_complete(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    (void)note;
    win->n_completes--;
}

static bool can_grant(const struct dm_win *win, int mode)
{
    return win->n_lock_holders == 0 ||
           (win->lock_mode == MPI_LOCK_SHARED && mode == MPI_LOCK_SHARED);
}

static void grant(struct dm_win *win, int rank, int mode)
{
    win->lock_mode = mode;
    win->n_lock_holders++;
    dm_rma_note(win, rank, DM_PKT_RMA_LOCK_GRANT, 0);
}

static void on_lock(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    struct lock_waiter *w;

    /* nobody overtakes a waiter, so that an exclusive lock is not starved by shared ones */
    if (dm_list_is_empty(&win->lock_queue) && can_grant(win, note->mode)) {
        grant(win, note->source, note->mode);
        return;
    }
    w = malloc(sizeof(*w));
    if (w == NULL) {
        dm_world.abort(dm_world.abort_arg, 1, "out of memory for a lock request");
        return;
    }
    w->rank = note->source;
    w->mode = note->mode;
    dm_list_add_tail(&win->lock_queue, &w->link);
}

static void on_unlock(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    (void)note;
    win->n_lock_holders--;
    while (!dm_list_is_empty(&win->lock_queue)) {
        struct lock_waiter *w = dm_container_of(win->lock_queue.next, struct lock_waiter, link);

        if (!can_grant(win, w->mode))
            break;
        dm_list_del(&w->link);
        grant(win, w->rank, w->mode);
        free(w);
    }
}

static void on_note(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    static void (*const act[])(struct dm_win * win, const struct dm_pkt_rma_note *note) = {
        [DM_PKT_RMA_SYNC - DM_PKT_RMA_FIRST] = on_sync,
        [DM_PKT_RMA_SYNC_ACK - DM_PKT_RMA_FIRST] = on_answer,
        [DM_PKT_RMA_POST - DM_PKT_RMA_FIRST] = on_post,
        [DM_PKT_RMA_COMPLETE - DM_PKT_RMA_FIRST] = on_complete,
        [DM_PKT_RMA_LOCK - DM_PKT_RMA_FIRST] = on_lock,
        [DM_PKT_RMA_LOCK_GRANT - DM_PKT_RMA_FIRST] = on_answer,
        [DM_PKT_RMA_UNLOCK - DM_PKT_RMA_FIRST] = on_unlock,
    };
    const struct dm_pkt_rma_note *note = (const struct dm_pkt_rma_note *)pkt;
    struct dm_win *win = find_win(note->win, proc);

    (void)arg, (void)data, (void)avail, (void)sink;
    if (win != NULL)
        act[pkt->type - DM_PKT_RMA_FIRST](win, note);
}

void dm_rma_target_start(void)
{
    struct dm_chan *chan = dm_world.chan;

    dm_chan_on_packet(chan, (enum dm_pkt_type)DM_PKT_RMA_ACC, on_acc, NULL);
    dm_chan_on_packet(chan, (enum dm_pkt_type)DM_PKT_RMA_GET, on_get, NULL);
    dm_chan_on_packet(chan, (enum dm_pkt_type)DM_PKT_RMA_GET_REPLY, on_get_reply, NULL);
    for (int type = DM_PKT_RMA_SYNC; type <= DM_PKT_RMA_UNLOCK; type++)
        dm_chan_on_packet(chan, (enum dm_pkt_type)type, on_note, NULL);
}
