/* test: np=0,2 timeout=60 */
/*
 * MPI_Init_thread with MPI_THREAD_MULTIPLE: threads talk to each other and to the other ranks at
 * once; MPI_Is_thread_main tells them apart.
 */
#include <pthread.h>

#include "mp_test.h"

enum { N_THREADS = 4, N_ROUNDS = 200 };

static void *talk(void *arg)
{
    int tag = (int)(size_t)arg, next = (mp_rank + 1) % mp_size;
    int prev = (mp_rank + mp_size - 1) % mp_size, is_main = 1;

    MUST(MPI_Is_thread_main(&is_main));
    CHECK_EQ(is_main, 0);
    for (int i = 0; i < N_ROUNDS; i++) {
        int out = i * 1000 + tag, in = -1;
        MPI_Request req;

        MUST(MPI_Irecv(&in, 1, MPI_INT, prev, tag, MPI_COMM_WORLD, &req));
        MUST(MPI_Send(&out, 1, MPI_INT, next, tag, MPI_COMM_WORLD));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK_EQ(in, out);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    int provided = -1, level = -1, is_main = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    MUST(MPI_Query_thread(&level));
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    MUST(MPI_Is_thread_main(&is_main));
    CHECK_EQ(is_main, 1);
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, talk, (void *)(size_t)i);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    /* An error in one thread leaves the lock free for the others. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_Send(&level, 1, MPI_INT, mp_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    return mp_finish();
}
