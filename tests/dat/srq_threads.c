/* test: kind=dat timeout=60 params=copy=auto|copy=staged */
/*
 * The thread-safe line: several threads post to one shared receive queue, one
 * resizes it, one queries, while several processes send. Each message arrives
 * once and in order, and each receive is used once.
 */
#include "dat_crowd.h"

enum { N_SENDERS = 3, N_POSTERS = 3, N_MSGS = 2500, SLOTS = 48, LEN = 256, WINDOW = 16 };

static int sender(struct dt *t, const char *name, int me)
{
    struct dt_mem mem;

    dt_open(t, name);
    dt_alloc(t, &mem, (size_t)WINDOW * LEN, me % 2 == 0);
    dt_crowd_connect(t);
    for (unsigned seq = 0; seq < N_MSGS + WINDOW; seq++) {
        size_t at = (size_t)(seq % WINDOW) * LEN;
        DAT_LMR_TRIPLET seg = dt_seg(&mem, at, LEN);

        if (seq >= WINDOW)
            dt_want_dto(t->req_evd, seq - WINDOW, DAT_DTO_SUCCESS);
        if (seq >= N_MSGS)
            continue;
        memset(mem.buf + at, (int)(seq + (unsigned)me), LEN);
        memcpy(mem.buf + at, &seq, sizeof(seq));
        OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(seq), DAT_COMPLETION_DEFAULT_FLAG));
    }
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_close(t);
    return 0;
}

struct recv {
    struct dt t;
    struct dt_crowd crowd;
    DAT_SRQ_HANDLE srq;
    struct dt_mem mem;
    pthread_mutex_t lock;
    unsigned free_slot[SLOTS];
    unsigned n_free;
    _Atomic bool is_posted[SLOTS];
    _Atomic bool is_over;
};

static bool slot_get(struct recv *r, unsigned *slot_p)
{
    bool is_there;

    pthread_mutex_lock(&r->lock);
    is_there = r->n_free > 0;
    if (is_there)
        *slot_p = r->free_slot[--r->n_free];
    pthread_mutex_unlock(&r->lock);
    return is_there;
}

static void slot_put(struct recv *r, unsigned slot)
{
    pthread_mutex_lock(&r->lock);
    r->free_slot[r->n_free++] = slot;
    pthread_mutex_unlock(&r->lock);
}

static void *run_poster(void *arg)
{
    struct recv *r = arg;

    while (!atomic_load(&r->is_over)) {
        DAT_LMR_TRIPLET seg;
        DAT_RETURN ret;
        unsigned slot;

        if (!slot_get(r, &slot)) {
            dt_sleep_ms(0);
            continue;
        }
        CHECK(!atomic_exchange(&r->is_posted[slot], true));
        seg = dt_seg(&r->mem, (size_t)slot * LEN, LEN);
        ret = dat_srq_post_recv(r->srq, 1, &seg, dt_cookie(slot));
        if (ret == DAT_SUCCESS)
            continue;
        CHECK_RC(ret, DAT_INSUFFICIENT_RESOURCES);
        atomic_store(&r->is_posted[slot], false);
        slot_put(r, slot);
        dt_sleep_ms(1);
    }
    return NULL;
}

static void *run_resizer(void *arg)
{
    struct recv *r = arg;
    unsigned n = 0;

    while (!atomic_load(&r->is_over)) {
        int size = 4 + (int)(++n * 29 % 2000);
        DAT_RETURN ret = dat_srq_resize(r->srq, size);
        DAT_SRQ_PARAM param = dt_srq_query(r->srq);

        if (ret == DAT_SUCCESS)
            CHECK_EQ(param.max_recv_dtos, size);
        else
            CHECK_RC(ret, DAT_INVALID_STATE);
        CHECK(param.available_dto_count >= 0 && param.available_dto_count <= SLOTS);
        CHECK(param.outstanding_dto_count <= SLOTS);
        dt_sleep_ms(1);
    }
    return NULL;
}

ORDERED_BY_PEER static void check_message(const char *buf, int from, unsigned seq)
{
    unsigned got;

    memcpy(&got, buf, sizeof(got));
    CHECK_EQ(got, seq);
    for (size_t i = sizeof(got); i < LEN; i++)
        CHECK_EQ(buf[i], (char)(seq + (unsigned)from));
}

static void receive(struct recv *r)
{
    unsigned next[N_SENDERS] = {0};

    for (unsigned n = 0; n < N_SENDERS * N_MSGS; n++) {
        DAT_EVENT event = dt_wait(r->t.recv_evd);
        DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
        unsigned slot = (unsigned)dto->user_cookie.as_64;
        int from = dt_crowd_find(&r->crowd, dto->ep_handle);

        CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
        CHECK_EQ(dto->transfered_length, LEN);
        CHECK(slot < SLOTS);
        check_message(r->mem.buf + (size_t)slot * LEN, from, next[from]++);
        CHECK(atomic_exchange(&r->is_posted[slot], false));
        slot_put(r, slot);
    }
    dt_want_none(r->t.recv_evd, 1);
}

int main(int argc, char **argv)
{
    static struct recv r;
    pthread_t thread[N_POSTERS + 1];

    dt_crowd_start(&r.crowd, N_SENDERS, dt_name(argc, argv), sender);
    dt_open_as(&r.t, dt_name(argc, argv), DAT_TRUE);
    pthread_mutex_init(&r.lock, NULL);
    r.srq = dt_srq(&r.t, 8);
    dt_alloc(&r.t, &r.mem, (size_t)SLOTS * LEN, true);
    for (unsigned i = 0; i < SLOTS; i++)
        slot_put(&r, i);
    dt_crowd_accept(&r.t, &r.crowd, r.srq);
    for (int i = 0; i <= N_POSTERS; i++)
        CHECK_EQ(pthread_create(&thread[i], NULL, i < N_POSTERS ? run_poster : run_resizer, &r), 0);
    receive(&r);
    atomic_store(&r.is_over, true);
    for (int i = 0; i <= N_POSTERS; i++)
        CHECK_EQ(pthread_join(thread[i], NULL), 0);
    CHECK_EQ(dt_srq_query(r.srq).available_dto_count, SLOTS - r.n_free);
    for (int i = 0; i < N_SENDERS; i++)
        OK(dat_ep_free(r.crowd.ep[i]));
    OK(dat_srq_free(r.srq));
    dt_crowd_join(&r.crowd, false);
    dt_close(&r.t);
    return 0;
}
