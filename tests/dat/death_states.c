/* test: kind=dat timeout=120 params=copy=auto|copy=cma|copy=staged */
/*
 * A peer that is killed in each state of a connection. The survivor gets one
 * event, which ends the connection, within two seconds; what is pending is
 * completed in order; everything can be freed; and afterwards the process has
 * the descriptors and mappings that it had before.
 *
 * The second argument is a number of rounds.
 */
#include "dat_leak.h"
#include "dat_pair.h"

enum { LEN = 1 << 20, N_RECVS = 6, N_REQS = 40 };

enum state {
    LISTENING,       /* the victim listens; it is dead when we connect */
    CR_PENDING,      /* it has our request and says nothing */
    CONNECTING,      /* it is stopped before it sees our request */
    CR_ABANDONED,    /* we have its request and accept it too late */
    ACCEPTED,        /* we have accepted, it is stopped and cannot confirm */
    CONNECTED,       /* idle */
    SENDING,         /* both work */
    WRITING,         /* */
    READING,         /* */
    RNR_VICTIM,      /* its sends wait for receives */
    RNR_SURVIVOR,    /* ours do */
    DRAINING_VICTIM, /* it has disconnected gracefully with sends pending */
    DRAINING_SURVIVOR,
    BLOCKED, /* both sleep in dat_evd_wait */
    N_STATES
};

static const char *const names[] = {
    [LISTENING] = "listening",
    [CR_PENDING] = "request pending",
    [CONNECTING] = "connecting",
    [CR_ABANDONED] = "request abandoned",
    [ACCEPTED] = "accepted",
    [CONNECTED] = "connected",
    [SENDING] = "sending",
    [WRITING] = "writing",
    [READING] = "reading",
    [RNR_VICTIM] = "its sends wait",
    [RNR_SURVIVOR] = "our sends wait",
    [DRAINING_VICTIM] = "it drains",
    [DRAINING_SURVIVOR] = "we drain",
    [BLOCKED] = "blocked",
};

static int post(struct dt *t, enum state state, const struct dt_mem *mem, const struct dt_mem *peer,
                unsigned cookie)
{
    bool is_send = state != WRITING && state != READING;
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, is_send ? 64 : LEN);
    DAT_RMR_TRIPLET to = dt_remote(peer, 0, LEN);
    DAT_RETURN ret;

    if (state == WRITING)
        ret = dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(cookie), &to,
                                     DAT_COMPLETION_DEFAULT_FLAG);
    else if (state == READING)
        ret = dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(cookie), &to,
                                    DAT_COMPLETION_DEFAULT_FLAG);
    else
        ret = dat_ep_post_send(t->ep, 1, &seg, dt_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
    return DAT_GET_TYPE(ret);
}

/* ---- the victim ---- */

static void ask(struct dt *t)
{
    DAT_CONN_QUAL qual;

    dt_hear(t, &qual, sizeof(qual));
    OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void work(struct dt *t, enum state state, const struct dt_mem *mem,
                 const struct dt_mem *peer)
{
    DAT_EVENT event;
    DAT_COUNT n_more;

    if (state == RNR_VICTIM || state == DRAINING_VICTIM)
        for (unsigned i = 0; i < N_REQS; i++)
            CHECK_EQ(post(t, state, mem, peer, i), DAT_SUCCESS);
    if (state == DRAINING_VICTIM)
        OK(dat_ep_disconnect(t->ep, DAT_CLOSE_GRACEFUL_FLAG));
    dt_meet(t);
    if (state == BLOCKED)
        dat_evd_wait(t->conn_evd, DAT_TIMEOUT_INFINITE, 1, &event, &n_more);
    while (state == SENDING || state == WRITING || state == READING) {
        (void)post(t, state, mem, peer, 0);
        while (dat_evd_dequeue(t->req_evd, &event) == DAT_SUCCESS)
            continue;
    }
}

static void victim(struct dt *t, const char *name, enum state state)
{
    struct dt_mem mem;
    struct dt_mem peer;

    dt_open(t, name);
    if (state <= CONNECTING) {
        (void)dt_listen(t);
        if (state == CR_PENDING) {
            (void)dt_wait(t->cr_evd);
            dt_meet(t);
        }
    } else if (state <= ACCEPTED) {
        ask(t);
    } else {
        dt_alloc(t, &mem, LEN, true);
        dt_join(t, false);
        dt_swap_mem(t, &mem, &peer);
        work(t, state, &mem, &peer);
    }
    for (;;)
        pause();
}

/* ---- the survivor ---- */

struct survivor {
    struct dt t;
    struct dt_mem mem;
    struct dt_mem peer;
    enum state state;
    pid_t pid;
    unsigned n_recvs; /* posted */
    unsigned n_reqs;
    double killed;
};

static void kill_it(struct survivor *s)
{
    s->killed = dt_now();
    CHECK_EQ(kill(s->pid, SIGKILL), 0);
}

static void stop_it(const struct survivor *s)
{
    int status;

    CHECK_EQ(kill(s->pid, SIGSTOP), 0);
    CHECK_EQ(waitpid(s->pid, &status, WUNTRACED), s->pid);
    CHECK(WIFSTOPPED(status));
}

static void before_connection(struct survivor *s)
{
    DAT_CONN_QUAL qual;

    dt_hear(&s->t, &qual, sizeof(qual));
    if (s->state == LISTENING) {
        kill_it(s);
        CHECK_EQ(waitpid(s->pid, NULL, 0), s->pid);
    }
    if (s->state == CONNECTING)
        stop_it(s);
    OK(dat_ep_connect(s->t.ep, (DAT_IA_ADDRESS_PTR)&s->t.addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    if (s->state == CR_PENDING)
        dt_meet(&s->t);
    if (s->state != LISTENING)
        kill_it(s);
}

static void accept_late(struct survivor *s)
{
    DAT_PSP_HANDLE psp = dt_listen(&s->t);
    DAT_EVENT event = dt_wait(s->t.cr_evd);

    CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
    if (s->state == CR_ABANDONED) {
        kill_it(s);
        CHECK_EQ(waitpid(s->pid, NULL, 0), s->pid);
    } else {
        stop_it(s);
    }
    OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s->t.ep, 0, NULL));
    if (s->state == ACCEPTED)
        kill_it(s);
    OK(dat_psp_free(psp));
}

static void take_part(struct survivor *s)
{
    bool is_busy = s->state == SENDING || s->state == WRITING || s->state == READING;

    dt_join(&s->t, true);
    dt_swap_mem(&s->t, &s->mem, &s->peer);
    dt_meet(&s->t);
    if (s->state == RNR_SURVIVOR || s->state == DRAINING_SURVIVOR)
        for (; s->n_reqs < N_REQS; s->n_reqs++)
            CHECK_EQ(post(&s->t, s->state, &s->mem, &s->peer, s->n_reqs), DAT_SUCCESS);
    if (s->state == DRAINING_SURVIVOR)
        OK(dat_ep_disconnect(s->t.ep, DAT_CLOSE_GRACEFUL_FLAG));
    for (int i = 0; is_busy && i < N_REQS; i++) {
        if (i == N_REQS / 2)
            kill_it(s);
        if (post(&s->t, s->state, &s->mem, &s->peer, s->n_reqs) == DAT_SUCCESS)
            s->n_reqs++;
    }
    if (!is_busy)
        kill_it(s);
}

static DAT_EVENT_NUMBER last_event(enum state state)
{
    if (state <= CONNECTING)
        return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
    if (state <= ACCEPTED)
        return DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
    return DAT_CONNECTION_EVENT_BROKEN;
}

/* Completions in the order of posting: some good, the rest flushed. */
static void want_all(DAT_EVD_HANDLE evd, unsigned n, bool is_none_good)
{
    bool is_over = is_none_good;

    for (unsigned i = 0; i < n; i++) {
        DAT_EVENT event = dt_wait(evd);
        DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        CHECK_EQ(dto->user_cookie.as_64, i);
        if (dto->status != DAT_DTO_SUCCESS)
            is_over = true;
        CHECK_EQ(dto->status, is_over ? DAT_DTO_ERR_FLUSHED : DAT_DTO_SUCCESS);
    }
}

static void check_end(struct survivor *s)
{
    struct dt *t = &s->t;
    DAT_EVENT event = dt_wait(t->conn_evd);
    bool is_receiving = s->state == SENDING;
    DAT_EP_STATE state;

    CHECK_EQ(event.event_number, last_event(s->state));
    CHECK(event.event_data.connect_event_data.ep_handle == t->ep);
    if (dt_now() - s->killed > 2.0)
        DT_FAIL("%s: the event came after %.1f s", names[s->state], dt_now() - s->killed);
    OK(dat_ep_get_status(t->ep, &state, NULL, NULL));
    CHECK_EQ(state, DAT_EP_STATE_DISCONNECTED);
    want_all(t->req_evd, s->n_reqs, s->state == RNR_SURVIVOR || s->state == DRAINING_SURVIVOR);
    want_all(t->recv_evd, s->n_recvs, !is_receiving);
    dt_want_none(t->conn_evd, 2);
    dt_want_none(t->recv_evd, 0);
    dt_want_none(t->req_evd, 0);
    dt_want_none(t->async_evd, 0);
}

static void free_all(struct survivor *s)
{
    struct dt *t = &s->t;

    OK(dat_ep_free(t->ep));
    OK(dat_lmr_free(s->mem.lmr));
    OK(dat_evd_free(t->recv_evd));
    OK(dat_evd_free(t->req_evd));
    OK(dat_evd_free(t->conn_evd));
    OK(dat_evd_free(t->cr_evd));
    OK(dat_pz_free(t->pz));
    OK(dat_ia_close(t->ia, DAT_CLOSE_GRACEFUL_FLAG));
    munmap(s->mem.buf, LEN);
    close(s->mem.fd);
}

static void survive(struct survivor *s, const char *name)
{
    DAT_LMR_TRIPLET seg;
    bool has_recvs = s->state != RNR_VICTIM && s->state != DRAINING_VICTIM;

    dt_open(&s->t, name);
    dt_alloc(&s->t, &s->mem, LEN, true);
    seg = dt_seg(&s->mem, 0, 64);
    for (; has_recvs && s->n_recvs < N_RECVS; s->n_recvs++)
        OK(dat_ep_post_recv(s->t.ep, 1, &seg, dt_cookie(s->n_recvs), DAT_COMPLETION_DEFAULT_FLAG));
    if (s->state <= CONNECTING)
        before_connection(s);
    else if (s->state <= ACCEPTED)
        accept_late(s);
    else
        take_part(s);
    check_end(s);
    free_all(s);
}

static void kill_one(const char *name, enum state state)
{
    struct survivor s = {.state = state};
    int sv[2];

    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    s.pid = fork();
    if (s.pid == 0) {
        struct dt t = {.pipe = sv[1]};

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(sv[0]);
        victim(&t, name, state);
    }
    close(sv[1]);
    s.t.pipe = sv[0];
    survive(&s, name);
    (void)waitpid(s.pid, NULL, 0);
    close(sv[0]);
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 2 ? atoi(argv[2]) : 4;
    struct dt_belongings before = {0};

    for (int round = 0; round < n_rounds; round++)
        for (enum state state = 0; state < N_STATES; state++) {
            if (round == 1 && state == 0)
                before = dt_count_belongings(); /* all libraries are loaded */
            kill_one(dt_name(argc, argv), state);
            if (round > 0)
                dt_want_belongings(&before, names[state]);
        }
    return 0;
}
