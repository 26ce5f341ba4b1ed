/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto */
/*
 * Processes that are all connected with each other. However many they are, a process has no more than
 * a few descriptors for it. Some are killed, all at the same time: each of the others hears of
 * each of them, and nothing else.
 */
#include "dat_leak.h"
#include "dat_pair.h"

/* A process guards so many others at most (src/providers/shm/transport/guard.c). */
enum { N = 24, N_KILLED = 8, FDS_MOST = 8 };

static int is_to_die(int who)
{
    return who % (N / N_KILLED) == 1;
}

static void connect_all(struct dt *t, const DAT_CONN_QUAL *qual, int me)
{
    DAT_EVENT event;

    for (int i = 0; i < me; i++)
        OK(dat_ep_connect(dt_ep(t), (DAT_IA_ADDRESS_PTR)&t->addr, qual[i], DT_WAIT_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    for (int i = me + 1; i < N; i++) {
        event = dt_wait(t->cr_evd);
        OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, dt_ep(t), 0, NULL));
    }
    for (int i = 1; i < N; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Sockets of handshakes are closed by the provider's thread. */
static void want_few_fds(int before)
{
    double end = dt_now() + 10;
    int n;

    do {
        n = dt_count_belongings().n_fds - before;
        dt_sleep_ms(1);
    } while (n > FDS_MOST && dt_now() < end);
    if (n > FDS_MOST)
        DT_FAIL("%d descriptors for %d connections", n, N - 1);
}

static int member(struct dt *t, const char *name, int me)
{
    DAT_CONN_QUAL qual[N];
    DAT_PSP_HANDLE psp;
    int n_fds;

    dt_open_as(t, name, DAT_FALSE);
    OK(dat_psp_create_any(t->ia, &qual[me], t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    n_fds = dt_count_belongings().n_fds;
    dt_tell(t, &qual[me], sizeof(qual[me]));
    dt_hear(t, qual, sizeof(qual));
    connect_all(t, qual, me);
    want_few_fds(n_fds);
    dt_meet(t);
    if (is_to_die(me))
        for (;;)
            pause();
    for (int i = 0; i < N_KILLED; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    dt_meet(t);
    dt_want_none(t->conn_evd, 1);
    dt_meet(t);
    dt_close(t);
    return 0;
}

/* All who live. */
static void meet_all(const int *pipe, bool is_after)
{
    char c = 'm';

    for (int i = 0; i < N; i++)
        if (!(is_after && is_to_die(i)))
            CHECK_EQ(recv(pipe[i], &c, 1, MSG_WAITALL), 1);
    for (int i = 0; i < N; i++)
        if (!(is_after && is_to_die(i)))
            CHECK_EQ(send(pipe[i], &c, 1, MSG_NOSIGNAL), 1);
}

int main(int argc, char **argv)
{
    DAT_CONN_QUAL qual[N];
    pid_t pid[N];
    int pipe[N];

    for (int i = 0; i < N; i++) {
        int sv[2];

        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
        pipe[i] = sv[0];
        pid[i] = fork();
        if (pid[i] == 0) {
            struct dt t = {.pipe = sv[1]};

            prctl(PR_SET_PDEATHSIG, SIGKILL);
            exit(member(&t, dt_name(argc, argv), i));
        }
        close(sv[1]);
    }
    for (int i = 0; i < N; i++)
        CHECK_EQ(recv(pipe[i], &qual[i], sizeof(qual[i]), MSG_WAITALL), sizeof(qual[i]));
    for (int i = 0; i < N; i++)
        CHECK_EQ(send(pipe[i], qual, sizeof(qual), MSG_NOSIGNAL), sizeof(qual));
    meet_all(pipe, false);
    for (int i = 0; i < N; i++)
        if (is_to_die(i))
            CHECK_EQ(kill(pid[i], SIGKILL), 0);
    meet_all(pipe, true);
    meet_all(pipe, true);
    for (int i = 0; i < N; i++) {
        int status;

        CHECK_EQ(waitpid(pid[i], &status, 0), pid[i]);
        if (!is_to_die(i))
            CHECK_EQ(status, 0);
    }
    return 0;
}
