/*
 * The steps of the random test: each chooses what to do by the numbers of its
 * own and what there is, says it, does it and notes what must come of it.
 */
#ifndef DM_TESTS_DAT_RANDOM_STEPS_H
#define DM_TESTS_DAT_RANDOM_STEPS_H

static struct m_ep *ep_of(int agent, int ep)
{
    return &d.m.agent[agent].ep[ep];
}

static int region_new(struct m_agent *a, uint32_t key, uint32_t off, uint32_t len, int pz, int priv)
{
    struct region *r = &a->region[a->n_regions];

    CHECK(a->n_regions < MAX_REGIONS);
    memset(r, 0, sizeof(*r));
    r->key = key;
    r->off = off;
    r->len = len;
    r->pz = pz;
    r->priv = priv;
    r->base = -1;
    return a->n_regions++;
}

static void step_lmr(void)
{
    static const int privs[] = {ALL, ALL, ALL, ALL, READ_ONLY, LOCAL};
    int agent = any_agent();
    struct m_agent *a = &d.m.agent[agent];
    int i = (int)rnd(N_LMRS);
    struct command c = {.verb = V_LMR_FREE, .a = i};
    struct region *r;

    if (a->lmr[i] >= 0) {
        r = &a->region[a->lmr[i]];
        if (rnd(4) != 0)
            return;
        settle();
        say("%d: process %d: free LMR R%d\n", d.step, agent, a->lmr[i]);
        (void)call_want(agent, &c, r->n_binds > 0 ? DAT_INVALID_STATE : DAT_SUCCESS);
        if (r->n_binds > 0)
            return;
        r->is_live = false;
        a->last_freed = a->lmr[i];
        a->lmr[i] = -1;
        return;
    }
    c.verb = V_LMR;
    c.b = rnd(6) == 0;
    c.c = (int)rnd(2);
    c.flags = privs[rnd(sizeof(privs) / sizeof(privs[0]))];
    c.offset = rnd(ARENA / 4096) * 4096;
    c.len = 1 + rnd(ARENA - (uint32_t)c.offset);
    if (c.c == 0) /* private memory begins anywhere */
        c.offset += rnd((uint32_t)c.len);
    if (c.offset + c.len > ARENA)
        c.len = ARENA - c.offset;
    c.address = address_of(agent, (uint32_t)c.offset);
    a->lmr[i] = region_new(a, 0, (uint32_t)c.offset, (uint32_t)c.len, c.b, c.flags);
    say("%d: process %d: %s LMR R%d 0x%x+%u, zone %d, privileges 0x%x\n", d.step, agent,
        c.c != 0 ? "shared" : "private", a->lmr[i], (unsigned)c.offset, (unsigned)c.len, c.b,
        (unsigned)c.flags);
    r = &a->region[a->lmr[i]];
    r->key = (uint32_t)call_want(agent, &c, DAT_SUCCESS).value[1];
    r->is_live = true;
}

static void step_rmr(void)
{
    int agent = any_agent();
    struct m_agent *a = &d.m.agent[agent];
    int i = (int)rnd(N_RMRS);
    struct command c = {.verb = V_RMR, .a = i, .b = rnd(10) == 0};

    if (a->rmr[i] == -2) {
        say("%d: process %d: RMR %d, zone %d\n", d.step, agent, i, c.b);
        (void)call_want(agent, &c, DAT_SUCCESS);
        a->rmr[i] = -1;
        a->rmr_pz[i] = c.b;
        return;
    }
    if (rnd(4) != 0)
        return;
    settle();
    say("%d: process %d: free RMR %d\n", d.step, agent, i);
    c.verb = V_RMR_FREE;
    (void)call_want(agent, &c, DAT_SUCCESS);
    if (a->rmr[i] >= 0) {
        a->region[a->rmr[i]].is_live = false;
        a->region[a->region[a->rmr[i]].base].n_binds--;
        a->last_freed = a->rmr[i];
    }
    a->rmr[i] = -2;
}

static void ep_new(int agent, int i)
{
    struct m_ep *e = ep_of(agent, i);
    struct command c = {.verb = V_EP, .a = i};

    memset(e, 0, sizeof(*e));
    e->has_srq = rnd(5) == 0;
    e->pz = e->has_srq ? 0 : rnd(8) == 0;
    e->max_recv = 2 + (int)rnd(12);
    e->max_req = 3 + (int)rnd(14);
    e->recv_evd = (int)rnd(N_DTO_EVDS);
    e->req_evd = (int)rnd(N_DTO_EVDS);
    e->state = DAT_EP_STATE_UNCONNECTED;
    c.b = e->pz;
    c.len = (uint64_t)e->max_recv;
    c.offset = (uint64_t)e->max_req;
    c.operand[0] = e->has_srq;
    c.n_events[0] = e->recv_evd;
    c.n_events[1] = e->req_evd;
    say("%d: process %d: endpoint %d, zone %d, %s, %d receives, %d requests, EVDs %d %d\n", d.step,
        agent, i, e->pz, e->has_srq ? "SRQ" : "no SRQ", e->max_recv, e->max_req, e->recv_evd,
        e->req_evd);
    (void)call_want(agent, &c, DAT_SUCCESS);
    e->is_live = true;
}

static void step_ep(void)
{
    int agent = any_agent();
    int i = (int)rnd(N_EPS);
    struct m_ep *e = ep_of(agent, i);
    struct command c = {.verb = V_EP_FREE, .a = i};

    if (!e->is_live) {
        ep_new(agent, i);
        return;
    }
    if (rnd(6) != 0)
        return;
    settle_fully();
    say("%d: process %d: free endpoint %d\n", d.step, agent, i);
    (void)call_want(agent, &c, DAT_SUCCESS);
    if (e->state == DAT_EP_STATE_CONNECTED)
        ep_end(&d.m.agent[e->peer], e->peer_ep, DAT_CONNECTION_EVENT_DISCONNECTED, false);
    for (int x = 0; x < e->n_q; x++)
        free(e->q[x].taken);
    e->is_live = false;
    settle();
}

static void any_private(struct command *c)
{
    c->priv_len = rnd(3) == 0 ? 0 : rnd(PRIV_LEN + 1);
    for (uint32_t i = 0; i < c->priv_len; i++)
        c->priv[i] = (unsigned char)rnd(256);
}

static void expect_conn(int agent, int ep, unsigned number, const struct command *c)
{
    struct event *e = expect_add(&d.m.agent[agent], EVD_CONN, ep, number);

    if (c != NULL) {
        e->priv_len = c->priv_len;
        memcpy(e->priv, c->priv, c->priv_len);
    }
}

/* Refused: the endpoint is as after the end of a connection. */
static void ep_refused(int agent, int ep, unsigned number, const struct command *c)
{
    bool has_srq = ep_of(agent, ep)->has_srq;

    ep_of(agent, ep)->has_srq = false; /* no connection, no event for its end */
    ep_end(&d.m.agent[agent], ep, 0, false);
    ep_of(agent, ep)->has_srq = has_srq;
    expect_conn(agent, ep, number, c);
}

static void step_connect(void)
{
    int from = any_agent();
    int to = (from + 1 + (int)rnd((uint32_t)d.m.n_agents - 1)) % d.m.n_agents;
    int i = any_ep(from, DAT_EP_STATE_UNCONNECTED);
    int j = any_ep(to, DAT_EP_STATE_UNCONNECTED);
    struct command c = {.verb = V_CONNECT, .a = i, .operand = {d.m.agent[to].hello.qual}};
    struct command back = {.verb = rnd(12) == 0 ? V_REJECT : V_ACCEPT, .a = j};
    struct answer r;

    if (i < 0 || j < 0)
        return;
    settle();
    any_private(&c);
    any_private(&back);
    if (rnd(25) == 0) {
        say("%d: process %d: connect endpoint %d to nobody\n", d.step, from, i);
        c.operand[0] = 7;
        (void)call_want(from, &c, DAT_SUCCESS);
        ep_refused(from, i, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
        settle();
        return;
    }
    say("%d: process %d: connect endpoint %d with %u bytes; process %d: %s endpoint %d with %u\n",
        d.step, from, i, c.priv_len, to, back.verb == V_ACCEPT ? "accept by" : "reject, not", j,
        back.priv_len);
    (void)call_want(from, &c, DAT_SUCCESS);
    r = call_want(to, &back, DAT_SUCCESS);
    if (r.n_events != 1 || d.list[0].priv_len != c.priv_len ||
        memcmp(d.list[0].priv, c.priv, c.priv_len) != 0)
        mismatch("the request's private data differs");
    if (back.verb == V_REJECT) {
        ep_refused(from, i, DAT_CONNECTION_EVENT_PEER_REJECTED, &back);
        settle();
        return;
    }
    expect_conn(from, i, DAT_CONNECTION_EVENT_ESTABLISHED, &back);
    expect_conn(to, j, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
    ep_of(from, i)->state = DAT_EP_STATE_CONNECTED;
    ep_of(from, i)->peer = to;
    ep_of(from, i)->peer_ep = j;
    ep_of(to, j)->state = DAT_EP_STATE_CONNECTED;
    ep_of(to, j)->peer = from;
    ep_of(to, j)->peer_ep = i;
    settle();
}

/* What waits for a receive goes on. */
static void release(int agent, int ep)
{
    struct m_ep *e = ep_of(agent, ep);

    while (e->n_q > 0 && e->state == DAT_EP_STATE_CONNECTED) {
        struct request q = e->q[0];
        struct plan p = plan_make(&d.m, agent, ep, &q);

        if (p.verdict == BLOCKED)
            return;
        memmove(&e->q[0], &e->q[1], (size_t)--e->n_q * sizeof(q));
        CHECK(spans_add(&d.m, owner_of(agent, ep), &q, &p));
        request_run(&d.m, agent, ep, &q, &p);
        free(q.taken);
        if (p.verdict == FAILED)
            settle();
    }
}

static void recv_fill(int agent, int pz, struct receive *r, struct command *c)
{
    const struct m_agent *a = &d.m.agent[agent];

    r->cookie = RECV_COOKIE | ++d.n_cookies;
    r->n_seg = any_segs(a, any_region(a, pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, false), ARENA, r->seg);
    if (r->n_seg > 0)
        stretch(a, &r->seg[r->n_seg - 1]);
    c->cookie = r->cookie;
    c->n_seg = r->n_seg;
    to_triplets(agent, r->seg, r->n_seg, c->seg);
}

static void step_recv(void)
{
    int agent = any_agent();
    struct m_agent *a = &d.m.agent[agent];
    int i = any_ep(agent, -1);
    struct command c = {.verb = V_RECV, .a = i};
    struct m_ep *e = ep_of(agent, i < 0 ? 0 : i);
    struct receive r;
    int n_used;

    if (i < 0)
        return;
    recv_fill(agent, e->pz, &r, &c);
    if (e->state == DAT_EP_STATE_CONNECTED && ep_of(e->peer, e->peer_ep)->n_q > 0)
        settle();
    say("%d: process %d: receive r%llu of endpoint %d", d.step, agent,
        (unsigned long long)(r.cookie & ~RECV_COOKIE), i);
    say_segs(r.seg, r.n_seg);
    say("\n");
    n_used = e->n_r;
    for (int x = 0; x < a->n_expect; x++)
        n_used += a->expect[x].is_recv && a->expect[x].ep == i;
    if (e->has_srq || n_used >= e->max_recv) {
        (void)call_want(agent, &c, e->has_srq ? DAT_INVALID_STATE : DAT_INSUFFICIENT_RESOURCES);
        return;
    }
    (void)call_want(agent, &c, DAT_SUCCESS);
    if (e->state == DAT_EP_STATE_DISCONNECTED) {
        expect_recv(a, i, &r, DAT_DTO_ERR_FLUSHED, 0, NULL);
        return;
    }
    e->r[e->n_r++] = r;
    if (e->state == DAT_EP_STATE_CONNECTED)
        release(e->peer, e->peer_ep);
}

/* The endpoint whose peer waits for a receive of the shared queue, or -1. */
static int srq_waiter(int agent)
{
    for (int i = 0; i < N_EPS; i++) {
        const struct m_ep *e = ep_of(agent, i);

        if (e->is_live && e->has_srq && e->state == DAT_EP_STATE_CONNECTED &&
            ep_of(e->peer, e->peer_ep)->n_q > 0)
            return i;
    }
    return -1;
}

static void step_srq_recv(void)
{
    int agent = any_agent();
    struct m_agent *a = &d.m.agent[agent];
    int i = srq_waiter(agent);
    struct command c = {.verb = V_SRQ_RECV};
    struct receive r;

    recv_fill(agent, 0, &r, &c);
    if (i >= 0 || a->srq_user >= 0)
        settle();
    say("%d: process %d: receive r%llu of the shared queue", d.step, agent,
        (unsigned long long)(r.cookie & ~RECV_COOKIE));
    say_segs(r.seg, r.n_seg);
    say("\n");
    if (a->n_srq == SRQ_LEN) {
        (void)call_want(agent, &c, DAT_INSUFFICIENT_RESOURCES);
        return;
    }
    (void)call_want(agent, &c, DAT_SUCCESS);
    a->srq[a->n_srq++] = r;
    if (i >= 0)
        release(ep_of(agent, i)->peer, ep_of(agent, i)->peer_ep);
}

/* ---- requests ---- */

static const char *const kind_names[] = {"send",      "write", "read", "write-immediate",
                                         "fetch-add", "swap",  "bind"};

/* A send that just fits into the receive that it will meet, or just not. */
static void send_fit(int agent, int ep, struct request *q)
{
    const struct m_ep *e = ep_of(agent, ep);
    const struct receive *r = next_recv(&d.m, e);
    const struct m_agent *a = &d.m.agent[agent];
    uint32_t len = r != NULL ? segs_len(r->seg, r->n_seg) + (rnd(4) == 0) : 0;
    int region = any_region(a, e->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, false);

    if (r == NULL || region < 0 || a->region[region].len < len)
        return;
    q->n_seg = 1;
    q->seg[0].region = region;
    q->seg[0].len = len;
    q->seg[0].off = a->region[region].off + rnd(a->region[region].len - len + 1);
}

static void request_make(int agent, int ep, struct request *q)
{
    static const enum kind kinds[] = {K_SEND, K_SEND, K_SEND,  K_WRITE, K_WRITE, K_WRITE,
                                      K_READ, K_READ, K_IMMED, K_ADD,   K_SWAP};
    const struct m_ep *e = ep_of(agent, ep);
    const struct m_agent *a = &d.m.agent[agent];
    const struct m_agent *peer = &d.m.agent[e->peer];
    bool is_up = e->state == DAT_EP_STATE_CONNECTED;
    int far_pz = is_up ? ep_of(e->peer, e->peer_ep)->pz : 0;
    int far = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    uint32_t max = ARENA;

    memset(q, 0, sizeof(*q));
    q->kind = kinds[rnd(sizeof(kinds) / sizeof(kinds[0]))];
    q->cookie = ++d.n_cookies;
    q->flags = rnd(3) == 0 ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG;
    q->flags |= rnd(8) == 0 ? DAT_COMPLETION_BARRIER_FENCE_FLAG : 0;
    q->flags |= rnd(8) == 0 ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0;
    q->operand[0] = q->kind == K_IMMED ? random64() & 0xffffffff : random64();
    q->operand[1] = random64();
    q->remote.region = -1;
    if (q->kind == K_READ)
        far = DAT_MEM_PRIV_REMOTE_READ_FLAG;
    if (q->kind == K_ADD || q->kind == K_SWAP)
        far = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    if (q->kind != K_SEND && is_up)
        q->remote.region = any_region(peer, far_pz, far, true);
    if (q->remote.region >= 0)
        max = peer->region[q->remote.region].len;
    q->n_seg =
        any_segs(a,
                 any_region(a, e->pz,
                            far == DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? DAT_MEM_PRIV_LOCAL_READ_FLAG
                                                                  : DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
                            false),
                 max, q->seg);
    if (q->kind == K_ADD || q->kind == K_SWAP) {
        if (q->n_seg == 0)
            q->seg[0].region = -1;
        q->n_seg = 1;
        q->seg[0].len = 8;
        max = 8;
    }
    q->remote.len = segs_len(q->seg, q->n_seg);
    if (q->remote.region >= 0) {
        const struct region *r = &peer->region[q->remote.region];

        q->remote.off = r->off + (r->len > q->remote.len ? rnd(r->len - q->remote.len) : 0);
        if (q->kind >= K_ADD && rnd(40) != 0)
            q->remote.off = (q->remote.off + 7) & ~7u;
        if (q->kind == K_SWAP && rnd(2) == 0) /* it shall often find what it compares with */
            memcpy(&q->operand[0], peer->mem + (q->remote.off < ARENA - 8 ? q->remote.off : 0), 8);
        stretch(peer, &q->remote);
    }
    if (q->kind == K_SEND && is_up && rnd(6) == 0)
        send_fit(agent, ep, q);
    if (q->n_seg > 0)
        stretch(a, &q->seg[q->n_seg - 1]);
}

static void request_say(int agent, int ep, const struct request *q)
{
    say("%d: process %d: %s %llu by endpoint %d%s%s", d.step, agent, kind_names[q->kind],
        (unsigned long long)q->cookie, ep,
        (q->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0 ? ", suppressed" : "",
        (q->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) != 0 ? ", fenced" : "");
    say_segs(q->seg, q->n_seg);
    if (q->kind != K_SEND) {
        say(" at");
        say_segs(&q->remote, 1);
    }
    say("\n");
}

static struct answer request_post(int agent, int ep, const struct request *q, DAT_RETURN want)
{
    const struct m_ep *e = ep_of(agent, ep);
    struct command c = {.verb = V_POST, .kind = q->kind, .a = ep, .flags = q->flags};
    DAT_LMR_TRIPLET far;

    c.cookie = q->cookie;
    c.has_room = want == DAT_SUCCESS;
    c.n_seg = q->n_seg;
    memcpy(c.operand, q->operand, sizeof(c.operand));
    to_triplets(agent, q->seg, q->n_seg, c.seg);
    to_triplets(e->peer, &q->remote, 1, &far);
    c.remote.virtual_address = far.virtual_address;
    c.remote.segment_length = far.segment_length;
    c.remote.rmr_context = far.lmr_context;
    request_say(agent, ep, q);
    return call_want(agent, &c, want);
}

/* One that will wait: what changes its data is over before. */
static void request_queue(int agent, int ep, struct request *q)
{
    struct m_ep *e = ep_of(agent, ep);

    if (q->kind == K_WRITE) {
        settle();
        e->n_since++;
    }
    request_take(&d.m, agent, ep, q);
    (void)request_post(agent, ep, q, DAT_SUCCESS);
    e->q[e->n_q++] = *q;
}

/* Two that wait for receives of the same shared queue: who gets one is not said. */
static bool is_contended(int agent, int ep)
{
    const struct m_ep *e = ep_of(agent, ep);
    int waiter = ep_of(e->peer, e->peer_ep)->has_srq ? srq_waiter(e->peer) : -1;

    return waiter >= 0 && waiter != e->peer_ep;
}

static void step_post(void)
{
    int agent = any_agent();
    int i = any_ep(agent, rnd(20) == 0 ? -1 : DAT_EP_STATE_CONNECTED);
    struct m_ep *e = ep_of(agent, i < 0 ? 0 : i);
    struct m_agent *peer;
    struct request q;
    struct plan p;

    if (i < 0)
        return;
    request_make(agent, i, &q);
    if (e->n_since >= e->max_req - 1)
        settle();
    if (e->state != DAT_EP_STATE_CONNECTED) {
        bool is_flushed = e->state == DAT_EP_STATE_DISCONNECTED;

        (void)request_post(agent, i, &q, is_flushed ? DAT_SUCCESS : DAT_INVALID_STATE);
        if (is_flushed)
            expect_request(&d.m.agent[agent], i, &q, DAT_DTO_ERR_FLUSHED, 0);
        e->n_since += is_flushed;
        return;
    }
    peer = &d.m.agent[e->peer];
    if (e->n_q >= e->max_req) {
        (void)request_post(agent, i, &q, DAT_INSUFFICIENT_RESOURCES);
        return;
    }
    if ((q.kind == K_SEND || q.kind == K_IMMED) && ep_of(e->peer, e->peer_ep)->has_srq) {
        if (is_contended(agent, i))
            return;
        if (peer->srq_user >= 0 && peer->srq_user != e->peer_ep)
            settle();
    }
    e->n_since++;
    if (e->n_q > 0) { /* the first may have lost its memory: now that is noticed */
        p = plan_make(&d.m, agent, i, &e->q[0]);
        if (p.verdict == FAILED)
            settle();
        request_queue(agent, i, &q);
        release(agent, i);
        return;
    }
    p = plan_make(&d.m, agent, i, &q);
    if (p.verdict == FAILED || !spans_add(&d.m, owner_of(agent, i), &q, &p)) {
        settle();
        e->n_since++;
        CHECK(p.verdict == FAILED || spans_add(&d.m, owner_of(agent, i), &q, &p));
    }
    (void)request_post(agent, i, &q, DAT_SUCCESS);
    if (p.verdict == BLOCKED)
        e->q[e->n_q++] = q;
    else
        request_run(&d.m, agent, i, &q, &p);
    if (p.verdict == FAILED)
        settle();
}

/* Binds that are legal, on an endpoint where nothing waits. */
static void step_bind(void)
{
    int agent = any_agent();
    struct m_agent *a = &d.m.agent[agent];
    int i = any_ep(agent, DAT_EP_STATE_CONNECTED);
    int rmr = (int)rnd(N_RMRS);
    int lmr = (int)rnd(N_LMRS);
    struct command c = {.verb = V_POST, .kind = K_BIND, .a = i, .b = rmr, .c = lmr, .n_seg = 1};
    struct request q = {.kind = K_BIND, .rmr = rmr};
    const struct region *r;
    struct plan p;
    struct seg seg;

    if (i < 0 || a->rmr[rmr] == -2 || a->lmr[lmr] < 0)
        return;
    r = &a->region[a->lmr[lmr]];
    if (ep_of(agent, i)->n_q > 0 || ep_of(agent, i)->pz != a->rmr_pz[rmr] ||
        r->pz != a->rmr_pz[rmr])
        return;
    settle();
    seg.region = a->lmr[lmr];
    seg.len = 1 + rnd(r->len);
    seg.off = r->off + rnd(r->len - seg.len + 1);
    c.operand[0] = DAT_MEM_PRIV_REMOTE_READ_FLAG;
    if (r->priv != READ_ONLY && rnd(4) != 0)
        c.operand[0] |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    q.cookie = c.cookie = ++d.n_cookies;
    to_triplets(agent, &seg, 1, c.seg);
    q.bound = region_new(a, 0, seg.off, seg.len, r->pz, (int)c.operand[0]);
    a->region[q.bound].base = seg.region;
    say("%d: process %d: bind RMR %d by endpoint %d as R%d to", d.step, agent, rmr, i, q.bound);
    say_segs(&seg, 1);
    say("\n");
    a->region[q.bound].key = (uint32_t)call_want(agent, &c, DAT_SUCCESS).value[0];
    ep_of(agent, i)->n_since++;
    p = plan_make(&d.m, agent, i, &q);
    request_run(&d.m, agent, i, &q, &p);
    settle();
}

static void step_disconnect(void)
{
    int agent = any_agent();
    int i = any_ep(agent, rnd(6) == 0 ? -1 : DAT_EP_STATE_CONNECTED);
    struct m_ep *e = ep_of(agent, i < 0 ? 0 : i);
    struct command c = {.verb = V_DISCONNECT, .a = i, .flags = DAT_CLOSE_ABRUPT_FLAG};

    if (i < 0)
        return;
    settle();
    /* A graceful one would wait for what waits for a receive. */
    if (rnd(2) == 0 && e->n_q == 0 &&
        (e->state != DAT_EP_STATE_CONNECTED || ep_of(e->peer, e->peer_ep)->n_q == 0))
        c.flags = DAT_CLOSE_GRACEFUL_FLAG;
    say("%d: process %d: disconnect endpoint %d %s\n", d.step, agent, i,
        c.flags == DAT_CLOSE_ABRUPT_FLAG ? "abruptly" : "gracefully");
    (void)call_want(agent, &c,
                    e->state == DAT_EP_STATE_UNCONNECTED ? DAT_INVALID_STATE : DAT_SUCCESS);
    if (e->state != DAT_EP_STATE_CONNECTED)
        return;
    ep_end(&d.m.agent[agent], i, DAT_CONNECTION_EVENT_DISCONNECTED, false);
    ep_end(&d.m.agent[e->peer], e->peer_ep, DAT_CONNECTION_EVENT_DISCONNECTED, false);
    settle();
}

static void step_reset(void)
{
    int agent = any_agent();
    int i = any_ep(agent, rnd(6) == 0 ? -1 : DAT_EP_STATE_DISCONNECTED);
    struct m_ep *e = ep_of(agent, i < 0 ? 0 : i);
    struct command c = {.verb = V_RESET, .a = i};

    if (i < 0)
        return;
    settle();
    say("%d: process %d: reset endpoint %d\n", d.step, agent, i);
    (void)call_want(agent, &c,
                    e->state == DAT_EP_STATE_CONNECTED ? DAT_INVALID_STATE : DAT_SUCCESS);
    if (e->state == DAT_EP_STATE_DISCONNECTED)
        e->state = DAT_EP_STATE_UNCONNECTED;
}

/* ---- the rest ---- */

/* Does a request wait for a receive that has lost its memory meanwhile? When that is noticed is open. */
static bool has_lost_memory(void)
{
    for (int agent = 0; agent < d.m.n_agents; agent++)
        for (int i = 0; i < N_EPS; i++) {
            struct m_ep *e = ep_of(agent, i);

            if (e->state == DAT_EP_STATE_CONNECTED && e->n_q > 0 &&
                plan_make(&d.m, agent, i, &e->q[0]).verdict == FAILED)
                return true;
        }
    return false;
}

/* A larger queue may have room: what waits is tried again. */
static void step_resize(void)
{
    int agent = any_agent();
    struct command c = {
        .verb = V_RESIZE, .a = EVD_DTO + (int)rnd(N_DTO_EVDS), .b = 128 + (int)rnd(200)};

    if (has_lost_memory())
        return;
    settle();
    say("%d: process %d: EVD %d gets %d entries\n", d.step, agent, c.a, c.b);
    (void)call_want(agent, &c, DAT_SUCCESS);
}

static void fill(int agent, uint32_t off, uint32_t len)
{
    struct m_agent *a = &d.m.agent[agent];

    say("%d: process %d: new bytes 0x%x+%u\n", d.step, agent, off, len);
    for (uint32_t i = off; i < off + len; i++)
        a->mem[i] = (unsigned char)random64();
    memcpy(a->arena + off, a->mem + off, len);
}

static void step_fill(void)
{
    uint32_t off = rnd(ARENA);

    settle();
    fill(any_agent(), off, 1 + rnd(ARENA - off));
}

static void step_query(void)
{
    int agent = any_agent();
    int i = any_ep(agent, -1);
    struct command c = {.verb = V_STATE, .a = i};
    struct answer r;

    if (i < 0)
        return;
    settle_fully();
    r = call_want(agent, &c, DAT_SUCCESS);
    if (r.value[0] != (uint64_t)ep_of(agent, i)->state)
        mismatch("process %d: endpoint %d is in state %d, expected %d", agent, i, (int)r.value[0],
                 ep_of(agent, i)->state);
    memset(&c, 0, sizeof(c));
    c.verb = V_PZ_FREE; /* the shared queue uses it */
    (void)call_want(agent, &c, DAT_INVALID_STATE);
}

/* Something to begin with. */
static void first_steps(void)
{
    for (int i = 0; i < d.m.n_agents; i++)
        fill(i, 0, ARENA);
    for (int i = 0; i < 8 * d.m.n_agents; i++)
        step_lmr();
    for (int i = 0; i < 4 * d.m.n_agents; i++) {
        step_ep();
        step_rmr();
    }
    for (int i = 0; i < d.m.n_agents; i++)
        step_connect();
}

static void one_step(void)
{
    static const struct {
        void (*run)(void);
        uint32_t weight;
    } steps[] = {
        {step_lmr, 10},       {step_rmr, 6},       {step_ep, 10},    {step_connect, 10},
        {step_recv, 25},      {step_srq_recv, 10}, {step_post, 60},  {step_bind, 15},
        {step_disconnect, 4}, {step_reset, 6},     {step_resize, 2}, {step_fill, 4},
        {step_query, 2},      {settle, 3},
    };
    uint32_t at;

    d.mode = (int)rnd(3);
    at = rnd(167);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (at < steps[i].weight) {
            steps[i].run();
            return;
        }
        at -= steps[i].weight;
    }
}

#endif
