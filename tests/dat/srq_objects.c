/* test: kind=dat timeout=30 */
/*
 * Shared receive queues as objects: what creation, query, resize and freeing
 * accept, refuse and report, and what an endpoint with one does and does not.
 */
#include "dat_crowd.h"

#define SRQ_IN_USE                                                                                 \
    ((DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_SRQ_IN_USE))
#define BAD_SRQ ((DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_SRQ))
#define NO_ROOM ((DAT_RETURN)(DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_SRQ))

static void attributes(struct dt *t)
{
    DAT_PROVIDER_ATTR provider;
    DAT_IA_ATTR ia;

    memset(&provider, 0, sizeof(provider));
    OK(dat_ia_query(t->ia, NULL, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL, &provider));
    CHECK_EQ(provider.srq_supported, DAT_TRUE);
    CHECK(provider.srq_watermarks_supported != 0);
    CHECK(provider.srq_info_supported != 0);
    CHECK_EQ(provider.srq_ep_pz_difference_supported, DAT_FALSE);
    CHECK(ia.max_srqs > 0 && ia.max_ep_per_srq > 0 && ia.max_recv_per_srq > 0);
}

static void creation(struct dt *t)
{
    const struct {
        DAT_SRQ_ATTR attr;
        DAT_RETURN type;
    } cases[] = {
        {{1, 1, 0}, DAT_SUCCESS},
        {{3, 32, 3}, DAT_SUCCESS},
        {{16384, 1, 16384}, DAT_SUCCESS},
        {{0, 1, 0}, DAT_INVALID_PARAMETER},
        {{-1, 1, 0}, DAT_INVALID_PARAMETER},
        {{16385, 1, 0}, DAT_INVALID_PARAMETER},
        {{1, 0, 0}, DAT_INVALID_PARAMETER},
        {{1, 33, 0}, DAT_INVALID_PARAMETER},
        {{1, 1, -1}, DAT_INVALID_PARAMETER},
        {{1, 1, 2}, DAT_INVALID_PARAMETER},
    };
    DAT_SRQ_HANDLE srq;
    DAT_SRQ_ATTR attr = cases[0].attr;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        DAT_SRQ_PARAM param;

        attr = cases[i].attr;
        CHECK_RC(dat_srq_create(t->ia, t->pz, &attr, &srq), cases[i].type);
        if (cases[i].type != DAT_SUCCESS)
            continue;
        param = dt_srq_query(srq);
        CHECK(param.ia_handle == t->ia && param.pz_handle == t->pz);
        CHECK_EQ(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
        CHECK_EQ(param.max_recv_dtos, attr.max_recv_dtos);
        CHECK_EQ(param.max_recv_iov, attr.max_recv_iov);
        CHECK_EQ(param.low_watermark, attr.low_watermark);
        CHECK_EQ(param.available_dto_count, 0);
        CHECK_EQ(param.outstanding_dto_count, 0);
        CHECK_EQ(dat_pz_free(t->pz),
                 (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_PZ_IN_USE));
        OK(dat_srq_free(srq));
    }
    CHECK_RC(dat_srq_create(t->ia, t->pz, NULL, &srq), DAT_INVALID_PARAMETER);
    attr = cases[0].attr;
    CHECK_RC(dat_srq_create(t->ia, t->pz, &attr, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_srq_create(t->ia, DAT_HANDLE_NULL, &attr, &srq), DAT_INVALID_HANDLE);
    CHECK_RC(dat_srq_create(t->ia, t->conn_evd, &attr, &srq), DAT_INVALID_HANDLE);
}

static DAT_RETURN post(DAT_SRQ_HANDLE srq, struct dt_mem *mem, int n_seg, uint64_t cookie)
{
    DAT_LMR_TRIPLET seg[DT_SRQ_IOV + 1];

    for (int i = 0; i < n_seg; i++)
        seg[i] = dt_seg(mem, (size_t)i * 8, 8);
    return dat_srq_post_recv(srq, n_seg, n_seg > 0 ? seg : NULL, dt_cookie(cookie));
}

static void limits(struct dt *t, struct dt_mem *mem)
{
    DAT_SRQ_HANDLE srq = dt_srq(t, 5);

    CHECK_RC(post(srq, mem, -1, 0), DAT_INVALID_PARAMETER);
    CHECK_RC(post(srq, mem, DT_SRQ_IOV + 1, 0), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_srq_post_recv(srq, 1, NULL, dt_cookie(0)), DAT_INVALID_PARAMETER);
    for (int i = 0; i < 5; i++)
        OK(post(srq, mem, i % (DT_SRQ_IOV + 1), 0));
    CHECK_EQ(post(srq, mem, 1, 0), NO_ROOM);
    CHECK_EQ(dt_srq_query(srq).available_dto_count, 5);
    CHECK_EQ(dt_srq_query(srq).outstanding_dto_count, 5);

    CHECK_EQ(dat_srq_resize(srq, 4), SRQ_IN_USE);
    CHECK_RC(dat_srq_resize(srq, 0), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_srq_resize(srq, -3), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_srq_resize(srq, 16385), DAT_INVALID_PARAMETER);
    CHECK_EQ(dt_srq_query(srq).max_recv_dtos, 5);
    OK(dat_srq_resize(srq, 5));
    OK(dat_srq_resize(srq, 7));
    OK(post(srq, mem, 1, 0));
    OK(post(srq, mem, 1, 0));
    CHECK_EQ(post(srq, mem, 1, 0), NO_ROOM);
    OK(dat_srq_resize(srq, 16384));
    CHECK_EQ(dt_srq_query(srq).available_dto_count, 7);
    OK(dat_srq_resize(srq, 8));
    OK(post(srq, mem, 1, 0));
    CHECK_EQ(post(srq, mem, 1, 0), NO_ROOM);
    CHECK_EQ(dt_srq_query(srq).outstanding_dto_count, 8);

    CHECK_RC(dat_srq_set_lw(srq, -1), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_srq_set_lw(srq, 9), DAT_INVALID_PARAMETER);
    OK(dat_srq_set_lw(srq, 8));
    CHECK_EQ(dt_srq_query(srq).low_watermark, 8);
    CHECK_EQ(dat_srq_resize(srq, 7), SRQ_IN_USE);
    OK(dat_srq_free(srq)); /* with receives in it */
}

/* Handles of the wrong kind, and of one that is gone. libdat2 does not look at
 * them, so they must be handles of something. */
static void handles(struct dt *t, struct dt_mem *mem)
{
    DAT_EP_ATTR attr = dt_shared_attr();
    DAT_SRQ_HANDLE srq = dt_srq(t, 5);
    DAT_HANDLE bad[3];
    DAT_SRQ_PARAM param;
    DAT_EP_HANDLE ep;

    OK(dat_srq_free(srq));
    bad[0] = srq;
    bad[1] = t->ep;
    bad[2] = t->recv_evd;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(dat_srq_free(bad[i]), BAD_SRQ);
        CHECK_EQ(post(bad[i], mem, 1, 0), BAD_SRQ);
        CHECK_EQ(dat_srq_query(bad[i], DAT_SRQ_FIELD_ALL, &param), BAD_SRQ);
        CHECK_EQ(dat_srq_resize(bad[i], 10), BAD_SRQ);
        CHECK_EQ(dat_srq_set_lw(bad[i], 1), BAD_SRQ);
        CHECK_EQ(dat_ep_create_with_srq(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, bad[i],
                                        &attr, &ep),
                 BAD_SRQ);
    }
    srq = dt_srq(t, 5);
    CHECK_RC(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
    OK(dat_srq_free(srq));
}

static void endpoint(struct dt *t, struct dt_mem *mem)
{
    DAT_SRQ_HANDLE srq = dt_srq(t, 5);
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 8);
    DAT_EP_ATTR attr = dt_shared_attr();
    DAT_PZ_HANDLE other;
    DAT_EP_PARAM param;
    DAT_EP_HANDLE ep;
    DAT_COUNT n;
    DAT_COUNT span;

    OK(dat_pz_create(t->ia, &other));
    CHECK_EQ(
        dat_ep_create_with_srq(t->ia, other, t->recv_evd, t->req_evd, t->conn_evd, srq, &attr, &ep),
        (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_PZ));
    CHECK_RC(dat_ep_create_with_srq(t->ia, t->pz, DAT_HANDLE_NULL, t->req_evd, t->conn_evd, srq,
                                    &attr, &ep),
             DAT_INVALID_HANDLE);
    CHECK_RC(dat_ep_create_with_srq(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, srq, &attr,
                                    NULL),
             DAT_INVALID_PARAMETER);
    OK(dat_ep_create_with_srq(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, srq, NULL, &ep));
    OK(dat_ep_free(ep));
    attr.max_recv_dtos = 16; /* of no meaning here */
    attr.max_recv_iov = 4;
    OK(dat_ep_create_with_srq(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, srq, &attr, &ep));
    OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    CHECK(param.srq_handle == srq);
    CHECK_EQ(dat_ep_post_recv(ep, 1, &seg, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG), SRQ_IN_USE);
    param.pz_handle = other;
    CHECK_RC(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_INVALID_PARAMETER);
    param.ep_attr.max_recv_dtos = 4;
    param.ep_attr.max_recv_iov = 1;
    CHECK_RC(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param), DAT_INVALID_PARAMETER);
    param.ep_attr.max_request_dtos = 17;
    OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
    OK(dat_ep_reset(ep));
    OK(dat_ep_recv_query(ep, &n, &span));
    CHECK(n == 0 && span == 0);

    CHECK_EQ(dat_srq_free(srq), SRQ_IN_USE);
    OK(dat_ep_free(ep));
    OK(dat_srq_free(srq));
    OK(dat_pz_free(other));

    OK(dat_ep_query(t->ep, DAT_EP_FIELD_ALL, &param));
    CHECK(param.srq_handle == DAT_HANDLE_NULL);
    OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_recv_query(t->ep, &n, &span));
    CHECK(n == 1 && span == 1);
    CHECK_EQ(dat_ep_set_watermark(t->ep, 1, 2), (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_STATE |
                                                             DAT_INVALID_STATE_EP_RECV_WATERMARK));
}

/* Queues count for a graceful close, and an abrupt one frees them. */
static void closing(const char *name)
{
    struct dt t;

    memset(&t, 0, sizeof(t));
    t.async_evd = DAT_HANDLE_NULL;
    OK(dat_ia_open((DAT_NAME_PTR)name, 8, &t.async_evd, &t.ia));
    OK(dat_pz_create(t.ia, &t.pz));
    (void)dt_srq(&t, 8);
    CHECK_EQ(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG),
             (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE));
    OK(dat_ia_close(t.ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* The segment has an end; what failed leaves nothing behind. */
static void exhaustion(struct dt *t)
{
    DAT_SRQ_ATTR attr = {.max_recv_dtos = 16384, .max_recv_iov = 32};
    DAT_SRQ_HANDLE srq[64];
    int n_first = 0;
    int n = 0;

    for (int round = 0; round < 3; round++) {
        DAT_RETURN ret = DAT_SUCCESS;

        for (n = 0; n < 64 && ret == DAT_SUCCESS; n++)
            ret = dat_srq_create(t->ia, t->pz, &attr, &srq[n]);
        CHECK_EQ(ret, NO_ROOM);
        n--;
        CHECK(n > 0);
        if (round == 0)
            n_first = n;
        CHECK_EQ(n, n_first);
        while (n > 0)
            OK(dat_srq_free(srq[--n]));
    }
}

int main(int argc, char **argv)
{
    struct dt t = {.pipe = -1};
    struct dt_mem mem;

    dt_open(&t, dt_name(argc, argv));
    attributes(&t);
    {
        DAT_PZ_HANDLE first = t.pz; /* that of the endpoint */

        OK(dat_pz_create(t.ia, &t.pz));
        creation(&t);
        OK(dat_pz_free(t.pz));
        t.pz = first;
    }
    dt_alloc(&t, &mem, 4096, false);
    limits(&t, &mem);
    handles(&t, &mem);
    endpoint(&t, &mem);
    closing(dt_name(argc, argv));
    if (!dt_is_fabric(t.ia))
        exhaustion(&t);
    dt_close(&t);
    return 0;
}
