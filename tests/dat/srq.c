/* test: kind=dat timeout=90 params=copy=auto|copy=cma|copy=staged */
/*
 * Several processes send to one shared receive queue. Each message comes once,
 * complete and in the order of its endpoint, into a buffer that was posted;
 * also when the queue is mostly empty and all wait, and while it and the event
 * dispatcher are resized.
 */
#include "dat_crowd.h"

enum { N_SENDERS = 4, N_MSGS = 1500, SLOTS = 64, SLOT_LEN = 8192, WINDOW = 32 };
enum { SMALL = 3 }; /* receives in the round where senders wait for them */

static unsigned mix(unsigned a, unsigned b)
{
    unsigned x = a * 2654435761u ^ (b * 40503u + 12345u);

    return x ^ x >> 15;
}

static size_t len_of(int sender, unsigned seq)
{
    unsigned r = mix((unsigned)sender, seq);

    if (r % 16 == 0)
        return 0;
    return r % 8 == 1 ? SLOT_LEN - r % 64 : 1 + r % 300;
}

static char byte_of(int sender, unsigned seq, size_t i)
{
    return (char)(mix((unsigned)sender + 77, seq) + i * 7);
}

/* --- senders --- */

static void fill(char *buf, int me, unsigned seq)
{
    size_t len = len_of(me, seq);

    for (size_t i = 0; i < len; i++)
        buf[i] = byte_of(me, seq, i);
}

/* In up to three segments. */
static void send_one(struct dt *t, struct dt_mem *mem, int me, unsigned seq)
{
    size_t at = (size_t)(seq % WINDOW) * SLOT_LEN;
    size_t len = len_of(me, seq);
    size_t cut = len / 3;
    DAT_LMR_TRIPLET seg[2];

    fill(mem->buf + at, me, seq);
    seg[0] = dt_seg(mem, at, cut);
    seg[1] = dt_seg(mem, at + cut, len - cut);
    OK(dat_ep_post_send(t->ep, 2, seg, dt_cookie(seq), DAT_COMPLETION_DEFAULT_FLAG));
}

static void send_all(struct dt *t, struct dt_mem *mem, int me, unsigned n)
{
    for (unsigned seq = 0; seq < n + WINDOW; seq++) {
        if (seq >= WINDOW)
            dt_want_dto(t->req_evd, seq - WINDOW, DAT_DTO_SUCCESS);
        if (seq < n)
            send_one(t, mem, me, seq);
    }
}

static int sender(struct dt *t, const char *name, int me)
{
    struct dt_mem mem;

    dt_open(t, name);
    dt_alloc(t, &mem, (size_t)WINDOW * SLOT_LEN, me % 2 == 0);
    dt_crowd_connect(t);
    for (int round = 0; round < 3; round++) {
        send_all(t, &mem, me, N_MSGS);
        dt_meet(t);
    }
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_close(t);
    return 0;
}

/* --- receiver --- */

struct recv {
    struct dt *t;
    DAT_SRQ_HANDLE srq;
    struct dt_mem mem[2]; /* private, and shared */
    bool is_posted[SLOTS];
    unsigned n_posted;
    unsigned next[N_SENDERS];
    unsigned n_got;
};

static struct dt_mem *mem_of(struct recv *r, unsigned slot)
{
    return &r->mem[slot % 2];
}

/* In three segments of different lengths. */
static DAT_RETURN post(struct recv *r, unsigned slot)
{
    size_t at = (size_t)slot * SLOT_LEN;
    DAT_LMR_TRIPLET seg[DT_SRQ_IOV];
    DAT_RETURN ret;

    seg[0] = dt_seg(mem_of(r, slot), at, 100);
    seg[1] = dt_seg(mem_of(r, slot), at + 100, slot * 10);
    seg[2] = dt_seg(mem_of(r, slot), at + 100 + slot * 10, SLOT_LEN - 100 - slot * 10);
    CHECK(!r->is_posted[slot]);
    ret = dat_srq_post_recv(r->srq, DT_SRQ_IOV, seg, dt_cookie(slot));
    if (ret == DAT_SUCCESS) {
        r->is_posted[slot] = true;
        r->n_posted++;
    }
    memset(seg, 0, sizeof(seg)); /* they were copied */
    return ret;
}

ORDERED_BY_PEER static void check_data(const char *buf, int from, unsigned seq, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (buf[i] != byte_of(from, seq, i))
            DT_FAIL("byte %zu of message %u from sender %d is 0x%x", i, seq, from, buf[i]);
}

/* Take one completion; the slot that is free again. */
static unsigned reap(struct recv *r, const struct dt_crowd *crowd)
{
    DAT_EVENT event = dt_wait(r->t->recv_evd);
    DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
    unsigned slot = (unsigned)dto->user_cookie.as_64;
    int from = dt_crowd_find(crowd, dto->ep_handle);
    unsigned seq = r->next[from]++;

    CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
    CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
    CHECK_EQ(dto->operation, DAT_DTO_RECEIVE);
    CHECK(slot < SLOTS && r->is_posted[slot]);
    CHECK_EQ(dto->transfered_length, len_of(from, seq));
    check_data(mem_of(r, slot)->buf + (size_t)slot * SLOT_LEN, from, seq, len_of(from, seq));
    r->is_posted[slot] = false;
    r->n_posted--;
    r->n_got++;
    return slot;
}

static void round_begin(struct recv *r)
{
    memset(r->next, 0, sizeof(r->next));
    r->n_got = 0;
}

static void round_end(struct recv *r, struct dt_crowd *crowd)
{
    for (int i = 0; i < crowd->n; i++)
        CHECK_EQ(r->next[i], N_MSGS);
    CHECK_EQ(dt_srq_query(r->srq).available_dto_count, r->n_posted);
    CHECK_EQ(dt_srq_query(r->srq).outstanding_dto_count, r->n_posted);
    dt_want_none(r->t->recv_evd, 1);
    for (int i = 0; i < crowd->n; i++) /* they start the next round */
        dt_meet_sender(r->t, crowd, i);
}

/* The queue is full most of the time. */
static void round_full(struct recv *r, struct dt_crowd *crowd)
{
    round_begin(r);
    while (r->n_posted < SLOTS)
        OK(post(r, r->n_posted));
    while (r->n_got < (unsigned)crowd->n * N_MSGS)
        OK(post(r, reap(r, crowd))); /* there is room again at once */
    round_end(r, crowd);
}

/* The queue runs empty again and again, and all senders wait. The first
 * receives of the round are those left from the one before. */
static void round_empty(struct recv *r, struct dt_crowd *crowd)
{
    unsigned n_all = (unsigned)crowd->n * N_MSGS;
    unsigned free_slot[SLOTS];
    unsigned n_free = 0;

    round_begin(r);
    while (r->n_got < n_all) {
        while (r->n_posted > 0 && r->n_got < n_all)
            free_slot[n_free++] = reap(r, crowd);
        for (unsigned i = 0; i < SMALL && r->n_posted + r->n_got < n_all; i++)
            OK(post(r, free_slot[--n_free]));
    }
    round_end(r, crowd);
    CHECK_EQ(r->n_posted, 0);
}

/* The queue is made bigger and smaller in between. */
static void round_resize(struct recv *r, struct dt_crowd *crowd)
{
    unsigned free_slot[SLOTS];
    unsigned n_free = 0;
    int size = SLOTS;

    for (unsigned i = 0; i < SLOTS; i++)
        free_slot[n_free++] = i;
    round_begin(r);
    while (r->n_got < (unsigned)crowd->n * N_MSGS) {
        DAT_RETURN ret = DAT_SUCCESS;

        while (n_free > 0 && ret == DAT_SUCCESS) {
            ret = post(r, free_slot[n_free - 1]);
            if (ret == DAT_SUCCESS)
                n_free--;
        }
        if (n_free > 0) { /* as many as the queue holds */
            CHECK_EQ(ret,
                     (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_SRQ));
            CHECK(r->n_posted >= (unsigned)size);
        }
        CHECK(r->n_posted <= (unsigned)SLOTS);
        free_slot[n_free++] = reap(r, crowd);
        if (r->n_got % 61 == 0) /* where the completions go moves too */
            OK(dat_evd_resize(r->t->recv_evd, 1024 + (int)r->n_got));
        if (r->n_got % 7 != 0)
            continue;
        size = 2 + (int)(mix(r->n_got, 1) % (SLOTS + 20));
        ret = dat_srq_resize(r->srq, size);
        if (ret != DAT_SUCCESS) {
            CHECK_EQ(ret, (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_STATE |
                                       DAT_INVALID_STATE_SRQ_IN_USE));
            CHECK((unsigned)size < r->n_posted);
            size = dt_srq_query(r->srq).max_recv_dtos;
        }
        CHECK_EQ(dt_srq_query(r->srq).max_recv_dtos, size);
    }
    round_end(r, crowd);
}

/* Each endpoint says once that it takes no more receives; those that are
 * posted stay. */
static void finish(struct recv *r, struct dt_crowd *crowd)
{
    bool has_reported[N_SENDERS] = {false};
    unsigned n_left = r->n_posted;

    for (int i = 0; i < crowd->n; i++) {
        OK(dat_ep_disconnect(crowd->ep[i], DAT_CLOSE_ABRUPT_FLAG));
        dt_want_conn(r->t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    }
    for (int i = 0; i < crowd->n; i++) {
        DAT_HANDLE ep = dt_want_async(r->t, DAT_ASYNC_ERROR_EP_BROKEN, DAT_EP_TRANSFER_TO_ERROR);
        int who = dt_crowd_find(crowd, ep);

        CHECK(!has_reported[who]);
        has_reported[who] = true;
    }
    dt_want_none(r->t->async_evd, 20);
    dt_want_none(r->t->recv_evd, 1);
    CHECK_EQ(dt_srq_query(r->srq).available_dto_count, n_left);
    CHECK_RC(dat_srq_free(r->srq), DAT_INVALID_STATE);
    for (int i = 0; i < crowd->n; i++)
        OK(dat_ep_free(crowd->ep[i]));
    OK(dat_srq_free(r->srq));
}

int main(int argc, char **argv)
{
    struct dt t = {.pipe = -1};
    struct dt_crowd crowd;
    struct recv r;

    memset(&r, 0, sizeof(r));
    dt_crowd_start(&crowd, N_SENDERS, dt_name(argc, argv), sender);
    dt_open(&t, dt_name(argc, argv));
    r.t = &t;
    r.srq = dt_srq(&t, SLOTS);
    dt_alloc(&t, &r.mem[0], (size_t)SLOTS * SLOT_LEN, false);
    dt_alloc(&t, &r.mem[1], (size_t)SLOTS * SLOT_LEN, true);
    dt_crowd_accept(&t, &crowd, r.srq);
    round_full(&r, &crowd);
    round_empty(&r, &crowd);
    round_resize(&r, &crowd);
    finish(&r, &crowd);
    dt_crowd_join(&crowd, false);
    dt_close(&t);
    return 0;
}
