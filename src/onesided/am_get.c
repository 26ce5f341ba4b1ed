/*
 * Active-message gets: short gets from a target on another host, in a network where processors move
 * the data.
 *
 * A target that waits inside the library answers a packet sooner than its provider's thread wakes
 * up for a read. One that computes does not: when it has answered nothing for a while the transfer
 * is done by RDMA after all, and the reply, which still comes, is dropped. Back-off follows, as
 * with assists.
 */
#include "onesided/am_get.h"
#include "onesided/msg.h"
#include "onesided/state.h"
#include "util/clock.h"

#define AM_GETS_MAX 256 /* transfers to one target that are under way */

int dm_rma_am_get(const struct dm_rma_call *call, void *local, uint64_t remote, size_t len)
{
    struct dm_win *win = call->win;
    struct dm_win_peer *peer = &win->peers[call->target];
    const struct dm_win_part *part = &win->parts[call->target];
    struct dm_pkt_rma_get get = {
        .pkt = {.type = DM_PKT_RMA_GET, .version = DM_PKT_VERSION, .hdr_len = sizeof(get)},
        .win = part->handle,
        .len = (uint32_t)len,
        .offset = remote - part->base,
    };
    struct dm_rma_xfer *x;
    int err;

    if (!dm_rma_prefers_packets(win, call->target) || peer->n_transfers > AM_GETS_MAX ||
        dm_adapt_is_oversubscribed(dm_chan_adapt(dm_world.chan)) ||
        dm_backoff_skips(&peer->assist_backoff))
        return DM_EAGAIN;
    err = dm_rma_reply_new(call, local, len, dm_type_get(MPI_BYTE), 0, &x);
    if (err != DM_OK)
        return err;
    dm_rma_state.counts.n_path[DM_PATH_AM_GET]++;
    get.id = (uint64_t)(uintptr_t)x;
    x->am_state = DM_AM_WAITS;
    x->remote = remote;
    x->len = len;
    x->when = dm_clock_ns();
    dm_list_add_tail(&dm_rma_state.am_gets, &x->am_link);
    dm_chan_hook_add(dm_world.chan, &dm_rma_state.am_hook);
    err = dm_chan_send_ctl(dm_world.chan, dm_rma_proc(win, call->target), &get.pkt);
    if (err != DM_OK) {
        dm_list_del(&x->am_link);
        dm_rma_xfer_over(x, err);
    }
    return err;
}

static void am_get_read_done(struct dm_rdma *rdma, int err)
{
    struct dm_rma_xfer *x = dm_container_of(rdma, struct dm_rma_xfer, rdma);

    dm_rma_xfer_report(x, err);
    if (x->am_state == DM_AM_ANSWERED) {
        dm_rma_xfer_free(x);
        return;
    }
    x->am_state = DM_AM_LATE;
    x->call.win->pending.n_late++;
}

/* It has waited too long: RDMA does it. */
static void am_get_read(struct dm_rma_xfer *x)
{
    const struct dm_win *win = x->call.win;
    int target = x->call.target, err;

    dm_list_del(&x->am_link);
    x->am_state = DM_AM_READS;
    x->rdma.done = am_get_read_done;
    dm_rma_state.counts.n_path[DM_PATH_RDMA]++;
    err = dm_chan_rdma_read(dm_world.chan, dm_rma_proc(win, target), &x->rdma, x->buf, NULL,
                            x->remote, &win->parts[target].rkey, x->len);
    /* the reply comes sooner or later */
    if (err == DM_EAGAIN)
        x->am_state = DM_AM_NONE;
    else if (err != DM_OK)
        am_get_read_done(&x->rdma, err);
}

/* Which have waited too long? */
static int am_get_check(struct dm_chan_hook *hook)
{
    uint64_t now = dm_clock_ns();
    int n = 0;

    dm_list_for_each_safe (it, tmp, &dm_rma_state.am_gets) {
        struct dm_rma_xfer *x = dm_container_of(it, struct dm_rma_xfer, am_link);
        struct dm_win_peer *peer = &x->call.win->peers[x->call.target];

        if (now < x->when + DM_WAIT_AM_GET_NS)
            break;
        if (now < peer->last_reply + DM_WAIT_AM_GET_NS)
            continue;
        if (peer->assist_backoff.left == 0)
            dm_backoff_failed(&peer->assist_backoff, DM_WAIT_BACKOFF_MAX);
        am_get_read(x);
        n++;
    }
    if (dm_list_is_empty(&dm_rma_state.am_gets))
        dm_chan_hook_del(dm_world.chan, hook);
    return n;
}

bool dm_rma_am_get_replied(struct dm_rma_xfer *x)
{
    struct dm_win_peer *peer = &x->call.win->peers[x->call.target];

    switch (x->am_state) {
    case DM_AM_WAITS:
        dm_list_del(&x->am_link);
        x->am_state = DM_AM_NONE;
        peer->last_reply = dm_clock_ns();
        peer->assist_backoff.last = 0;
        return true;
    case DM_AM_READS:
        x->am_state = DM_AM_ANSWERED;
        return false;
    case DM_AM_LATE:
        x->call.win->pending.n_late--;
        dm_rma_xfer_free(x);
        return false;
    default:
        return true;
    }
}

bool dm_rma_am_get_lost(struct dm_rma_xfer *x)
{
    if (x->am_state == DM_AM_WAITS)
        dm_list_del(&x->am_link);
    return x->am_state == DM_AM_WAITS || dm_rma_am_get_replied(x);
}

void dm_rma_am_get_init(void)
{
    dm_list_init(&dm_rma_state.am_gets);
    dm_rma_state.am_hook.fn = am_get_check;
}
