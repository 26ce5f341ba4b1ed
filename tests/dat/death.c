/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * A peer that is killed, while idle and in the middle of traffic: one event
 * per connection, everything flushed, within a second; the survivor connects
 * anew. A qualifier of a dead process is free at once.
 */
#include "dat_pair.h"

enum { LEN = 1 << 20, N_RECVS = 5 };

/* What the victim does until it is killed. */
enum work { IDLE, SENDING, WRITING, READING, N_WORKS };

static int victim(struct dt *t, const char *name, enum work work)
{
    struct dt_mem mem;
    struct dt_mem peer;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;
    DAT_EVENT event;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, true);
    dt_join(t, false);
    dt_swap_mem(t, &mem, &peer);
    seg = dt_seg(&mem, 0, work == SENDING ? 64 : LEN);
    to = dt_remote(&peer, 0, LEN);
    for (unsigned i = 0;; i++) {
        DAT_RETURN ret = DAT_SUCCESS;

        if (work == IDLE)
            dt_sleep_ms(1000);
        if (work == SENDING)
            ret = dat_ep_post_send(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG);
        if (work == WRITING)
            ret = dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(i), &to,
                                         DAT_COMPLETION_DEFAULT_FLAG);
        if (work == READING)
            ret = dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(i), &to,
                                        DAT_COMPLETION_DEFAULT_FLAG);
        if (ret != DAT_SUCCESS)
            CHECK_RC(ret, DAT_INSUFFICIENT_RESOURCES);
        while (dat_evd_dequeue(t->req_evd, &event) == DAT_SUCCESS)
            continue;
    }
}

static int survivor(struct dt *t, const char *name, enum work work, pid_t pid)
{
    struct dt_mem mem;
    struct dt_mem peer;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;
    DAT_EVENT event;
    unsigned n_flushed = 0;
    unsigned n_posted = 0;
    unsigned n_done = 0;
    double killed;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, true);
    seg = dt_seg(&mem, 0, 64);
    for (; n_posted < N_RECVS; n_posted++)
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(n_posted), DAT_COMPLETION_DEFAULT_FLAG));
    dt_join(t, true);
    dt_swap_mem(t, &mem, &peer);
    to = dt_remote(&peer, 0, 64);
    /* Some traffic of our own; a send for which the victim posts no receive. */
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS);
    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
    for (int i = 0; work == SENDING && i < 2000; i++) {
        if (dat_evd_dequeue(t->recv_evd, &event) == DAT_SUCCESS) {
            n_done++;
            OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(n_posted++),
                                DAT_COMPLETION_DEFAULT_FLAG));
        }
    }
    dt_sleep_ms(20);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    killed = dt_now();
    event = dt_wait(t->conn_evd);
    CHECK(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
          event.event_number == DAT_CONNECTION_EVENT_BROKEN);
    CHECK(event.event_data.connect_event_data.ep_handle == t->ep);
    CHECK(dt_now() - killed < 2.0);
    dt_want_dto(t->req_evd, 2, DAT_DTO_ERR_FLUSHED);
    while (n_done + n_flushed < n_posted) {
        event = dt_wait(t->recv_evd);
        if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
            n_done++;
        else
            n_flushed++;
        CHECK(work == SENDING || n_done == 0);
    }
    dt_want_none(t->conn_evd, 1);
    dt_want_none(t->recv_evd, 1);
    dt_want_none(t->req_evd, 1);
    OK(dat_lmr_free(mem.lmr));
    OK(dat_ep_reset(t->ep));
    dt_close(t);
    return 0;
}

/* A qualifier is taken as long as its process lives. */
static void qualifier_is_freed(const char *name)
{
    struct dt t = {.pipe = -1};
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual = 0x0AFFAB1E00000000u + (DAT_CONN_QUAL)getpid();
    int fd[2];
    char c;
    pid_t pid;

    CHECK_EQ(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        dt_open(&t, name);
        OK(dat_psp_create(t.ia, qual, t.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
        CHECK_EQ(write(fd[1], "x", 1), 1);
        pause();
    }
    CHECK_EQ(read(fd[0], &c, 1), 1);
    dt_open(&t, name);
    CHECK_RC(dat_psp_create(t.ia, qual, t.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
             DAT_CONN_QUAL_IN_USE);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    OK(dat_psp_create(t.ia, qual, t.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    OK(dat_psp_free(psp));
    OK(dat_psp_create(t.ia, qual, t.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    dt_close(&t);
}

static void kill_one(const char *name, enum work work)
{
    struct dt t = {.pipe = -1};
    int sv[2];
    pid_t pid;

    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(sv[0]);
        t.pipe = sv[1];
        exit(victim(&t, name, work));
    }
    close(sv[1]);
    t.pipe = sv[0];
    (void)survivor(&t, name, work, pid);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    close(sv[0]);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 3; i++)
        for (enum work work = 0; work < N_WORKS; work++)
            kill_one(dt_name(argc, argv), work);
    qualifier_is_freed(dt_name(argc, argv));
    return 0;
}
