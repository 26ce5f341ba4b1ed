/* test: np=3 prov=datum-shm timeout=20 */
/*
 * A process that is stopped while it updates its own part: whoever waits to update it, too, still
 * answers the others, of whom one lets it go on. The same while it updates another's part: the owner, who has
 * to apply packets to it, still receives messages.
 */
#include <signal.h>
#include <unistd.h>

#include "mp_test.h"

#define LONGS  2000000
#define ROUNDS 3

static long *ones;

/* Update a part nearly all the time, until rank 0 says that it is enough. */
static void be_busy(MPI_Win win, int target)
{
    int flag = 0;

    while (!flag) {
        MUST(MPI_Accumulate(ones, LONGS, MPI_LONG, target, 0, LONGS, MPI_LONG, MPI_SUM, win));
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void stop(MPI_Win win, pid_t pid)
{
    usleep(10000);
    CHECK_EQ(kill(pid, SIGSTOP), 0);
    MPI_Send(NULL, 0, MPI_INT, 2, 1, MPI_COMM_WORLD);
    MUST(MPI_Accumulate(ones, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Win_flush(1, win));
    MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
}

/* Rank 0 has to apply the first of these, or the second if others address its memory. */
static void go_on(MPI_Win win, pid_t pid, MPI_Datatype some)
{
    long double wide = 1;

    MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(10000);
    MUST(MPI_Accumulate(ones, 2, MPI_LONG, 0, 0, 1, some, MPI_SUM, win));
    MUST(MPI_Accumulate(&wide, 1, MPI_LONG_DOUBLE, 0, 4, 1, MPI_LONG_DOUBLE, MPI_SUM, win));
    MUST(MPI_Win_flush(0, win));
    CHECK_EQ(kill(pid, SIGCONT), 0);
}

/* The memory of the window in it is zero. */
static void rounds(MPI_Win win, const long *mem, pid_t pid, MPI_Datatype some)
{
    const long double wide = ROUNDS;

    MUST(MPI_Win_lock_all(0, win));
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (mp_rank == 0)
            stop(win, pid);
        else if (mp_rank == 1)
            be_busy(win, 1);
        else
            go_on(win, pid, some);
    }
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0) {
        CHECK_EQ(mem[2], ROUNDS);
        CHECK(memcmp(mem + 4, &wide, 10) == 0);
    }
    if (mp_rank == 1)
        CHECK_EQ(mem[0], mem[1] + ROUNDS);
}

/* Rank 1 is stopped; then rank 2 updates an element here by a packet, since it sent one before. */
static void receive(MPI_Win win, pid_t pid)
{
    static const long double wide = 1; /* in use until the epoch ends */
    static const long long one = 1;

    if (mp_rank == 1) {
        be_busy(win, 0);
    } else if (mp_rank == 0) {
        usleep(10000);
        CHECK_EQ(kill(pid, SIGSTOP), 0);
        MPI_Send(NULL, 0, MPI_INT, 2, 1, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(kill(pid, SIGCONT), 0);
        MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MUST(MPI_Accumulate(&wide, 1, MPI_LONG_DOUBLE, 0, LONGS, 1, MPI_LONG_DOUBLE, MPI_SUM, win));
        MUST(MPI_Accumulate(&one, 1, MPI_LONG_LONG, 0, LONGS + 2, 1, MPI_LONG_LONG, MPI_SUM, win));
        MUST(MPI_Accumulate(ones, 20, MPI_LONG, 0, LONGS + 3, 20, MPI_LONG, MPI_SUM, win));
        MPI_Send(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
}

static void receive_rounds(MPI_Win win, long *mem, pid_t pid)
{
    memset(mem, 0, (LONGS + 32) * sizeof(*mem));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock_all(0, win));
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        receive(win, pid);
    }
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank != 0)
        return;
    CHECK(mem[0] > 0 && mem[0] == mem[LONGS - 1]);
    for (int i = 2; i < 23; i++)
        CHECK_EQ(mem[LONGS + i], ROUNDS);
}

int main(int argc, char **argv)
{
    const MPI_Aint len = (LONGS + 32) * sizeof(long);
    int pid = (int)getpid();
    MPI_Datatype some;
    MPI_Win win;
    long *mem;

    mp_start(&argc, &argv);
    MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    ones = malloc((size_t)len);
    for (int i = 0; i < LONGS; i++)
        ones[i] = 1;
    MUST(MPI_Type_vector(2, 1, 2, MPI_LONG, &some));
    MUST(MPI_Type_commit(&some));

    mem = calloc(LONGS + 32, sizeof(*mem));
    MUST(MPI_Win_create(mem, len, sizeof(*mem), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    rounds(win, mem, pid, some);
    MUST(MPI_Win_free(&win));
    free(mem);

    /* memory that all address */
    MUST(MPI_Win_allocate(len, sizeof(*mem), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    rounds(win, mem, pid, some);
    receive_rounds(win, mem, pid);
    MUST(MPI_Win_free(&win));
    MUST(MPI_Type_free(&some));
    free(ones);
    return mp_finish();
}
