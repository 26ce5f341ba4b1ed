/* test: kind=dat prov=datum-tcp,datum-ofi timeout=60 net=progress=auto|progress=thread */
/*
 * The receives of an endpoint are used up by a consumer that polls all the time, which posts fewer than half
 * of them again, one by one, and makes no call any more: the peer hears of each. So it does where the
 * consumer posts several and sleeps until all of them have been used, whatever the peer knew before.
 */
#include "dat_pair.h"

enum { N = 64, ROUNDS = 40, MOST = N / 2 - 1, LEN = N * 8, POLLS = 20000, MOST_ASLEEP = 14 };

static void post(struct dt *t, struct dt_mem *mem, int i)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, (size_t)i % N * 8, 8);

    OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
}

/* Busily: the provider's thread leaves the network to who polls. */
static void take(struct dt *t, int first, int n)
{
    DAT_EVENT event;

    for (int i = 0; i < POLLS || n > 0; i++) {
        DAT_RETURN ret = dat_evd_dequeue(t->recv_evd, &event);

        if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
            continue;
        OK(ret);
        CHECK(n-- > 0);
        CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, (uint64_t)first++);
    }
}

/* No message asks for an acknowledgement. */
static int take_asleep(struct dt *t, struct dt_mem *mem, int at)
{
    for (int n = 1; n <= MOST_ASLEEP; n++) {
        for (int i = 0; i < n; i++)
            post(t, mem, at + i);
        for (int i = 0; i < n; i++)
            dt_want_dto(t->recv_evd, (uint64_t)at++, DAT_DTO_SUCCESS);
    }
    return at;
}

static int receiver(struct dt *t, const char *name)
{
    struct dt_mem mem;
    int at = 0;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, true);
    for (int i = 0; i < N; i++)
        post(t, &mem, i);
    dt_join(t, true);
    for (int round = 0; round < ROUNDS; round++) {
        int n = 1 + round % MOST;

        dt_meet(t); /* as many messages as there are receives are posted */
        take(t, at, N);
        at += N;
        for (int i = 0; i < n; i++)
            post(t, &mem, at + i);
        dt_meet(t); /* and so many more have been sent */
        take(t, at, n);
        at += n;
        for (int i = 0; i < N; i++)
            post(t, &mem, at + i);
    }
    for (int i = 0; i < N; i++)
        dt_want_dto(t->recv_evd, (uint64_t)at++, DAT_DTO_SUCCESS);
    dt_meet(t);
    at = take_asleep(t, &mem, at);
    dt_meet(t);
    dt_close(t);
    return 0;
}

static void send_some(struct dt *t, struct dt_mem *mem, int n, DAT_COMPLETION_FLAGS flags)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 8);

    for (int i = 0; i < n; i++)
        OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie((uint64_t)i), flags));
}

static void await_sent(struct dt *t, int n)
{
    for (int i = 0; i < n; i++)
        dt_want_dto(t->req_evd, (uint64_t)i, DAT_DTO_SUCCESS);
}

static int sender(struct dt *t, const char *name)
{
    struct dt_mem mem;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    dt_join(t, false);
    for (int round = 0; round < ROUNDS; round++) {
        int n = 1 + round % MOST;

        send_some(t, &mem, N, DAT_COMPLETION_DEFAULT_FLAG);
        dt_meet(t);
        await_sent(t, N);
        send_some(t, &mem, n, DAT_COMPLETION_DEFAULT_FLAG);
        await_sent(t, n);
        dt_meet(t);
    }
    send_some(t, &mem, N, DAT_COMPLETION_DEFAULT_FLAG);
    await_sent(t, N);
    dt_meet(t);
    send_some(t, &mem, MOST_ASLEEP * (MOST_ASLEEP + 1) / 2, DAT_COMPLETION_SUPPRESS_FLAG);
    dt_meet(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), receiver, sender, false);
}
