/* test: kind=dat prov=datum-tcp,datum-ofi timeout=60 net=progress=auto|progress=thread */
/*
 * Many requests in a row, without a call in between that drives the network, and none behind them:
 * all of them arrive, each whole and in order, of lengths around what a provider gathers. Then the
 * same with a graceful end right behind.
 */
#include <sched.h>

#include "dat_pair.h"

enum { N_WRITES = 60, SPACE = 24576, N_ROUNDS = 20, N_SENDS = 24 };

static const size_t all = (size_t)SPACE * N_WRITES;

static size_t length(unsigned round, unsigned i)
{
    static const size_t lengths[] = {1, 8, 200, 8191, 8192, 8193, 16384, 24575, 64, 4096};

    if (round >= N_ROUNDS / 2) /* so short that all of them may be held back together */
        return 1 + i % 8;
    return lengths[(round + i * (1 + round % 3)) % 10];
}

static void post_writes(struct dt *t, const struct dt_mem *mem, const struct dt_mem *peer,
                        unsigned round)
{
    for (unsigned i = 0; i < N_WRITES; i++) {
        size_t len = length(round, i);
        DAT_LMR_TRIPLET seg = dt_seg(mem, (size_t)i * SPACE, len);
        DAT_RMR_TRIPLET to = dt_remote(peer, (size_t)i * SPACE, len);

        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(i), &to, DAT_COMPLETION_SUPPRESS_FLAG));
    }
}

/* A provider that sees that it is polled may leave more to the next poll. */
static void poll_for_a_while(struct dt *t)
{
    double begin = dt_now();
    DAT_EVENT event;

    while (dt_now() - begin < 0.005)
        CHECK_RC(dat_evd_dequeue(t->req_evd, &event), DAT_QUEUE_EMPTY);
}

/* Sends at last; nothing is called behind them but what hears of the end. */
static void post_sends(struct dt *t, const struct dt_mem *mem)
{
    for (unsigned i = 0; i < N_SENDS; i++) {
        DAT_LMR_TRIPLET seg = dt_seg(mem, (size_t)i * SPACE, length(0, i));

        OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_SUPPRESS_FLAG));
    }
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static int writer(struct dt *t, const char *name)
{
    struct dt_mem mem, peer;

    dt_open(t, name);
    dt_alloc(t, &mem, all, false);
    dt_join(t, false);
    dt_hear(t, &peer, sizeof(peer));
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        memset(mem.buf, (int)(round + 1), all);
        if (round % 2 == 0)
            poll_for_a_while(t);
        post_writes(t, &mem, &peer, round);
        dt_meet(t); /* a pipe: nobody here drives the network */
    }
    poll_for_a_while(t);
    post_sends(t, &mem);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_meet(t);
    dt_close(t);
    return 0;
}

/* The last one is there: so are all before it. */
static void check_round(const struct dt_mem *mem, unsigned round)
{
    const volatile unsigned char *buf = (const volatile unsigned char *)mem->buf;
    size_t last = (size_t)(N_WRITES - 1) * SPACE + length(round, N_WRITES - 1) - 1;
    double begin = dt_now();

    while (buf[last] != round + 1) {
        if (dt_now() - begin > 20)
            DT_FAIL("round %u: what was posted last has not come", round);
        sched_yield();
    }
    for (unsigned i = 0; i < N_WRITES; i++) {
        for (size_t k = 0; k < length(round, i); k++)
            CHECK_EQ(buf[(size_t)i * SPACE + k], round + 1);
        if (round == 0)
            CHECK_EQ(buf[(size_t)i * SPACE + length(round, i)], 0);
    }
}

static ORDERED_BY_PEER int target(struct dt *t, const char *name)
{
    struct dt_mem mem;

    dt_open(t, name);
    dt_alloc(t, &mem, all, true);
    memset(mem.buf, 0, all);
    for (unsigned i = 0; i < N_SENDS; i++) {
        DAT_LMR_TRIPLET seg = dt_seg(&mem, (size_t)i * SPACE, SPACE);

        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
    }
    dt_join(t, true);
    dt_tell(t, &mem, sizeof(mem));
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        check_round(&mem, round);
        dt_meet(t);
    }
    for (unsigned i = 0; i < N_SENDS; i++) {
        DAT_EVENT event = dt_wait(t->recv_evd);
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
        CHECK_EQ(dto->user_cookie.as_64, i);
        CHECK_EQ(dto->transfered_length, length(0, i));
        CHECK_EQ((unsigned char)mem.buf[(size_t)i * SPACE], N_ROUNDS);
    }
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_meet(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), writer, target, false);
}
