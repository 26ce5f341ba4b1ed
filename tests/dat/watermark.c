/* test: kind=dat timeout=30 params=copy=auto|copy=cma|copy=staged */
/*
 * Watermarks: an armed one makes one event, when it is passed and not before;
 * the hard one ends the connection. One process sends when it is told to.
 */
#include "dat_crowd.h"

enum { SLOTS = 16, LEN = 64 };
#define MARK DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR

/* --- the sender does what the pipe says --- */

static int sender(struct dt *t, const char *name, int me)
{
    struct dt_mem mem;
    unsigned n;

    (void)me;
    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    dt_crowd_connect(t);
    for (dt_hear(t, &n, sizeof(n)); n > 0; dt_hear(t, &n, sizeof(n))) {
        DAT_LMR_TRIPLET seg = dt_seg(&mem, 0, LEN);
        char status = DAT_DTO_SUCCESS;

        for (unsigned i = 0; i < n && status == DAT_DTO_SUCCESS; i++) {
            DAT_EVENT event;

            OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
            event = dt_wait(t->req_evd);
            status = (char)event.event_data.dto_completion_event_data.status;
        }
        dt_tell(t, &status, 1);
    }
    dt_close(t);
    return 0;
}

struct recv {
    struct dt t;
    struct dt_crowd crowd;
    DAT_SRQ_HANDLE srq;
    struct dt_mem mem;
};

/* Have one sender send n messages; how the last one ended there. */
static int order(struct recv *r, int who, unsigned n)
{
    char status;

    r->t.pipe = r->crowd.pipe[who];
    dt_tell(&r->t, &n, sizeof(n));
    if (n > 0)
        dt_hear(&r->t, &status, 1);
    return n > 0 ? status : 0;
}

static void post(struct recv *r, unsigned n)
{
    DAT_LMR_TRIPLET seg = dt_seg(&r->mem, 0, LEN);

    for (unsigned i = 0; i < n; i++)
        OK(dat_srq_post_recv(r->srq, 1, &seg, dt_cookie(i)));
}

static void reap(struct recv *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        DAT_EVENT event = dt_wait(r->t.recv_evd);

        CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
    }
}

static void want_low(struct recv *r)
{
    CHECK(dt_want_async(&r->t, MARK, DAT_SRQ_LOW_WATERMARK_EVENT) == r->srq);
}

static void want_soft(struct recv *r, int who)
{
    CHECK(dt_want_async(&r->t, MARK, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT) == r->crowd.ep[who]);
}

static void want_no_async(struct recv *r)
{
    dt_want_none(r->t.async_evd, 30);
}

static void low(struct recv *r)
{
    OK(dat_srq_set_lw(r->srq, 5)); /* the queue is empty: at once */
    want_low(r);
    want_no_async(r);
    post(r, 8);
    OK(dat_srq_set_lw(r->srq, 5));
    want_no_async(r);
    CHECK_EQ(order(r, 0, 3), DAT_DTO_SUCCESS); /* 5 are left: not below */
    want_no_async(r);
    CHECK_EQ(order(r, 1, 1), DAT_DTO_SUCCESS); /* of any endpoint */
    want_low(r);
    CHECK_EQ(order(r, 0, 2), DAT_DTO_SUCCESS); /* only once */
    post(r, 6);
    CHECK_EQ(order(r, 0, 7), DAT_DTO_SUCCESS);
    want_no_async(r);
    reap(r, 13);
    CHECK_EQ(dt_srq_query(r->srq).available_dto_count, 1);

    OK(dat_srq_set_lw(r->srq, 1)); /* armed again */
    want_no_async(r);
    CHECK_EQ(order(r, 0, 1), DAT_DTO_SUCCESS);
    want_low(r);
    post(r, 4);
    OK(dat_srq_set_lw(r->srq, 4));
    OK(dat_srq_set_lw(r->srq, DAT_SRQ_LW_DEFAULT)); /* and not any more */
    CHECK_EQ(order(r, 0, 4), DAT_DTO_SUCCESS);
    want_no_async(r);
    reap(r, 5);
}

static void soft(struct recv *r)
{
    DAT_COUNT n;
    DAT_COUNT span;

    post(r, 12);
    OK(dat_ep_set_watermark(r->crowd.ep[0], 3, DAT_WATERMARK_INFINITE));
    CHECK_EQ(order(r, 1, 4), DAT_DTO_SUCCESS); /* of another endpoint */
    CHECK_EQ(order(r, 0, 3), DAT_DTO_SUCCESS);
    want_no_async(r);
    OK(dat_ep_recv_query(r->crowd.ep[0], &n, &span));
    CHECK(n == 3 && span == 3);
    reap(r, 5); /* one of this endpoint */
    OK(dat_ep_recv_query(r->crowd.ep[0], &n, NULL));
    CHECK_EQ(n, 2);
    CHECK_EQ(order(r, 0, 1), DAT_DTO_SUCCESS);
    want_no_async(r);
    CHECK_EQ(order(r, 0, 1), DAT_DTO_SUCCESS);
    want_soft(r, 0);
    CHECK_EQ(order(r, 0, 1), DAT_DTO_SUCCESS);
    want_no_async(r);
    OK(dat_ep_set_watermark(r->crowd.ep[0], 3, DAT_WATERMARK_INFINITE)); /* it is passed */
    want_soft(r, 0);
    want_no_async(r);
    OK(dat_ep_recv_query(r->crowd.ep[0], &n, &span));
    CHECK(n == 5 && span == 5);
    reap(r, 5);
    OK(dat_ep_set_watermark(r->crowd.ep[0], 1, DAT_WATERMARK_INFINITE));
    OK(dat_ep_set_watermark(r->crowd.ep[0], DAT_HW_DEFAULT, DAT_HW_DEFAULT));
    CHECK_EQ(order(r, 0, 2), DAT_DTO_SUCCESS);
    want_no_async(r);
    reap(r, 2);
    CHECK_EQ(dt_srq_query(r->srq).available_dto_count, 0);
}

/* The message that is one too many takes no receive. */
static void hard(struct recv *r)
{
    post(r, 8);
    OK(dat_ep_set_watermark(r->crowd.ep[0], DAT_WATERMARK_INFINITE, 2));
    CHECK_EQ(order(r, 0, 2), DAT_DTO_SUCCESS);
    reap(r, 1);
    CHECK_EQ(order(r, 0, 1), DAT_DTO_SUCCESS);
    want_no_async(r);
    CHECK_EQ(order(r, 0, 1), DAT_DTO_ERR_REMOTE_RESPONDER);
    CHECK(dt_want_async(&r->t, DAT_ASYNC_ERROR_EP_BROKEN, DAT_EP_TRANSFER_TO_ERROR) ==
          r->crowd.ep[0]);
    dt_want_conn(r->t.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    want_no_async(r);
    reap(r, 2);
    dt_want_none(r->t.recv_evd, 1);
    CHECK_EQ(dt_srq_query(r->srq).available_dto_count, 5);
    CHECK_EQ(order(r, 1, 5), DAT_DTO_SUCCESS); /* the other one goes on */
    reap(r, 5);
}

static void refused(struct recv *r)
{
    CHECK_RC(dat_ep_set_watermark(r->crowd.ep[1], -2, 1), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_ep_set_watermark(r->crowd.ep[1], 1, -2), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_ep_set_watermark(r->crowd.ep[1], 1 << 20, 1), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_ep_set_watermark(r->srq, 1, 1), DAT_INVALID_HANDLE);
    CHECK_RC(dat_ep_recv_query(r->srq, NULL, NULL), DAT_INVALID_HANDLE);
}

int main(int argc, char **argv)
{
    static struct recv r;

    dt_crowd_start(&r.crowd, 2, dt_name(argc, argv), sender);
    dt_open_as(&r.t, dt_name(argc, argv), DAT_FALSE);
    r.srq = dt_srq(&r.t, SLOTS);
    dt_alloc(&r.t, &r.mem, LEN, true);
    dt_crowd_accept(&r.t, &r.crowd, r.srq);
    low(&r);
    soft(&r);
    hard(&r);
    refused(&r);
    for (int i = 0; i < r.crowd.n; i++)
        (void)order(&r, i, 0);
    dt_crowd_join(&r.crowd, false);
    dt_close(&r.t);
    return 0;
}
