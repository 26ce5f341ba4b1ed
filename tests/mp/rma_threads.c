/* test: np=1,2,3 timeout=60 */
/*
 * Several threads of each process use the same windows at once: sums, requests and flushes of
 * one do not disturb those of another.
 */
#include <pthread.h>

#include "mp_test.h"

#define THREADS 4
#define TURNS   150

static MPI_Win wins[3];
static MPI_Aint *bases[3]; /* of each rank's part, in displacements */

static void *work(void *arg)
{
    int me = (int)(long)arg;
    static const long one = 1; /* in use until somebody synchronizes */
    long old = -1, mine = 0, back = -1;

    for (int i = 0; i < TURNS; i++) {
        int w = (i + me) % 3, target = (i / 3 + me) % mp_size;
        MPI_Aint sum = bases[w][target], own = bases[w][target] + 8 * (1 + mp_rank * THREADS + me);
        MPI_Request req;

        MUST(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, sum, MPI_SUM, wins[w]));
        MUST(MPI_Win_flush(target, wins[w]));
        CHECK(old >= 0);
        mine = 1000 * me + i;
        MUST(MPI_Rput(&mine, 1, MPI_LONG, target, own, 1, MPI_LONG, wins[w], &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        MUST(MPI_Win_flush(target, wins[w]));
        MUST(MPI_Rget(&back, 1, MPI_LONG, target, own, 1, MPI_LONG, wins[w], &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK_EQ(back, mine);
        MUST(MPI_Accumulate(&one, 1, MPI_LONG, target, sum, 1, MPI_LONG, MPI_SUM, wins[w]));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static long own[200], dyn[200];
    pthread_t threads[THREADS];
    long *alloc, total = 0, all = 0;
    MPI_Aint at;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    for (int w = 0; w < 3; w++)
        bases[w] = calloc((size_t)mp_size, sizeof(MPI_Aint));
    MUST(MPI_Win_create(own, sizeof(own), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[0]));
    MUST(MPI_Win_allocate(sizeof(own), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &alloc, &wins[1]));
    memset(alloc, 0, sizeof(own));
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &wins[2]));
    MUST(MPI_Win_attach(wins[2], dyn, sizeof(dyn)));
    MPI_Get_address(dyn, &at);
    MPI_Allgather(&at, 1, MPI_AINT, bases[2], 1, MPI_AINT, MPI_COMM_WORLD);
    for (int w = 0; w < 3; w++)
        MUST(MPI_Win_lock_all(0, wins[w]));
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int w = 0; w < 3; w++)
        MUST(MPI_Win_unlock_all(wins[w]));
    MPI_Barrier(MPI_COMM_WORLD);
    total = own[0] + alloc[0] + dyn[0];
    MPI_Allreduce(&total, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(all, 2L * TURNS * THREADS * mp_size);
    for (int w = 0; w < 3; w++) {
        MUST(MPI_Win_free(&wins[w]));
        free(bases[w]);
    }
    return mp_finish();
}
