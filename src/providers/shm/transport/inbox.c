/*
 * The inbox.
 */
#include "providers/shm/transport/inbox.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "providers/shm/cm.h"
#include "providers/shm/transport/near.h"
#include "providers/shm/transport/peer.h"
#include "util/port.h"

enum { WORD_BITS = 64, SWEEP = 8, AGAIN_NS = 10000000 /* 10 ms */ };

static_assert(sizeof(struct dm_shm_letter) <= DM_SHM_INBOX_LEN, "a letter fits into a slot");

static uint64_t inbox_bit(uint32_t slot)
{
    return UINT64_C(1) << slot % WORD_BITS;
}

static unsigned char *inbox_bytes(struct dm_shm_hdr *hdr, uint32_t slot)
{
    return slot < DM_SHM_INBOX_FIRST ? hdr->first_slots[slot].bytes
                                     : hdr->more_slots[slot - DM_SHM_INBOX_FIRST].bytes;
}

/* A slot for `from`; DM_SHM_INBOX_SLOTS: there is none. */
static uint32_t inbox_claim(struct dm_shm_inbox *inbox, uint64_t from)
{
    for (uint32_t i = 0; i < DM_SHM_INBOX_WORDS; i++) {
        uint64_t taken = atomic_load_explicit(&inbox->claimed[i], memory_order_relaxed);

        for (; taken != UINT64_MAX; taken |= taken + 1) {
            uint32_t slot = i * WORD_BITS + (uint32_t)dm_lowest_bit(~taken);
            uint64_t none = 0;

            if (!atomic_compare_exchange_strong(&inbox->from[slot], &none, from))
                continue;
            atomic_fetch_or(&inbox->claimed[i], inbox_bit(slot));
            return slot;
        }
    }
    return DM_SHM_INBOX_SLOTS;
}

bool dm_shm_inbox_has_space(const struct dm_shm_ia *ia)
{
    const struct dm_shm_inbox *inbox = &ia->seg.hdr->inbox;
    int n = 0;

    for (uint32_t i = 0; i < DM_SHM_INBOX_WORDS; i++)
        for (uint64_t taken = atomic_load(&inbox->claimed[i]); taken != 0; taken &= taken - 1)
            n++;
    return n < DM_SHM_INBOX_SLOTS / 2;
}

static void inbox_free(struct dm_shm_inbox *inbox, uint32_t slot)
{
    atomic_fetch_and(&inbox->claimed[slot / WORD_BITS], ~inbox_bit(slot));
    atomic_store(&inbox->from[slot], 0);
}

/* Free a slot of which only this is known. False: it is not so any more. */
static bool inbox_free_of(struct dm_shm_inbox *inbox, uint32_t slot, uint64_t from)
{
    if (!atomic_compare_exchange_strong(&inbox->from[slot], &from, UINT64_MAX))
        return false;
    inbox_free(inbox, slot);
    return true;
}

/* Wake the owner. There may be no space for it, in its socket or for what others have not read of ours:
 * then again later. Without it the next letter rings as well. */
static void inbox_ring(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    struct dm_shm_ctrl ring = {.type = DM_CTRL_DOORBELL};
    int sent = dm_shm_sock_send(ia->doorbell.src.fd, &peer->doorbell, &ring, -1);

    if (sent > 0)
        return;
    atomic_store(&peer->hdr->inbox.is_rung, 0);
    if (sent < 0) {
        dm_shm_guard_suspect(ia, peer);
        return;
    }
    peer->is_unrung = ia->doorbell.has_unrung = true;
    if (dm_futex_now() + AGAIN_NS < ia->wake_at)
        dm_shm_kick(&ia->pia);
}

/* Something has come. Wake the owner, unless somebody has and it has not looked yet. */
static void inbox_notify(struct dm_shm_conn *conn)
{
    struct dm_shm_inbox *inbox = &conn->peer->hdr->inbox;

    atomic_store(&inbox->is_due, 1);
    if (atomic_exchange(&inbox->is_rung, 1) == 0)
        inbox_ring(conn->ia, conn->peer);
}

static void inbox_fill(struct dm_shm_conn *conn, uint32_t slot, const struct dm_shm_letter *head,
                       const struct dm_shm_ctrl *msg)
{
    struct dm_shm_inbox *inbox = &conn->peer->hdr->inbox;
    unsigned char *bytes = inbox_bytes(conn->peer->hdr, slot);
    uint64_t own = conn->ia->seg.hdr->id;

    if (!atomic_compare_exchange_strong(&inbox->from[slot], &own, own | DM_SHM_FILLING))
        return; /* it takes us for dead */
    memcpy(bytes, head, offsetof(struct dm_shm_letter, msg));
    memcpy(bytes + offsetof(struct dm_shm_letter, msg), msg,
           offsetof(struct dm_shm_ctrl, data) + msg->data_len);
    atomic_fetch_or(&inbox->full[slot / WORD_BITS], inbox_bit(slot));
    inbox_notify(conn);
}

static int inbox_send_request(struct dm_shm_conn *conn, struct dm_shm_letter *head,
                              const struct dm_shm_ctrl *msg)
{
    struct dm_shm_seg *own = &conn->ia->seg;
    struct dm_shm_inbox *inbox = &conn->peer->hdr->inbox;
    uint32_t slot;

    if (!dm_shm_inbox_has_space(conn->ia)) /* others have asked since it was found */
        return 0;
    slot = inbox_claim(inbox, own->hdr->id);
    if (slot == DM_SHM_INBOX_SLOTS)
        return 0;
    head->reply = inbox_claim(&own->hdr->inbox, conn->peer->id);
    if (head->reply == DM_SHM_INBOX_SLOTS) {
        inbox_free(inbox, slot);
        return 0;
    }
    conn->reply = head->reply;
    inbox_fill(conn, slot, head, msg);
    return 1;
}

/* Others say what the other side finds out anyway. */
static bool inbox_must_arrive(const struct dm_shm_ctrl *msg)
{
    return msg->type == DM_CTRL_CONFIRM || msg->type == DM_CTRL_CONFIRM_LOST ||
           msg->type == DM_CTRL_GONE;
}

int dm_shm_inbox_send(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg)
{
    struct dm_shm_letter head = {.to = conn->peer_id,
                                 .qual = conn->active.qual,
                                 .pid = (int32_t)conn->ia->pia.pid,
                                 .fd = conn->ia->seg.fd};
    uint32_t slot = conn->reply;

    if (conn->peer == NULL)
        return 1;
    if (msg->type == DM_CTRL_REQUEST)
        return inbox_send_request(conn, &head, msg);
    if (conn->peer_id == 0) /* that it gives up the other side learns from its answer */
        return 1;
    if (msg->type != DM_CTRL_ACCEPT && msg->type != DM_CTRL_REJECT && msg->type != DM_CTRL_HANDOFF)
        slot = inbox_claim(&conn->peer->hdr->inbox, conn->ia->seg.hdr->id);
    if (slot < DM_SHM_INBOX_SLOTS)
        inbox_fill(conn, slot, &head, msg);
    return slot < DM_SHM_INBOX_SLOTS || !inbox_must_arrive(msg);
}

void dm_shm_inbox_confirm(struct dm_shm_conn *conn)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_CONFIRM};

    if (dm_shm_inbox_send(conn, &msg) == 0)
        (void)dm_shm_ctrl_ring_write(conn, &msg, false);
}

void dm_shm_inbox_doubt(struct dm_shm_ia *ia)
{
    dm_list_for_each (it, &ia->srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);
        struct dm_shm_conn *conn = (struct dm_shm_conn *)src;

        if (src->kind == DM_SRC_CONN && conn->is_near && conn->peer != NULL &&
            (conn->state == DM_CONN_REQUESTED || conn->state == DM_CONN_ACCEPTED))
            conn->peer->is_unrung = ia->doorbell.has_unrung = true;
    }
}

uint64_t dm_shm_inbox_ring_late(struct dm_shm_ia *ia)
{
    if (!ia->doorbell.has_unrung)
        return DM_FUTEX_FOREVER;
    ia->doorbell.has_unrung = false;
    dm_list_for_each (it, &ia->peers) {
        struct dm_shm_peer *peer = dm_container_of(it, struct dm_shm_peer, link);
        bool is_due = peer->is_unrung && !peer->is_gone;

        peer->is_unrung = false;
        if (is_due && atomic_load(&peer->hdr->inbox.is_due) != 0) { /* nobody has looked since */
            atomic_store(&peer->hdr->inbox.is_rung, 1);
            inbox_ring(ia, peer);
        }
    }
    return ia->doorbell.has_unrung ? dm_futex_now() + AGAIN_NS : DM_FUTEX_FOREVER;
}

/* ---- the owner ---- */

/* Nobody waits for this answer any more, or can make use of it: who has accepted must know. False: not now. */
static bool inbox_turn_back(struct dm_shm_ia *ia, const struct dm_shm_letter *letter)
{
    struct dm_shm_conn conn = {.ia = ia, .peer_id = letter->msg.conn};
    const struct dm_shm_who who = {.id = letter->msg.id, .mask = UINT64_MAX, .pid = letter->pid};
    struct dm_shm_ctrl msg = {.type = DM_CTRL_GONE};
    bool is_sent;

    if (letter->msg.type != DM_CTRL_ACCEPT)
        return true;
    conn.peer = dm_shm_near_open(ia, letter->fd, &who);
    if (conn.peer == NULL)
        return errno != EMFILE && errno != ENFILE; /* else it is gone as well */
    is_sent = dm_shm_inbox_send(&conn, &msg) != 0;
    dm_shm_peer_put(ia, conn.peer);
    return is_sent;
}

/* False: it has to wait. */
static bool inbox_deliver(struct dm_shm_ia *ia, const struct dm_shm_letter *letter)
{
    struct dm_shm_conn *conn;

    if (letter->msg.type == DM_CTRL_REQUEST)
        return dm_shm_cm_request_near(ia, letter);
    conn = dm_hash_get(&ia->doorbell.conns, letter->to);
    if (conn == NULL || !conn->is_near)
        return inbox_turn_back(ia, letter);
    if (ia->is_polling && letter->msg.type == DM_CTRL_ACCEPT &&
        !dm_shm_cm_can_confirm(conn, &letter->msg))
        return false; /* the thread may wait */
    if (letter->msg.type == DM_CTRL_CONFIRM)
        atomic_store(&ia->has_agents, true); /* of the event that the other side has put there */
    dm_shm_conn_answered(conn, &letter->msg);
    if (letter->msg.type != DM_CTRL_ACCEPT)
        return true;
    conn = dm_hash_get(&ia->doorbell.conns, letter->to);
    return (conn != NULL && conn->state == DM_CONN_UP) || inbox_turn_back(ia, letter);
}

/* Read a slot. False: it has to be read again. */
static bool inbox_read(struct dm_shm_ia *ia, uint32_t slot)
{
    struct dm_shm_inbox *inbox = &ia->seg.hdr->inbox;
    struct dm_shm_letter letter;

    memcpy(&letter, inbox_bytes(ia->seg.hdr, slot), offsetof(struct dm_shm_letter, msg.data));
    if (letter.msg.data_len <= DM_PRIVATE_MAX && letter.reply < DM_SHM_INBOX_SLOTS) {
        memcpy(letter.msg.data,
               inbox_bytes(ia->seg.hdr, slot) + offsetof(struct dm_shm_letter, msg.data),
               letter.msg.data_len);
        if (!inbox_deliver(ia, &letter)) {
            atomic_fetch_or(&inbox->full[slot / WORD_BITS], inbox_bit(slot));
            return false;
        }
    }
    inbox_free(inbox, slot);
    return true;
}

/* Read all that is there. False: some of it has to wait. */
static bool inbox_read_all(struct dm_shm_ia *ia)
{
    struct dm_shm_inbox *inbox = &ia->seg.hdr->inbox;
    bool is_again = false;

    atomic_store(&inbox->is_due, 0);
    for (uint32_t i = 0; i < DM_SHM_INBOX_WORDS; i++) {
        uint64_t full = atomic_exchange(&inbox->full[i], 0);

        for (; full != 0; full &= full - 1)
            is_again |= !inbox_read(ia, i * WORD_BITS + (uint32_t)dm_lowest_bit(full));
    }
    return !is_again;
}

uint64_t dm_shm_inbox_look(struct dm_shm_ia *ia)
{
    struct dm_shm_inbox *inbox = &ia->seg.hdr->inbox;

    if (atomic_load(&inbox->is_rung) == 0 && atomic_load(&inbox->is_due) == 0)
        return DM_FUTEX_FOREVER;
    atomic_store(&inbox->is_rung, 0);
    if (inbox_read_all(ia))
        return DM_FUTEX_FOREVER;
    atomic_store(&inbox->is_rung, 1);
    return dm_futex_now() + AGAIN_NS;
}

void dm_shm_inbox_end(struct dm_shm_ia *ia)
{
    atomic_store(&ia->seg.hdr->inbox.is_rung, 0); /* who comes later finds that nobody is there */
    (void)inbox_read_all(ia);
}

void dm_shm_inbox_poll(struct dm_pia *pia)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;

    if (pthread_mutex_trylock(&pia->lock) != 0)
        return; /* the next poll, or the thread, which may take long */
    ia->is_polling = true;
    if (!inbox_read_all(ia)) { /* what has to wait is for the thread */
        atomic_store(&ia->seg.hdr->inbox.is_rung, 1);
        ia->is_kick_due = true;
    }
    ia->is_polling = false;
    if (atomic_exchange(&ia->is_kick_due, false)) /* its doorbell may not have been rung */
        dm_shm_kick(pia);
    pthread_mutex_unlock(&pia->lock);
}

static bool inbox_is_full(const struct dm_shm_inbox *inbox, uint32_t slot)
{
    return (atomic_load(&inbox->full[slot / WORD_BITS]) & inbox_bit(slot)) != 0;
}

void dm_shm_inbox_forget(struct dm_shm_ia *ia, uint64_t id, bool has_ended)
{
    struct dm_shm_inbox *inbox = &ia->seg.hdr->inbox;

    for (uint32_t slot = 0; slot < DM_SHM_INBOX_SLOTS; slot++)
        if (!inbox_free_of(inbox, slot, id) && has_ended && !inbox_is_full(inbox, slot))
            (void)inbox_free_of(inbox, slot, id | DM_SHM_FILLING);
}

void dm_shm_inbox_sweep(struct dm_shm_ia *ia)
{
    for (int i = 0; i < SWEEP; i++) {
        uint32_t slot = ia->doorbell.swept++ % DM_SHM_INBOX_SLOTS;
        uint64_t from = atomic_load(&ia->seg.hdr->inbox.from[slot]);
        struct dm_shm_name name;

        if (from == 0 || (from & DM_SHM_FILLING) != 0 ||
            dm_hash_get(&ia->peers_by_id, from) != NULL)
            continue;
        dm_shm_sock_doorbell_name(from, &name);
        if (!dm_shm_sock_is_there(&name, SOCK_DGRAM))
            dm_shm_inbox_forget(ia, from, false);
    }
}

void dm_shm_inbox_take_back(struct dm_shm_conn *conn)
{
    (void)inbox_free_of(&conn->ia->seg.hdr->inbox, conn->reply, conn->peer->id);
}
