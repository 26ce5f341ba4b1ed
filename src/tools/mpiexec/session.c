/*
 * As with vfork, who has started a process waits until that leaves our memory; unlike vfork, each
 * has a stack of its own, since the frames of the starter are in use below it.
 */
#include "tools/mpiexec/session.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes of a stack, of which those that are used take memory. A shell script's words are copied
 * there, at most a quarter of the usual limit. */
enum { STACK_LEN = 4 << 20 };

struct starter {
    void (*fn)(void *arg);
    void *arg;
    pid_t parent;
    bool has_run;
};

/* The end of a new stack, where it begins; NULL: no memory. */
static char *stack_make(void)
{
    char *stack = mmap(NULL, STACK_LEN, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    return stack != MAP_FAILED ? stack + STACK_LEN : NULL;
}

static void stack_free(char *stack)
{
    munmap(stack - STACK_LEN, STACK_LEN);
}

static int starter_run(void *arg)
{
    struct starter *starter = arg;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != starter->parent || setsid() < 0)
        return 1;
    starter->has_run = true;
    starter->fn(starter->arg);
    return 0;
}

void dm_launch_session_run(void (*fn)(void *arg), void *arg)
{
    struct starter starter = {.fn = fn, .arg = arg, .parent = getpid()};
    char *stack = stack_make();
    pid_t pid = -1;

    if (stack != NULL)
        pid = clone(starter_run, stack, CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_FS | SIGCHLD,
                    &starter);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (stack != NULL)
        stack_free(stack);
    if (!starter.has_run)
        fn(arg);
}

pid_t dm_launch_session_child(int (*fn)(void *arg), void *arg, pid_t parent)
{
    /* The starter's children are ours. */
    int flags = CLONE_VM | CLONE_VFORK | SIGCHLD | (getpid() != parent ? CLONE_PARENT : 0);
    char *stack = stack_make();
    pid_t pid;
    int err;

    if (stack == NULL)
        return -1;
    pid = clone(fn, stack, flags, arg);
    err = errno;
    stack_free(stack);
    errno = err;
    return pid;
}
