/*
 * What is on its way: transfers, packets, replies that are awaited, and the requests
 * that count them.
 */
#include <string.h>

#include "onesided/am_get.h"
#include "onesided/call.h"
#include "onesided/msg.h"
#include "onesided/state.h"
#include "util/copy.h"

#define PENDING_MAX 256 /* transfers and packets to one target */

/* Something that was counted by xfer_count_in is over. */
static void xfer_count_out(const struct dm_rma_call *call, int err)
{
    call->win->pending.n_transfers--;
    call->win->peers[call->target].n_transfers--;
    if (call->req != NULL)
        dm_rma_req_step(call->req, err);
    else if (err != DM_OK && call->win->pending.err == DM_OK)
        call->win->pending.err = err;
}

static void xfer_count_in(const struct dm_rma_call *call)
{
    call->win->pending.n_transfers++;
    call->win->peers[call->target].n_transfers++;
    if (call->req != NULL)
        call->req->n_pending++;
}

void dm_rma_xfer_fail(const struct dm_rma_call *call, int err)
{
    xfer_count_in(call);
    xfer_count_out(call, err);
}

/* ---- packets ---- */

static void msg_done(struct dm_chan_send *send, int err)
{
    struct dm_rma_msg *msg = dm_container_of(send, struct dm_rma_msg, send);

    xfer_count_out(&msg->call, err);
    dm_pool_put(&dm_rma_state.msgs, msg);
}

void dm_rma_make_space(const struct dm_rma_call *call)
{
    const struct dm_win *win = call->win;

    while (win->peers[call->target].n_transfers > PENDING_MAX && win->pending.err == DM_OK &&
           !dm_world_is_gone(dm_rma_proc(win, call->target)))
        dm_chan_progress_wait(dm_world.chan);
}

struct dm_rma_msg *dm_rma_msg_new(const struct dm_rma_call *call)
{
    dm_rma_make_space(call);
    return dm_rma_msg_get(call);
}

struct dm_rma_msg *dm_rma_msg_get(const struct dm_rma_call *call)
{
    struct dm_rma_msg *msg = dm_pool_get(&dm_rma_state.msgs);

    if (msg == NULL) {
        DM_FAIL(DM_ENOMEM, "packet of a one-sided transfer");
        return NULL;
    }
    msg->call = *call;
    msg->send.done = msg_done;
    msg->send.read = NULL;
    return msg;
}

/* ---- deferred updates ---- */

int dm_rma_defer(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc, const void *data)
{
    struct dm_rma_msg *msg = dm_rma_msg_new(call);
    int err;

    if (msg == NULL)
        return DM_ENOMEM;
    err = dm_rma_send_deferred(call->win, call->target, false);
    if (err != DM_OK) {
        dm_pool_put(&dm_rma_state.msgs, msg);
        return err;
    }
    msg->acc = *acc;
    dm_copy(msg->data, data, acc->pkt.data_len);
    call->win->peers[call->target].deferred = msg;
    dm_list_add_tail(&dm_rma_state.deferred, &msg->link);
    dm_rma_unacked(call->win, call->target);
    dm_chan_hook_add(dm_world.chan, &dm_rma_state.deferred_hook);
    return DM_OK;
}

int dm_rma_send_deferred(struct dm_win *win, int rank, bool wants_ack)
{
    struct dm_rma_msg *msg = win->peers[rank].deferred;
    bool is_unacked = win->peers[rank].is_unacked;
    int err;

    if (dm_likely(msg == NULL))
        return DM_OK;
    win->peers[rank].deferred = NULL;
    dm_list_del(&msg->link);
    if (wants_ack) {
        msg->acc.pkt.flags |= DM_RMA_ACK;
        msg->acc.from = win->obj.handle;
    }
    err = dm_chan_send_now(dm_world.chan, dm_rma_proc(win, rank), &msg->acc.pkt, msg->data);
    if (err == DM_EAGAIN) {
        err = dm_rma_msg_send(msg, &msg->acc.pkt, msg->data);
        if (!is_unacked)
            dm_rma_acked(win, rank);
        return err;
    }
    dm_rma_state.counts.n_path[DM_PATH_PACKETS]++;
    dm_pool_put(&dm_rma_state.msgs, msg);
    return err;
}

/* A process that makes progress may wait for what these bring about. */
static int deferred_send_all(struct dm_chan_hook *hook)
{
    int n = 0;

    while (!dm_list_is_empty(&dm_rma_state.deferred)) {
        struct dm_rma_msg *msg =
            dm_container_of(dm_rma_state.deferred.next, struct dm_rma_msg, link);

        dm_rma_send_deferred(msg->call.win, msg->call.target, false);
        n++;
    }
    dm_chan_hook_del(dm_world.chan, hook);
    return n;
}

/* ---- packets on their way ---- */

int dm_rma_msg_send(struct dm_rma_msg *msg, const struct dm_pkt *pkt, const void *payload)
{
    struct dm_win *win = msg->call.win;
    int target = msg->call.target;
    int err = dm_rma_send_deferred(win, target, false);

    if (err != DM_OK) {
        dm_pool_put(&dm_rma_state.msgs, msg);
        return err;
    }
    xfer_count_in(&msg->call);
    dm_rma_state.counts.n_path[DM_PATH_PACKETS]++;
    dm_rma_unacked(win, target);
    msg->send.data = payload;
    err = dm_chan_send(dm_world.chan, dm_rma_proc(win, target), pkt, &msg->send);
    if (err != DM_OK)
        msg_done(&msg->send, err);
    return err;
}

int dm_rma_packet(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                  const void *data)
{
    struct dm_rma_msg *msg;
    int err = dm_rma_send_deferred(call->win, call->target, false);

    if (err == DM_OK)
        err =
            dm_chan_send_now(dm_world.chan, dm_rma_proc(call->win, call->target), &acc->pkt, data);
    if (err == DM_OK) {
        dm_rma_state.counts.n_path[DM_PATH_PACKETS]++;
        dm_rma_unacked(call->win, call->target);
    }
    if (err != DM_EAGAIN || acc->pkt.data_len > DM_RMA_ACC_BYTES)
        return err;
    msg = dm_rma_msg_new(call);
    if (msg == NULL)
        return DM_ENOMEM;
    dm_copy(msg->data, data, acc->pkt.data_len);
    return dm_rma_msg_send(msg, &acc->pkt, msg->data);
}

/* ---- transfers ---- */

static void xfer_done(struct dm_rdma *rdma, int err)
{
    dm_rma_xfer_over(dm_container_of(rdma, struct dm_rma_xfer, rdma), err);
}

void dm_rma_xfer_over(struct dm_rma_xfer *x, int err)
{
    xfer_count_out(&x->call, err);
    dm_rma_xfer_free(x);
}

void dm_rma_xfer_report(const struct dm_rma_xfer *x, int err)
{
    xfer_count_out(&x->call, err);
}

void dm_rma_xfer_free(struct dm_rma_xfer *x)
{
    if (x->type != NULL) {
        dm_list_del(&x->link);
        if (!x->type->is_builtin)
            dm_type_unref(x->type);
    }
    dm_pool_put(&dm_rma_state.xfers, x);
}

struct dm_rma_xfer *dm_rma_xfer_new(const struct dm_rma_call *call)
{
    struct dm_rma_xfer *x = dm_pool_get(&dm_rma_state.xfers);

    if (x == NULL) {
        DM_FAIL(DM_ENOMEM, "record of a one-sided transfer");
        return NULL;
    }
    x->rdma.done = xfer_done;
    x->call = *call;
    x->type = NULL;
    x->am_state = DM_AM_NONE;
    xfer_count_in(call);
    return x;
}

int dm_rma_reply_new(const struct dm_rma_call *call, void *buf, size_t count, struct dm_type *type,
                     size_t offset, struct dm_rma_xfer **x_p)
{
    int proc = dm_rma_proc(call->win, call->target);
    struct dm_rma_xfer *x;

    if (dm_world_is_gone(proc))
        return DM_FAIL(DM_EPEER, "rank %d of the window (process %d) was lost", call->target, proc);
    x = dm_rma_xfer_new(call);
    if (x == NULL)
        return DM_ENOMEM;
    x->buf = buf;
    x->count = count;
    x->type = type;
    x->offset = offset;
    if (!type->is_builtin)
        dm_type_ref(type);
    dm_list_add_tail(&dm_rma_state.awaited, &x->link);
    *x_p = x;
    return DM_OK;
}

static void xfer_on_lost(void *arg, int proc, int err)
{
    (void)arg, (void)err;
    dm_rma_state.n_lost++;
    dm_list_for_each_safe (it, tmp, &dm_rma_state.awaited) {
        struct dm_rma_xfer *x = dm_container_of(it, struct dm_rma_xfer, link);

        if (dm_rma_proc(x->call.win, x->call.target) == proc && dm_rma_am_get_lost(x))
            dm_rma_xfer_over(x, DM_EPEER);
    }
}

static void xfer_on_gone(void *arg, int proc, bool is_free)
{
    if (!is_free && dm_world_is_gone(proc))
        xfer_on_lost(arg, proc, DM_EPEER);
}

void dm_rma_xfer_start(void)
{
    dm_list_init(&dm_rma_state.awaited);
    dm_list_init(&dm_rma_state.deferred);
    dm_rma_state.deferred_hook.fn = deferred_send_all;
    dm_rma_am_get_init();
    dm_rma_state.n_lost = 0;
    dm_chan_on_lost(dm_world.chan, xfer_on_lost, NULL);
    dm_chan_on_gone(dm_world.chan, xfer_on_gone, NULL);
}
