/*
 * Work stealing: every process has a queue of tasks in its window. The owner takes from it by
 * MPI_Fetch_and_op on a counter, and so does a process that has nothing left to do: it gets half
 * of what another queue still has with one MPI_Compare_and_swap and reads the tasks by MPI_Get. At
 * the beginning all tasks are in the queues of the first processes.
 *
 *   mpiexec -n 4 steal [TASKS]
 *
 * A task is a number whose steps to 1 by "halve or 3n + 1" are counted; the sum is checked.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* One queue: tasks from `next` to n_tasks are left. */
struct queue {
    long next;
    long n_tasks;
    long tasks[]; /* n_max of them */
};

static int rank, size;
static long n_max;
static MPI_Win win;

static long steps(long n)
{
    long count = 0;

    for (; n > 1; count++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return count;
}

static long read_word(int owner, size_t at)
{
    long x;

    MPI_Fetch_and_op(NULL, &x, MPI_LONG, owner, (MPI_Aint)at, MPI_NO_OP, win);
    MPI_Win_flush(owner, win);
    return x;
}

/*
 * Take up to `part` of what the queue has left (1: one task, 2: half of them); the number taken,
 * 0 when nothing is left. The swap fails when another was faster: then look again.
 */
static long take(int owner, int part, long *tasks)
{
    long total = read_word(owner, offsetof(struct queue, n_tasks));

    for (;;) {
        long next = read_word(owner, offsetof(struct queue, next)), found, after, n;

        if (next >= total)
            return 0;
        n = part == 1 ? 1 : (total - next + 1) / 2;
        after = next + n;
        MPI_Compare_and_swap(&after, &next, &found, MPI_LONG, owner,
                             (MPI_Aint)offsetof(struct queue, next), win);
        MPI_Win_flush(owner, win);
        if (found != next)
            continue;
        MPI_Get(tasks, (int)n, MPI_LONG, owner,
                (MPI_Aint)(offsetof(struct queue, tasks) + (size_t)next * sizeof(long)), (int)n,
                MPI_LONG, win);
        MPI_Win_flush(owner, win);
        return n;
    }
}

/* Work until no queue has anything; the sum of the steps, and how many tasks were done. */
static long work(long *n_done, long *n_stolen)
{
    long *tasks = malloc((size_t)n_max * sizeof(long)), sum = 0, n;

    for (int i = 0; i < size;) {
        int owner = (rank + i) % size;

        n = take(owner, owner == rank ? 1 : 2, tasks);
        for (long k = 0; k < n; k++)
            sum += steps(tasks[k]);
        *n_done += n;
        *n_stolen += owner == rank ? 0 : n;
        i += n == 0; /* the next victim when this one has nothing more */
    }
    free(tasks);
    return sum;
}

int main(int argc, char **argv)
{
    long n_tasks, sum, want = 0, mine[3] = {0}, all[3];
    struct queue *queue;
    int n_full;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n_tasks = argc > 1 ? atol(argv[1]) : 20000;
    n_full = (size + 1) / 2; /* processes that have tasks at the beginning */
    n_max = (n_tasks + n_full - 1) / n_full;
    MPI_Win_allocate((MPI_Aint)(sizeof(*queue) + (size_t)n_max * sizeof(long)), 1, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &queue, &win);
    queue->next = queue->n_tasks = 0;
    for (long i = rank; rank < n_full && i < n_tasks; i += n_full)
        queue->tasks[queue->n_tasks++] = i + 1;
    MPI_Win_lock_all(0, win);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    sum = work(&mine[1], &mine[2]);
    mine[0] = sum;
    MPI_Win_unlock_all(win);
    MPI_Reduce(mine, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    printf("process %d did %ld tasks, %ld of them stolen\n", rank, mine[1], mine[2]);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = 1; i <= n_tasks; i++)
        want += steps(i);
    if (rank == 0)
        printf("%ld tasks, sum %ld: %s\n", all[1], all[0],
               all[0] == want && all[1] == n_tasks ? "right" : "WRONG");
    MPI_Win_free(&win);
    MPI_Bcast(all, 3, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return all[0] != want || all[1] != n_tasks;
}
