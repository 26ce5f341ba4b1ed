/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * fork with live endpoints. A child may run another program, or exit, without
 * harm to its parent's connections; its own calls with the parent's handles
 * get an error and change nothing; it can open an instance of its own. When
 * the parent is killed its peers hear of it at once, although the child has
 * inherited all of its descriptors.
 */
#include "dat_leak.h"
#include "dat_pair.h"

enum { LEN = 4096, N_FORKS = 20 };

struct conn {
    struct dt *t;
    struct dt_mem mem;
    struct dt_mem peer;
    uint64_t n;
};

/* The connection works in both directions. */
static ORDERED_BY_PEER void check_alive(struct conn *c)
{
    DAT_LMR_TRIPLET seg = dt_seg(&c->mem, 0, 8);
    DAT_LMR_TRIPLET into = dt_seg(&c->mem, 64, 8);
    DAT_RMR_TRIPLET from = dt_remote(&c->peer, 64, 8);
    uint64_t got;

    c->n++;
    memcpy(c->mem.buf, &c->n, sizeof(c->n));
    OK(dat_ep_post_recv(c->t->ep, 1, &into, dt_cookie(c->n), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_send(c->t->ep, 1, &seg, dt_cookie(c->n), DAT_COMPLETION_DEFAULT_FLAG));
    CHECK_EQ(dt_want_dto(c->t->recv_evd, c->n, DAT_DTO_SUCCESS), 8);
    dt_want_dto(c->t->req_evd, c->n, DAT_DTO_SUCCESS);
    memcpy(&got, c->mem.buf + 64, sizeof(got));
    CHECK_EQ(got, c->n);
    dt_meet(c->t);
    OK(dat_ep_post_rdma_read(c->t->ep, 1, &seg, dt_cookie(7), &from, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(c->t->req_evd, 7, DAT_DTO_SUCCESS);
    memcpy(&got, c->mem.buf, sizeof(got));
    CHECK_EQ(got, c->n);
    dt_meet(c->t);
}

static void connect_conn(struct conn *c, struct dt *t, const char *name, bool is_passive)
{
    memset(c, 0, sizeof(*c));
    c->t = t;
    dt_open(t, name);
    dt_alloc(t, &c->mem, LEN, true);
    dt_join(t, is_passive);
    dt_swap_mem(t, &c->mem, &c->peer);
}

#define REFUSED(call) CHECK_RC(call, DAT_INVALID_HANDLE)

/* In the child: every handle is dead. */
static void use_handles(struct conn *c)
{
    DAT_REGION_DESCRIPTION region = {.for_va = c->mem.buf};
    DAT_LMR_TRIPLET seg = dt_seg(&c->mem, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(&c->peer, 128, 8);
    struct dt *t = c->t;
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_EP_STATE state;
    DAT_LMR_HANDLE lmr;
    DAT_EVD_HANDLE evd;
    DAT_PZ_HANDLE pz;

    REFUSED(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    REFUSED(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    REFUSED(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    REFUSED(
        dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_SUPPRESS_FLAG));
    REFUSED(dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    REFUSED(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    REFUSED(dat_ep_get_status(t->ep, &state, NULL, NULL));
    REFUSED(dat_ep_reset(t->ep));
    REFUSED(dat_ep_free(t->ep));
    REFUSED(dat_evd_dequeue(t->req_evd, &event));
    REFUSED(dat_evd_wait(t->req_evd, 1000, 1, &event, &n_more));
    REFUSED(dat_evd_resize(t->req_evd, 2000));
    REFUSED(dat_evd_free(t->cr_evd));
    REFUSED(dat_lmr_free(c->mem.lmr));
    REFUSED(dat_pz_free(t->pz));
    REFUSED(dat_lmr_create(t->ia, DAT_MEM_TYPE_VIRTUAL, region, LEN, t->pz, DAT_MEM_PRIV_ALL_FLAG,
                           DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL, NULL));
    REFUSED(dat_evd_create(t->ia, 10, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
    REFUSED(dat_pz_create(t->ia, &pz));
}

static void want_good(pid_t pid)
{
    int status;

    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

static void children(struct conn *c, const char *name)
{
    struct dt own = {.pipe = -1};

    for (int i = 0; i < N_FORKS; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            if (i % 4 == 0) {
                execl("/bin/true", "true", (char *)NULL);
                _exit(1);
            }
            if (i % 4 == 1)
                use_handles(c);
            if (i % 4 == 2 && !dt_has_tsan()) { /* which ends a child that starts a thread */
                dt_open(&own, name);
                dt_close(&own);
            }
            /* With all that is to be done at the end of a program; but a leak checker would take
             * for lost what was in another thread's hands. */
            if (i % 2 == 0)
                _exit(0);
            exit(0);
        }
        if (i % 2 == 0)
            check_alive(c); /* while the child runs */
        want_good(pid);
        if (i % 2 != 0)
            check_alive(c);
    }
}

/* A process forks, and is killed; what it forked lives on. */
static void parent_dies(const char *name)
{
    struct dt t = {.pipe = -1};
    struct conn c;
    int sv[2];
    double killed;
    pid_t pid;
    pid_t orphan;

    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
    pid = fork();
    if (pid == 0) {
        close(sv[0]);
        t.pipe = sv[1];
        connect_conn(&c, &t, name, false);
        orphan = fork();
        if (orphan == 0) {
            pause();
            _exit(0);
        }
        dt_tell(&t, &orphan, sizeof(orphan));
        for (;;)
            pause();
    }
    close(sv[1]);
    t.pipe = sv[0];
    connect_conn(&c, &t, name, true);
    dt_hear(&t, &orphan, sizeof(orphan));
    killed = dt_now();
    CHECK_EQ(kill(pid, SIGKILL), 0);
    dt_want_conn(t.conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    CHECK(dt_now() - killed < 2.0);
    CHECK_EQ(kill(orphan, 0), 0); /* it does live on */
    CHECK_EQ(kill(orphan, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    dt_want_none(t.conn_evd, 1);
    dt_close(&t);
    close(sv[0]);
}

static int one(struct dt *t, const char *name)
{
    struct conn c;

    connect_conn(&c, t, name, true);
    for (int i = 0; i < N_FORKS; i++)
        check_alive(&c);
    dt_want_none(t->conn_evd, 1);
    dt_want_none(t->async_evd, 0);
    dt_meet(t);
    dt_close(t);
    parent_dies(name);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct conn c;

    connect_conn(&c, t, name, false);
    children(&c, name);
    dt_want_none(t->conn_evd, 1);
    dt_meet(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
