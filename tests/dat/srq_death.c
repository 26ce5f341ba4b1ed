/* test: kind=dat timeout=90 params=copy=auto|copy=cma|copy=staged */
/*
 * Senders are killed at random moments. No receive is lost or completed twice,
 * of shared queues and of others: what was posted has completed, or has been
 * flushed once on the endpoint that had taken it, or is still in the queue.
 * One sender lives, and is not disturbed. The second argument is the number of
 * rounds, the third the seed.
 */
#include "dat_crowd.h"

enum { PLAIN = 2, ALIVE = 3, N_SENDERS = 4, N_ALIVE = 300 };
enum { SLOTS = 32, PLAIN_SLOTS = 16, SLOT_LEN = 4096, WINDOW = 16, ROUNDS = 30 };

struct head {
    unsigned from;
    unsigned seq;
};

static size_t len_of(unsigned seq)
{
    return sizeof(struct head) + seq * 2654435761u % (SLOT_LEN - sizeof(struct head));
}

/* Send until killed, or n messages. */
static void send_on(struct dt *t, struct dt_mem *mem, unsigned me, unsigned n)
{
    for (unsigned seq = 0; n == 0 || seq < n + WINDOW; seq++) {
        size_t at = (size_t)(seq % WINDOW) * SLOT_LEN;
        struct head head = {.from = me, .seq = seq};
        DAT_LMR_TRIPLET seg = dt_seg(mem, at, len_of(seq));

        if (seq >= WINDOW)
            dt_want_dto(t->req_evd, seq - WINDOW, DAT_DTO_SUCCESS);
        if (n != 0 && seq >= n)
            continue;
        memset(mem->buf + at, (int)seq, len_of(seq));
        memcpy(mem->buf + at, &head, sizeof(head));
        OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(seq), DAT_COMPLETION_DEFAULT_FLAG));
    }
}

static int sender(struct dt *t, const char *name, int me)
{
    struct dt_mem mem;

    dt_open(t, name);
    dt_alloc(t, &mem, (size_t)WINDOW * SLOT_LEN, false);
    dt_crowd_connect(t);
    send_on(t, &mem, (unsigned)me, me == ALIVE ? N_ALIVE : 0);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_close(t);
    return 0;
}

struct recv {
    struct dt t;
    struct dt_crowd crowd;
    DAT_SRQ_HANDLE srq;
    struct dt_mem mem[2]; /* of the shared queue, and of the others */
    bool is_posted[SLOTS];
    unsigned n_posted;
    unsigned n_flushed; /* in all rounds */
    unsigned n_plain_flushed;
    /* Of this round. */
    unsigned seq[N_SENDERS];
    unsigned plain_tail; /* receives posted */
    unsigned plain_head; /* and completed */
    bool is_plain_over;
    unsigned n_ended;
};

static void post_shared(struct recv *r, unsigned slot)
{
    DAT_LMR_TRIPLET seg = dt_seg(&r->mem[0], (size_t)slot * SLOT_LEN, SLOT_LEN);

    CHECK(!r->is_posted[slot]);
    OK(dat_srq_post_recv(r->srq, 1, &seg, dt_cookie(slot)));
    r->is_posted[slot] = true;
    r->n_posted++;
}

static void post_plain(struct recv *r)
{
    size_t at = (size_t)(r->plain_tail % PLAIN_SLOTS) * SLOT_LEN;
    DAT_LMR_TRIPLET seg = dt_seg(&r->mem[1], at, SLOT_LEN);

    OK(dat_ep_post_recv(r->crowd.ep[PLAIN], 1, &seg, dt_cookie(r->plain_tail++),
                        DAT_COMPLETION_DEFAULT_FLAG));
}

ORDERED_BY_PEER static void check_message(const char *buf, unsigned from, unsigned seq)
{
    struct head head;

    memcpy(&head, buf, sizeof(head));
    if (head.from != from || head.seq != seq)
        DT_FAIL("message %u of sender %u is message %u of sender %u", seq, from, head.seq,
                head.from);
    for (size_t i = sizeof(head); i < len_of(seq); i++)
        if (buf[i] != (char)seq)
            DT_FAIL("byte %zu of message %u from sender %u is 0x%x", i, seq, from, buf[i]);
}

static void got_plain(struct recv *r, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
    CHECK_EQ(dto->user_cookie.as_64, r->plain_head); /* in the order of posting */
    CHECK(r->plain_head < r->plain_tail);
    if (dto->status == DAT_DTO_SUCCESS) {
        CHECK(!r->is_plain_over);
        check_message(r->mem[1].buf + (size_t)(r->plain_head % PLAIN_SLOTS) * SLOT_LEN, PLAIN,
                      r->seq[PLAIN]++);
    } else {
        CHECK_EQ(dto->status, DAT_DTO_ERR_FLUSHED);
        r->is_plain_over = true;
        r->n_plain_flushed++;
    }
    r->plain_head++;
    if (!r->is_plain_over)
        post_plain(r);
}

static void got_shared(struct recv *r, const DAT_DTO_COMPLETION_EVENT_DATA *dto, unsigned from)
{
    unsigned slot = (unsigned)dto->user_cookie.as_64;

    CHECK(slot < SLOTS);
    if (!r->is_posted[slot])
        DT_FAIL("receive %u has completed twice, status %d, of sender %u", slot, dto->status, from);
    r->is_posted[slot] = false;
    r->n_posted--;
    if (dto->status == DAT_DTO_SUCCESS) {
        check_message(r->mem[0].buf + (size_t)slot * SLOT_LEN, from, r->seq[from]++);
    } else {
        CHECK_EQ(dto->status, DAT_DTO_ERR_FLUSHED);
        CHECK(from != ALIVE);
        r->n_flushed++;
    }
    post_shared(r, slot);
}

/* Handle what has been received, if anything has. */
static bool reap(struct recv *r)
{
    DAT_EVENT event;
    DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
    unsigned from;

    if (dat_evd_dequeue(r->t.recv_evd, &event) != DAT_SUCCESS)
        return false;
    CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
    from = (unsigned)dt_crowd_find(&r->crowd, dto->ep_handle);
    if (from == PLAIN)
        got_plain(r, dto);
    else
        got_shared(r, dto, from);
    return true;
}

static void look_ended(struct recv *r)
{
    DAT_EVENT event;

    if (dat_evd_dequeue(r->t.conn_evd, &event) != DAT_SUCCESS)
        return;
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
    CHECK(event.event_data.connect_event_data.ep_handle != r->crowd.ep[ALIVE]);
    r->n_ended++;
}

static void connect_all(struct recv *r)
{
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;

    OK(dat_psp_create_any(r->t.ia, &qual, r->t.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    for (int i = 0; i < N_SENDERS; i++) {
        r->t.pipe = r->crowd.pipe[i];
        r->crowd.ep[i] = i == PLAIN ? dt_ep(&r->t) : dt_ep_shared(&r->t, r->srq);
        while (i == PLAIN && r->plain_tail < PLAIN_SLOTS)
            post_plain(r);
        dt_tell(&r->t, &qual, sizeof(qual));
        dt_accept(&r->t, r->crowd.ep[i]);
        while (reap(r)) /* the first ones are sending already */
            continue;
    }
    OK(dat_psp_free(psp));
}

/* All have ended: what is not in the queue has completed. */
static void check_all(struct recv *r)
{
    DAT_SRQ_PARAM param;

    while (reap(r))
        continue;
    CHECK_EQ(r->plain_head, r->plain_tail);
    param = dt_srq_query(r->srq);
    CHECK_EQ(r->n_posted, SLOTS);
    if (param.available_dto_count != SLOTS || param.outstanding_dto_count != SLOTS)
        DT_FAIL("%d receives are available and %d outstanding, not %d", param.available_dto_count,
                param.outstanding_dto_count, SLOTS);
}

static void end_all(struct recv *r)
{
    OK(dat_ep_disconnect(r->crowd.ep[ALIVE], DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(r->t.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    check_all(r);
    for (int i = 0; i < N_SENDERS - 1; i++) /* one for each on the shared queue */
        (void)dt_want_async(&r->t, DAT_ASYNC_ERROR_EP_BROKEN, DAT_EP_TRANSFER_TO_ERROR);
    dt_want_none(r->t.async_evd, 1);
    for (int i = 0; i < N_SENDERS; i++)
        OK(dat_ep_free(r->crowd.ep[i]));
}

static void play(struct recv *r, const char *name)
{
    unsigned n_before[N_SENDERS];
    bool is_dead[N_SENDERS] = {false};
    double deadline;

    memset(r->seq, 0, sizeof(r->seq));
    r->plain_head = r->plain_tail = r->n_ended = 0;
    r->is_plain_over = false;
    dt_crowd_spawn(&r->crowd, N_SENDERS, name);
    for (int i = 0; i < N_SENDERS; i++)
        n_before[i] = (unsigned)rand() % 200;
    connect_all(r);
    deadline = dt_now() + 30;
    while (r->n_ended < ALIVE || r->seq[ALIVE] < N_ALIVE) {
        (void)reap(r);
        look_ended(r);
        for (int i = 0; i < ALIVE; i++) {
            if (is_dead[i] || r->seq[i] < n_before[i])
                continue;
            is_dead[i] = true;
            kill(r->crowd.pid[i], SIGKILL);
        }
        if (dt_now() > deadline)
            DT_FAIL("stuck: %u have ended, %u messages of the one that lives", r->n_ended,
                    r->seq[ALIVE]);
    }
    end_all(r);
    dt_crowd_join(&r->crowd, true);
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    static struct recv r;

    dt_crowd_sender(argc, argv, sender);
    srand(argc > 3 ? (unsigned)atoi(argv[3]) : (unsigned)getpid());
    dt_open_as(&r.t, dt_name(argc, argv), DAT_FALSE);
    r.srq = dt_srq(&r.t, SLOTS);
    dt_alloc(&r.t, &r.mem[0], (size_t)SLOTS * SLOT_LEN, true);
    dt_alloc(&r.t, &r.mem[1], (size_t)PLAIN_SLOTS * SLOT_LEN, false);
    for (unsigned i = 0; i < SLOTS; i++)
        post_shared(&r, i);
    for (int i = 0; i < n_rounds; i++)
        play(&r, dt_name(argc, argv));
    printf("%d rounds, %u shared receives and %u others flushed\n", n_rounds, r.n_flushed,
           r.n_plain_flushed);
    dt_close(&r.t);
    return 0;
}
