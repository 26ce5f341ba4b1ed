/*
 * Start, stop and process management: the channel's object and its peers.
 *
 * A peer object exists from the first packet to or from it, so memory grows with
 * the peers used. A loss is only noted when it is seen; the next pass at depth 0 gives the
 * sends back and tells the listener.
 */
#include "channel/channel.h"

#include <stdlib.h>

#include "channel/chan.h"
#include "channel/rails.h"
#include "channel/turns.h"
#include "channel/zero_copy.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/reserve.h"

#define CTL_CHUNK 64

struct dm_chan_peer *dm_chan_peer_new(struct dm_chan *chan, int proc)
{
    struct dm_chan_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL) {
        (void)DM_FAIL(DM_ENOMEM, "channel to a process, %zu bytes", sizeof(*peer));
        return NULL;
    }
    peer->proc = proc;
    peer->conn = proc == chan->rank ? NULL : dm_adapt_conn(chan->adapt, proc);
    if ((peer->conn == NULL && proc != chan->rank) || !dm_zero_copy_new(chan, peer)) {
        free(peer);
        return NULL;
    }
    dm_list_init(&peer->ready);
    dm_list_init(&peer->flushing);
    dm_list_init(&peer->lost);
    peer->next = chan->all;
    chan->all = peer;
    chan->peers[proc] = peer;
    dm_chan_report_rails(chan, peer);
    return peer;
}

static void chan_free(struct dm_chan *chan)
{
    struct dm_chan_peer *peer;

    while ((peer = chan->all) != NULL) {
        chan->all = peer->next;
        dm_zero_copy_free(peer);
        free(peer);
    }
    dm_pool_fini(&chan->ctl);
    dm_reserve_free(chan->peers, chan->max);
    free(chan);
}

int dm_chan_start(const struct dm_adapt_job *job, struct dm_chan **chan_p)
{
    struct dm_chan *chan = calloc(1, sizeof(*chan));
    struct dm_adapt_events ev;
    int err;

    if (chan == NULL)
        return DM_FAIL(DM_ENOMEM, "channel state, %zu bytes", sizeof(*chan));
    chan->job = *job;
    dm_wait_start(chan);
    chan->rank = job->rank;
    chan->size = job->size;
    dm_turns_init(chan);
    dm_list_init(&chan->ready);
    dm_list_init(&chan->flushing);
    dm_list_init(&chan->lost);
    dm_pool_init(&chan->ctl, sizeof(struct dm_chan_ctl), CTL_CHUNK, 0);
    ev = (struct dm_adapt_events){
        .arg = chan,
        .input = dm_chan_input,
        .writable = dm_chan_writable,
        .failed = dm_chan_failed,
        .is_idle = dm_chan_is_idle,
        .gone = dm_chan_on_closed,
        .joined = dm_chan_joined,
    };
    dm_zero_copy_start(chan);
    dm_chan_rails_start(chan);
    err = dm_adapt_open(&chan->job, &ev, &chan->adapt);
    if (err == DM_OK) {
        chan->max = dm_adapt_proc_max(chan->adapt);
        chan->peers = dm_reserve(chan->max, chan->max, &chan->max);
        if (chan->peers != NULL) {
            *chan_p = chan;
            return DM_OK;
        }
        dm_adapt_close(chan->adapt);
        err = DM_ENOMEM;
    }
    chan_free(chan);
    return err;
}

int dm_chan_stop(struct dm_chan *chan)
{
    uint64_t give_up = dm_clock_after(dm_cfg()->timeout);
    int err;

    chan->n_listeners = chan->gone.n = 0;
    dm_adapt_quiesce(chan->adapt);
    while (dm_chan_is_busy(chan) && dm_clock_ns() < give_up) {
        /* Nobody is told of losses any more: let the pipes say so themselves. */
        for (struct dm_chan_peer *peer = chan->all; peer != NULL; peer = peer->next)
            dm_chan_writable(chan, peer->proc, peer->conn);
        dm_chan_progress_wait(chan);
    }
    err = dm_adapt_close(chan->adapt);
    chan_free(chan);
    return err;
}

int dm_chan_rank(const struct dm_chan *chan)
{
    return chan->rank;
}

int dm_chan_size(const struct dm_chan *chan)
{
    return chan->size;
}

struct dm_adapt *dm_chan_adapt(struct dm_chan *chan)
{
    return chan->adapt;
}

void dm_chan_on_packet(struct dm_chan *chan, enum dm_pkt_type type, dm_pkt_handler fn, void *arg)
{
    if (chan->handlers[type].fn == NULL)
        chan->n_handlers++;
    chan->handlers[type] = (struct dm_chan_handler){.fn = fn, .arg = arg};
}

void dm_chan_on_lost(struct dm_chan *chan, dm_chan_lost fn, void *arg)
{
    if (chan->n_listeners < DM_CHAN_LISTENERS)
        chan->listeners[chan->n_listeners++] = (struct dm_chan_listener){.fn = fn, .arg = arg};
}

void dm_chan_on_gone(struct dm_chan *chan, dm_chan_gone fn, void *arg)
{
    if (chan->gone.n == DM_CHAN_LISTENERS)
        return;
    chan->gone.at[chan->gone.n].fn = fn;
    chan->gone.at[chan->gone.n++].arg = arg;
}

size_t dm_chan_eager_good(const struct dm_chan *chan, int proc)
{
    const struct dm_chan_peer *peer = chan->peers[proc];

    return peer != NULL && peer->conn != NULL ? dm_adapt_eager_good(peer->conn) : 0;
}

size_t dm_chan_record_max(const struct dm_chan *chan, int proc)
{
    return dm_adapt_eager_max(chan->peers[proc]->conn);
}

bool dm_chan_is_software(const struct dm_chan *chan, int proc)
{
    const struct dm_chan_peer *peer = chan->peers[proc];

    return peer != NULL && peer->conn != NULL && dm_adapt_is_software(peer->conn);
}

int dm_chan_node(const struct dm_chan *chan, int proc)
{
    return dm_adapt_proc_node(chan->adapt, proc);
}

bool dm_chan_is_lost(const struct dm_chan *chan, int proc)
{
    return chan->peers[proc] != NULL && chan->peers[proc]->is_lost;
}

void dm_chan_note_lost(struct dm_chan *chan, struct dm_chan_peer *peer)
{
    if (dm_list_is_empty(&peer->lost))
        dm_list_add_tail(&chan->lost, &peer->lost);
    chan->todo |= DM_TODO_LOST;
}

void dm_chan_peer_lost(struct dm_chan *chan, struct dm_chan_peer *peer, int err)
{
    if (peer->is_lost)
        return;
    DM_TRACE(CHAN, "lost rank %d, err %d", peer->proc, err);
    peer->is_lost = true;
    peer->lost_err = err != DM_OK ? err : DM_EPEER;
    dm_chan_note_lost(chan, peer);
}

void dm_chan_failed(void *arg, int proc, struct dm_conn *conn, int err)
{
    struct dm_chan *chan = arg;
    struct dm_chan_peer *peer = dm_chan_peer(chan, proc);

    (void)conn;
    if (peer != NULL)
        dm_chan_peer_lost(chan, peer, err);
}

static void chan_give_back(struct dm_chan_queue *queue, int err)
{
    struct dm_chan_send *send;

    while ((send = dm_chan_queue_take(queue)) != NULL)
        send->done(send, err);
}

bool dm_chan_is_idle(void *arg, int proc)
{
    const struct dm_chan *chan = arg;
    const struct dm_chan_peer *peer = chan->peers[proc];

    return peer == NULL ||
           (peer->queue.head == NULL && peer->flush.head == NULL && !dm_zero_copy_is_busy(peer));
}

/* The peer's object goes with its connection; the next packet makes both anew. */
static void chan_forget_peer(struct dm_chan *chan, struct dm_chan_peer *peer)
{
    struct dm_chan_peer **at = &chan->all;

    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    chan->peers[peer->proc] = NULL;
    dm_list_del(&peer->ready);
    dm_list_del(&peer->flushing);
    dm_list_del(&peer->lost);
    chan->depth++;
    chan_give_back(&peer->flush, DM_EPEER);
    chan_give_back(&peer->queue, DM_EPEER);
    chan->depth--;
    dm_zero_copy_free(peer);
    free(peer);
}

/* What was queued behind the end of a connection goes by the next one. */
static void chan_go_on(struct dm_chan *chan, struct dm_chan_peer *old)
{
    struct dm_chan_queue rest = old->queue;
    int proc = old->proc, n_copies = old->n_copies;
    struct dm_chan_peer *peer;

    old->queue.head = NULL;
    chan_forget_peer(chan, old);
    if (rest.head == NULL)
        return;
    peer = dm_chan_peer(chan, proc);
    if (peer == NULL) {
        chan_give_back(&rest, DM_ENOMEM);
        return;
    }
    peer->queue = rest;
    peer->n_copies = n_copies;
    dm_chan_writable(chan, proc, peer->conn);
}

void dm_chan_on_closed(void *arg, int proc, bool is_free)
{
    struct dm_chan *chan = arg;

    if (chan->peers[proc] != NULL && (is_free || dm_adapt_proc_has_ended(chan->adapt, proc)))
        chan_forget_peer(chan, chan->peers[proc]);
    else if (chan->peers[proc] != NULL)
        chan_go_on(chan, chan->peers[proc]);
    chan->depth++;
    for (int i = 0; i < chan->gone.n; i++)
        chan->gone.at[i].fn(chan->gone.at[i].arg, proc, is_free);
    chan->depth--;
}

int dm_chan_work_lost(struct dm_chan *chan)
{
    int n = 0;

    chan->todo &= ~(unsigned)DM_TODO_LOST;
    while (!dm_list_is_empty(&chan->lost)) {
        struct dm_chan_peer *peer = dm_container_of(chan->lost.next, struct dm_chan_peer, lost);

        dm_list_del(&peer->lost);
        if (dm_zero_copy_lose(peer))
            continue;
        dm_list_del(&peer->ready);
        dm_list_del(&peer->flushing);
        /* Others may have been lost since, which have their own. */
        if (peer->conn != NULL && dm_adapt_lost_why(peer->conn)[0] != '\0')
            (void)DM_FAIL(peer->lost_err, "%s", dm_adapt_lost_why(peer->conn));
        /* A packet that was arriving never will: its sink is the listener's to forget. */
        peer->in = (struct dm_chan_parser){.hdr_got = 0};
        chan->depth++;
        chan_give_back(&peer->flush, DM_EPEER);
        chan_give_back(&peer->queue, DM_EPEER);
        for (int i = 0; i < chan->n_listeners; i++)
            chan->listeners[i].fn(chan->listeners[i].arg, peer->proc, peer->lost_err);
        chan->depth--;
        n++;
    }
    return n;
}
