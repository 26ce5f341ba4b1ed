/* test: kind=dat timeout=90 params=copy=auto|copy=cma san=no */
/*
 * A sender is killed after a given number of its instructions within a send,
 * to a shared receive queue and to an endpoint's own. Wherever that is, each
 * receive has completed once or is still in the queue. The second argument is
 * the distance between the numbers that are tried (1: all of them).
 */
#include "dat_crowd.h"

#include <sys/ptrace.h>

enum { N_RECVS = 4, LEN = 16, STEP = 29, LONGEST = 4000 };

static int sender(struct dt *t, const char *name, int me)
{
    DAT_LMR_TRIPLET seg;
    struct dt_mem mem;

    (void)me;
    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    seg = dt_seg(&mem, 0, LEN);
    dt_crowd_connect(t);
    /* The first one finds out where all is. */
    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 0, DAT_DTO_SUCCESS);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        DT_FAIL("ptrace");
    raise(SIGSTOP);
    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    raise(SIGSTOP);
    dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS);
    raise(SIGSTOP);
    return 1;
}

/* Let it do n instructions; true if the send was over before. */
static bool step(pid_t pid, unsigned n)
{
    int status;

    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        DT_FAIL("the sender is not there");
    for (unsigned i = 0; i < n; i++) {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
            DT_FAIL("ptrace");
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            DT_FAIL("the sender has ended");
        if (WSTOPSIG(status) == SIGSTOP)
            return true;
    }
    return false;
}

/* Let it run on until it has its completion, from which the message is the peer's. */
static void complete(pid_t pid)
{
    int status;

    if (ptrace(PTRACE_CONT, pid, NULL, NULL) != 0)
        DT_FAIL("ptrace");
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        DT_FAIL("the sender has ended");
}

static void post_all(struct dt_mem *mem, DAT_SRQ_HANDLE srq, DAT_EP_HANDLE ep)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, LEN);

    for (int i = 0; i < N_RECVS; i++)
        if (srq != DAT_HANDLE_NULL)
            OK(dat_srq_post_recv(srq, 1, &seg, dt_cookie((uint64_t)i)));
        else
            OK(dat_ep_post_recv(ep, 1, &seg, dt_cookie((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
}

/* How many have completed, in the order of posting, n_ok_p well. */
static int reap_all(struct dt *t, int *n_ok_p)
{
    DAT_EVENT event;
    int n = 0;

    *n_ok_p = 0;
    while (dat_evd_dequeue(t->recv_evd, &event) == DAT_SUCCESS) {
        DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        CHECK_EQ(dto->user_cookie.as_64, n++);
        if (dto->status == DAT_DTO_SUCCESS)
            CHECK_EQ(*n_ok_p, n - 1);
        *n_ok_p += dto->status == DAT_DTO_SUCCESS ? 1 : 0;
    }
    return n;
}

/* True if the sender has come to the end. */
static bool play(struct dt *t, const char *name, struct dt_mem *mem, unsigned n, bool is_shared)
{
    DAT_SRQ_HANDLE srq = is_shared ? dt_srq(t, N_RECVS) : DAT_HANDLE_NULL;
    struct dt_crowd crowd;
    bool is_over;
    int n_ok;
    int n_done;

    dt_crowd_spawn(&crowd, 1, name);
    t->pipe = crowd.pipe[0];
    t->ep = is_shared ? dt_ep_shared(t, srq) : dt_ep(t);
    post_all(mem, srq, t->ep);
    dt_join(t, true);
    is_over = step(crowd.pid[0], n);
    if (is_over)
        complete(crowd.pid[0]);
    kill(crowd.pid[0], SIGKILL);
    dt_crowd_join(&crowd, true);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    n_done = reap_all(t, &n_ok);
    CHECK(n_ok == 1 || n_ok == 2);
    if (is_over)
        CHECK_EQ(n_ok, 2);
    if (is_shared) {
        DAT_SRQ_PARAM param = dt_srq_query(srq);

        if (n_done + param.available_dto_count != N_RECVS ||
            param.outstanding_dto_count != param.available_dto_count)
            DT_FAIL("killed after %u: %d completed, %d available, %d outstanding", n, n_done,
                    param.available_dto_count, param.outstanding_dto_count);
        (void)dt_want_async(t, DAT_ASYNC_ERROR_EP_BROKEN, DAT_EP_TRANSFER_TO_ERROR);
    } else if (n_done != N_RECVS) {
        DT_FAIL("killed after %u: %d completed", n, n_done);
    }
    OK(dat_ep_free(t->ep));
    if (is_shared)
        OK(dat_srq_free(srq));
    return is_over;
}

int main(int argc, char **argv)
{
    unsigned distance = argc > 2 ? (unsigned)atoi(argv[2]) : STEP;
    struct dt t = {.pipe = -1};
    struct dt_mem mem;

    dt_crowd_sender(argc, argv, sender);
    dt_open_as(&t, dt_name(argc, argv), DAT_FALSE);
    dt_alloc(&t, &mem, LEN, true);
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        unsigned n = (unsigned)getpid() % distance;

        while (!play(&t, dt_name(argc, argv), &mem, n, is_shared != 0)) {
            n += distance;
            CHECK(n < LONGEST);
        }
        printf("%s: %u instructions\n", is_shared ? "shared" : "own", n);
    }
    dt_close(&t);
    return 0;
}
