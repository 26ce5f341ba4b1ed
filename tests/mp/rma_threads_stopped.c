/* test: np=3 prov=datum-shm timeout=20 */
/*
 * A process that is stopped while it updates many elements of its own part: a thread that waits to update
 * it, too, lets another one of its process receive the message behind which that process goes on.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "mp_test.h"

#define LONGS  2000000
#define ROUNDS 5

static long *ones;
static int pid;

static void be_busy(MPI_Win win)
{
    int flag = 0;

    while (!flag) {
        MUST(MPI_Accumulate(ones, LONGS, MPI_LONG, 1, 0, LONGS, MPI_LONG, MPI_SUM, win));
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *go_on(void *arg)
{
    MPI_Recv(NULL, 0, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(kill(pid, SIGCONT), 0);
    return arg;
}

/* n elements: few are updated one by one, many while all others are kept off. */
static void stop(MPI_Win win, int n)
{
    pthread_t thread;

    usleep(10000);
    CHECK_EQ(kill(pid, SIGSTOP), 0);
    pthread_create(&thread, NULL, go_on, NULL);
    MPI_Send(NULL, 0, MPI_INT, 2, 1, MPI_COMM_WORLD);
    MUST(MPI_Accumulate(ones, n, MPI_LONG, 1, 0, n, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Win_flush(1, win));
    pthread_join(thread, NULL);
    MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
}

static void tell(void)
{
    MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(100000); /* rank 0 waits by now */
    MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
}

static void rounds(MPI_Win win, const long *mem)
{
    MUST(MPI_Win_lock_all(0, win));
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (mp_rank == 0)
            stop(win, i % 2 ? LONGS : 1);
        else if (mp_rank == 1)
            be_busy(win);
        else
            tell();
    }
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 1)
        CHECK_EQ(mem[0], mem[1] + (ROUNDS + 1) / 2);
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    const MPI_Aint len = LONGS * sizeof(long);
    MPI_Win win;
    long *mem;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    ones = malloc((size_t)len);
    for (int i = 0; i < LONGS; i++)
        ones[i] = 1;
    MUST(MPI_Win_allocate(len, sizeof(*mem), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    memset(mem, 0, (size_t)len);
    rounds(win, mem);
    mem = calloc(LONGS, sizeof(*mem));
    MUST(MPI_Win_create(mem, len, sizeof(*mem), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    rounds(win, mem);
    free(mem);
    free(ones);
    return mp_finish();
}
