/* test: kind=dat prov=datum-tcp,datum-ofi timeout=60 net=progress=auto|progress=manual */
/*
 * Suppressed writes whose end the fabric does not report. It may read their memory
 * until they have left it: as long as the peer stands still and the network is
 * full, the region cannot be freed; once it is freed, what is written to the
 * memory does not arrive.
 */
#include "dat_pair.h"

enum { PIECE = 12000, N_PIECES = 3000, N_SLOTS = 16384 };

static const size_t all = (size_t)PIECE * N_PIECES;

/* More requests than the network holds. */
static void open_deep(struct dt *t, const char *name)
{
    DAT_EP_ATTR attr;
    DAT_EP_PARAM param;

    dt_open(t, name);
    OK(dat_ep_query(t->ep, DAT_EP_FIELD_ALL, &param));
    attr = param.ep_attr;
    attr.max_request_dtos = N_SLOTS;
    OK(dat_ep_free(t->ep));
    OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &attr, &t->ep));
}

static ORDERED_BY_PEER int target(struct dt *t, const char *name)
{
    struct dt_mem mem;
    pid_t pid = getpid();
    char more;

    dt_open(t, name);
    dt_alloc(t, &mem, all, false);
    dt_join(t, true);
    dt_tell(t, &pid, sizeof(pid));
    dt_tell(t, &mem, sizeof(mem));
    do { /* with progress=manual nobody else drives */
        DAT_EVENT event;

        CHECK_RC(dat_evd_dequeue(t->recv_evd, &event), DAT_QUEUE_EMPTY);
    } while (recv(t->pipe, &more, 1, MSG_DONTWAIT) != 1);
    for (size_t i = 0; i < all; i++)
        CHECK_EQ(mem.buf[i], 'w');
    dt_tell(t, &more, 1);
    dt_close(t);
    return 0;
}

static int writer(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem last;
    struct dt_mem peer;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;
    DAT_RETURN ret;
    double start;
    pid_t pid;

    open_deep(t, name);
    dt_alloc(t, &mem, PIECE, false);
    dt_alloc(t, &last, PIECE, false);
    memset(mem.buf, 'w', PIECE);
    memset(last.buf, 'w', PIECE);
    dt_join(t, false);
    dt_hear(t, &pid, sizeof(pid));
    dt_hear(t, &peer, sizeof(peer));
    seg = dt_seg(&last, 0, PIECE);
    to = dt_remote(&peer, 0, PIECE);
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS);
    CHECK_EQ(kill(pid, SIGSTOP), 0);
    seg = dt_seg(&mem, 0, PIECE);
    for (size_t i = 0; i < N_PIECES; i++) {
        to = dt_remote(&peer, i * PIECE, PIECE);
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(i), &to, DAT_COMPLETION_SUPPRESS_FLAG));
    }
    start = dt_now();
    CHECK_RC(dat_lmr_free(mem.lmr), DAT_INVALID_STATE);
    CHECK(dt_now() - start < 8);
    CHECK_EQ(kill(pid, SIGCONT), 0);
    do {
        ret = dat_lmr_free(mem.lmr);
        CHECK(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
    } while (ret != DAT_SUCCESS && dt_now() - start < 30);
    OK(ret);
    memset(mem.buf, 'X', PIECE);
    /* Everything before this has been placed when it is over. */
    seg = dt_seg(&last, 0, PIECE);
    to = dt_remote(&peer, 0, PIECE);
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(2), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS);
    dt_meet(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), writer, target, false);
}
