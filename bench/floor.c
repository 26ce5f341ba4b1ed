/*
 * What the machine allows: the hand-over of one cache line between two
 * processes, spinning, each pinned to a core. Prints "floor 64 MEDIAN MIN" in
 * microseconds one way. With one core there is no floor to measure: prints nothing, exits 1.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_ROUNDS 15
#define N_TURNS  50000

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Wait for the line to hold `want`, then store want + 1. */
static void turns(_Atomic long *line, long first, long n)
{
    for (long i = 0; i < n; i++) {
        while (atomic_load_explicit(line, memory_order_acquire) != first + 2 * i)
            ;
        atomic_store_explicit(line, first + 2 * i + 1, memory_order_release);
    }
}

int main(void)
{
    _Atomic long *line =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double t[N_ROUNDS];
    pid_t child;

    if (line == MAP_FAILED || sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return 1;
    child = fork();
    if (child < 0)
        return 1;
    pin(child == 0);
    for (long r = 0; r < N_ROUNDS; r++) {
        double start = now_us();

        turns(line, r * 2 * N_TURNS + (child == 0), N_TURNS);
        t[r] = (now_us() - start) / (2.0 * N_TURNS);
    }
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    qsort(t, N_ROUNDS, sizeof(t[0]), by_value);
    printf("floor 64 %.4f %.4f\n", t[N_ROUNDS / 2], t[0]);
    return 0;
}
