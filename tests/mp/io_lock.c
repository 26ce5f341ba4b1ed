/* test: np=2,3,4,5 cfg=CONNECT=auto|demand timeout=60 */
/*
 * The lock of atomic mode. Held for long: who waits is told, and does not look at words of rank 0 meanwhile, whose
 * threads each look would wake on a core that the holder may need. Given from one to the next, many times: one
 * has it. Who has given it back may compute: the next one of its host has been told.
 */
#include "io_test.h"

#include "counter.h"

#define NAME    "lock.dat"
#define HOLD_S  0.2
#define N       40
#define MOST    8 /* operations on words for a turn, however long it is waited for */
#define COUNTER "files: operations on words of locks"

static int is_slow; /* this process holds the lock for long */
static int *inside; /* processes of this host that have it; behind it: whose access is over */

/* Called inside of the lock. */
static int slow_copy(void *to, const void *from, int count, MPI_Offset position)
{
    double end = MPI_Wtime() + HOLD_S;

    CHECK_EQ(__atomic_fetch_add(inside, 1, __ATOMIC_SEQ_CST), 0);
    for (int i = 0; i < count; i++)
        ((int *)to)[i] = ((const int *)from)[position + i];
    while (is_slow && MPI_Wtime() < end)
        ;
    __atomic_fetch_sub(inside, 1, __ATOMIC_SEQ_CST);
    return MPI_SUCCESS;
}

static int slow_write(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position,
                      void *extra)
{
    (void)type;
    (void)extra;
    return slow_copy(file, user, count, position);
}

static int slow_extent(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    (void)type;
    (void)extra;
    *extent = sizeof(int);
    return MPI_SUCCESS;
}

/* One access; what it has cost is bounded. */
static void access_once(MPI_File fh)
{
    long before = counter(COUNTER), n;
    int value = mp_rank;
    MPI_Status status;

    MUST(MPI_File_write_at(fh, mp_rank, &value, 1, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_INT), 1);
    n = counter(COUNTER) - before;
    CHECK(before >= 0 && n >= 2 && n <= MOST);
}

static void counter_make(MPI_Comm host, MPI_Win *win_p)
{
    MPI_Aint size;
    int unit, first;

    MUST(MPI_Comm_rank(host, &first));
    MUST(MPI_Win_allocate_shared(first == 0 ? 2 * sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, host,
                                 &inside, win_p));
    MUST(MPI_Win_shared_query(*win_p, 0, &size, &unit, &inside));
    if (first == 0)
        inside[0] = inside[1] = 0;
}

/* Calls nothing until all of this host, whose number this is, have done their access. */
static void compute(int n)
{
    __atomic_fetch_add(&inside[1], 1, __ATOMIC_SEQ_CST);
    while (mp_rank > 0 && __atomic_load_n(&inside[1], __ATOMIC_SEQ_CST) < n)
        ;
}

int main(int argc, char **argv)
{
    MPI_Comm host;
    MPI_File fh;
    MPI_Win win;
    int level, n_host;

    mp_start(&argc, &argv);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mp_rank, MPI_INFO_NULL, &host));
    MUST(MPI_Comm_size(host, &n_host));
    counter_make(host, &win);
    MUST(MPI_Register_datarep("slow", MPI_CONVERSION_FN_NULL, slow_write, slow_extent, NULL));
    io_scratch(NAME, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "slow", MPI_INFO_NULL));
    MUST(MPI_File_set_atomicity(fh, 1));
    for (int rank = 0; rank < mp_size; rank++) {
        is_slow = mp_rank == rank;
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        access_once(fh);
        compute((rank + 1) * n_host);
    }
    is_slow = 0;
    for (int i = 0; i < N; i++)
        access_once(fh);
    MUST(MPI_File_close(&fh));
    MUST(MPI_Win_free(&win));
    MUST(MPI_Comm_free(&host));
    MUST(MPI_T_finalize());
    return mp_finish();
}
