/*
 * Cancelling sends (MPI-4.0 section 3.8.4): the receiver is asked to forget the message if nobody
 * has matched it. It knows it by the sender's number for it. CANCEL follows the message through the
 * same pipe, so the answer is the truth, and the request is pending until it comes.
 *
 * A nonblocking send that was over at once has no request. Its handle carries the low bits of the
 * number, and dm_p2p.sent remembers the last ones of these; cancelling it makes a request that
 * stands for the handle from then on.
 *
 * MPI_Finalize does the same for sends that are left over, whose requests were freed. A message
 * that is asked for so (LAST) and is not matched may still be received until the receiver, too, is in
 * MPI_Finalize: it answers then. One that is matched is answered at once: the processes may part meanwhile.
 */
#include "mpi/pt2pt/p2p.h"

#include <stdlib.h>

#include "util/err.h"
#include "util/log.h"

#define LAST 1 /* pkt.flags of CANCEL */

/* A CANCEL packet (LAST) that is not answered before this process is in MPI_Finalize. */
struct deferred_cancel {
    struct dm_list node; /* in dm_p2p.deferred_cancels */
    struct dm_pkt_cancel h;
    int proc;
};

struct recall {
    struct dm_list node;     /* in dm_p2p.recalls */
    struct dm_req *owner;    /* whose status says what became of it; with a reference */
    struct dm_p2p_req *send; /* the send: the same, or its inner one */
    int proc;
};

static void cancel_end(struct recall *c, int err)
{
    struct dm_req *owner = c->owner;

    dm_list_del(&c->node);
    free(c);
    dm_p2p.n_sends--;
    /* Not the last reference, the operation has one; with its end what it is a part of may go. */
    dm_req_unref(owner);
    dm_p2p_req_step((struct dm_p2p_req *)owner, err);
}

/*
 * Ask for the message of `send`; `owner`, whose status reports the outcome, gets pending. flags:
 * LAST, or 0.
 */
static int cancel_start(struct dm_p2p_req *owner, struct dm_p2p_req *send, uint8_t flags)
{
    struct recall *c = malloc(sizeof(*c));
    struct dm_pkt_cancel h = {
        .pkt = {.type = DM_PKT_CANCEL,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(h),
                .flags = flags},
        .key = send->node.key,
        .id = send->id,
        .recall = (uintptr_t)c,
    };

    if (c == NULL)
        return DM_FAIL(DM_ENOMEM, "cancelling a send");
    owner->is_recalling = true;
    *c = (struct recall){.owner = &owner->req, .send = send, .proc = send->proc};
    dm_req_ref(&owner->req);
    if (owner->req.n_pending++ == 0)
        dm_req_ref(&owner->req);
    dm_p2p.n_sends++;
    dm_list_add_tail(&dm_p2p.recalls, &c->node);
    if (dm_chan_send_ctl(dm_world.chan, send->proc, &h.pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory to cancel a send");
    return DM_OK;
}

int dm_p2p_cancel_send(struct dm_req *req)
{
    struct dm_p2p_req *owner = (struct dm_p2p_req *)req;
    struct dm_p2p_req *send = owner->inner != NULL ? owner->inner : owner;

    /* Without a number there is no message. */
    if (send->id == 0 || owner->is_recalling || dm_chan_is_lost(dm_world.chan, send->proc))
        return DM_OK;
    return cancel_start(owner, send, 0);
}

int dm_p2p_cancel_done(int handle)
{
    uint32_t number = dm_req_done_number(handle);
    struct dm_p2p_sent *sent = &dm_p2p.sent[number % DM_P2P_N_SENT];
    struct dm_req *done = dm_req_get(handle);
    struct dm_p2p_req *r;

    if (number == 0 || (sent->id & DM_REQ_DONE_MASK) != number ||
        dm_chan_is_lost(dm_world.chan, sent->proc))
        return DM_OK;
    r = dm_p2p_req_new(DM_REQ_SEND, dm_world.comm_self, NULL, 0, dm_type_get(MPI_BYTE));
    if (r == NULL)
        return DM_ENOMEM;
    r->req.obj = (struct dm_obj){.handle = handle, .refs = 1};
    r->req.n_pending = 0;
    r->id = sent->id;
    r->proc = sent->proc;
    r->node.key = sent->key;
    r->is_listed = true;
    dm_list_add_tail(&dm_p2p.recalled, &r->active);
    sent->id = 0;
    dm_req_unref(done);
    return cancel_start(r, r, 0);
}

struct dm_req *dm_p2p_recalled(int handle)
{
    dm_list_for_each (it, &dm_p2p.recalled) {
        struct dm_p2p_req *r = dm_container_of(it, struct dm_p2p_req, active);

        if (r->req.obj.handle == handle)
            return &r->req;
    }
    return NULL;
}

void dm_p2p_cancel_lost(int proc)
{
    dm_list_for_each_safe (it, tmp, &dm_p2p.recalls) {
        struct recall *c = dm_container_of(it, struct recall, node);

        if (c->proc == proc)
            cancel_end(c, DM_EPEER);
    }
}

/* An unmatched message, NULL: there is none. */
static struct dm_p2p_unexp *cancel_find(int proc, const struct dm_mkey *key, uint32_t id)
{
    int kind;
    struct dm_mnode *first = dm_match_find_unexp(&dm_p2p.match, key, &kind), *node = first;

    if (first == NULL)
        return NULL;
    do {
        struct dm_p2p_unexp *u = dm_container_of(node, struct dm_p2p_unexp, nodes[0]);

        if (u->proc == proc && u->id == id)
            return u;
        node = node->next;
    } while (node != first);
    return NULL;
}

/* Forget it; its packet type, 0: there is none. */
static uint8_t cancel_forget(int proc, const struct dm_mkey *key, uint32_t id)
{
    struct dm_p2p_unexp *u = cancel_find(proc, key, id);
    uint8_t type = u != NULL ? u->type : 0;

    if (u != NULL) {
        dm_match_del_unexp(&dm_p2p.match, u->nodes);
        dm_p2p_unexp_free(u);
    }
    return type;
}

/* The request of a probe that has matched the message, which is not received yet. */
static struct dm_p2p_req *cancel_find_probed(int proc, uint32_t id)
{
    dm_list_for_each (it, &dm_p2p.probed) {
        struct dm_p2p_req *r = dm_container_of(it, struct dm_p2p_req, active);

        if (r->unexp != NULL && r->unexp->proc == proc && r->unexp->id == id)
            return r;
    }
    return NULL;
}

/* The same with one that a probe has matched, and that will not be received any more. */
static uint8_t cancel_forget_probed(int proc, uint32_t id)
{
    struct dm_p2p_req *r = cancel_find_probed(proc, id);
    uint8_t type = 0;

    if (r != NULL) {
        type = r->unexp->type;
        dm_p2p_unexp_free(r->unexp);
        r->unexp = NULL;
    }
    return type;
}

static void cancel_answer(int proc, const struct dm_pkt_cancel *h)
{
    struct dm_pkt_cancel_ack ack = {
        .pkt = {.type = DM_PKT_CANCEL_ACK,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(ack),
                .flags = cancel_forget(proc, &h->key, h->id)},
        .recall = h->recall,
    };

    if (ack.pkt.flags == 0 && h->pkt.flags == LAST)
        ack.pkt.flags = cancel_forget_probed(proc, h->id);
    DM_TRACE(MATCH, "rank %d cancels tag %d: %s", proc, h->key.tag,
             ack.pkt.flags != 0 ? "forgotten" : "too late");
    if (dm_chan_send_ctl(dm_world.chan, proc, &ack.pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory to answer a cancelled send");
}

static void on_cancel(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                      struct dm_chan_sink *sink)
{
    const struct dm_pkt_cancel *h = (const struct dm_pkt_cancel *)(const void *)pkt;
    struct deferred_cancel *later;

    (void)arg;
    (void)data;
    (void)avail;
    (void)sink;
    if (h->pkt.flags != LAST || dm_p2p.is_leaving ||
        (cancel_find(proc, &h->key, h->id) == NULL && cancel_find_probed(proc, h->id) == NULL)) {
        cancel_answer(proc, h);
        return;
    }
    later = malloc(sizeof(*later));
    if (later == NULL)
        dm_p2p_fatal("no memory to answer a cancelled send");
    later->h = *h;
    later->proc = proc;
    dm_list_add_tail(&dm_p2p.deferred_cancels, &later->node);
}

/* Has what the send itself waits for come? */
static bool cancel_is_sent(const struct recall *c)
{
    return c->send->req.n_pending == (&c->send->req == c->owner);
}

void dm_p2p_cancel_gone(int proc, bool is_free)
{
    dm_list_for_each_safe (it, tmp, &dm_p2p.recalls) {
        struct recall *c = dm_container_of(it, struct recall, node);

        if (c->proc == proc && cancel_is_sent(c))
            cancel_end(c, DM_OK);
    }
    dm_list_for_each_safe (it, tmp, &dm_p2p.deferred_cancels) {
        struct deferred_cancel *later = dm_container_of(it, struct deferred_cancel, node);

        if (later->proc != proc || !is_free)
            continue;
        dm_list_del(it);
        free(later);
    }
}

/* NULL: it was not waited for any more. */
static struct recall *cancel_find_recall(uint64_t recall)
{
    dm_list_for_each (it, &dm_p2p.recalls) {
        struct recall *c = dm_container_of(it, struct recall, node);

        if ((uintptr_t)c == recall)
            return c;
    }
    return NULL;
}

/*
 * A send that nobody waits for. One of a collective, whose request is its own, belongs to what all
 * take part in and is not given up; a half of MPI_Isendrecv and a partition are parts of their
 * requests.
 */
static struct dm_p2p_req *cancel_find_leftover(void)
{
    dm_list_for_each (it, &dm_p2p.active) {
        struct dm_p2p_req *r = dm_container_of(it, struct dm_p2p_req, active);

        if (r->is_counted && r->id != 0 && !r->is_recalling &&
            (r->on_over == NULL || !r->holds_refs || dm_p2p_bsend_is_flushed(r)) &&
            !dm_chan_is_lost(dm_world.chan, r->proc))
            return r;
    }
    return NULL;
}

void dm_p2p_cancel_rest(void)
{
    struct dm_p2p_req *r;

    dm_p2p.is_leaving = true;
    dm_list_for_each_safe (it, tmp, &dm_p2p.deferred_cancels) {
        struct deferred_cancel *later = dm_container_of(it, struct deferred_cancel, node);

        dm_list_del(it);
        cancel_answer(later->proc, &later->h);
        free(later);
    }
    /* The list changes when a process is found lost, or is this one and answers at once. */
    while ((r = cancel_find_leftover()) != NULL)
        if (cancel_start(r, r, LAST) != DM_OK)
            break;
}

static void on_cancel_ack(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                          size_t avail, struct dm_chan_sink *sink)
{
    const struct dm_pkt_cancel_ack *ack = (const struct dm_pkt_cancel_ack *)(const void *)pkt;
    struct recall *c = cancel_find_recall(ack->recall);

    (void)arg;
    (void)proc;
    (void)data;
    (void)avail;
    (void)sink;
    if (c == NULL)
        return;
    if (pkt->flags != 0) {
        c->owner->is_cancelled = true;
        dm_status_set_cancelled(&c->owner->status, true);
        /* The answer that the send awaits will not come. */
        if (pkt->flags != DM_PKT_EAGER)
            dm_p2p_req_step(c->send, DM_OK);
    }
    cancel_end(c, DM_OK);
}

void dm_p2p_cancel_start(void)
{
    dm_chan_on_packet(dm_world.chan, DM_PKT_CANCEL, on_cancel, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_CANCEL_ACK, on_cancel_ack, NULL);
}
