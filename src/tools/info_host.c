/*
 * What this host allows: limits, shared memory, copies between processes.
 */
#include "tools/info_host.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dapl_adapt/dapl_adapt.h"
#include "tools/info_print.h"
#include "util/err.h"
#include "util/host.h"

#define NAME_WIDTH 22
/* A fact of this host, with a format. */
#define HOST_FACT(name, ...) dm_info_fact(name, NAME_WIDTH, __VA_ARGS__)

static void show_limit(const char *name, int resource)
{
    struct rlimit lim;

    if (getrlimit(resource, &lim) != 0)
        HOST_FACT(name, "unknown: %s", strerror(errno));
    else if (lim.rlim_cur == RLIM_INFINITY)
        HOST_FACT(name, "unlimited");
    else
        HOST_FACT(name, "%llu", (unsigned long long)lim.rlim_cur);
}

static void show_memfd(void)
{
    void *ptr;
    int fd;

    if (dm_host_shm_alloc("datum-info", 4096, &ptr, &fd) != DM_OK) {
        HOST_FACT("shared memory (memfd)", "no: %s", dm_err_detail());
        return;
    }
    HOST_FACT("shared memory (memfd)", "yes");
    dm_host_shm_free(ptr, 4096, fd);
}

/* Reads a word of a child, as a peer process would be read. */
static void show_process_vm(void)
{
    static volatile int word = 7;
    int copy = 0;
    struct iovec local = {&copy, sizeof(copy)};
    struct iovec remote = {(void *)&word, sizeof(word)};
    pid_t pid = fork();
    ssize_t n;

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    n = pid < 0 ? -1 : process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (n == (ssize_t)sizeof(copy) && copy == word)
        HOST_FACT("process_vm_readv", "yes");
    else
        HOST_FACT("process_vm_readv", "no: %s; copies are staged through shared memory",
                  strerror(errno));
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

static void show_watch(void)
{
    char text[80];
    const char *why = dm_adapt_no_watch(text, sizeof(text));

    if (why == NULL)
        HOST_FACT("watch of memory", "yes");
    else
        HOST_FACT("watch of memory", "no: %s; adapters that pin keep no registrations", why);
}

void dm_info_show_host(void)
{
    if (!dm_info_is_json())
        printf("Host %s\n", dm_host_name());
    dm_info_part("host", false);
    dm_info_put("name", dm_host_name());
    HOST_FACT("cores to use", "%d", dm_host_cores());
    show_limit("locked memory, bytes", RLIMIT_MEMLOCK);
    show_limit("address space, bytes", RLIMIT_AS);
    show_limit("open files", RLIMIT_NOFILE);
    show_memfd();
    show_process_vm();
    show_watch();
    dm_info_part_end();
}
