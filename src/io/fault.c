/*
 * A handler of SIGBUS for the duration of guarded copies; a signal that does not come from one is
 * passed on to the handler before it. The program may install its own at any time: each guard looks
 * whether ours is still the one.
 */
#include "io/fault.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

#include "util/port.h"

static DM_THREAD_LOCAL sigjmp_buf *volatile fault_jump; /* of the copy of this thread */
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction fault_before;

static void fault_handler(int sig, siginfo_t *info, void *context)
{
    if (fault_jump != NULL)
        siglongjmp(*fault_jump, 1);
    if ((fault_before.sa_flags & SA_SIGINFO) != 0) {
        fault_before.sa_sigaction(sig, info, context);
    } else if (fault_before.sa_handler != SIG_DFL && fault_before.sa_handler != SIG_IGN) {
        fault_before.sa_handler(sig);
    } else {
        /* The instruction is repeated, and ends the process as without us. */
        (void)signal(sig, SIG_DFL);
    }
}

static void fault_install(void)
{
    struct sigaction now;
    struct sigaction ours = {.sa_sigaction = fault_handler, .sa_flags = SA_SIGINFO | SA_NODEFER};

    pthread_mutex_lock(&fault_lock);
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction != fault_handler) {
        fault_before = now;
        (void)sigaction(SIGBUS, &ours, NULL);
    }
    pthread_mutex_unlock(&fault_lock);
}

bool dm_fault_guard(void (*fn)(void *arg), void *arg)
{
    sigjmp_buf jump;

    fault_install();
    if (sigsetjmp(jump, 0) != 0) {
        fault_jump = NULL;
        return false;
    }
    fault_jump = &jump;
    fn(arg);
    fault_jump = NULL;
    return true;
}
