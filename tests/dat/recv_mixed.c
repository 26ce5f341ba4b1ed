/* test: kind=dat timeout=60 params=copy=auto net=progress=auto|progress=manual|progress=thread */
/*
 * Receives of mixed sizes: a message goes to the receive whose turn it is, however
 * short others are or have been. Short first and long later, random sizes both ways at once,
 * one at a time. A short receive that is over is no reason any more to hold long messages back.
 */
#include "dat_pair.h"

#include <sched.h>

enum { N = 400, DEPTH = 60, LONG = 5000, SLOT = 8192, N_LATE = 10 };

static const unsigned sizes[] = {0, 1, 8, 64, 65, 1000, LONG};

/* How one side receives, and the other sends, message number i. */
struct plan {
    unsigned kind; /* 0: one short, then long; 1: growing; 2: random */
    unsigned seed;
    unsigned depth; /* receives and requests at a time */
};

static unsigned hash(unsigned seed, unsigned i)
{
    unsigned x = seed * 2654435761u + i * 40503u + 12345u;

    x ^= x >> 15;
    x *= 2246822519u;
    return x ^ x >> 13;
}

static unsigned room_of(const struct plan *plan, unsigned i)
{
    if (plan->kind == 0)
        return i == 0 ? 64 : LONG;
    if (plan->kind == 1)
        return 8 + i % 512 * 8;
    return sizes[hash(plan->seed, i) % (sizeof(sizes) / sizeof(sizes[0]))];
}

static unsigned len_of(const struct plan *plan, unsigned i)
{
    unsigned room = room_of(plan, i);
    unsigned x = hash(plan->seed + 77, i);

    return x % 2 == 0 ? room : x / 2 % (room + 1);
}

static char byte_of(unsigned i, unsigned at)
{
    return (char)(i * 7 + at * 13 + 1);
}

static void post_recv(struct dt *t, struct dt_mem *mem, const struct plan *plan, unsigned i)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, (size_t)(i % DEPTH) * SLOT, room_of(plan, i));

    OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(struct dt *t, struct dt_mem *mem, const struct plan *plan, unsigned i)
{
    unsigned len = len_of(plan, i);
    size_t offset = (size_t)(DEPTH + i % DEPTH) * SLOT;
    DAT_LMR_TRIPLET seg = dt_seg(mem, offset, len);

    for (unsigned k = 0; k < len; k++)
        mem->buf[offset + k] = byte_of(i, k);
    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
}

/* Take one completion, if there is one; it has to be number i. */
static bool take(DAT_EVD_HANDLE evd, unsigned i, DAT_SEG_LENGTH *len_p)
{
    DAT_EVENT event;
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

    if (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
        return false;
    CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
    CHECK_EQ(dto->user_cookie.as_64, i);
    *len_p = dto->transfered_length;
    return true;
}

static void check_message(const struct dt_mem *mem, const struct plan *plan, unsigned i,
                          DAT_SEG_LENGTH len)
{
    const char *at = mem->buf + (size_t)(i % DEPTH) * SLOT;

    CHECK_EQ(len, len_of(plan, i));
    for (unsigned k = 0; k < len; k++)
        if (at[k] != byte_of(i, k))
            DT_FAIL("message %u, byte %u of %u is wrong", i, k, (unsigned)len);
}

/* Both have come here; who has drives his side meanwhile. */
static void meet_driving(struct dt *t)
{
    DAT_EVENT event;
    char c = 'd';

    dt_tell(t, &c, 1);
    while (recv(t->pipe, &c, 1, MSG_DONTWAIT) != 1)
        if (dat_evd_dequeue(t->recv_evd, &event) == DAT_SUCCESS)
            DT_FAIL("a message too many");
}

static void traffic(struct dt *t, struct dt_mem *mem, const struct plan *in, const struct plan *out)
{
    unsigned n_in = 0, n_posted = 0, n_out = 0, n_sent = 0;
    double until = dt_now() + 30;
    DAT_SEG_LENGTH len;

    for (; n_posted < in->depth; n_posted++)
        post_recv(t, mem, in, n_posted);
    while (n_in < N || n_sent < N) {
        if (dt_now() > until)
            DT_FAIL("plan %u: stands still: %u of %u received, %u sent of %u posted", in->kind,
                    n_in, N, n_sent, n_out);
        if (n_out < N && n_out - n_sent < out->depth)
            post_send(t, mem, out, n_out++);
        if (n_sent < n_out && take(t->req_evd, n_sent, &len)) {
            n_sent++;
        } else if (n_in < N && take(t->recv_evd, n_in, &len)) {
            check_message(mem, in, n_in++, len);
            if (n_posted < N)
                post_recv(t, mem, in, n_posted++);
        } else {
            sched_yield(); /* the processor may be the other side's, too */
        }
    }
    meet_driving(t);
}

/* A fresh connection each time: what has been said of receives is forgotten. */
static void run_plan(struct dt *t, struct dt_mem *mem, bool is_first, unsigned kind, unsigned seed,
                     unsigned depth)
{
    struct plan plans[2] = {{kind, seed, depth}, {kind, seed + 1, depth}};

    dt_join(t, is_first);
    traffic(t, mem, &plans[is_first], &plans[!is_first]);
    if (is_first)
        OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
}

/*
 * When a message has gone to the short receive its sender knows that the others are long: it sends
 * without a word of the other side, which does nothing meanwhile. (With a thread in the
 * provider this is no test.)
 */
static void late_sender(struct dt *t, struct dt_mem *mem)
{
    const struct plan plan = {.kind = 0};
    DAT_EVENT event;
    double until;

    post_send(t, mem, &plan, 0);
    dt_want_dto(t->req_evd, 0, DAT_DTO_SUCCESS);
    dt_meet(t);
    for (unsigned i = 1; i <= N_LATE; i++)
        post_send(t, mem, &plan, i);
    for (until = dt_now() + 0.02; dt_now() < until;)
        CHECK(dat_evd_dequeue(t->conn_evd, &event) != DAT_SUCCESS);
    dt_meet(t);
    dt_meet(t); /* the other side has them all */
    for (unsigned i = 1; i <= N_LATE; i++)
        dt_want_dto(t->req_evd, i, DAT_DTO_SUCCESS);
    dt_meet(t);
}

static void late_receiver(struct dt *t, struct dt_mem *mem)
{
    const struct plan plan = {.kind = 0};

    check_message(mem, &plan, 0, dt_want_dto(t->recv_evd, 0, DAT_DTO_SUCCESS));
    dt_meet(t);
    dt_meet(t);
    for (unsigned i = 1; i <= N_LATE; i++)
        check_message(mem, &plan, i, dt_want_dto(t->recv_evd, i, DAT_DTO_SUCCESS));
    dt_meet(t);
    dt_meet(t);
}

static void late(struct dt *t, struct dt_mem *mem, bool is_first)
{
    const struct plan plan = {.kind = 0};

    for (unsigned i = 0; is_first && i <= N_LATE; i++)
        post_recv(t, mem, &plan, i);
    dt_join(t, is_first);
    if (is_first)
        late_receiver(t, mem);
    else
        late_sender(t, mem);
    if (is_first)
        OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
}

static int run(struct dt *t, const char *name, bool is_first)
{
    struct dt_mem mem;

    dt_open(t, name);
    dt_alloc(t, &mem, (size_t)2 * DEPTH * SLOT, false);
    late(t, &mem, is_first);
    run_plan(t, &mem, is_first, 0, 1, DEPTH);
    run_plan(t, &mem, is_first, 1, 1, DEPTH);
    run_plan(t, &mem, is_first, 1, 1, 1);
    for (unsigned seed = 0; seed < 4; seed++)
        run_plan(t, &mem, is_first, 2, 100 * seed + 3, seed == 0 ? 1 : DEPTH >> (seed - 1));
    dt_close(t);
    return 0;
}

static int one(struct dt *t, const char *name)
{
    return run(t, name, true);
}

static int two(struct dt *t, const char *name)
{
    return run(t, name, false);
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
