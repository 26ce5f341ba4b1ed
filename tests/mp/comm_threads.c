/* test: np=2,3,4 timeout=60 cfg=COLL_SHM=yes|no */
/*
 * MPI_THREAD_MULTIPLE: threads make communicators over different parents at once, in
 * orders that differ between the ranks, so that agreements on ids meet each other
 * half-way.
 */
#include "mp_test.h"

#include <pthread.h>

#define N_THREADS 4
#define N_ROUNDS  60

static MPI_Comm parents[N_THREADS];
static MPI_Group world;

static void check(MPI_Comm comm, int thread, int round)
{
    int value = mp_rank == 0 ? thread * 1000 + round : -1;
    int sum, one = 1;

    MUST(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
    CHECK_EQ(value, thread * 1000 + round);
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, mp_size);
    MUST(MPI_Comm_free(&comm));
}

static void *work(void *arg)
{
    int thread = (int)((MPI_Comm *)arg - parents);

    for (int i = 0; i < N_ROUNDS; i++) {
        MPI_Comm comm;

        MUST(MPI_Comm_dup(parents[thread], &comm));
        check(comm, thread, i);
        MUST(MPI_Comm_split(parents[thread], 0, mp_rank, &comm));
        check(comm, thread, i);
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, world, thread, &comm));
        check(comm, thread, i);
    }
    return NULL;
}

/*
 * Rank 0 has a thread for each of two parents; the others have one thread that dups first
 * the one, then the other: while one agreement of rank 0 waits the other must get on.
 */
static void *dup_second(void *arg)
{
    MPI_Comm comm;

    (void)arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        MUST(MPI_Comm_dup(parents[1], &comm));
        MUST(MPI_Comm_free(&comm));
    }
    return NULL;
}

static void one_after_the_other(void)
{
    MPI_Comm comm;
    pthread_t thread;

    if (mp_rank == 0)
        pthread_create(&thread, NULL, dup_second, NULL);
    for (int i = 0; i < N_ROUNDS; i++) {
        if (mp_rank != 0) {
            MUST(MPI_Comm_dup(parents[1], &comm));
            MUST(MPI_Comm_free(&comm));
        }
        MUST(MPI_Comm_dup(parents[0], &comm));
        MUST(MPI_Comm_free(&comm));
    }
    if (mp_rank == 0)
        pthread_join(thread, NULL);
}

/*
 * Ranks 0 and 1 join communicators of their own that each has made in another order: which of two agreements
 * goes first must not hang on the ids that a process has given them.
 */
static MPI_Comm own[N_THREADS];

static void *join(void *arg)
{
    int thread = (int)((MPI_Comm *)arg - own);

    for (int i = 0; i < N_ROUNDS; i++) {
        MPI_Comm inter;

        MUST(MPI_Intercomm_create(own[thread], 0, MPI_COMM_WORLD, 1 - mp_rank, thread, &inter));
        MUST(MPI_Comm_free(&inter));
    }
    return NULL;
}

static void joins(void)
{
    pthread_t threads[N_THREADS];

    if (mp_rank > 1)
        return;
    for (int i = 0; i < N_THREADS; i++)
        MUST(MPI_Comm_dup(MPI_COMM_SELF, &own[mp_rank == 0 ? i : N_THREADS - 1 - i]));
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, join, &own[i]);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_THREADS; i++)
        MUST(MPI_Comm_free(&own[i]));
}

/* By turns communicators of all but the last rank, and of all: what ends an agreement need not be a message. */
static MPI_Group most;

static void *make_groups(void *arg)
{
    int tag = (int)((MPI_Comm *)arg - parents);

    for (int i = 0; i < 2 * N_ROUNDS; i++) {
        MPI_Comm comm;

        if (mp_rank < mp_size - 1) {
            MUST(MPI_Comm_create_group(MPI_COMM_WORLD, most, tag, &comm));
            MUST(MPI_Barrier(comm));
            MUST(MPI_Comm_free(&comm));
        }
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, world, tag, &comm));
        MUST(MPI_Barrier(comm));
        MUST(MPI_Comm_free(&comm));
    }
    return NULL;
}

static void groups(void)
{
    pthread_t threads[N_THREADS];
    int range[1][3] = {{0, mp_size - 2, 1}};

    MUST(MPI_Group_range_incl(world, 1, range, &most));
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, make_groups, &parents[i]);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    MUST(MPI_Group_free(&most));
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < N_THREADS; i++)
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]));
    for (int i = 0; i < N_THREADS; i++) {
        int first = mp_rank % 2 == 0 ? i : N_THREADS - 1 - i;

        pthread_create(&threads[i], NULL, work, &parents[first]);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    one_after_the_other();
    joins();
    groups();
    for (int i = 0; i < N_THREADS; i++)
        MUST(MPI_Comm_free(&parents[i]));
    MUST(MPI_Group_free(&world));
    return mp_finish();
}
