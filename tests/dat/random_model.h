/*
 * The model of the random test: what the processes' memory, regions, endpoints
 * and event queues must look like. It carries requests out at once; what is
 * under way in reality is waited for before it would matter (random.c).
 */
#ifndef DM_TESTS_DAT_RANDOM_MODEL_H
#define DM_TESTS_DAT_RANDOM_MODEL_H

#include "random_agent.h"

enum { MAX_AGENTS = 3, ARENA = 192 * 1024, MAX_REGIONS = 1200, MAX_QUEUE = 32, MAX_EXPECT = 512 };
enum { MAX_COPIES = 4 * MAX_SEG, MAX_SPANS = 512 };
enum { ALL = DAT_MEM_PRIV_ALL_FLAG, READ_ONLY = 0x3, LOCAL = 0x11 };

/* What a key stands for. */
struct region {
    bool is_live;
    uint32_t key;
    uint32_t off;
    uint32_t len;
    int pz;
    int priv;
    int n_binds;
    int base; /* of an RMR: the region it is bound to, else -1 */
};

struct seg {
    int region; /* -1: a key that never was */
    uint32_t off;
    uint32_t len;
};

struct request {
    enum kind kind;
    int flags;
    uint64_t cookie;
    uint64_t operand[2];
    int n_seg;
    struct seg seg[MAX_SEG];
    struct seg remote;
    int bound; /* K_BIND: the new region, and the RMR's */
    int rmr;
    unsigned char *taken; /* a write that waits: its data, where the post has read them */
};

struct receive {
    uint64_t cookie;
    int n_seg;
    struct seg seg[MAX_SEG];
};

/* An event that must come; of one endpoint and kind they come in order. */
struct expect {
    int evd;
    int ep;
    bool is_recv;
    struct event event;
};

struct m_ep {
    bool is_live;
    int state;
    int pz;
    int recv_evd;
    int req_evd;
    int max_recv;
    int max_req;
    bool has_srq;
    int peer; /* agent */
    int peer_ep;
    struct request q[MAX_QUEUE]; /* waiting for a receive */
    int n_q;
    struct receive r[MAX_QUEUE];
    int n_r;
    int n_since; /* posted since all was known to be over */
    bool has_silent;
};

struct m_agent {
    unsigned char *mem;   /* as it must be */
    unsigned char *arena; /* as it is */
    struct region region[MAX_REGIONS];
    int n_regions;
    int lmr[N_LMRS]; /* regions, -1: no LMR */
    int rmr[N_RMRS]; /* -2: no RMR, -1: not bound */
    int rmr_pz[N_RMRS];
    int last_freed; /* region */
    struct m_ep ep[N_EPS];
    struct receive srq[SRQ_LEN];
    int n_srq;
    int srq_user; /* the endpoint whose peer has used it since all was over, -1: none */
    struct expect expect[MAX_EXPECT];
    int n_expect;
    struct hello hello;
};

/* A part of memory that somebody reads or writes. */
struct span {
    int agent;
    uint32_t off;
    uint32_t len;
    bool is_write;
    int owner; /* the endpoint whose request does */
};

enum verdict { DONE, BLOCKED, FAILED };

/* What a request will do. */
struct plan {
    enum verdict verdict;
    int status;
    bool has_recv;
    int recv_status;
    uint32_t len;
    int n_copies;
    struct {
        int from;
        uint32_t from_off;
        int to;
        uint32_t to_off;
        uint32_t len;
    } copy[MAX_COPIES];
};

struct model {
    int n_agents;
    struct m_agent agent[MAX_AGENTS];
    struct span span[MAX_SPANS];
    int n_spans;
};

static bool seg_is_ok(const struct m_agent *a, int pz, const struct seg *s, uint32_t len, int priv)
{
    const struct region *r;

    if (len == 0)
        return true;
    if (s->region < 0)
        return false;
    r = &a->region[s->region];
    return r->is_live && r->pz == pz && (r->priv & priv) == priv && s->off >= r->off &&
           (uint64_t)s->off + len <= (uint64_t)r->off + r->len;
}

static uint32_t segs_len(const struct seg *s, int n)
{
    uint32_t len = 0;

    for (int i = 0; i < n; i++)
        len += s[i].len;
    return len;
}

/* Copies from the one list of segments to the other. */
static void plan_copies(struct plan *p, int from, const struct seg *src, int to,
                        const struct seg *dst)
{
    uint32_t left = p->len;
    uint32_t a = 0;
    uint32_t b = 0;

    while (left > 0) {
        uint32_t n = left;

        if (a == src->len) {
            src++;
            a = 0;
            continue;
        }
        if (b == dst->len) {
            dst++;
            b = 0;
            continue;
        }
        n = n < src->len - a ? n : src->len - a;
        n = n < dst->len - b ? n : dst->len - b;
        CHECK(p->n_copies < MAX_COPIES);
        p->copy[p->n_copies].from = from;
        p->copy[p->n_copies].from_off = src->off + a;
        p->copy[p->n_copies].to = to;
        p->copy[p->n_copies].to_off = dst->off + b;
        p->copy[p->n_copies++].len = n;
        a += n;
        b += n;
        left -= n;
    }
}

static const struct receive *next_recv(const struct model *m, const struct m_ep *e)
{
    const struct m_agent *peer = &m->agent[e->peer];
    const struct m_ep *far = &peer->ep[e->peer_ep];

    if (far->has_srq)
        return peer->n_srq > 0 ? &peer->srq[0] : NULL;
    return far->n_r > 0 ? &far->r[0] : NULL;
}

static void plan_send(const struct model *m, int agent, const struct m_ep *e,
                      const struct request *q, const struct receive *r, struct plan *p)
{
    const struct m_agent *peer = &m->agent[e->peer];
    uint32_t left = p->len;

    p->has_recv = true;
    if (segs_len(r->seg, r->n_seg) < p->len)
        p->recv_status = DAT_DTO_ERR_LOCAL_LENGTH;
    for (int i = 0; i < r->n_seg && p->recv_status == DAT_DTO_SUCCESS && left > 0; i++) {
        uint32_t n = left < r->seg[i].len ? left : r->seg[i].len;

        if (!seg_is_ok(peer, peer->ep[e->peer_ep].pz, &r->seg[i], n, DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
            p->recv_status = DAT_DTO_ERR_LOCAL_PROTECTION;
        left -= n;
    }
    if (p->recv_status != DAT_DTO_SUCCESS) {
        p->verdict = FAILED;
        p->status = DAT_DTO_ERR_REMOTE_RESPONDER;
    } else
        plan_copies(p, agent, q->seg, e->peer, r->seg);
}

static struct plan plan_make(const struct model *m, int agent, int ep, const struct request *q)
{
    const struct m_agent *a = &m->agent[agent];
    const struct m_ep *e = &a->ep[ep];
    const struct m_agent *peer = &m->agent[e->peer];
    const struct receive *r = next_recv(m, e);
    bool is_sink = q->kind == K_READ || q->kind == K_ADD || q->kind == K_SWAP;
    int local = is_sink ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : DAT_MEM_PRIV_LOCAL_READ_FLAG;
    int far = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    struct seg remote = q->remote;
    struct plan p;

    memset(&p, 0, sizeof(p));
    if (q->kind == K_BIND)
        return p;
    for (int i = 0; i < q->n_seg; i++)
        if (!seg_is_ok(a, e->pz, &q->seg[i], q->seg[i].len, local)) {
            p.verdict = FAILED;
            p.status = DAT_DTO_ERR_LOCAL_PROTECTION;
            return p;
        }
    p.len = segs_len(q->seg, q->n_seg);
    if (q->kind == K_SEND) {
        if (r == NULL)
            p.verdict = BLOCKED;
        else
            plan_send(m, agent, e, q, r, &p);
        return p;
    }
    if (q->kind == K_READ)
        far = DAT_MEM_PRIV_REMOTE_READ_FLAG;
    if (q->kind == K_ADD || q->kind == K_SWAP)
        far = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    if (!seg_is_ok(peer, peer->ep[e->peer_ep].pz, &remote, p.len, far) ||
        ((q->kind == K_ADD || q->kind == K_SWAP) && remote.off % 8 != 0)) {
        p.verdict = FAILED;
        p.status = DAT_DTO_ERR_REMOTE_ACCESS;
        return p;
    }
    if (q->kind == K_IMMED && r == NULL) {
        p.verdict = BLOCKED;
        return p;
    }
    p.has_recv = q->kind == K_IMMED;
    remote.len = p.len;
    if (is_sink)
        plan_copies(&p, e->peer, &remote, agent, q->seg);
    else
        plan_copies(&p, agent, q->seg, e->peer, &remote);
    return p;
}

/* Will a request that waits place data where the source of this one is? */
static bool is_awaited(const struct m_ep *e, const struct request *q)
{
    for (int i = 0; i < e->n_q; i++) {
        const struct request *r = &e->q[i];

        if (r->kind != K_READ && r->kind != K_ADD && r->kind != K_SWAP)
            continue;
        for (int j = 0; j < r->n_seg * q->n_seg; j++) {
            const struct seg *sink = &r->seg[j % r->n_seg], *source = &q->seg[j / r->n_seg];

            if (sink->len > 0 && source->len > 0 && sink->off < source->off + source->len &&
                source->off < sink->off + sink->len)
                return true;
        }
    }
    return false;
}

/* The request will wait. If the post reads its data, they are those of now. */
static void request_take(const struct model *m, int agent, int ep, struct request *q)
{
    const struct m_agent *a = &m->agent[agent];
    const struct m_ep *e = &a->ep[ep];
    uint32_t len = segs_len(q->seg, q->n_seg), at = 0;

    if (q->kind != K_WRITE || len == 0 || len > a->hello.n_taken || is_awaited(e, q))
        return;
    for (int i = 0; i < q->n_seg; i++)
        if (!seg_is_ok(a, e->pz, &q->seg[i], q->seg[i].len, DAT_MEM_PRIV_LOCAL_READ_FLAG))
            return;
    q->taken = malloc(len);
    CHECK(q->taken != NULL);
    for (int i = 0; i < q->n_seg; at += q->seg[i++].len)
        memcpy(q->taken + at, a->mem + q->seg[i].off, q->seg[i].len);
}

/* Memory as the plan wants it. */
static void plan_apply(struct model *m, const struct m_ep *e, const struct request *q,
                       const struct plan *p)
{
    const unsigned char *taken = q->taken;
    uint64_t word;

    for (int i = 0; i < p->n_copies; i++) {
        const unsigned char *from = m->agent[p->copy[i].from].mem + p->copy[i].from_off;

        memmove(m->agent[p->copy[i].to].mem + p->copy[i].to_off, taken != NULL ? taken : from,
                p->copy[i].len);
        if (taken != NULL)
            taken += p->copy[i].len;
    }
    if (q->kind != K_ADD && q->kind != K_SWAP)
        return;
    memcpy(&word, m->agent[e->peer].mem + q->remote.off, sizeof(word));
    if (q->kind == K_ADD)
        word += q->operand[0];
    else if (word == q->operand[0])
        word = q->operand[1];
    memcpy(m->agent[e->peer].mem + q->remote.off, &word, sizeof(word));
}

static bool is_clash(const struct span *a, const struct span *b)
{
    return a->agent == b->agent && a->owner != b->owner && (a->is_write || b->is_write) &&
           a->off < b->off + b->len && b->off < a->off + a->len;
}

/* The spans of a plan join those under way; false, and nothing is done, when one clashes with
 * another endpoint's, or there are too many. */
static bool spans_add(struct model *m, int owner, const struct request *q, const struct plan *p)
{
    int n = m->n_spans;

    if (n + 2 * p->n_copies > MAX_SPANS)
        return false;
    for (int i = 0; i < 2 * p->n_copies; i++) {
        struct span *s = &m->span[n];
        bool is_to = i % 2 != 0;

        s->agent = is_to ? p->copy[i / 2].to : p->copy[i / 2].from;
        s->off = is_to ? p->copy[i / 2].to_off : p->copy[i / 2].from_off;
        s->len = p->copy[i / 2].len;
        s->is_write = is_to || q->kind == K_ADD || q->kind == K_SWAP;
        s->owner = owner;
        for (int j = 0; j < m->n_spans; j++)
            if (is_clash(s, &m->span[j]))
                return false;
        n++;
    }
    m->n_spans = n;
    return true;
}

/* ---- events ---- */

static struct event *expect_add(struct m_agent *a, int evd, int ep, unsigned number)
{
    struct expect *x = &a->expect[a->n_expect++];

    CHECK(a->n_expect <= MAX_EXPECT);
    memset(x, 0, sizeof(*x));
    x->evd = evd;
    x->ep = ep;
    x->event.evd = evd;
    x->event.ep = ep;
    x->event.number = number;
    return &x->event;
}

static void expect_request(struct m_agent *a, int ep, const struct request *q, int status,
                           uint32_t len)
{
    static const int operations[] = {DAT_DTO_SEND,
                                     DAT_DTO_RDMA_WRITE,
                                     DAT_DTO_RDMA_READ,
                                     DAT_IB_DTO_RDMA_WRITE_IMMED,
                                     DAT_IB_DTO_FETCH_ADD,
                                     DAT_IB_DTO_CMP_SWAP,
                                     0};
    unsigned number = q->kind == K_BIND ? DAT_RMR_BIND_COMPLETION_EVENT : DAT_DTO_COMPLETION_EVENT;
    struct event *e;

    if (status == DAT_DTO_SUCCESS && (q->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0) {
        a->ep[ep].has_silent = true;
        return;
    }
    if (q->kind == K_IMMED || q->kind == K_ADD || q->kind == K_SWAP)
        number = (unsigned)DAT_IB_DTO_EVENT;
    e = expect_add(a, EVD_DTO + a->ep[ep].req_evd, ep, number);
    e->cookie = q->cookie;
    e->status = status;
    e->len = len;
    e->operation = operations[q->kind];
}

static void expect_recv(struct m_agent *a, int ep, const struct receive *r, int status,
                        uint32_t len, const struct request *q)
{
    bool is_immed = q != NULL && q->kind == K_IMMED;
    struct event *e = expect_add(a, EVD_DTO + a->ep[ep].recv_evd, ep,
                                 is_immed ? (unsigned)DAT_IB_DTO_EVENT : DAT_DTO_COMPLETION_EVENT);

    a->expect[a->n_expect - 1].is_recv = true;
    e->cookie = r->cookie;
    e->status = status;
    e->len = len;
    e->operation = is_immed ? (int)DAT_IB_DTO_RECV_IMMED : DAT_DTO_RECEIVE;
    e->immed = is_immed ? (uint32_t)q->operand[0] : 0;
}

/* One side of a connection ends; number: the connection event. */
static void ep_end(struct m_agent *a, int ep, unsigned number, bool is_async)
{
    struct m_ep *e = &a->ep[ep];

    for (int i = 0; i < e->n_q; i++) {
        expect_request(a, ep, &e->q[i], DAT_DTO_ERR_FLUSHED, 0);
        free(e->q[i].taken);
    }
    for (int i = 0; i < e->n_r; i++)
        expect_recv(a, ep, &e->r[i], DAT_DTO_ERR_FLUSHED, 0, NULL);
    e->n_q = 0;
    e->n_r = 0;
    e->state = DAT_EP_STATE_DISCONNECTED;
    if (number != 0)
        (void)expect_add(a, EVD_CONN, ep, number);
    if (is_async || e->has_srq)
        (void)expect_add(a, EVD_ASYNC, ep, DAT_ASYNC_ERROR_EP_BROKEN);
}

/* A request that can be carried out, is, with everything that follows. */
static void request_run(struct model *m, int agent, int ep, const struct request *q,
                        const struct plan *p)
{
    struct m_agent *a = &m->agent[agent];
    struct m_ep *e = &a->ep[ep];
    struct m_agent *peer = &m->agent[e->peer];
    struct m_ep *far = &peer->ep[e->peer_ep];
    struct receive r;

    if (p->verdict == DONE)
        plan_apply(m, e, q, p);
    if (q->kind == K_BIND) {
        struct region *old = a->rmr[q->rmr] >= 0 ? &a->region[a->rmr[q->rmr]] : NULL;

        if (old != NULL) {
            old->is_live = false;
            a->region[old->base].n_binds--;
        }
        a->region[q->bound].is_live = true;
        a->region[a->region[q->bound].base].n_binds++;
        a->rmr[q->rmr] = q->bound;
    }
    if (p->has_recv) {
        r = *next_recv(m, e);
        if (far->has_srq) {
            memmove(&peer->srq[0], &peer->srq[1], (size_t)--peer->n_srq * sizeof(r));
            peer->srq_user = e->peer_ep;
        } else
            memmove(&far->r[0], &far->r[1], (size_t)--far->n_r * sizeof(r));
        expect_recv(peer, e->peer_ep, &r, p->recv_status, p->len,
                    p->recv_status == DAT_DTO_SUCCESS ? q : NULL);
    }
    expect_request(a, ep, q, p->status, p->len);
    if (p->verdict == FAILED) {
        ep_end(a, ep, DAT_CONNECTION_EVENT_BROKEN, false);
        ep_end(peer, e->peer_ep, DAT_CONNECTION_EVENT_DISCONNECTED, true);
    }
}

#endif
