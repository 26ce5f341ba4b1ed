/* test: layers=util timeout=20 san=no */
/* What a process says that crashes, and that the signal still ends it as it would have. */
#include "util/crash.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char said[16384];
static volatile int zero;

/* Does it in a child that has the handler; returns the status of wait, what it said is in said. */
static int in_child(void (*what)(void))
{
    static const struct rlimit no_core;
    size_t len = 0;
    ssize_t n;
    int fds[2], status = -1;
    pid_t pid;

    CHECK_EQ(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(fds[1], STDERR_FILENO);
        dm_crash_start(3, "host7");
        what();
        _exit(99);
    }
    close(fds[1]);
    while ((n = read(fds[0], said + len, sizeof(said) - 1 - len)) > 0)
        len += (size_t)n;
    said[len] = '\0';
    close(fds[0]);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

static int has(const char *text)
{
    if (strstr(said, text) != NULL)
        return 1;
    printf("no '%s' in:\n%s\n", text, said);
    return 0;
}

static void touch(void)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(page, 4096);
    *(volatile char *)page = 1;
}

static void segv_says_who_and_where(void)
{
    CHECK_EQ(WTERMSIG(in_child(touch)), SIGSEGV);
    CHECK(strncmp(said, "datum: [rank 3 on host7] error: process ", 40) == 0);
    CHECK(has(" got signal 11 (SIGSEGV): no memory is mapped, address 0x"));
    CHECK(has("\n    #0 "));
    CHECK(has("util_crash+0x"));
    CHECK(has("__libc_start_main"));
    CHECK(said[strlen(said) - 1] == '\n');
}

static void divide(void)
{
    zero = 1000 / zero;
}

static void fpe_is_named(void)
{
    CHECK_EQ(WTERMSIG(in_child(divide)), SIGFPE);
    CHECK(has("(SIGFPE): integer division by zero, address 0x"));
}

static void abort_has_the_stack(void)
{
    CHECK_EQ(WTERMSIG(in_child(abort)), SIGABRT);
    CHECK(has("got signal 6 (SIGABRT); it was in\n"));
    CHECK(has("abort+0x"));
    CHECK(strstr(strstr(said, "error") + 1, "error") == NULL);
}

static void be_killed(void)
{
    if (fork() == 0) {
        kill(getppid(), SIGBUS);
        _exit(0);
    }
    for (;;)
        pause();
}

static void who_sent_it_is_said(void)
{
    CHECK_EQ(WTERMSIG(in_child(be_killed)), SIGBUS);
    CHECK(has("(SIGBUS), sent by process "));
}

static void *touch_in_thread(void *arg)
{
    touch();
    return arg;
}

static void crash_in_thread(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, touch_in_thread, NULL);
    pthread_join(thread, NULL);
}

static void thread_is_named(void)
{
    CHECK_EQ(WTERMSIG(in_child(crash_in_thread)), SIGSEGV);
    CHECK(has(", thread "));
    CHECK(has("libc.so"));
}

static int deep(volatile char *up)
{
    volatile char here[4096];

    here[0] = *up;
    return zero == 1 ? 0 : deep(here) + here[1];
}

static void overflow(void)
{
    static const struct rlimit little = {1 << 20, 1 << 20};
    volatile char first = 0;

    setrlimit(RLIMIT_STACK, &little);
    zero = deep(&first);
}

static void overflow_of_the_stack(void)
{
    CHECK_EQ(WTERMSIG(in_child(overflow)), SIGSEGV);
    CHECK(has("(SIGSEGV): "));
    CHECK(has("\n    ...\n"));
}

static void on_own(int signo)
{
    (void)signo;
    _exit(7);
}

static void own_handlers_stay(void)
{
    int status;

    signal(SIGSEGV, on_own);
    status = in_child(touch);
    signal(SIGSEGV, SIG_DFL);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 7);
    CHECK_STR(said, "");
}

static void stop_and_touch(void)
{
    dm_crash_stop();
    touch();
}

static void silent_after_stop(void)
{
    CHECK_EQ(WTERMSIG(in_child(stop_and_touch)), SIGSEGV);
    CHECK_STR(said, "");
}

int main(void)
{
    segv_says_who_and_where();
    fpe_is_named();
    abort_has_the_stack();
    who_sent_it_is_said();
    thread_is_named();
    overflow_of_the_stack();
    own_handlers_stay();
    silent_after_stop();
    return test_result();
}
