/* test: np=2,3 timeout=40 */
/*
 * The lock of atomic mode held for long: who waits looks at it the more rarely the longer it has not moved,
 * since each look wakes threads of rank 0's host, whose core the holder may need.
 */
#include "io_test.h"

#include "counter.h"

#define NAME    "lock.dat"
#define HOLD_S  0.3
#define LOOKS   100  /* while the times between two grow from nothing to the longest */
#define PER_S   32.0 /* looks at most, from then on; twice what it should be */
#define COUNTER "files: looks at a lock that was taken"

static int is_slow; /* this process holds the lock for long */

/* Called inside of the lock. */
static int slow_copy(void *to, const void *from, int count, MPI_Offset position)
{
    double end = MPI_Wtime() + HOLD_S;

    for (int i = 0; i < count; i++)
        ((int *)to)[i] = ((const int *)from)[position + i];
    while (is_slow && MPI_Wtime() < end)
        ;
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

/* One access while that rank is slow; looks are bounded by how long it has taken here. */
static void access_beside(MPI_File fh, int slow)
{
    long before = counter(COUNTER), looks;
    double start;
    int value = mp_rank;
    MPI_Status status;

    is_slow = mp_rank == slow;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    start = MPI_Wtime();
    MUST(MPI_File_write_at(fh, mp_rank, &value, 1, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_INT), 1);
    looks = counter(COUNTER) - before;
    if (looks > LOOKS * mp_size + (MPI_Wtime() - start) * PER_S)
        printf("rank %d: %ld looks in %.3f s\n", mp_rank, looks, MPI_Wtime() - start);
    CHECK(looks <= LOOKS * mp_size + (MPI_Wtime() - start) * PER_S);
}

int main(int argc, char **argv)
{
    MPI_File fh;
    int level;

    mp_start(&argc, &argv);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    MUST(MPI_Register_datarep("slow", MPI_CONVERSION_FN_NULL, slow_write, slow_extent, NULL));
    io_scratch(NAME, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "slow", MPI_INFO_NULL));
    MUST(MPI_File_set_atomicity(fh, 1));
    for (int rank = 0; rank < mp_size; rank++)
        access_beside(fh, rank);
    MUST(MPI_File_close(&fh));
    MUST(MPI_T_finalize());
    return mp_finish();
}
