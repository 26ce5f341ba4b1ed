/*
 * The inbox.
 */
#include "providers/shm/transport/inbox.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "providers/shm/cm.h"
#include "providers/shm/transport/near.h"
#include "providers/shm/transport/peer.h"
#include "util/port.h"

enum { WORD_BITS = 64, AGAIN_NS = 10000000 };

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

        while (taken != UINT64_MAX) {
            uint32_t slot = i * WORD_BITS + (uint32_t)dm_lowest_bit(~taken);

            if (!atomic_compare_exchange_weak(&inbox->claimed[i], &taken, taken | inbox_bit(slot)))
                continue;
            atomic_store_explicit(&inbox->from[slot], from, memory_order_relaxed);
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
    atomic_store_explicit(&inbox->from[slot], 0, memory_order_relaxed);
    atomic_fetch_and(&inbox->claimed[slot / WORD_BITS], ~inbox_bit(slot));
}

/* Wake the owner, unless somebody has and it has not looked yet. When its socket is full it is awake,
 * and looks after it has read that. */
static void inbox_ring(struct dm_shm_conn *conn)
{
    struct dm_shm_ctrl ring = {.type = DM_CTRL_DOORBELL};

    atomic_store(&conn->peer->hdr->inbox.is_due, 1);
    if (atomic_exchange(&conn->peer->hdr->inbox.is_rung, 1) == 0 &&
        dm_shm_sock_send(conn->ia->doorbell.src.fd, &conn->peer->doorbell, &ring, -1) < 0)
        dm_shm_guard_suspect(conn->ia, conn->peer);
}

static void inbox_fill(struct dm_shm_conn *conn, uint32_t slot, const struct dm_shm_letter *head,
                       const struct dm_shm_ctrl *msg)
{
    struct dm_shm_inbox *inbox = &conn->peer->hdr->inbox;
    unsigned char *bytes = inbox_bytes(conn->peer->hdr, slot);

    memcpy(bytes, head, offsetof(struct dm_shm_letter, msg));
    memcpy(bytes + offsetof(struct dm_shm_letter, msg), msg,
           offsetof(struct dm_shm_ctrl, data) + msg->data_len);
    atomic_fetch_or(&inbox->full[slot / WORD_BITS], inbox_bit(slot));
    inbox_ring(conn);
}

static int inbox_send_request(struct dm_shm_conn *conn, struct dm_shm_letter *head,
                              const struct dm_shm_ctrl *msg)
{
    struct dm_shm_seg *own = &conn->ia->seg;
    struct dm_shm_inbox *inbox = &conn->peer->hdr->inbox;
    uint32_t slot = inbox_claim(inbox, own->hdr->id);

    if (slot == DM_SHM_INBOX_SLOTS)
        return 0;
    head->reply = inbox_claim(&own->hdr->inbox, conn->peer->id);
    if (head->reply == DM_SHM_INBOX_SLOTS) {
        inbox_free(inbox, slot);
        return 0;
    }
    inbox_fill(conn, slot, head, msg);
    return 1;
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
    return slot < DM_SHM_INBOX_SLOTS || (msg->type != DM_CTRL_CONFIRM && msg->type != DM_CTRL_GONE);
}

void dm_shm_inbox_confirm(struct dm_shm_conn *conn)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_CONFIRM};

    if (dm_shm_inbox_send(conn, &msg) == 0)
        (void)dm_shm_ctrl_ring_write(conn, &msg, false);
}

/* ---- the owner ---- */

/* Nobody waits for this answer any more: who has accepted must know. False: not now. */
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
    if (letter->msg.type == DM_CTRL_CONFIRM)
        atomic_store(&ia->has_agents, true); /* of the event that the other side has put there */
    dm_shm_conn_answered(conn, &letter->msg);
    return true;
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

    if (atomic_load(&inbox->is_rung) == 0)
        return DM_FUTEX_FOREVER;
    atomic_store(&inbox->is_rung, 0);
    if (inbox_read_all(ia))
        return DM_FUTEX_FOREVER;
    atomic_store(&inbox->is_rung, 1);
    return dm_futex_now() + AGAIN_NS;
}

void dm_shm_inbox_poll(struct dm_pia *pia)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;

    pthread_mutex_lock(&pia->lock);
    ia->is_polling = true;
    (void)inbox_read_all(ia); /* for what has to wait the thread has been woken */
    ia->is_polling = false;
    if (atomic_exchange(&ia->is_kick_due, false) && atomic_load(&ia->seg.hdr->inbox.is_rung) == 0)
        dm_shm_kick(pia);
    pthread_mutex_unlock(&pia->lock);
}

void dm_shm_inbox_forget(struct dm_shm_ia *ia, uint64_t id)
{
    struct dm_shm_inbox *inbox = &ia->seg.hdr->inbox;

    for (uint32_t slot = 0; slot < DM_SHM_INBOX_SLOTS; slot++) {
        uint64_t full = atomic_load(&inbox->full[slot / WORD_BITS]);

        if (atomic_load(&inbox->from[slot]) == id && (full & inbox_bit(slot)) == 0)
            inbox_free(inbox, slot);
    }
}
