/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Sends without a posted receive: nothing is lost, nothing overtakes, later
 * requests wait too, and all goes on when receives are posted. A graceful
 * disconnect lets what is queued arrive first; an abrupt one flushes it.
 */
#include "dat_pair.h"

enum { N = 60, ROUNDS = 3, LEN = 4096 };

static void send_one(struct dt *t, struct dt_mem *mem, unsigned i)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, i * 8, 8);

    memcpy(mem->buf + i * 8, &i, sizeof(i));
    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
}

static void stalled_sender(struct dt *t, struct dt_mem *mem, struct dt_mem *peer)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 1024, 8);
    DAT_RMR_TRIPLET to = dt_remote(peer, 1024, 8);
    DAT_BOOLEAN is_idle;

    dt_meet(t);
    memset(mem->buf + 1024, 0x77, 8);
    for (unsigned i = 0; i < N; i++)
        send_one(t, mem, i);
    /* Must not overtake the sends. */
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(N), &to, DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_get_status(t->ep, NULL, NULL, &is_idle));
    CHECK_EQ(is_idle, DAT_FALSE);
    dt_want_none(t->req_evd, 20);
    dt_meet(t);
    for (unsigned i = 0; i <= N; i++)
        dt_want_dto(t->req_evd, i, DAT_DTO_SUCCESS);
    dt_meet(t);
}

static void post(struct dt *t, struct dt_mem *mem, unsigned i)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, i * 8, 8);

    OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
}

static void check_got(struct dt *t, struct dt_mem *mem, unsigned i)
{
    unsigned got;

    dt_want_dto(t->recv_evd, i, DAT_DTO_SUCCESS);
    memcpy(&got, mem->buf + i * 8, sizeof(got));
    CHECK_EQ(got, i);
}

static void late_receiver(struct dt *t, struct dt_mem *mem, int round)
{
    memset(mem->buf, 0, LEN);
    dt_meet(t);
    dt_meet(t);
    CHECK_EQ(mem->buf[1024], 0);
    for (unsigned i = 0; i < N; i++) {
        post(t, mem, i);
        if (round == 0) /* one by one, so that it stalls again and again */
            check_got(t, mem, i);
        if (round == 0 && i < N - 1)
            CHECK_EQ(mem->buf[1024], 0);
    }
    for (unsigned i = 0; round != 0 && i < N; i++)
        check_got(t, mem, i);
    dt_meet(t);
    CHECK_EQ(mem->buf[1024], 0x77);
}

static int one(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, true);
    dt_join(t, true);
    dt_swap_mem(t, &mem, &peer);
    for (int round = 0; round < ROUNDS; round++)
        late_receiver(t, &mem, round);
    /* Graceful: the peer has queued and disconnected already. */
    dt_meet(t);
    for (unsigned i = 0; i < 10; i++)
        post(t, &mem, i);
    for (unsigned i = 0; i < 10; i++)
        check_got(t, &mem, i);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
    dt_join(t, true);
    /* Abrupt. */
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_none(t->recv_evd, 1);
    dt_meet(t);
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    dt_join(t, false);
    dt_swap_mem(t, &mem, &peer);
    for (int round = 0; round < ROUNDS; round++)
        stalled_sender(t, &mem, &peer);
    for (unsigned i = 0; i < 10; i++)
        send_one(t, &mem, i);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_GRACEFUL_FLAG));
    dt_want_none(t->conn_evd, 10);
    dt_meet(t);
    for (unsigned i = 0; i < 10; i++)
        dt_want_dto(t->req_evd, i, DAT_DTO_SUCCESS);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
    dt_join(t, false);
    for (unsigned i = 0; i < 10; i++)
        send_one(t, &mem, i);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    for (unsigned i = 0; i < 10; i++)
        dt_want_dto(t->req_evd, i, DAT_DTO_ERR_FLUSHED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    send_one(t, &mem, 11); /* legal, and flushed */
    dt_want_dto(t->req_evd, 11, DAT_DTO_ERR_FLUSHED);
    dt_meet(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
