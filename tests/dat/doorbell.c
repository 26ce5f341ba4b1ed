/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto */
/*
 * Requests to instances that do not read for a while, by one that may have few unread notifications: all
 * of them are heard afterwards, by consumers that only wait.
 */
#include "dat_pair.h"

#include <dirent.h>

enum { N = 32 };

static const char prefix[] = "\0datum-ctrl.";

static bool is_doorbell(int fd)
{
    union {
        struct sockaddr any;
        char bytes[128];
    } name = {.bytes = ""};
    socklen_t len = sizeof(name);

    return getsockname(fd, &name.any, &len) == 0 && name.any.sa_family == AF_UNIX &&
           memcmp(name.bytes + sizeof(sa_family_t), prefix, sizeof(prefix) - 1) == 0;
}

/* Of the only instance of this process: the least that the kernel allows. */
static void limit_unread(void)
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    int least = 1;
    int n = 0;

    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        int fd = atoi(entry->d_name);

        if (!is_doorbell(fd))
            continue;
        CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
        n++;
    }
    closedir(dir);
    CHECK_EQ(n, 1);
}

/* It is stopped when all listen. */
static int listener(struct dt *t, const char *name)
{
    static struct dt each[N];

    for (int i = 0; i < N; i++) {
        each[i].pipe = t->pipe;
        dt_open(&each[i], name);
        (void)dt_listen(&each[i]);
    }
    CHECK_EQ(raise(SIGSTOP), 0);
    for (int i = 0; i < N; i++)
        dt_accept(&each[i], each[i].ep);
    dt_meet(t);
    for (int i = 0; i < N; i++)
        dt_close(&each[i]);
    return 0;
}

static void ask_all(struct dt *t, pid_t pid)
{
    DAT_CONN_QUAL qual;
    int status;

    limit_unread();
    CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
    CHECK(WIFSTOPPED(status));
    for (int i = 0; i < N; i++) {
        dt_hear(t, &qual, sizeof(qual));
        OK(dat_ep_connect(dt_ep(t), (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    }
    CHECK_EQ(kill(pid, SIGCONT), 0);
    for (int i = 0; i < N; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_meet(t);
}

int main(int argc, char **argv)
{
    struct dt t = {.pipe = -1};
    int status;
    pid_t pid;

    pid = dt_fork(&t, listener, dt_name(argc, argv));
    dt_open(&t, dt_name(argc, argv));
    ask_all(&t, pid);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    dt_close(&t);
    close(t.pipe);
    return 0;
}
