/*
 * Connections: the fid_ep, notes and mail, and the end.
 *
 * A connection that is over is put on ia->ending, and closed after the round:
 * then the fabric reports what was outstanding, the endpoint flushes the rest,
 * and the consumer gets the one event that ends it.
 */
#include "providers/ofi/ofi.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/ofi/sock.h"

enum { INDEX_BITS = 16, INDEX_MASK = (1 << INDEX_BITS) - 1, GEN_MASK = 0xfff, GROW = 64 };
enum { CHECKS = 8, PUMP_MS = 1 };

#define LINGER_NS 2000000000u /* for last words */
#define HANGUP_NS 100000000u
#define MAIL_DUE  (DM_OFI_MAIL_SLOTS / 4)

/* ---- life ---- */

/* A place in ia->by, which is not given away again for long. */
static bool number_new(struct dm_ofi_conn *conn)
{
    struct dm_ofi_ia *ia = conn->ia;
    struct dm_ofi_conn **by;
    uint32_t index;

    for (uint32_t i = 0; i < ia->n_numbers; i++) {
        index = (ia->last_number + 1 + i) % ia->n_numbers;
        if (ia->by[index] == NULL)
            goto found;
    }
    if (ia->n_numbers > INDEX_MASK)
        return false;
    by = realloc(ia->by, (ia->n_numbers + GROW) * sizeof(struct dm_ofi_conn *));
    if (by == NULL)
        return false;
    memset(by + ia->n_numbers, 0, GROW * sizeof(struct dm_ofi_conn *));
    ia->by = by;
    index = ia->n_numbers;
    ia->n_numbers += GROW;
found:
    ia->last_number = index;
    ia->number_gen = (ia->number_gen + 1) & GEN_MASK;
    conn->number = ia->number_gen << INDEX_BITS | index;
    ia->by[index] = conn;
    return true;
}

static struct dm_ofi_conn *number_get(struct dm_ofi_ia *ia, uint32_t number)
{
    uint32_t index = number & INDEX_MASK;

    if (index >= ia->n_numbers || ia->by[index] == NULL || ia->by[index]->number != number)
        return NULL;
    return ia->by[index];
}

static void note_done(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    (void)ctx; /* an error ends the connection in other ways */
    (void)done;
}

struct dm_ofi_conn *dm_ofi_conn_new(struct dm_ofi_ia *ia, enum dm_ofi_conn_state state)
{
    struct dm_ofi_conn *conn = calloc(1, sizeof(*conn));

    if (conn == NULL)
        return NULL;
    conn->ia = ia;
    conn->state = state;
    conn->sock = -1;
    conn->deadline = DM_FUTEX_FOREVER;
    conn->check = DM_FUTEX_FOREVER;
    conn->note_ctx.done = note_done;
    conn->peer_floor = UINT64_MAX;
    conn->floor = UINT64_MAX;
    conn->floor_told = UINT64_MAX;
    conn->mailbox = calloc(DM_OFI_MAIL_SLOTS, sizeof(struct dm_ofi_mail));
    if (conn->mailbox == NULL || !number_new(conn))
        goto err;
    /* Nobody else can have this key: the tokens of zones are not guessable. */
    conn->mail_key = (uint64_t)dm_ofi_mail_token(ia) << 32 | conn->number;
    if (fi_mr_reg(ia->domain, conn->mailbox, DM_OFI_MAIL_SLOTS * sizeof(struct dm_ofi_mail),
                  FI_REMOTE_WRITE, 0, conn->mail_key, 0, &conn->mail_mr, NULL) != 0) {
        ia->by[conn->number & INDEX_MASK] = NULL;
        goto err;
    }
    conn->mail_key = fi_mr_key(conn->mail_mr);
    dm_list_add_tail(&ia->conns, &conn->link);
    ia->n_setup++;
    return conn;

err:
    free(conn->mailbox);
    free(conn->outbox);
    free(conn);
    return NULL;
}

bool dm_ofi_conn_open(struct dm_ofi_conn *conn, struct fi_info *info)
{
    struct dm_ofi_ia *ia = conn->ia;

    if (fi_endpoint(ia->domain, info != NULL ? info : ia->info, &conn->fid, conn) != 0)
        return false;
    if (fi_ep_bind(conn->fid, &ia->eq->fid, 0) == 0 &&
        fi_ep_bind(conn->fid, &ia->cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION) == 0 &&
        fi_enable(conn->fid) == 0 && dm_ofi_hello_expect(conn))
        return true;
    dm_ofi_conn_close_fid(conn);
    return false;
}

void dm_ofi_conn_close_fid(struct dm_ofi_conn *conn)
{
    if (conn->fid == NULL)
        return;
    conn->sock = -1;
    fi_close(&conn->fid->fid);
    conn->fid = NULL;
    while (dm_ofi_read_cq(conn->ia) > 0) /* what was outstanding */
        continue;
}

void dm_ofi_timer_at(struct dm_ofi_ia *ia, uint64_t when)
{
    if (when >= ia->next_timer)
        return;
    ia->next_timer = when;
    dm_ofi_kick(&ia->pia);
}

void dm_ofi_conn_timer(struct dm_ofi_conn *conn, uint64_t deadline)
{
    conn->deadline = deadline;
    dm_ofi_timer_at(conn->ia, deadline);
}

/* ---- the handshake's messages ---- */

static void sent(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct dm_ofi_packet *packet = dm_container_of(ctx, struct dm_ofi_packet, ctx);

    (void)done;
    free(packet);
}

static void arrived(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct dm_ofi_packet *packet = dm_container_of(ctx, struct dm_ofi_packet, ctx);
    const struct dm_ofi_hello *hello = &packet->hello;
    struct dm_ofi_conn *conn = packet->conn;
    const size_t head = offsetof(struct dm_ofi_hello, data);

    if (done->err == 0 && conn->state < DM_CONN_UP) {
        if (done->len >= head && hello->magic == DM_OFI_MAGIC && hello->version == DM_OFI_VERSION &&
            hello->data_len <= DM_PRIVATE_MAX && done->len >= head + hello->data_len)
            dm_ofi_cm_hello(conn, hello);
        else
            dm_ofi_cm_shutdown(conn); /* nonsense */
    }
    free(packet);
}

bool dm_ofi_hello_expect(struct dm_ofi_conn *conn)
{
    struct dm_ofi_packet *packet = calloc(1, sizeof(*packet));
    struct iovec vec;
    struct fi_msg msg = {.msg_iov = &vec, .iov_count = 1};

    if (packet == NULL)
        return false;
    packet->ctx.done = arrived;
    packet->conn = conn;
    vec.iov_base = &packet->hello;
    vec.iov_len = sizeof(packet->hello);
    msg.context = &packet->ctx;
    if (fi_recvmsg(conn->fid, &msg, FI_COMPLETION) == 0)
        return true;
    free(packet);
    return false;
}

bool dm_ofi_hello_send(struct dm_ofi_conn *conn, enum dm_ofi_hello_type type, uint32_t status,
                       DAT_CONN_QUAL qual, const void *data, uint32_t len)
{
    struct dm_ofi_packet *packet = calloc(1, sizeof(*packet));
    struct dm_ofi_ia *ia = conn->ia;
    struct dm_ofi_hello *hello;
    struct iovec vec;
    struct fi_msg msg = {.msg_iov = &vec, .iov_count = 1};

    if (packet == NULL)
        return false;
    packet->ctx.done = sent;
    packet->conn = conn;
    hello = &packet->hello;
    hello->magic = DM_OFI_MAGIC;
    hello->version = DM_OFI_VERSION;
    hello->type = type;
    hello->status = status;
    hello->number = conn->number;
    hello->qual = qual;
    hello->mail = (uint64_t)(uintptr_t)conn->mailbox;
    hello->mail_key = conn->mail_key;
    hello->is_split = ia->is_split;
    hello->is_shared = conn->ep != NULL && conn->ep->srq != NULL;
    if (conn->ep != NULL && conn->ep->srq == NULL)
        hello->n_recvs = conn->n_told = conn->ep->n_handed;
    hello->floor = conn->floor_told = conn->floor;
    memcpy(hello->addr, &ia->pia.addr, sizeof(hello->addr));
    hello->data_len = len;
    if (len > 0)
        memcpy(hello->data, data, len);
    vec.iov_base = hello;
    vec.iov_len = offsetof(struct dm_ofi_hello, data) + len;
    msg.context = &packet->ctx;
    if (fi_sendmsg(conn->fid, &msg, FI_COMPLETION) == 0)
        return true;
    free(packet);
    return false;
}

void dm_ofi_conn_meet(struct dm_ofi_conn *conn, const struct dm_ofi_hello *hello)
{
    conn->peer_number = hello->number & DM_OFI_NUMBER_MAX;
    conn->is_peer_shared = hello->is_shared != 0;
    conn->n_peer_recvs = hello->n_recvs;
    conn->peer_floor = hello->floor;
    conn->peer_mail = hello->mail;
    conn->peer_mail_key = hello->mail_key;
}

void dm_ofi_conn_up(struct dm_ofi_conn *conn, DAT_COUNT len)
{
    struct dm_ofi_ia *ia = conn->ia;
    struct dm_ofi_ep *ep = conn->ep;

    conn->state = DM_CONN_UP;
    conn->was_up = true;
    conn->deadline = DM_FUTEX_FOREVER;
    ia->n_setup--;
    atomic_store(&ep->ep.state, DAT_EP_STATE_CONNECTED);
    dm_evd_add_conn(ep->ep.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, (DAT_EP_HANDLE)ep,
                    ep->ep.private_data, len);
    dm_ofi_ep_up(ep);
    dm_ofi_conn_grant(conn);
}

/* ---- notes and mail ---- */

uint64_t dm_ofi_note_word(const struct dm_ofi_conn *conn, enum dm_ofi_note kind, uint32_t value)
{
    return (uint64_t)kind << 60 | (uint64_t)conn->peer_number << 32 | value;
}

bool dm_ofi_note_send(struct dm_ofi_conn *conn, enum dm_ofi_note kind, uint32_t value)
{
    if (conn->fid == NULL || conn->is_shut)
        return false;
    return fi_writedata(conn->fid, conn->mailbox, 0, NULL, dm_ofi_note_word(conn, kind, value), 0,
                        conn->peer_mail, conn->peer_mail_key, &conn->note_ctx) == 0;
}

/* Notes that have to be sent some time. */
static void note_due(struct dm_ofi_conn *conn, enum dm_ofi_note kind)
{
    uint32_t value = conn->is_blaming;

    if (kind == DM_NOTE_READ)
        value = conn->n_mail_read;
    else if (kind == DM_NOTE_RECVS)
        value = conn->n_told;
    else if (kind == DM_NOTE_TAKEN)
        value = conn->n_arrived;
    if (dm_ofi_note_send(conn, kind, value))
        conn->notes_due &= ~(1u << kind);
    else
        conn->notes_due |= 1u << kind;
    if (conn->notes_due != 0)
        dm_ofi_conn_timer(conn, dm_futex_now() + PUMP_MS * 1000000u);
}

/* Half of what there is at least. */
void dm_ofi_conn_grant(struct dm_ofi_conn *conn)
{
    uint32_t n;

    if (conn->state != DM_CONN_UP || conn->ep == NULL || conn->ep->srq != NULL)
        return;
    dm_ofi_ep_tell_floor(conn->ep);
    if (!dm_list_is_empty(&conn->ep->mails))
        return; /* which come first; called again then */
    n = conn->n_arrived + conn->ep->n_handed;
    if ((int32_t)(n - conn->n_told) <= (int32_t)(conn->n_told - conn->n_arrived))
        return;
    conn->n_told = n;
    note_due(conn, DM_NOTE_RECVS);
}

bool dm_ofi_mail_send(struct dm_ofi_conn *conn, const struct dm_ofi_mail *mail)
{
    uint32_t slot = conn->n_mail_sent % DM_OFI_MAIL_SLOTS;

    if (conn->fid == NULL || conn->n_mail_sent - conn->n_mail_acked >= DM_OFI_MAIL_SLOTS)
        return false;
    /* Small enough for the fabric to copy: the caller keeps his buffer. */
    if (fi_inject_writedata(conn->fid, mail, sizeof(*mail),
                            dm_ofi_note_word(conn, DM_NOTE_MAIL, conn->n_mail_sent + 1), 0,
                            conn->peer_mail + slot * sizeof(*mail), conn->peer_mail_key) != 0)
        return false;
    conn->n_mail_sent++;
    return true;
}

bool dm_ofi_mail_send_behind(struct dm_ofi_conn *conn, const struct dm_ofi_mail *mail,
                             const struct iovec *data, const struct fi_rma_iov *remote,
                             size_t n_remote)
{
    const struct fi_tx_attr *tx = conn->ia->info->tx_attr;
    uint32_t slot = conn->n_mail_sent % DM_OFI_MAIL_SLOTS;
    uint64_t flags = FI_REMOTE_CQ_DATA;
    struct fi_rma_iov places[3];
    struct iovec vec[2] = {*data};
    struct fi_msg_rma msg = {.msg_iov = vec,
                             .iov_count = 2,
                             .rma_iov = places,
                             .rma_iov_count = n_remote + 1,
                             .context = &conn->note_ctx,
                             .data = dm_ofi_note_word(conn, DM_NOTE_MAIL, conn->n_mail_sent + 1)};

    if (conn->fid == NULL || conn->n_mail_sent - conn->n_mail_acked >= DM_OFI_MAIL_SLOTS ||
        tx->iov_limit < 2 || tx->rma_iov_limit <= n_remote)
        return false;
    /* A copy that stays until the peer has read it. */
    if (conn->outbox == NULL)
        conn->outbox = calloc(DM_OFI_MAIL_SLOTS, sizeof(*conn->outbox));
    if (conn->outbox == NULL)
        return false;
    conn->outbox[slot] = *mail;
    vec[1] = (struct iovec){.iov_base = &conn->outbox[slot], .iov_len = sizeof(*mail)};
    memcpy(places, remote, n_remote * sizeof(*remote));
    places[n_remote] = (struct fi_rma_iov){.addr = conn->peer_mail + slot * sizeof(*mail),
                                           .len = sizeof(*mail),
                                           .key = conn->peer_mail_key};
    if (data->iov_len + sizeof(*mail) <= tx->inject_size)
        flags |= FI_INJECT;
    if (fi_writemsg(conn->fid, &msg, flags) != 0)
        return false;
    if ((flags & FI_INJECT) == 0)
        conn->is_lent = true;
    conn->n_mail_sent++;
    return true;
}

void dm_ofi_conn_taken(struct dm_ofi_conn *conn)
{
    if (conn->state == DM_CONN_UP)
        note_due(conn, DM_NOTE_TAKEN);
}

static void read_mail(struct dm_ofi_conn *conn, uint32_t n)
{
    if (n - conn->n_mail_read > DM_OFI_MAIL_SLOTS)
        return; /* nonsense */
    while (conn->n_mail_read != n && conn->state == DM_CONN_UP) {
        struct dm_ofi_mail mail = conn->mailbox[conn->n_mail_read % DM_OFI_MAIL_SLOTS];

        conn->n_mail_read++;
        dm_ofi_mail_arrived(conn, &mail);
    }
    if (conn->n_mail_read - conn->n_mail_told >= MAIL_DUE) {
        conn->n_mail_told = conn->n_mail_read;
        note_due(conn, DM_NOTE_READ);
    }
}

void dm_ofi_note_arrived(struct dm_ofi_ia *ia, uint64_t word)
{
    struct dm_ofi_conn *conn = number_get(ia, (uint32_t)(word >> 32) & DM_OFI_NUMBER_MAX);
    uint32_t value = (uint32_t)word;

    if (conn == NULL || conn->state < DM_CONN_UP || conn->state == DM_CONN_OVER)
        return;
    switch ((enum dm_ofi_note)(word >> 60)) {
    case DM_NOTE_BYE:
        conn->said_bye = true;
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
        break;
    case DM_NOTE_BROKEN:
        conn->is_blamed = value != 0;
        if (conn->is_blamed && conn->ep != NULL)
            dm_ofi_ep_blamed(conn->ep);
        conn->said_broken = true;
        dm_ofi_conn_fail(conn, conn->is_blamed ? DAT_CONNECTION_EVENT_BROKEN
                                               : DAT_CONNECTION_EVENT_DISCONNECTED);
        break;
    case DM_NOTE_MAIL:
        read_mail(conn, value);
        break;
    case DM_NOTE_READ:
        conn->n_mail_acked = value;
        break;
    case DM_NOTE_TAKEN:
        if (conn->ep != NULL)
            dm_ofi_ep_taken(conn->ep, value);
        break;
    case DM_NOTE_RECVS:
        conn->n_peer_recvs = value;
        if (conn->ep != NULL)
            dm_ofi_ep_up(conn->ep);
        break;
    default:
        break; /* of a newer peer */
    }
}

/* ---- the end ---- */

void dm_ofi_conn_fail(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event)
{
    struct dm_ofi_ia *ia = conn->ia;

    if (conn->state == DM_CONN_OVER)
        return;
    if (conn->state == DM_CONN_UP)
        ia->n_setup++;
    if (conn->state != DM_CONN_LEAVING) /* else it is known what to say */
        conn->last_event = event;
    conn->state = DM_CONN_OVER;
    if (conn->ep != NULL && atomic_load(&conn->ep->ep.state) == DAT_EP_STATE_CONNECTED)
        atomic_store(&conn->ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
    dm_list_del(&conn->link);
    dm_list_add_tail(&ia->ending, &conn->link);
    if (!ia->is_in_round)
        dm_ofi_kick(&ia->pia);
}

/* Say a last word (DM_NOTE_N: it has been said), and wait for the peer to
 * close, for a while. */
static void leave(struct dm_ofi_conn *conn, enum dm_ofi_note word, DAT_EVENT_NUMBER event)
{
    if (conn->state >= DM_CONN_LEAVING)
        return;
    if (conn->state == DM_CONN_UP)
        conn->ia->n_setup++;
    conn->last_event = event;
    conn->state = DM_CONN_LEAVING;
    if (conn->ep != NULL)
        atomic_store(&conn->ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
    if (word != DM_NOTE_N)
        note_due(conn, word);
    conn->leave_by = dm_futex_now() + LINGER_NS;
    dm_ofi_conn_timer(conn, conn->notes_due != 0 ? conn->deadline : conn->leave_by);
}

void dm_ofi_conn_break(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event)
{
    leave(conn, DM_NOTE_BROKEN, event);
}

void dm_ofi_conn_bye(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event)
{
    leave(conn, DM_NOTE_BYE, event);
}

void dm_ofi_conn_part(struct dm_ofi_conn *conn)
{
    leave(conn, DM_NOTE_N, 0);
}

void dm_ofi_ep_drained(struct dm_ofi_ep *ep)
{
    if (!ep->ep.is_draining || ep->conn == NULL)
        return;
    ep->ep.is_draining = false;
    dm_ofi_conn_bye(ep->conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Go on for a moment with the lock held: somebody waits for last words. */
void dm_ofi_pump(struct dm_ofi_ia *ia)
{
    struct fid *fids[2] = {&ia->cq->fid, &ia->eq->fid};
    struct pollfd fds[2] = {{.fd = ia->cq_fd, .events = POLLIN},
                            {.fd = ia->eq_fd, .events = POLLIN}};

    if (dm_ofi_progress(ia) == 0 && fi_trywait(ia->fabric, fids, 2) == 0)
        (void)poll(fds, 2, PUMP_MS);
}

void dm_ofi_ep_hang_up(struct dm_ofi_ep *ep)
{
    struct dm_ofi_conn *conn = ep->conn;
    uint64_t until = dm_futex_now() + HANGUP_NS;

    if (conn == NULL)
        return;
    if (conn->state == DM_CONN_UP || conn->state == DM_CONN_ACCEPTED)
        dm_ofi_conn_bye(conn, 0);
    if (conn->state == DM_CONN_LEAVING) {
        conn->last_event = 0;
        while (ep->conn != NULL && dm_futex_now() < until)
            dm_ofi_pump(dm_ofi_ia_of(ep));
    }
    if (ep->conn != NULL) {
        conn->last_event = 0;
        dm_ofi_conn_fail(conn, 0);
        conn->last_event = 0;
        dm_ofi_conns_end(conn->ia);
    }
}

void dm_ofi_conns_bye(struct dm_ofi_ia *ia)
{
    uint64_t until = dm_futex_now() + 5u * HANGUP_NS;
    bool is_any = true;

    dm_list_for_each_safe (it, next, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        if (conn->ep != NULL && (conn->state == DM_CONN_UP || conn->state == DM_CONN_ACCEPTED))
            dm_ofi_conn_bye(conn, 0);
    }
    while (is_any && dm_futex_now() < until) {
        is_any = false;
        dm_ofi_pump(ia);
        dm_list_for_each (it, &ia->conns)
            is_any |= dm_container_of(it, struct dm_ofi_conn, link)->state == DM_CONN_LEAVING;
    }
}

/* The fid_ep is closed and nothing is outstanding. */
static void finish(struct dm_ofi_conn *conn)
{
    struct dm_ofi_ia *ia = conn->ia;
    struct dm_ofi_ep *ep = conn->ep;

    dm_cr_lost(&conn->cr);
    if (ep != NULL) {
        ep->conn = NULL;
        conn->ep = NULL;
        ep->ep.is_draining = false;
        atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECTED);
        dm_ofi_ep_flush(ep);
        if ((conn->said_broken && !conn->is_blamed) ||
            (ep->ep.srq != NULL && conn->last_event != 0 && conn->was_up &&
             !conn->is_blaming)) /* that has been said */
            dm_evd_add_async(ia->pia.async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep,
                             DAT_EP_TRANSFER_TO_ERROR);
        if (conn->last_event != 0)
            dm_evd_add_conn(ep->ep.connect_evd, conn->last_event, (DAT_EP_HANDLE)ep,
                            ep->ep.private_data, conn->last_len);
    }
    fi_close(&conn->mail_mr->fid);
    ia->by[conn->number & INDEX_MASK] = NULL;
    ia->n_setup--;
    free(conn->mailbox);
    free(conn->outbox);
    free(conn->request);
    free(conn);
}

void dm_ofi_conns_end(struct dm_ofi_ia *ia)
{
    if (ia->is_in_round)
        return;
    while (!dm_list_is_empty(&ia->ending)) {
        struct dm_ofi_conn *conn = dm_container_of(ia->ending.next, struct dm_ofi_conn, link);

        dm_ofi_conn_close_fid(conn); /* may bring more */
        dm_list_del(&conn->link);
        finish(conn);
    }
}

/* Does the network still carry it? It does not when at every look for so long
 * something was on its way and nothing had been heard since the look before. */
static void check(struct dm_ofi_conn *conn, uint64_t now)
{
    uint64_t interval = conn->ia->timeout_ns / CHECKS;

    if (conn->check > now)
        return;
    conn->check = now + interval;
    if (conn->sock < 0 || !dm_ofi_sock_is_stuck(conn->sock, interval))
        conn->stuck_since = 0;
    else if (conn->stuck_since == 0)
        conn->stuck_since = now;
    else if (now - conn->stuck_since + interval < conn->ia->timeout_ns)
        return;
    else if (conn->state < DM_CONN_UP && conn->state != DM_CONN_CR)
        dm_ofi_cm_timeout(conn); /* it has not been there yet */
    else
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_BROKEN);
}

void dm_ofi_conn_watch(struct dm_ofi_conn *conn)
{
    struct dm_ofi_ia *ia = conn->ia;

    conn->sock = dm_ofi_sock_find(conn->fid, &ia->sock_hint);
    if (conn->sock < 0)
        return;
    dm_ofi_sock_keep_alive(conn->sock, ia->timeout_ns);
    conn->check = dm_futex_now() + ia->timeout_ns / CHECKS;
    dm_ofi_timer_at(ia, conn->check);
}

static void run_timer(struct dm_ofi_conn *conn, uint64_t now)
{
    check(conn, now);
    if (conn->state == DM_CONN_OVER || conn->deadline > now)
        return;
    conn->deadline = conn->state == DM_CONN_LEAVING ? conn->leave_by : DM_FUTEX_FOREVER;
    for (int kind = 0; kind < DM_NOTE_N; kind++)
        if ((conn->notes_due & 1u << kind) != 0)
            note_due(conn, (enum dm_ofi_note)kind);
    if (conn->state == DM_CONN_LEAVING && now >= conn->leave_by)
        dm_ofi_conn_fail(conn, 0);
    else if (conn->state < DM_CONN_UP)
        dm_ofi_cm_timeout(conn);
}

void dm_ofi_conns_timers(struct dm_ofi_ia *ia, uint64_t now)
{
    uint64_t next;

    ia->next_timer = DM_FUTEX_FOREVER;
    next = dm_ofi_listeners_timers(ia, now);
    dm_list_for_each_safe (it, after, &ia->conns)
        run_timer(dm_container_of(it, struct dm_ofi_conn, link), now);
    dm_list_for_each (it, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        next = conn->deadline < next ? conn->deadline : next;
        next = conn->check < next ? conn->check : next;
    }
    ia->next_timer = next;
}

void dm_ofi_conns_close(struct dm_ofi_ia *ia)
{
    while (!dm_list_is_empty(&ia->conns))
        dm_ofi_conn_fail(dm_container_of(ia->conns.next, struct dm_ofi_conn, link), 0);
    dm_ofi_conns_end(ia);
    (void)dm_ofi_listeners_timers(ia, DM_FUTEX_FOREVER);
    free(ia->by);
    ia->by = NULL;
    ia->n_numbers = 0;
}
