/* test: kind=dat prov=datum-tcp,datum-ofi timeout=120 net="if=net0 timeout=6" */
/*
 * The other host's process goes: it is killed, with and without a word that
 * arrives; the cable is pulled while two sides shake hands, and while they say
 * goodbye. The survivor gets the one event that it has to get, in time.
 */
#include "dat_net.h"

enum { LEN = 8 << 20, TIMEOUT_S = 6, SLACK_S = 4, SOON_S = 2 };

enum fate {
    KILLED,      /* idle */
    KILLED_BUSY, /* we write */
    HALF_IDLE,   /* nothing of its end arrives; the cable is back, we are idle */
    HALF_BUSY,   /* the same, and we write */
    CUT_ACCEPT,  /* the cable goes before we accept */
    CUT_CALLER,  /* and before it hears that we do not answer */
    CUT_GOODBYE, /* we disconnect */
    N_FATES
};

static const char *const names[] = {
    [KILLED] = "killed",
    [KILLED_BUSY] = "killed, busy",
    [HALF_IDLE] = "half open",
    [HALF_BUSY] = "half open, busy",
    [CUT_ACCEPT] = "cut, accept",
    [CUT_CALLER] = "cut, caller",
    [CUT_GOODBYE] = "cut, goodbye",
};

/* ---- the victim's host ---- */

static void connect_it(struct dt *t, const struct sockaddr_in6 *to, DAT_CONN_QUAL qual, int s)
{
    OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)to, qual, (DAT_TIMEOUT)s * 1000000, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static int victim(struct dt *t, const char *name, enum fate fate)
{
    struct sockaddr_in6 peer;
    struct dt_mem mem;
    DAT_CONN_QUAL qual;
    pid_t pid = getpid();
    double start;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    dt_tell(t, &mem, sizeof(mem));
    dt_tell(t, &pid, sizeof(pid));
    dt_hear(t, &peer, sizeof(peer));
    dt_hear(t, &qual, sizeof(qual));
    start = dt_now();
    connect_it(t, &peer, qual, fate == CUT_CALLER ? 3 : 60);
    if (fate == CUT_CALLER) {
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT);
        CHECK(dt_now() - start > 2.9 && dt_now() - start < 3.0 + SOON_S);
    } else if (fate != CUT_ACCEPT) {
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        dt_tell(t, "c", 1); /* and hear nothing, since we may be killed now */
    }
    if (fate == CUT_GOODBYE) {
        DAT_EVENT event;
        DAT_COUNT n_more;

        OK(dat_evd_wait(t->conn_evd, (TIMEOUT_S + SLACK_S) * 1000000, 1, &event, &n_more));
        CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
    }
    if (fate == CUT_CALLER || fate == CUT_GOODBYE) {
        dt_close(t);
        return 0;
    }
    for (;;)
        pause();
}

/* Until this host has no connection any more. */
static void until_forgotten(void)
{
    for (int i = 0; i < 500; i++) {
        if (system("! grep -q ':[0-9A-F]* 0[1-57-9B] ' /proc/self/net/tcp") == 0)
            return;
        dt_sleep_ms(20);
    }
    DT_FAIL("the kernel still has the connection");
}

/* The process that keeps the victims' host alive. */
static int minder(struct dt *t, const char *name)
{
    dn_host(t, 2);
    /* Nobody has to hear that a process has gone. */
    CHECK_EQ(system("echo 1 >/proc/sys/net/ipv4/tcp_orphan_retries"), 0);
    for (enum fate fate = 0; fate < N_FATES; fate++) {
        bool has_end = fate == CUT_CALLER || fate == CUT_GOODBYE;
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            exit(victim(t, name, fate));
        }
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        if (has_end)
            CHECK_EQ(status, 0);
        else
            CHECK(WIFSIGNALED(status));
        if (fate == HALF_IDLE || fate == HALF_BUSY)
            until_forgotten();
        dt_meet(t);
        dt_meet(t); /* the cable is in again */
        dn_until_up();
        dt_meet(t);
    }
    return 0;
}

/* ---- the survivor ---- */

static void write_it(struct dt *t, const struct dt_mem *mem, const struct dt_mem *peer)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, LEN);
    DAT_RMR_TRIPLET to = dt_remote(peer, 0, LEN);

    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(5), &to, DAT_COMPLETION_DEFAULT_FLAG));
}

static void want_end(struct dt *t, DAT_EVENT_NUMBER number, int seconds)
{
    double start = dt_now();
    DAT_COUNT n_more;
    DAT_EVENT event;

    OK(dat_evd_wait(t->conn_evd, (DAT_TIMEOUT)seconds * 1000000, 1, &event, &n_more));
    CHECK_EQ(event.event_number, number);
    CHECK(dt_now() - start < seconds);
    dt_want_none(t->conn_evd, 50);
}

static void want_flushed(struct dt *t)
{
    DAT_EVENT event = dt_wait(t->req_evd);
    int status = (int)event.event_data.dto_completion_event_data.status;

    CHECK(status == DAT_DTO_ERR_FLUSHED || status == DAT_DTO_ERR_TRANSPORT);
}

/* The cable has been pulled, and the victim is as the fate wants it. */
static void end_half(struct dt *t, enum fate fate, pid_t pid, const struct dt_mem *mem,
                     const struct dt_mem *peer)
{
    dn_cable(false);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    dt_meet(t); /* its host knows nothing of it any more */
    dt_want_none(t->conn_evd, 0);
    dn_cable(true);
    if (fate == HALF_BUSY)
        write_it(t, mem, peer);
    want_end(t, DAT_CONNECTION_EVENT_BROKEN, fate == HALF_BUSY ? SOON_S : TIMEOUT_S);
    if (fate == HALF_BUSY)
        want_flushed(t);
}

static void end_connected(struct dt *t, enum fate fate, pid_t pid, const struct dt_mem *mem,
                          const struct dt_mem *peer)
{
    if (fate == HALF_IDLE || fate == HALF_BUSY) {
        end_half(t, fate, pid, mem, peer);
        return;
    }
    if (fate == CUT_GOODBYE) {
        dn_cable(false);
        OK(dat_ep_disconnect(t->ep, DAT_CLOSE_GRACEFUL_FLAG));
        want_end(t, DAT_CONNECTION_EVENT_DISCONNECTED, 2 + SOON_S);
    } else {
        if (fate == KILLED_BUSY)
            for (int i = 0; i < 20; i++)
                write_it(t, mem, peer);
        CHECK_EQ(kill(pid, SIGKILL), 0);
        want_end(t, DAT_CONNECTION_EVENT_BROKEN, SOON_S);
    }
    dt_meet(t);
    for (int i = 0; fate == KILLED_BUSY && i < 20; i++)
        (void)dt_wait(t->req_evd);
}

static void end_request(struct dt *t, enum fate fate, DAT_CR_HANDLE cr, pid_t pid)
{
    dn_cable(false);
    if (fate == CUT_ACCEPT) {
        OK(dat_cr_accept(cr, t->ep, 0, NULL));
        want_end(t, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, TIMEOUT_S + SLACK_S);
        CHECK_EQ(kill(pid, SIGKILL), 0);
        dt_meet(t);
        return;
    }
    dt_meet(t); /* it has given up, and we do not know */
    dn_cable(true);
    dt_sleep_ms(500);
    OK(dat_cr_accept(cr, t->ep, 0, NULL));
    want_end(t, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, TIMEOUT_S + SLACK_S);
}

static void suffer(struct dt *t, enum fate fate, const struct dt_mem *mem)
{
    DAT_CONN_QUAL qual;
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    DAT_CR_HANDLE cr;
    struct dt_mem peer;
    double start = dt_now();
    char both;
    pid_t pid;

    dt_hear(t, &peer, sizeof(peer));
    dt_hear(t, &pid, sizeof(pid));
    OK(dat_psp_create_any(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    dt_tell(t, &t->addr, sizeof(t->addr));
    dt_tell(t, &qual, sizeof(qual));
    event = dt_wait(t->cr_evd);
    CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
    cr = event.event_data.cr_arrival_event_data.cr_handle;
    if (fate == CUT_ACCEPT || fate == CUT_CALLER) {
        end_request(t, fate, cr, pid);
    } else {
        OK(dat_cr_accept(cr, t->ep, 0, NULL));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        dt_hear(t, &both, 1);
        end_connected(t, fate, pid, mem, &peer);
    }
    OK(dat_psp_free(psp));
    OK(dat_ep_reset(t->ep));
    dn_cable(true);
    dt_meet(t);
    dn_until_up();
    dt_meet(t);
    printf("%-16s %4.1f s\n", names[fate], dt_now() - start);
}

static int survivor(struct dt *t, const char *name)
{
    struct dt_mem mem;

    dn_host(t, 1);
    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    for (enum fate fate = 0; fate < N_FATES; fate++)
        suffer(t, fate, &mem);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    if (!dn_may())
        return 0;
    return dt_pair(dt_name(argc, argv), survivor, minder, false);
}
