/* test: kind=dat timeout=60 params=copy=auto */
/*
 * Every call of the provider's table with every kind of wrong handle in the
 * place of each handle: nothing, small numbers, heap, stack and code, the
 * middle of an object, freed objects, objects of another kind, and objects of
 * another instance where both must be of the same. Always a clear code, never
 * a crash; and what was right before is right after.
 *
 * Posting and dequeuing look at less, to be fast: libdat2 reads through the
 * handle before they do, so they get only handles that can be read.
 */
#include "dat_raw.h"

#include <dat2/dat_ib_extensions.h>

struct all {
    struct dt t;
    DAT_CNO_HANDLE cno;
    DAT_PSP_HANDLE psp;
    DAT_RSP_HANDLE rsp;
    DAT_CSP_HANDLE csp;
    DAT_SRQ_HANDLE srq;
    DAT_RMR_HANDLE rmr;
    DAT_CR_HANDLE cr;
    DAT_EP_HANDLE ep;
    DAT_EP_HANDLE reserved;
    struct dt_mem mem;
    DAT_CONN_QUAL qual;
};

static struct all a; /* whose objects are right */
static struct all b; /* of another instance */
static DAT_PROVIDER *p;

static DAT_REGION_DESCRIPTION region(void)
{
    DAT_REGION_DESCRIPTION r = {.for_va = a.mem.buf};

    return r;
}

static DAT_RETURN extended(DAT_HANDLE h, ...)
{
    DAT_RETURN ret;
    va_list args;

    va_start(args, h);
    ret = p->handle_extendedop_func(h, DAT_IB_FETCH_AND_ADD_OP, args);
    va_end(args);
    return ret;
}

/* Places for what calls return. */
static DAT_HANDLE out;
static DAT_CONTEXT context;
static DAT_EVENT event;
static DAT_COUNT count;
static DAT_COUNT span;
static DAT_BOOLEAN flag;
static DAT_FD fd;
static DAT_HANDLE_TYPE type;
static DAT_CONN_QUAL qual_out;
static DAT_VLEN vlen;
static DAT_VADDR vaddr;
static DAT_EP_STATE state;
static DAT_COMM comm = {AF_INET, SOCK_STREAM, 0};
static DAT_SRQ_ATTR srq_attr = {4, 1, 0};
static DAT_EP_ATTR no_recv = {.max_request_dtos = 4, .max_request_iov = 1};
static DAT_OS_WAIT_PROXY_AGENT no_agent;
static DAT_DTO_COOKIE cookie;
static DAT_LMR_TRIPLET lseg;
static DAT_RMR_TRIPLET rseg;
static union {
    DAT_IA_ATTR ia;
    DAT_CNO_PARAM cno;
    DAT_CR_PARAM cr;
    DAT_EVD_PARAM evd;
    DAT_EP_PARAM ep;
    DAT_LMR_PARAM lmr;
    DAT_RMR_PARAM rmr;
    DAT_PSP_PARAM psp;
    DAT_RSP_PARAM rsp;
    DAT_CSP_PARAM csp;
    DAT_PZ_PARAM pz;
    DAT_SRQ_PARAM srq;
} param;

#define ADDR ((DAT_IA_ADDRESS_PTR)&a.t.addr)
#define NONE DAT_HANDLE_NULL

/* name, kind of the handle, what else is allowed there (flags), the call */
enum { HOT = 1, NULL_OK = 2, ANY_KIND = 4, OTHER_IA_OK = 8, CLOSES = 16 };
#define CALLS(X)                                                                                   \
    X(ia_query, IA, OTHER_IA_OK, p->ia_query_func(h, NULL, DAT_IA_FIELD_ALL, &param.ia, 0, NULL))  \
    X(ia_close, IA, OTHER_IA_OK | CLOSES, p->ia_close_func(h, DAT_CLOSE_ABRUPT_FLAG))              \
    X(set_context, PZ, ANY_KIND | OTHER_IA_OK, p->set_consumer_context_func(h, context))           \
    X(get_context, PZ, ANY_KIND | OTHER_IA_OK, p->get_consumer_context_func(h, &context))          \
    X(get_type, PZ, ANY_KIND | OTHER_IA_OK, p->get_handle_type_func(h, &type))                     \
    X(cno_create, IA, OTHER_IA_OK | CLOSES, p->cno_create_func(h, no_agent, &out))                 \
    X(cno_fd_create, IA, OTHER_IA_OK | CLOSES, p->cno_fd_create_func(h, &fd, &out))                \
    X(cno_modify, CNO, OTHER_IA_OK, p->cno_modify_agent_func(h, no_agent))                         \
    X(cno_query, CNO, OTHER_IA_OK, p->cno_query_func(h, DAT_CNO_FIELD_ALL, &param.cno))            \
    X(cno_free, CNO, OTHER_IA_OK | CLOSES, p->cno_free_func(h))                                    \
    X(cno_wait, CNO, OTHER_IA_OK | CLOSES, p->cno_wait_func(h, 0, &out))                           \
    X(cno_trigger, CNO, OTHER_IA_OK | CLOSES, p->cno_trigger_func(h, &out))                        \
    X(ia_ha_related, IA, OTHER_IA_OK, p->ia_ha_related_func(h, "x", &flag))                        \
    X(cr_query, CR, OTHER_IA_OK, p->cr_query_func(h, DAT_CR_FIELD_ALL, &param.cr))                 \
    X(cr_accept, CR, OTHER_IA_OK | CLOSES, p->cr_accept_func(h, a.ep, 0, NULL))                    \
    X(cr_accept_ep, EP, 0, p->cr_accept_func(a.cr, h, 0, NULL))                                    \
    X(cr_reject, CR, OTHER_IA_OK | CLOSES, p->cr_reject_func(h, 0, NULL))                          \
    X(cr_handoff, CR, OTHER_IA_OK | CLOSES, p->cr_handoff_func(h, a.qual))                         \
    X(evd_create, IA, OTHER_IA_OK | CLOSES,                                                        \
      p->evd_create_func(h, 8, NONE, DAT_EVD_DTO_FLAG, &out))                                      \
    X(evd_create_cno, CNO, NULL_OK, p->evd_create_func(a.t.ia, 8, h, DAT_EVD_DTO_FLAG, &out))      \
    X(evd_query, EVD, OTHER_IA_OK, p->evd_query_func(h, DAT_EVD_FIELD_ALL, &param.evd))            \
    X(evd_modify_cno, EVD, OTHER_IA_OK, p->evd_modify_cno_func(h, NONE))                           \
    X(evd_modify_cno2, CNO, NULL_OK, p->evd_modify_cno_func(a.t.recv_evd, h))                      \
    X(evd_enable, EVD, OTHER_IA_OK, p->evd_enable_func(h))                                         \
    X(evd_disable, EVD, OTHER_IA_OK, p->evd_disable_func(h))                                       \
    X(evd_wait, EVD, OTHER_IA_OK | CLOSES, p->evd_wait_func(h, 0, 1, &event, &count))              \
    X(evd_resize, EVD, OTHER_IA_OK, p->evd_resize_func(h, 1024))                                   \
    X(evd_post_se, EVD, OTHER_IA_OK | CLOSES, p->evd_post_se_func(h, &event))                      \
    X(evd_dequeue, EVD, HOT | OTHER_IA_OK | CLOSES, p->evd_dequeue_func(h, &event))                \
    X(evd_free, EVD, OTHER_IA_OK | CLOSES, p->evd_free_func(h))                                    \
    X(evd_unwaitable, EVD, OTHER_IA_OK, p->evd_set_unwaitable_func(h))                             \
    X(evd_waitable, EVD, OTHER_IA_OK, p->evd_clear_unwaitable_func(h))                             \
    X(ep_create, IA, OTHER_IA_OK | CLOSES,                                                         \
      p->ep_create_func(h, NONE, NONE, NONE, NONE, NULL, &out))                                    \
    X(ep_create_pz, PZ, NULL_OK, p->ep_create_func(a.t.ia, h, NONE, NONE, NONE, NULL, &out))       \
    X(ep_create_recv, EVD, NULL_OK,                                                                \
      p->ep_create_func(a.t.ia, a.t.pz, h, a.t.req_evd, a.t.conn_evd, NULL, &out))                 \
    X(ep_create_req, EVD, NULL_OK,                                                                 \
      p->ep_create_func(a.t.ia, a.t.pz, a.t.recv_evd, h, a.t.conn_evd, NULL, &out))                \
    X(ep_create_conn, EVD, NULL_OK,                                                                \
      p->ep_create_func(a.t.ia, a.t.pz, a.t.recv_evd, a.t.req_evd, h, NULL, &out))                 \
    X(ep_create_srq, SRQ, 0,                                                                       \
      p->ep_create_with_srq_func(a.t.ia, a.t.pz, a.t.recv_evd, a.t.req_evd, a.t.conn_evd, h,       \
                                 &no_recv, &out))                                                  \
    X(ep_query, EP, OTHER_IA_OK, p->ep_query_func(h, DAT_EP_FIELD_ALL, &param.ep))                 \
    X(ep_modify, EP, OTHER_IA_OK, p->ep_modify_func(h, 0, &param.ep))                              \
    X(ep_connect, EP, OTHER_IA_OK | CLOSES,                                                        \
      p->ep_connect_func(h, ADDR, 1, 1000, 0, NULL, DAT_QOS_BEST_EFFORT, 0))                       \
    X(ep_common, EP, OTHER_IA_OK | CLOSES, p->ep_common_connect_func(h, ADDR, 1000, 0, NULL))      \
    X(ep_dup, EP, OTHER_IA_OK | CLOSES,                                                            \
      p->ep_dup_connect_func(h, a.ep, 1000, 0, NULL, DAT_QOS_BEST_EFFORT))                         \
    X(ep_dup2, EP, CLOSES | OTHER_IA_OK,                                                           \
      p->ep_dup_connect_func(a.ep, h, 1000, 0, NULL, DAT_QOS_BEST_EFFORT))                         \
    X(ep_disconnect, EP, OTHER_IA_OK | CLOSES, p->ep_disconnect_func(h, DAT_CLOSE_ABRUPT_FLAG))    \
    X(ep_post_send, EP, HOT | CLOSES, p->ep_post_send_func(h, 0, &lseg, cookie, 0))                \
    X(ep_post_recv, EP, HOT | CLOSES, p->ep_post_recv_func(h, 0, &lseg, cookie, 0))                \
    X(ep_post_read, EP, HOT | CLOSES, p->ep_post_rdma_read_func(h, 0, &lseg, cookie, &rseg, 0))    \
    X(ep_post_write, EP, HOT | CLOSES, p->ep_post_rdma_write_func(h, 0, &lseg, cookie, &rseg, 0))  \
    X(ep_post_inval, EP, HOT | CLOSES,                                                             \
      p->ep_post_send_with_invalidate_func(h, 0, &lseg, cookie, 0, DAT_TRUE, 1))                   \
    X(ep_post_to_rmr, EP, HOT | CLOSES,                                                            \
      p->ep_post_rdma_read_to_rmr_func(h, &rseg, cookie, &rseg, 0))                                \
    X(extended, EP, HOT | CLOSES, extended(h, (uint64_t)1, &lseg, cookie, &rseg, 0))               \
    X(ep_get_status, EP, OTHER_IA_OK, p->ep_get_status_func(h, &state, &flag, &flag))              \
    X(ep_reset, EP, OTHER_IA_OK, p->ep_reset_func(h))                                              \
    X(ep_free, EP, OTHER_IA_OK | CLOSES, p->ep_free_func(h))                                       \
    X(ep_recv_query, EP, OTHER_IA_OK | CLOSES, p->ep_recv_query_func(h, &count, &span))            \
    X(ep_watermark, EP, OTHER_IA_OK | CLOSES, p->ep_set_watermark_func(h, 1, 2))                   \
    X(lmr_create, IA, OTHER_IA_OK | CLOSES,                                                        \
      p->lmr_create_func(h, DAT_MEM_TYPE_VIRTUAL, region(), 64, a.t.pz, 0, DAT_VA_TYPE_VA, &out,   \
                         NULL, NULL, &vlen, &vaddr))                                               \
    X(lmr_create_pz, PZ, 0,                                                                        \
      p->lmr_create_func(a.t.ia, DAT_MEM_TYPE_VIRTUAL, region(), 64, h, 0, DAT_VA_TYPE_VA, &out,   \
                         NULL, NULL, &vlen, &vaddr))                                               \
    X(lmr_query, LMR, OTHER_IA_OK, p->lmr_query_func(h, DAT_LMR_FIELD_ALL, &param.lmr))            \
    X(lmr_free, LMR, OTHER_IA_OK | CLOSES, p->lmr_free_func(h))                                    \
    X(rmr_create, PZ, OTHER_IA_OK | CLOSES, p->rmr_create_func(h, &out))                           \
    X(rmr_create_ep, PZ, OTHER_IA_OK | CLOSES, p->rmr_create_for_ep_func(h, &out))                 \
    X(rmr_query, RMR, OTHER_IA_OK, p->rmr_query_func(h, DAT_RMR_FIELD_ALL, &param.rmr))            \
    X(rmr_free, RMR, OTHER_IA_OK | CLOSES, p->rmr_free_func(h))                                    \
    X(psp_create, IA, OTHER_IA_OK | CLOSES,                                                        \
      p->psp_create_func(h, 77, a.t.cr_evd, DAT_PSP_CONSUMER_FLAG, &out))                          \
    X(psp_create_evd, EVD, 0, p->psp_create_func(a.t.ia, 77, h, DAT_PSP_CONSUMER_FLAG, &out))      \
    X(psp_create_any, IA, OTHER_IA_OK | CLOSES,                                                    \
      p->psp_create_any_func(h, &qual_out, a.t.cr_evd, DAT_PSP_CONSUMER_FLAG, &out))               \
    X(psp_query, PSP, OTHER_IA_OK, p->psp_query_func(h, DAT_PSP_FIELD_ALL, &param.psp))            \
    X(psp_free, PSP, OTHER_IA_OK | CLOSES, p->psp_free_func(h))                                    \
    X(rsp_create, IA, OTHER_IA_OK | CLOSES, p->rsp_create_func(h, 77, a.ep, a.t.cr_evd, &out))     \
    X(rsp_create_ep, EP, CLOSES, p->rsp_create_func(a.t.ia, 77, h, a.t.cr_evd, &out))              \
    X(rsp_create_evd, EVD, CLOSES, p->rsp_create_func(a.t.ia, 77, a.ep, h, &out))                  \
    X(rsp_query, RSP, OTHER_IA_OK, p->rsp_query_func(h, DAT_RSP_FIELD_ALL, &param.rsp))            \
    X(rsp_free, RSP, OTHER_IA_OK | CLOSES, p->rsp_free_func(h))                                    \
    X(csp_create, IA, OTHER_IA_OK | CLOSES, p->csp_create_func(h, &comm, ADDR, a.t.cr_evd, &out))  \
    X(csp_create_evd, EVD, CLOSES, p->csp_create_func(a.t.ia, &comm, ADDR, h, &out))               \
    X(csp_query, CSP, OTHER_IA_OK, p->csp_query_func(h, DAT_CSP_FIELD_ALL, &param.csp))            \
    X(csp_free, CSP, OTHER_IA_OK | CLOSES, p->csp_free_func(h))                                    \
    X(pz_create, IA, OTHER_IA_OK | CLOSES, p->pz_create_func(h, &out))                             \
    X(pz_query, PZ, OTHER_IA_OK, p->pz_query_func(h, DAT_PZ_FIELD_ALL, &param.pz))                 \
    X(pz_free, PZ, OTHER_IA_OK | CLOSES, p->pz_free_func(h))                                       \
    X(lmr_sync_read, IA, OTHER_IA_OK, p->lmr_sync_rdma_read_func(h, &lseg, 0))                     \
    X(lmr_sync_write, IA, OTHER_IA_OK, p->lmr_sync_rdma_write_func(h, &lseg, 0))                   \
    X(srq_create, IA, OTHER_IA_OK | CLOSES, p->srq_create_func(h, a.t.pz, &srq_attr, &out))        \
    X(srq_create_pz, PZ, 0, p->srq_create_func(a.t.ia, h, &srq_attr, &out))                        \
    X(srq_free, SRQ, OTHER_IA_OK | CLOSES, p->srq_free_func(h))                                    \
    X(srq_post_recv, SRQ, HOT | OTHER_IA_OK | CLOSES, p->srq_post_recv_func(h, 0, &lseg, cookie))  \
    X(srq_query, SRQ, OTHER_IA_OK, p->srq_query_func(h, DAT_SRQ_FIELD_ALL, &param.srq))            \
    X(srq_resize, SRQ, OTHER_IA_OK, p->srq_resize_func(h, 8))                                      \
    X(srq_set_lw, SRQ, OTHER_IA_OK, p->srq_set_lw_func(h, 0))

#define DEFINE(call, kind, flags, expr)                                                            \
    static DAT_RETURN call_##call(DAT_HANDLE h)                                                    \
    {                                                                                              \
        return expr;                                                                               \
    }
CALLS(DEFINE)

#define ROW(call, kind, flags, expr) {#call, DAT_HANDLE_TYPE_##kind, flags, call_##call},
static const struct {
    const char *name;
    int kind;
    int flags;
    DAT_RETURN (*call)(DAT_HANDLE h);
} rows[] = {CALLS(ROW)};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]), N_KINDS = DAT_HANDLE_TYPE_CSP + 1 };

static void make(struct all *x, const char *name)
{
    DAT_PROVIDER_ATTR attr;
    struct sockaddr_in at;
    DAT_EVENT arrival;
    DAT_CONN_QUAL other;

    dt_raw_open(&x->t, name);
    p = dt_table(x->t.pz);
    x->ep = dt_raw_ep(&x->t);
    x->reserved = dt_raw_ep(&x->t);
    x->mem.buf = malloc(4096);
    OK(p->lmr_create_func(x->t.ia, DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){x->mem.buf}, 4096,
                          x->t.pz, 0, DAT_VA_TYPE_VA, &x->mem.lmr, NULL, NULL, &vlen, &vaddr));
    OK(p->cno_create_func(x->t.ia, no_agent, &x->cno));
    OK(p->psp_create_any_func(x->t.ia, &x->qual, x->t.cr_evd, DAT_PSP_CONSUMER_FLAG, &x->psp));
    other = x->qual + 1000003;
    OK(p->rsp_create_func(x->t.ia, other, x->reserved, x->t.cr_evd, &x->rsp));
    memcpy(&at, &x->t.addr, sizeof(at));
    at.sin_port = htons((in_port_t)(getpid() % 30000 + 2 + (x == &b)));
    OK(p->ia_query_func(x->t.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
    if (dt_says(&attr, "fabric")) /* which has no common service points */
        CHECK_RC(p->csp_create_func(x->t.ia, &comm, (DAT_IA_ADDRESS_PTR)&at, x->t.cr_evd, &x->csp),
                 DAT_MODEL_NOT_SUPPORTED);
    else
        OK(p->csp_create_func(x->t.ia, &comm, (DAT_IA_ADDRESS_PTR)&at, x->t.cr_evd, &x->csp));
    OK(p->srq_create_func(x->t.ia, x->t.pz, &srq_attr, &x->srq));
    OK(p->rmr_create_func(x->t.pz, &x->rmr));
    OK(p->ep_connect_func(x->ep, (DAT_IA_ADDRESS_PTR)&x->t.addr, x->qual, DT_WAIT_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, 0));
    arrival = dt_wait(x->t.cr_evd);
    x->cr = arrival.event_data.cr_arrival_event_data.cr_handle;
}

static DAT_HANDLE object(const struct all *x, int kind)
{
    const DAT_HANDLE of[N_KINDS] = {
        [DAT_HANDLE_TYPE_CR] = x->cr,          [DAT_HANDLE_TYPE_EP] = x->ep,
        [DAT_HANDLE_TYPE_EVD] = x->t.recv_evd, [DAT_HANDLE_TYPE_IA] = x->t.ia,
        [DAT_HANDLE_TYPE_LMR] = x->mem.lmr,    [DAT_HANDLE_TYPE_PSP] = x->psp,
        [DAT_HANDLE_TYPE_PZ] = x->t.pz,        [DAT_HANDLE_TYPE_RMR] = x->rmr,
        [DAT_HANDLE_TYPE_RSP] = x->rsp,        [DAT_HANDLE_TYPE_CNO] = x->cno,
        [DAT_HANDLE_TYPE_SRQ] = x->srq,        [DAT_HANDLE_TYPE_CSP] = x->csp,
    };

    return of[kind];
}

static int n_tried;
static int n_bad;

static void try(int row, DAT_HANDLE h, const char *what)
{
    DAT_RETURN ret = rows[row].call(h);

    n_tried++;
    if (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE)
        n_bad += fprintf(stderr, "%s with %s: 0x%x\n", rows[row].name, what, (unsigned)ret) > 0;
}

/* Of every kind: an object that has been freed. */
static DAT_HANDLE dead[N_KINDS];

static void free_late(const char *name)
{
    struct all x;

    memset(&x, 0, sizeof(x));
    make(&x, name);
    for (int kind = 0; kind < N_KINDS; kind++)
        dead[kind] = object(&x, kind);
    dt_raw_close(&x.t);
    free(x.mem.buf);
}

static void row_with_all(int row)
{
    static char text[256];
    char *heap;
    int flags = rows[row].flags;
    int kind = rows[row].kind;

    if (a.csp == DAT_HANDLE_NULL &&
        (strncmp(rows[row].name, "csp", 3) == 0 || strcmp(rows[row].name, "ep_common") == 0))
        return; /* refused whatever the handle */
    heap = calloc(1, 4096);
    for (int other = 0; other < N_KINDS; other++) {
        if (dead[other] != DAT_HANDLE_NULL)
            try(row, dead[other], "a freed object");
        if (other != kind && (flags & ANY_KIND) == 0 && object(&a, other) != DAT_HANDLE_NULL)
            try(row, object(&a, other), "an object of another kind");
    }
    if ((flags & OTHER_IA_OK) == 0 && (flags & HOT) == 0)
        try(row, object(&b, kind), "another instance's object");
    if ((flags & HOT) == 0) {
        if ((flags & NULL_OK) == 0)
            try(row, DAT_HANDLE_NULL, "nothing");
        for (uintptr_t i = 1; i < 70; i++)
            try(row, (DAT_HANDLE)i, "a small number");
        try(row, heap, "heap");
        try(row, text, "data");
        try(row, &flags, "stack");
        try(row, (DAT_HANDLE)(uintptr_t)row_with_all, "code");
        try(row, (DAT_HANDLE)UINTPTR_MAX, "the end of memory");
        try(row, (DAT_HANDLE)(uintptr_t)0x8000000000000000u, "no address");
        try(row, (char *)object(&a, kind) + 8, "the middle of an object");
        try(row, (char *)object(&a, kind) + 40, "the middle of an object");
        try(row, (char *)object(&a, kind) - 1, "the end of what lies before");
    }
    free(heap);
    if ((flags & (CLOSES | ANY_KIND)) == 0 && rows[row].call(object(&a, kind)) != DAT_SUCCESS &&
        kind != DAT_HANDLE_TYPE_EP && kind != DAT_HANDLE_TYPE_EVD)
        DT_FAIL("%s fails with the right handle", rows[row].name);
}

int main(int argc, char **argv)
{
    const char *name = dt_name(argc, argv);

    free_late(name);
    make(&a, name);
    make(&b, name);
    for (int row = 0; row < N_ROWS; row++)
        row_with_all(row);
    CHECK(n_tried > 5000);
    CHECK_EQ(n_bad, 0);
    /* Everything is still there. */
    for (int kind = 0; kind < N_KINDS; kind++)
        if (object(&a, kind) != DAT_HANDLE_NULL) {
            OK(p->get_handle_type_func(object(&a, kind), &type));
            CHECK_EQ(type, kind);
        }
    OK(dat_cr_accept(a.cr, dt_raw_ep(&a.t), 0, NULL));
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_raw_close(&a.t);
    dt_raw_close(&b.t);
    return 0;
}
