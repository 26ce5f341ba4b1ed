/*
 * Helpers for tests of two processes: a pipe between them, outside DAT, and a
 * connection of their endpoints.
 */
#ifndef DM_TESTS_DAT_DAT_PAIR_H
#define DM_TESTS_DAT_DAT_PAIR_H

#include "dat_test.h"

/* Talk to the other process outside DAT. */
static inline void dt_tell(struct dt *t, const void *data, size_t len)
{
    CHECK_EQ(write(t->pipe, data, len), len);
}

static inline void dt_hear(struct dt *t, void *data, size_t len)
{
    CHECK_EQ(recv(t->pipe, data, len, MSG_WAITALL), len);
}

/* Both come here before either goes on. */
static inline void dt_meet(struct dt *t)
{
    char c = 'm';

    dt_tell(t, &c, 1);
    dt_hear(t, &c, 1);
}

static inline void dt_swap_mem(struct dt *t, const struct dt_mem *mine, struct dt_mem *theirs)
{
    dt_tell(t, mine, sizeof(*mine));
    dt_hear(t, theirs, sizeof(*theirs));
}

/* Passive side: a service point; its qualifier goes to the other process. */
static inline DAT_PSP_HANDLE dt_listen(struct dt *t)
{
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;

    OK(dat_psp_create_any(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    dt_tell(t, &qual, sizeof(qual));
    return psp;
}

static inline void dt_accept(struct dt *t, DAT_EP_HANDLE ep)
{
    DAT_EVENT event = dt_wait(t->cr_evd);

    CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
    OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static inline void dt_connect(struct dt *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
    OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Connect the two sides' t->ep. */
static inline void dt_join(struct dt *t, bool is_passive)
{
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;

    if (is_passive) {
        psp = dt_listen(t);
        dt_accept(t, t->ep);
        OK(dat_psp_free(psp));
    } else {
        dt_hear(t, &qual, sizeof(qual));
        dt_connect(t, t->ep, qual);
    }
}

/* Another process, in which other runs, with a pipe to it in t; its end is for the caller to await. */
static inline pid_t dt_fork(struct dt *t, int (*other)(struct dt *t, const char *name),
                            const char *name)
{
    int sv[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) != 0)
        DT_FAIL("socketpair");
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(sv[0]);
        t->pipe = sv[1];
        exit(other(t, name));
    }
    close(sv[1]);
    t->pipe = sv[0];
    return pid;
}

/* Run the two sides in two processes; returns what the first returns, or 1 if
 * the second has failed. May be killed: then its status does not count. */
static inline int dt_pair(const char *name, int (*one)(struct dt *t, const char *name),
                          int (*two)(struct dt *t, const char *name), bool is_killed)
{
    struct dt t = {.pipe = -1};
    pid_t pid = dt_fork(&t, two, name);
    int ret = one(&t, name);
    int status;

    close(t.pipe);
    if (waitpid(pid, &status, 0) != pid)
        DT_FAIL("waitpid");
    if (!is_killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        DT_FAIL("the other process ended with status 0x%x", (unsigned)status);
    return ret;
}

#endif
