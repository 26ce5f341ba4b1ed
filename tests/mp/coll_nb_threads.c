/* test: np=1,2,3 timeout=60 */
/*
 * MPI_THREAD_MULTIPLE: threads with nonblocking, persistent and blocking collectives and
 * duplications, each on a communicator of its own; every thread also advances the others'.
 */
#include "mp_test.h"

#include <pthread.h>

#define N_THREADS 4
#define N_ROUNDS  40
#define N_OPS     8

static MPI_Comm comms[N_THREADS];

static void *work(void *arg)
{
    int t = (int)((MPI_Comm *)arg - comms), in[N_OPS], out[N_OPS], steady = 0, sum = 0;
    MPI_Request reqs[N_OPS + 2];
    MPI_Comm dup;

    MUST(MPI_Allreduce_init(&steady, &sum, 1, MPI_INT, MPI_SUM, comms[t], MPI_INFO_NULL,
                            &reqs[N_OPS]));
    for (int round = 0; round < N_ROUNDS; round++) {
        int all = 0, one = 1;

        steady = round;
        MUST(MPI_Start(&reqs[N_OPS]));
        for (int i = 0; i < N_OPS; i++) {
            in[i] = mp_rank + i * round + t;
            out[i] = -1;
            MUST(MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_MAX, comms[t], &reqs[i]));
        }
        MUST(MPI_Comm_idup(comms[t], &dup, &reqs[N_OPS + 1]));
        MUST(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comms[t]));
        CHECK_EQ(all, mp_size);
        if ((round + t) % 2)
            MUST(MPI_Waitall(N_OPS + 2, reqs, MPI_STATUSES_IGNORE));
        for (int i = N_OPS + 1; (round + t) % 2 == 0 && i >= 0; i--)
            MUST(MPI_Wait(&reqs[i], MPI_STATUS_IGNORE));
        for (int i = 0; i < N_OPS; i++)
            CHECK_EQ(out[i], mp_size - 1 + i * round + t);
        CHECK_EQ(sum, mp_size * round);
        MUST(MPI_Barrier(dup));
        MUST(MPI_Comm_free(&dup));
    }
    MUST(MPI_Request_free(&reqs[N_OPS]));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < N_THREADS; i++)
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, work, &comms[i]);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_THREADS; i++)
        MUST(MPI_Comm_free(&comms[i]));
    return mp_finish();
}
