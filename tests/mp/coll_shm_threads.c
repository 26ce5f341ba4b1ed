/* test: np=2,3,5 timeout=60 */
/*
 * Threads, each with a communicator of its own, in collectives at the same time, short and long; the
 * threads of a process do not all wait for the same rank, and one of them sends messages.
 */
#include <pthread.h>

#include "mp_test.h"

#define N_THREADS 4
#define ROUNDS    60
#define LONG      20000

struct work {
    MPI_Comm comm;
    int number;
};

static void exchange(const struct work *w, int i)
{
    int to = (mp_rank + 1) % mp_size, from = (mp_rank + mp_size - 1) % mp_size, got = -1;

    MUST(
        MPI_Sendrecv(&i, 1, MPI_INT, to, 5, &got, 1, MPI_INT, from, 5, w->comm, MPI_STATUS_IGNORE));
    CHECK_EQ(got, i);
}

static void *run(void *arg)
{
    const struct work *w = arg;
    int *buf = malloc(2 * LONG * sizeof(int));

    for (int i = 0; i < ROUNDS; i++) {
        int len = i % 10 == w->number ? LONG : 3, root = i % mp_size, want = 0;

        for (int k = 0; k < len; k++)
            buf[k] = mp_rank * i + k + w->number;
        for (int r = 0; r < mp_size; r++)
            want += r * i + len - 1 + w->number;
        MUST(MPI_Allreduce(buf, buf + LONG, len, MPI_INT, MPI_SUM, w->comm));
        CHECK_EQ(buf[LONG + len - 1], want);
        MUST(MPI_Bcast(buf, len, MPI_INT, root, w->comm));
        CHECK_EQ(buf[len - 1], root * i + len - 1 + w->number);
        MUST(MPI_Barrier(w->comm));
        if (w->number == 0)
            exchange(w, i);
    }
    free(buf);
    return NULL;
}

int main(int argc, char **argv)
{
    struct work work[N_THREADS];
    pthread_t threads[N_THREADS];
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    for (int i = 0; i < N_THREADS; i++) {
        work[i].number = i;
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &work[i].comm));
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, run, &work[i]);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        MUST(MPI_Comm_free(&work[i].comm));
    }
    return mp_finish();
}
