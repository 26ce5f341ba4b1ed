/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto */
/*
 * Several instances ask one that does not read, for as long as it takes. It dies: all of them hear of that,
 * with whom it was connected or not.
 */
#include "dat_pair.h"

enum { N = 4 }; /* two of them guard it: src/providers/shm/transport/guard.c */

static int listener(struct dt *t, const char *name)
{
    dt_open(t, name);
    (void)dt_listen(t);
    CHECK_EQ(raise(SIGSTOP), 0);
    return 0;
}

static void ask(struct dt *t, const char *name, DAT_CONN_QUAL qual)
{
    dt_open(t, name);
    OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DAT_TIMEOUT_INFINITE, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

int main(int argc, char **argv)
{
    const char *name = dt_name(argc, argv);
    struct dt t[N] = {{.pipe = -1}};
    DAT_CONN_QUAL qual;
    int status;
    pid_t pid;

    pid = dt_fork(&t[0], listener, name);
    dt_hear(&t[0], &qual, sizeof(qual));
    CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
    CHECK(WIFSTOPPED(status));
    for (int i = 0; i < N; i++)
        ask(&t[i], name, qual);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < N; i++)
        dt_want_conn(t[i].conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    for (int i = 0; i < N; i++)
        dt_close(&t[i]);
    close(t[0].pipe);
    return 0;
}
