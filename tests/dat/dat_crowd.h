/*
 * Helpers for tests of shared receive queues: one process that receives, and
 * several that send to it.
 */
#ifndef DM_TESTS_DAT_DAT_CROWD_H
#define DM_TESTS_DAT_DAT_CROWD_H

#include "dat_pair.h"

enum { DT_CROWD_MAX = 16, DT_SRQ_IOV = 3 };

/* The senders, as the receiver sees them. */
struct dt_crowd {
    int n;
    pid_t pid[DT_CROWD_MAX];
    int pipe[DT_CROWD_MAX];
    DAT_EP_HANDLE ep[DT_CROWD_MAX];
};

typedef int dt_sender(struct dt *t, const char *name, int me);

/* Another sender; true in it, with the pipe to the receiver in *pipe_p. */
static inline bool dt_crowd_fork(struct dt_crowd *crowd, int *pipe_p)
{
    int me = crowd->n++;
    int sv[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) != 0)
        DT_FAIL("socketpair");
    crowd->pid[me] = fork();
    if (crowd->pid[me] < 0)
        DT_FAIL("fork");
    crowd->pipe[me] = sv[0];
    *pipe_p = sv[1];
    if (crowd->pid[me] > 0) {
        close(sv[1]);
        return false;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i <= me; i++)
        close(crowd->pipe[i]);
    return true;
}

static inline void dt_crowd_start(struct dt_crowd *crowd, int n, const char *name, dt_sender *run)
{
    memset(crowd, 0, sizeof(*crowd));
    for (int i = 0; i < n; i++) {
        struct dt t = {.pipe = -1};

        if (dt_crowd_fork(crowd, &t.pipe))
            exit(run(&t, name, i));
    }
}

/* The same for a receiver that has threads already: each sender is this program
 * anew, whose main() calls dt_crowd_sender(). */
static inline void dt_crowd_spawn(struct dt_crowd *crowd, int n, const char *name)
{
    memset(crowd, 0, sizeof(*crowd));
    for (int i = 0; i < n; i++) {
        char arg[2][16];
        int pipe;

        if (!dt_crowd_fork(crowd, &pipe))
            continue;
        snprintf(arg[0], sizeof(arg[0]), "%d", i);
        snprintf(arg[1], sizeof(arg[1]), "%d", dup(pipe)); /* not to be closed */
        execl("/proc/self/exe", "sender", name, arg[0], arg[1], (char *)NULL);
        _exit(127);
    }
}

/* Be a sender if dt_crowd_spawn() wants that, and end. */
static inline void dt_crowd_sender(int argc, char **argv, dt_sender *run)
{
    struct dt t = {.pipe = -1};

    if (argc != 4 || strcmp(argv[0], "sender") != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    t.pipe = atoi(argv[3]);
    exit(run(&t, argv[1], atoi(argv[2])));
}

/* All have ended; the status must be 0, unless they were killed. */
static inline void dt_crowd_join(struct dt_crowd *crowd, bool is_killed)
{
    for (int i = 0; i < crowd->n; i++) {
        int status;

        if (waitpid(crowd->pid[i], &status, 0) != crowd->pid[i])
            DT_FAIL("waitpid");
        if (!is_killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
            DT_FAIL("sender %d ended with status 0x%x", i, (unsigned)status);
        close(crowd->pipe[i]);
    }
}

/* Meet one of the senders, who calls dt_meet(). */
static inline void dt_meet_sender(struct dt *t, struct dt_crowd *crowd, int i)
{
    t->pipe = crowd->pipe[i];
    dt_meet(t);
}

static inline DAT_SRQ_HANDLE dt_srq(struct dt *t, int n)
{
    DAT_SRQ_ATTR attr = {.max_recv_dtos = n, .max_recv_iov = DT_SRQ_IOV};
    DAT_SRQ_HANDLE srq;

    OK(dat_srq_create(t->ia, t->pz, &attr, &srq));
    return srq;
}

static inline DAT_EP_ATTR dt_shared_attr(void)
{
    DAT_EP_ATTR attr;

    memset(&attr, 0, sizeof(attr));
    attr.max_request_dtos = 256;
    attr.max_request_iov = 4;
    attr.max_rdma_read_in = 4;
    attr.max_rdma_read_out = 4;
    attr.max_rdma_read_iov = 4;
    attr.max_rdma_write_iov = 4;
    return attr;
}

static inline DAT_EP_HANDLE dt_ep_shared(struct dt *t, DAT_SRQ_HANDLE srq)
{
    DAT_EP_ATTR attr = dt_shared_attr();
    DAT_EP_HANDLE ep;

    OK(dat_ep_create_with_srq(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, srq, &attr, &ep));
    return ep;
}

/* Receiver: one endpoint on the queue for each sender, connected. */
static inline void dt_crowd_accept(struct dt *t, struct dt_crowd *crowd, DAT_SRQ_HANDLE srq)
{
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;

    OK(dat_psp_create_any(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    for (int i = 0; i < crowd->n; i++) {
        t->pipe = crowd->pipe[i];
        dt_tell(t, &qual, sizeof(qual));
        crowd->ep[i] = dt_ep_shared(t, srq);
        dt_accept(t, crowd->ep[i]);
    }
    OK(dat_psp_free(psp));
}

/* Sender. */
static inline void dt_crowd_connect(struct dt *t)
{
    DAT_CONN_QUAL qual;

    dt_hear(t, &qual, sizeof(qual));
    dt_connect(t, t->ep, qual);
}

/* Which sender's endpoint it is. */
static inline int dt_crowd_find(const struct dt_crowd *crowd, DAT_EP_HANDLE ep)
{
    for (int i = 0; i < crowd->n; i++)
        if (crowd->ep[i] == ep)
            return i;
    DT_FAIL("a completion of the unknown endpoint %p", ep);
}

static inline DAT_SRQ_PARAM dt_srq_query(DAT_SRQ_HANDLE srq)
{
    DAT_SRQ_PARAM param;

    memset(&param, 0x5a, sizeof(param));
    OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
    return param;
}

/* Take the next asynchronous event; its handle. */
static inline DAT_HANDLE dt_want_async(struct dt *t, DAT_EVENT_NUMBER number, DAT_COUNT reason)
{
    DAT_EVENT event = dt_wait(t->async_evd);

    CHECK_EQ(event.event_number, number);
    CHECK_EQ(event.event_data.asynch_error_event_data.reason, reason);
    return event.event_data.asynch_error_event_data.dat_handle;
}

#endif
