/* test: kind=dat timeout=90 params=copy=auto|copy=cma|copy=staged */
/*
 * A shared receive queue fed by everything that uses up a receive: sends,
 * sends that take a context away, RDMA writes with immediate data. Each
 * endpoint's arrivals keep their order and kind, each receive is used once,
 * and a write that fails uses none.
 */
#include "dat_ext.h"

enum { N_EPS = 3, ROUNDS = 40, KINDS = 3, LEN = 60000, N_RECVS = 64, RECV_LEN = 30000 };

struct view {
    struct dt_mem mem;
    uint32_t context[N_EPS][ROUNDS]; /* of windows, to be taken away */
};

static size_t len_of(unsigned ep, unsigned i)
{
    return i % 9 == 3 ? RECV_LEN - ep : (i * 37 + ep) % 500;
}

/* --- the user --- */

static void commit_all(struct dt *t, const DAT_EP_HANDLE *ep, struct dt_mem *mem,
                       const struct view *peer)
{
    unsigned n_done[N_EPS] = {0};

    for (unsigned i = 0; i < ROUNDS * KINDS; i++)
        for (unsigned k = 0; k < N_EPS; k++) {
            DAT_LMR_TRIPLET seg = dt_seg(mem, 0, len_of(k, i));
            DAT_RMR_TRIPLET to = dt_remote(&peer->mem, 0, len_of(k, i));

            if (i % KINDS == 0)
                OK(dat_ep_post_send(ep[k], 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
            else if (i % KINDS == 1)
                OK(dt_write_immed(ep[k], 1, &seg, i, &to, i * 8 + k, 0));
            else
                OK(dt_provider(ep[k])->ep_post_send_with_invalidate_func(
                    ep[k], 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
                    peer->context[k][i / KINDS]));
        }
    for (unsigned i = 0; i < ROUNDS * KINDS * N_EPS; i++) {
        DAT_EVENT event = dt_wait(t->req_evd);
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
        unsigned k = 0;

        while (dto->ep_handle != ep[k])
            k++;
        CHECK(k < N_EPS);
        CHECK_EQ(dto->user_cookie.as_64, n_done[k]);
        CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
        n_done[k]++;
    }
}

static int user(struct dt *t, const char *name)
{
    DAT_EP_HANDLE ep[N_EPS];
    struct dt_mem mem;
    struct view peer;
    DAT_CONN_QUAL qual;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        dt_open(t, name);
        dt_alloc(t, &mem, LEN, false);
        for (int k = 0; k < N_EPS; k++) {
            ep[k] = dt_ep(t);
            dt_hear(t, &qual, sizeof(qual));
            dt_connect(t, ep[k], qual);
        }
        dt_hear(t, &peer, sizeof(peer));
        commit_all(t, ep, &mem, &peer);
        dt_meet(t);
        seg = dt_seg(&mem, 0, 8);
        to = dt_remote(&peer.mem, 0, 8);
        to.rmr_context ^= 0x10000;
        OK(dt_write_immed(ep[0], 1, &seg, 1, &to, 1, 0));
        dt_want_ext(dt_wait(t->req_evd), ep[0], DAT_IB_RDMA_WRITE_IMMED, 1,
                    DAT_DTO_ERR_REMOTE_ACCESS, 0);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
        dt_meet(t);
        OK(dt_provider(ep[1])->ep_post_send_with_invalidate_func(
            ep[1], 1, &seg, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
            peer.context[0][0])); /* gone by now */
        dt_want_dto(t->req_evd, 2, DAT_DTO_ERR_REMOTE_ACCESS);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
        dt_meet(t);
        dt_close(t);
    }
    return 0;
}

/* --- the owner --- */

static void bind_all(struct dt *t, const DAT_EP_HANDLE *ep, struct view *view)
{
    DAT_LMR_TRIPLET seg = dt_seg(&view->mem, 0, 8);
    DAT_RMR_COOKIE cookie = {.as_64 = 0};
    DAT_RMR_HANDLE rmr;

    for (int k = 0; k < N_EPS; k++)
        for (int i = 0; i < ROUNDS; i++) {
            OK(i % 2 == 0 ? dat_rmr_create(t->pz, &rmr)
                          : dt_provider(t->pz)->rmr_create_for_ep_func(t->pz, &rmr));
            OK(dat_rmr_bind(rmr, view->mem.lmr, &seg, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, ep[k],
                            cookie, DAT_COMPLETION_SUPPRESS_FLAG, &view->context[k][i]));
        }
}

/* One arrival; its receive's cookie. */
static uint64_t check_arrival(const DAT_EVENT *event, const DAT_EP_HANDLE *ep, unsigned *next,
                              const struct view *view)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
    unsigned k = 0;
    unsigned i;

    while (k < N_EPS && dto->ep_handle != ep[k])
        k++;
    CHECK(k < N_EPS);
    i = next[k]++;
    CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
    CHECK_EQ(dto->transfered_length, len_of(k, i));
    if (i % KINDS == 1) {
        CHECK_EQ(dt_want_ext(*event, ep[k], DAT_IB_RDMA_WRITE_IMMED_DATA, dto->user_cookie.as_64,
                             DAT_DTO_SUCCESS, len_of(k, i)),
                 i * 8 + k);
    } else {
        CHECK_EQ(event->event_number, DAT_DTO_COMPLETION_EVENT);
        CHECK_EQ(dto->operation,
                 i % KINDS == 0 ? DAT_DTO_RECEIVE : DAT_DTO_RECEIVE_WITH_INVALIDATE);
        if (i % KINDS == 2)
            CHECK_EQ(dto->rmr_context, view->context[k][i / KINDS]);
    }
    return dto->user_cookie.as_64;
}

static void receive_all(struct dt *t, DAT_SRQ_HANDLE srq, const DAT_EP_HANDLE *ep,
                        struct dt_mem *mem, const struct view *view)
{
    const unsigned total = ROUNDS * KINDS * N_EPS;
    unsigned next[N_EPS] = {0};
    bool is_used[ROUNDS * KINDS * N_EPS] = {false};
    unsigned n_posted = 0;

    for (unsigned n = 0; n < total; n++) {
        DAT_EVENT event;
        uint64_t cookie;

        if (n_posted == n) /* in bursts, so that the peer has to wait */
            for (unsigned i = 0; i < 1 + n % 13 && n_posted < total; i++, n_posted++) {
                DAT_LMR_TRIPLET seg = dt_seg(mem, 0, RECV_LEN);

                OK(dat_srq_post_recv(srq, 1, &seg, dt_cookie(n_posted)));
            }
        event = dt_wait(t->recv_evd);
        cookie = check_arrival(&event, ep, next, view);
        CHECK(cookie < n_posted && !is_used[cookie]);
        is_used[cookie] = true;
    }
    for (int k = 0; k < N_EPS; k++)
        CHECK_EQ(next[k], ROUNDS * KINDS);
}

static DAT_EP_HANDLE ep_of(struct dt *t, DAT_SRQ_HANDLE srq)
{
    DAT_EP_PARAM param;
    DAT_EP_HANDLE ep;

    OK(dat_ep_query(t->ep, DAT_EP_FIELD_ALL, &param));
    OK(dat_ep_create_with_srq(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, srq,
                              &param.ep_attr, &ep));
    return ep;
}

static int owner(struct dt *t, const char *name)
{
    DAT_SRQ_ATTR attr = {
        .max_recv_dtos = N_RECVS, .max_recv_iov = 4, .low_watermark = DAT_SRQ_LW_DEFAULT};
    DAT_EP_HANDLE ep[N_EPS];
    DAT_SRQ_HANDLE srq;
    DAT_SRQ_PARAM param;
    DAT_LMR_TRIPLET seg;
    DAT_PSP_HANDLE psp;
    struct dt_mem small;
    struct view view;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        dt_open(t, name);
        dt_alloc(t, &view.mem, LEN, is_shared != 0);
        dt_alloc(t, &small, LEN, is_shared == 0);
        OK(dat_srq_create(t->ia, t->pz, &attr, &srq));
        for (int k = 0; k < N_EPS; k++) {
            ep[k] = ep_of(t, srq);
            psp = dt_listen(t);
            dt_accept(t, ep[k]);
            OK(dat_psp_free(psp));
        }
        bind_all(t, ep, &view);
        dt_tell(t, &view, sizeof(view));
        receive_all(t, srq, ep, &small, &view);
        dt_want_none(t->recv_evd, 1);
        seg = dt_seg(&small, 0, RECV_LEN);
        OK(dat_srq_post_recv(srq, 1, &seg, dt_cookie(7)));
        dt_meet(t);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        dt_want_none(t->recv_evd, 1);
        dt_meet(t);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        /* The second one had taken the receive when its context was refused. */
        dt_want_dto(t->recv_evd, 7, DAT_DTO_ERR_FLUSHED);
        OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
        CHECK_EQ(param.outstanding_dto_count, 0);
        dt_meet(t);
        dt_close(t);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), owner, user, false);
}
