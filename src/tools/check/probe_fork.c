/*
 * Probes of fork. A child that only executes another program must not harm; memory that
 * parent and child share after a fork is copied when one of them writes, and a provider that
 * remembers the old pages then moves the wrong bytes; what a child may do with its parent's
 * handles is tried in a child of its own.
 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/check/probe_side.h"
#include "util/err.h"

#define CHILD_MS 3000

static const struct dm_probe_ep modest;

/* Write `mark` to the target and let it check. */
static int check_write(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                       const struct dm_probe_remote *remote, char mark, bool *is_good_p)
{
    uint64_t seen = 0;
    int err;

    if (side->env->is_passive) {
        err = dm_probe_get(side, &seen);
        *is_good_p = mem->buf[100] == mark && mem->buf[163] == mark;
        return err == DM_OK ? dm_probe_put(side, *is_good_p) : err;
    }
    memset(mem->buf + 100, mark, 64);
    err = dm_probe_write(side, mem, 100, remote, 100, 64, DAT_COMPLETION_DEFAULT_FLAG);
    if (err == DM_OK)
        err = dm_probe_done(side, side->req_evd, 1, "write after a fork");
    if (err == DM_OK)
        err = dm_probe_put(side, 0);
    if (err == DM_OK)
        err = dm_probe_get(side, &seen);
    *is_good_p = seen != 0;
    return err;
}

/* Its status, or -1 when it had to be killed. */
static int wait_child(pid_t pid)
{
    struct timespec ms = {0, 1000000};
    int status = -1;

    for (int i = 0; i < CHILD_MS; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return status;
        nanosleep(&ms, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

static int try_exec(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                    const struct dm_probe_remote *remote)
{
    bool is_good = false;
    pid_t pid = fork();
    int status;
    int err;

    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    status = pid > 0 ? wait_child(pid) : -1;
    if (status != 0)
        dm_probe_say_untested(side->env, "fork_exec", "/bin/true cannot be run");
    err = check_write(side, mem, remote, 'e', &is_good);
    if (err == DM_OK && status == 0)
        dm_probe_say(side->env, "fork_exec", is_good, "%s",
                     is_good ? "transfers are right after a child has executed a program"
                             : "wrong data after a child has executed a program");
    return err;
}

/* The child holds the old pages while the parent writes to its own and they are transferred. */
static int try_copies(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                      const struct dm_probe_remote *remote)
{
    bool is_good = false;
    pid_t pid = fork();
    int err;

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    if (pid < 0)
        return DM_FAIL(DM_ESYS, "fork");
    mem->buf[0]++; /* in the target too: its page is another one from now on */
    err = dm_probe_barrier(side);
    if (err == DM_OK)
        err = check_write(side, mem, remote, 'c', &is_good);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (err == DM_OK)
        dm_probe_say(side->env, "fork_copies", is_good, "%s",
                     is_good ? "right data while a child shares the pages"
                             : "wrong data while a child shares the pages");
    return err;
}

int dm_probe_run_fork(struct dm_probe_env *env)
{
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_remote remote;
    struct dm_probe_side side;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, 4096, false, &mem);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err == DM_OK)
        err = try_exec(&side, &mem, &remote);
    if (err == DM_OK)
        err = try_copies(&side, &mem, &remote);
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- handles in a child ---- */

enum { CHILD_REFUSED = 10, CHILD_WORKED };

/* In the child: the parent's write, with other bytes. */
static void use_handles(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                        const struct dm_probe_remote *remote)
{
    DAT_EVENT event;
    DAT_RETURN rc;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    rc = dat_evd_dequeue(side->recv_evd, &event);
    if (DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY && rc != DAT_SUCCESS)
        _exit(CHILD_REFUSED);
    if (dm_probe_write(side, mem, 512, remote, 512, 64, DAT_COMPLETION_DEFAULT_FLAG) != DM_OK)
        _exit(CHILD_REFUSED);
    _exit(CHILD_WORKED);
}

static void say_child(struct dm_probe_env *env, int status)
{
    if (status == -1)
        dm_probe_say(env, "child_handles", false, "a child that uses them hangs");
    else if (WIFSIGNALED(status))
        dm_probe_say(env, "child_handles", false, "a child that uses them is killed by signal %d",
                     WTERMSIG(status));
    else if (WEXITSTATUS(status) == CHILD_REFUSED)
        dm_probe_say(env, "child_handles", true, "a child that uses them gets an error");
    else
        dm_probe_say(env, "child_handles", false,
                     "a child's calls are taken, on the parent's queues");
}

int dm_probe_run_child(struct dm_probe_env *env)
{
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_remote remote;
    struct dm_probe_side side;
    bool is_good = false;
    pid_t pid;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, 4096, false, &mem);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err == DM_OK && !env->is_passive) {
        pid = fork();
        if (pid == 0)
            use_handles(&side, &mem, &remote);
        if (pid > 0)
            say_child(env, wait_child(pid));
    }
    if (err == DM_OK)
        err = check_write(&side, &mem, &remote, 'a', &is_good);
    if (err == DM_OK && !is_good)
        err = DM_FAIL(DM_EPROVIDER, "wrong data after a child had used the handles");
    if (err == DM_OK)
        dm_probe_say(env, "child_harmless", true, "the parent's connection lives on");
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}
