/*
 * Sending packets: straight into a record of the pipe when it can go now, through
 * the peer's queue otherwise.
 *
 * Invariant: a packet goes straight only when the queue is empty, so packets leave
 * in the order they were given. A blocked peer (the pipe took less than offered) is
 * not tried again before the layer beneath says it is writable.
 */
#include "channel/channel.h"

#include <string.h>

#include "channel/chan.h"
#include "channel/zero_copy.h"
#include "util/err.h"
#include "util/port.h"
#include "util/copy.h"

/*
 * Up to here a queued packet is copied into a record; beyond, the pipe is offered the
 * caller's memory, which saves a copy and costs posting a gather list.
 */
#define COPY_MAX 2048

static inline void sendq_copy_header(void *dst, const void *pkt, size_t len)
{
    const char *s = pkt;
    char *d = dst;

    /* Constant lengths: no call of memcpy. */
    memcpy(d, s, 8);
    if (len > 8)
        memcpy(d + 8, s + 8, 8);
    if (len > 16)
        memcpy(d + 16, s + 16, 8);
    if (len > 24)
        memcpy(d + 24, s + 24, 8);
}

int dm_chan_send_now(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data)
{
    struct dm_chan_peer *peer = chan->peers[proc];
    size_t hdr_len = pkt->hdr_len, len = hdr_len + pkt->data_len;
    char *place;

    if (dm_unlikely(peer == NULL || peer->queue.head != NULL))
        return DM_EAGAIN;
    if (dm_unlikely(peer->conn == NULL))
        return dm_chan_self_now(chan, pkt, data);
    place = dm_adapt_eager_reserve(peer->conn, len);
    if (dm_unlikely(place == NULL))
        return DM_EAGAIN;
    sendq_copy_header(place, pkt, hdr_len);
    if (pkt->data_len == 8)
        memcpy(place + hdr_len, data, 8);
    else if (pkt->data_len > 0)
        dm_copy(place + hdr_len, data, pkt->data_len);
    return dm_adapt_eager_commit(peer->conn, len);
}

void *dm_chan_reserve(struct dm_chan *chan, int proc, const struct dm_pkt *pkt)
{
    struct dm_chan_peer *peer = chan->peers[proc];
    size_t len = pkt->hdr_len + (size_t)pkt->data_len;
    char *place;

    if (peer == NULL || peer->queue.head != NULL || peer->conn == NULL)
        return NULL;
    place = dm_adapt_eager_reserve(peer->conn, len);
    if (place == NULL)
        return NULL;
    sendq_copy_header(place, pkt, pkt->hdr_len);
    peer->reserved_len = len;
    return place + pkt->hdr_len;
}

int dm_chan_commit(struct dm_chan *chan, int proc)
{
    struct dm_chan_peer *peer = chan->peers[proc];

    return dm_adapt_eager_commit(peer->conn, peer->reserved_len);
}

/* ---- the queue ---- */

static size_t sendq_total(const struct dm_chan_send *send)
{
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)send->hdr;

    return pkt->hdr_len + (size_t)pkt->data_len;
}

/* Payload bytes [offset, offset+len) to dst. */
static void sendq_fetch(struct dm_chan_send *send, size_t offset, void *dst, size_t len)
{
    if (send->data != NULL)
        dm_copy(dst, (const char *)send->data + offset, len);
    else if (len > 0)
        send->read(send, offset, dst, len);
}

/* Header and payload bytes from send->sent on, len of them, to dst. */
static void sendq_fetch_from_header(struct dm_chan_send *send, char *dst, size_t len)
{
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)send->hdr;
    size_t n = 0;

    if (send->sent < pkt->hdr_len) {
        n = pkt->hdr_len - send->sent;
        if (n > len)
            n = len;
        memcpy(dst, (const char *)send->hdr + send->sent, n);
    }
    sendq_fetch(send, send->sent + n - pkt->hdr_len, dst + n, len - n);
}

/* The next bytes of a packet, copied into a record; *taken_p 0: no room. */
static int sendq_put_copied(struct dm_chan_peer *peer, struct dm_chan_send *send, size_t left,
                            size_t *taken_p)
{
    size_t max = dm_adapt_eager_max(peer->conn), len = left < max ? left : max;
    char *place = len > 0 ? dm_adapt_eager_reserve(peer->conn, len) : NULL;
    char scratch[256];
    struct iovec iov;

    *taken_p = 0;
    if (place != NULL) {
        sendq_fetch_from_header(send, place, len);
        *taken_p = len;
        return dm_adapt_eager_commit(peer->conn, len);
    }
    /* Whoever is not taken all gets the `writable` call: ask the way that promises it. */
    iov.iov_len = left < sizeof(scratch) ? left : sizeof(scratch);
    iov.iov_base = scratch;
    sendq_fetch_from_header(send, scratch, iov.iov_len);
    return dm_adapt_eager_put(peer->conn, &iov, 1, taken_p);
}

/* The next bytes of a packet from the caller's memory. */
static int sendq_put_gathered(struct dm_chan_peer *peer, struct dm_chan_send *send, size_t *taken_p)
{
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)send->hdr;
    struct iovec iov[2];
    size_t offset = 0;
    int n = 0;

    if (send->sent < pkt->hdr_len) {
        iov[n].iov_base = (char *)send->hdr + send->sent;
        iov[n++].iov_len = pkt->hdr_len - send->sent;
    } else {
        offset = send->sent - pkt->hdr_len;
    }
    iov[n].iov_base = (char *)(uintptr_t)send->data + offset;
    iov[n++].iov_len = pkt->data_len - offset;
    return dm_adapt_eager_put(peer->conn, iov, n, taken_p);
}

/* Push one packet. DM_EAGAIN: the pipe is full. */
static int sendq_push_one(struct dm_chan_peer *peer, struct dm_chan_send *send)
{
    size_t total = sendq_total(send);

    while (send->sent < total) {
        size_t left = total - send->sent, taken = 0;
        int err;

        if (left <= COPY_MAX || send->data == NULL)
            err = sendq_put_copied(peer, send, left, &taken);
        else
            err = sendq_put_gathered(peer, send, &taken);
        if (err != DM_OK)
            return err;
        send->sent += taken;
        if (taken == 0)
            return DM_EAGAIN;
    }
    return DM_OK;
}

/* Short packets from this one on that fit whole into one record, each where a header may lie; their bytes. */
static int sendq_count_together(const struct dm_chan_peer *peer, const struct dm_chan_send *send,
                                size_t *len_p)
{
    size_t max = dm_adapt_eager_max(peer->conn);
    int n = 0;

    *len_p = 0;
    for (; send != NULL && send->sent == 0 && *len_p % 8 == 0; send = send->next) {
        size_t total = sendq_total(send);

        if (total > COPY_MAX || *len_p + total > max)
            break;
        *len_p += total;
        n++;
    }
    return n;
}

/*
 * Push several short packets in one record: where they have had to wait for room, one slot, one credit and
 * one transfer do for all. Returns how many are on their way, 0: push the first by itself.
 */
static int sendq_push_together(struct dm_chan_peer *peer, int *err_p)
{
    struct dm_chan_send *send = peer->queue.head;
    size_t len;
    int n = send->next != NULL ? sendq_count_together(peer, send, &len) : 0;
    char *place = n > 1 ? dm_adapt_eager_reserve(peer->conn, len) : NULL;

    *err_p = DM_OK;
    if (place == NULL)
        return 0;
    for (int i = 0; i < n; i++, send = send->next) {
        sendq_fetch_from_header(send, place, sendq_total(send));
        send->sent = sendq_total(send);
        place += send->sent;
    }
    *err_p = dm_adapt_eager_commit(peer->conn, len);
    return n;
}

static void sendq_finish(struct dm_chan *chan, struct dm_chan_peer *peer, struct dm_chan_send *send)
{
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)send->hdr;

    /* Only what may have gone from the caller's memory has to wait for it. */
    if (send->data != NULL && pkt->data_len > COPY_MAX - DM_PKT_MAX &&
        !dm_adapt_eager_flushed(peer->conn)) {
        dm_chan_queue_add(&peer->flush, send);
        if (dm_list_is_empty(&peer->flushing))
            dm_list_add_tail(&chan->flushing, &peer->flushing);
        chan->todo |= DM_TODO_FLUSH;
        return;
    }
    send->done(send, DM_OK);
}

/* What has gone: the first of the queue and those behind it, or a packet that was in no queue. */
static void sendq_finish_all(struct dm_chan *chan, struct dm_chan_peer *peer,
                             struct dm_chan_send *send, int n)
{
    chan->depth++;
    if (send == peer->queue.head)
        for (int i = 0; i < n; i++)
            sendq_finish(chan, peer, dm_chan_queue_take(&peer->queue));
    else
        sendq_finish(chan, peer, send);
    chan->depth--;
}

int dm_chan_push(struct dm_chan *chan, struct dm_chan_peer *peer)
{
    struct dm_chan_send *send;
    int n = 0;

    if (peer->is_pushing || peer->is_blocked || peer->is_lost)
        return 0;
    peer->is_pushing = true;
    while ((send = dm_zero_copy_next(peer)) != NULL) {
        int n_sent = 0;
        int err = DM_OK;

        if (send == peer->queue.head && dm_zero_copy_offer(peer, send))
            continue;
        /* Set before the try: `writable` may come from inside it. */
        peer->is_blocked = true;
        if (send == peer->queue.head)
            n_sent = sendq_push_together(peer, &err);
        if (n_sent == 0) {
            err = sendq_push_one(peer, send);
            n_sent = 1;
        }
        if (err == DM_EAGAIN)
            break;
        peer->is_blocked = false;
        if (err != DM_OK) {
            dm_chan_peer_lost(chan, peer, err);
            break;
        }
        sendq_finish_all(chan, peer, send, n_sent);
        n += n_sent;
    }
    peer->is_pushing = false;
    return n;
}

/* Push its queue in the next pass. */
static void sendq_mark_ready(struct dm_chan *chan, struct dm_chan_peer *peer)
{
    if (dm_list_is_empty(&peer->ready))
        dm_list_add_tail(&chan->ready, &peer->ready);
    chan->todo |= DM_TODO_SEND;
}

void dm_chan_writable(void *arg, int proc, struct dm_conn *conn)
{
    struct dm_chan *chan = arg;
    struct dm_chan_peer *peer = dm_chan_peer(chan, proc);

    (void)conn;
    if (peer == NULL || peer->is_lost)
        return;
    peer->is_blocked = false;
    if (dm_zero_copy_next(peer) != NULL)
        sendq_mark_ready(chan, peer);
}

int dm_chan_work_send(struct dm_chan *chan)
{
    struct dm_list now;
    int n = 0;

    chan->todo &= ~(unsigned)DM_TODO_SEND;
    dm_list_init(&now);
    while (!dm_list_is_empty(&chan->ready)) {
        struct dm_list *node = chan->ready.next;

        dm_list_del(node);
        dm_list_add_tail(&now, node);
    }
    while (!dm_list_is_empty(&now)) {
        struct dm_chan_peer *peer = dm_container_of(now.next, struct dm_chan_peer, ready);

        dm_list_del(&peer->ready);
        n += dm_chan_push(chan, peer);
        /* Writable again meanwhile, and more to send: the next pass. */
        if (dm_zero_copy_next(peer) != NULL && !peer->is_blocked)
            dm_chan_writable(chan, peer->proc, peer->conn);
    }
    return n;
}

int dm_chan_work_flush(struct dm_chan *chan)
{
    int n = 0;

    chan->todo &= ~(unsigned)DM_TODO_FLUSH;
    dm_list_for_each_safe (it, tmp, &chan->flushing) {
        struct dm_chan_peer *peer = dm_container_of(it, struct dm_chan_peer, flushing);
        struct dm_chan_queue done = peer->flush;
        struct dm_chan_send *send;

        if (!dm_adapt_eager_flushed(peer->conn))
            continue;
        dm_list_del(&peer->flushing);
        peer->flush.head = NULL;
        chan->depth++;
        while ((send = dm_chan_queue_take(&done)) != NULL) {
            send->done(send, DM_OK);
            n++;
        }
        chan->depth--;
    }
    if (!dm_list_is_empty(&chan->flushing))
        chan->todo |= DM_TODO_FLUSH;
    return n;
}

int dm_chan_send(struct dm_chan *chan, int proc, const struct dm_pkt *pkt,
                 struct dm_chan_send *send)
{
    struct dm_chan_peer *peer = dm_chan_peer(chan, proc);

    if (peer == NULL || peer->is_lost) {
        send->done(send, peer == NULL ? DM_ENOMEM : DM_EPEER);
        return DM_OK;
    }
    sendq_copy_header(send->hdr, pkt, pkt->hdr_len);
    send->sent = 0;
    dm_chan_queue_add(&peer->queue, send);
    if (peer->conn == NULL) {
        chan->todo |= DM_TODO_SELF;
        if (chan->depth == 0)
            dm_chan_work_self(chan);
    } else {
        dm_chan_push(chan, peer);
    }
    return DM_OK;
}

int dm_chan_answer(struct dm_chan *chan, int proc, const struct dm_pkt *pkt,
                   struct dm_chan_send *send)
{
    struct dm_chan_peer *peer = chan->peers[proc];

    if (chan->depth == 0 || peer == NULL || peer->is_lost || peer->is_blocked ||
        !dm_chan_is_software(chan, proc))
        return dm_chan_send(chan, proc, pkt, send);
    sendq_copy_header(send->hdr, pkt, pkt->hdr_len);
    send->sent = 0;
    dm_chan_queue_add(&peer->queue, send);
    sendq_mark_ready(chan, peer);
    return DM_OK;
}

void dm_chan_each_queued(struct dm_chan *chan, int proc, void (*fn)(struct dm_chan_send *send))
{
    struct dm_chan_peer *peer = chan->peers[proc];
    struct dm_chan_send *send = peer != NULL ? peer->queue.head : NULL;

    /* The first one is in use while the queue is pushed. */
    if (send != NULL && peer->is_pushing)
        send = send->next;
    for (; send != NULL; send = send->next)
        if (send->sent == 0 && !dm_zero_copy_is_offered(peer, send))
            fn(send);
}

struct send_out {
    struct dm_chan_send send;
    bool is_over;
    int err;
};

static void send_out_done(struct dm_chan_send *send, int err)
{
    struct send_out *out = dm_container_of(send, struct send_out, send);

    out->err = err;
    out->is_over = true;
}

int dm_chan_send_out(struct dm_chan *chan, int proc, const struct dm_pkt *pkt)
{
    struct send_out out = {.send.done = send_out_done};
    int err = dm_chan_send_now(chan, proc, pkt, NULL);

    if (err != DM_EAGAIN)
        return err;
    err = dm_chan_send(chan, proc, pkt, &out.send);
    while (err == DM_OK && !*(volatile bool *)&out.is_over)
        dm_chan_progress_wait(chan);
    return err != DM_OK ? err : out.err;
}
