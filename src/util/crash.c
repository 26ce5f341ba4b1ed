/*
 * The handler of crashes.
 *
 * Only the first thread that crashes speaks; others wait a moment for the end of the process, since their
 * signal would cut it short. The text is made in static memory. When the walk of a damaged stack crashes
 * itself, what there is by then is written.
 */
#include "util/crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/stack.h"

#define CRASH_TEXT     12288
#define CRASH_STACK    65536
#define CRASH_WAIT_S   2
#define CRASH_MAX_NAME 384

static const struct crash_kind {
    int signo;
    const char *name;
} crash_kinds[] = {{SIGSEGV, "SIGSEGV"},
                   {SIGBUS, "SIGBUS"},
                   {SIGFPE, "SIGFPE"},
                   {SIGILL, "SIGILL"},
                   {SIGABRT, "SIGABRT"}};
#define N_KINDS (sizeof(crash_kinds) / sizeof(crash_kinds[0]))

/* What si_code says. */
static const struct crash_cause {
    int signo;
    int code;
    const char *text;
} crash_causes[] = {
    {SIGSEGV, SEGV_MAPERR, "no memory is mapped"},
    {SIGSEGV, SEGV_ACCERR, "the memory may not be accessed so"},
    {SIGBUS, BUS_ADRALN, "wrong alignment"},
    {SIGBUS, BUS_ADRERR, "beyond the end of a mapped file, or the host has no memory left"},
    {SIGFPE, FPE_INTDIV, "integer division by zero"},
    {SIGFPE, FPE_INTOVF, "integer overflow"},
    {SIGFPE, FPE_FLTDIV, "division by zero"},
    {SIGFPE, FPE_FLTOVF, "floating-point overflow"},
    {SIGFPE, FPE_FLTUND, "floating-point underflow"},
    {SIGFPE, FPE_FLTINV, "invalid floating-point operation"},
    {SIGILL, ILL_ILLOPN, "illegal instruction"},
};

static struct {
    char name[CRASH_MAX_NAME]; /* "datum: [rank 3 on host7] error: " */
    pid_t pid;
    _Atomic(pid_t) speaker; /* the thread that has crashed first */
    bool is_on;
    struct dm_strbuf sb;
    char text[CRASH_TEXT];
    char stack[CRASH_STACK];
} crash;

static pid_t crash_thread(void)
{
    return (pid_t)syscall(SYS_gettid);
}

static void crash_write(void)
{
    size_t at = 0;

    while (at < crash.sb.len) {
        ssize_t n = write(STDERR_FILENO, crash.text + at, crash.sb.len - at);

        if (n <= 0)
            return;
        at += (size_t)n;
    }
    crash.sb.len = 0;
}

static void crash_add_number(const char *before, uint64_t value, unsigned base)
{
    dm_strbuf_add(&crash.sb, before);
    dm_stack_add_number(&crash.sb, value, base);
}

static void crash_add_cause(const siginfo_t *info)
{
    if (info->si_code <= 0) {
        if (info->si_pid != getpid())
            crash_add_number(", sent by process ", (uint64_t)info->si_pid, 10);
        return;
    }
    for (size_t i = 0; i < sizeof(crash_causes) / sizeof(crash_causes[0]); i++)
        if (crash_causes[i].signo == info->si_signo && crash_causes[i].code == info->si_code) {
            dm_strbuf_add(&crash.sb, ": ");
            dm_strbuf_add(&crash.sb, crash_causes[i].text);
        }
    /* The kernel's own code: the address is none that a processor can form. */
    if (info->si_code < SI_KERNEL)
        crash_add_number(", address ", (uint64_t)(uintptr_t)info->si_addr, 16);
}

static void crash_speak(const siginfo_t *info)
{
    pid_t thread = crash_thread();

    dm_strbuf_init(&crash.sb, crash.text, sizeof(crash.text));
    dm_strbuf_add(&crash.sb, crash.name);
    dm_strbuf_add(&crash.sb, getpid() == crash.pid ? "process " : "its child, process ");
    dm_stack_add_number(&crash.sb, (uint64_t)getpid(), 10);
    if (thread != getpid())
        crash_add_number(", thread ", (uint64_t)thread, 10);
    crash_add_number(", got signal ", (uint64_t)info->si_signo, 10);
    for (size_t i = 0; i < N_KINDS; i++)
        if (crash_kinds[i].signo == info->si_signo) {
            dm_strbuf_add(&crash.sb, " (");
            dm_strbuf_add(&crash.sb, crash_kinds[i].name);
            dm_strbuf_add(&crash.sb, ")");
        }
    crash_add_cause(info);
    dm_strbuf_add(&crash.sb, "; it was in\n");
    dm_stack_add(&crash.sb, true);
    crash_write();
}

static void crash_action_default(struct sigaction *action)
{
    memset(action, 0, sizeof(*action));
    action->sa_handler = SIG_DFL;
}

static void crash_default(int signo)
{
    struct sigaction action;

    crash_action_default(&action);
    (void)sigaction(signo, &action, NULL);
}

static void on_crash(int signo, siginfo_t *info, void *context)
{
    static const struct timespec moment = {.tv_sec = CRASH_WAIT_S};
    pid_t nobody = 0;

    (void)context;
    if (atomic_compare_exchange_strong(&crash.speaker, &nobody, crash_thread())) {
        crash_speak(info);
    } else if (nobody == crash_thread()) {
        dm_strbuf_add(&crash.sb, "\n    the stack is damaged\n");
        crash_write();
    } else {
        nanosleep(&moment, NULL);
    }
    crash_default(signo);
    /* An instruction comes again when the handler returns; what was sent does not. */
    if (info->si_code <= 0)
        raise(signo);
}

static void crash_give_stack(void)
{
    stack_t stack;

    if (sigaltstack(NULL, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0)
        return;
    stack = (stack_t){.ss_sp = crash.stack, .ss_size = sizeof(crash.stack)};
    (void)sigaltstack(&stack, NULL);
}

void dm_crash_start(int rank, const char *host)
{
    struct sigaction action;

    snprintf(crash.name, sizeof(crash.name), "datum: [rank %d on %s] error: ", rank, host);
    crash.pid = getpid();
    if (crash.is_on)
        return;
    crash.is_on = true;
    crash_give_stack();
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < N_KINDS; i++) {
        struct sigaction old;

        /* The program's own, if it has one, goes back. */
        if (sigaction(crash_kinds[i].signo, &action, &old) == 0 && old.sa_handler != SIG_DFL)
            (void)sigaction(crash_kinds[i].signo, &old, NULL);
    }
}

void dm_crash_stop(void)
{
    struct sigaction action;

    crash.is_on = false;
    crash_action_default(&action);
    for (size_t i = 0; i < N_KINDS; i++) {
        struct sigaction now;

        if (sigaction(crash_kinds[i].signo, &action, &now) == 0 && now.sa_sigaction != on_crash)
            (void)sigaction(crash_kinds[i].signo, &now,
                            NULL); /* the program has one of its own by now */
    }
}
