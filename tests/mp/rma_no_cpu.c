/* test: np=2,3 prov=datum-shm cfg=RMA_ATOMIC=auto|yes timeout=60 */
/*
 * A target that computes without a call of MPI: locks, puts, gets, updates and flushes at it
 * go on, and it sees what they did. Only where its memory and the locks can be addressed is that
 * promised. (MPICH 4.0.2 hangs here: its locks wait for the target.)
 */
#include "mp_test.h"

#define TURNS 200

/* Rank 0 looks at its memory until all others have said that they are done. */
static void compute(volatile long *mem)
{
    double until = MPI_Wtime() + 20;

    while (mem[0] < mp_size - 1 && MPI_Wtime() < until)
        ;
    CHECK_EQ(mem[0], mp_size - 1);
    CHECK_EQ(mem[1], (long)TURNS * (mp_size - 1));
}

static void others(MPI_Win win)
{
    long one = 1, v = 0, was;

    for (int i = 0; i < TURNS; i++) {
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        MUST(MPI_Get(&v, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
        MUST(MPI_Win_flush(0, win));
        v++;
        MUST(MPI_Put(&v, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
        MUST(MPI_Win_unlock(0, win));
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        MUST(MPI_Win_unlock(0, win));
    }
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, 0, MPI_SUM, win));
    MUST(MPI_Win_unlock_all(win));
}

/* Memory that RDMA reaches: the owner learns by a put into memory that it can look at. */
static void created(MPI_Win flags, volatile long *mem)
{
    long *own = malloc(2 * sizeof(long));
    MPI_Win win;

    own[0] = own[1] = 0;
    mem[0] = mem[1] = 0;
    MUST(MPI_Win_create(own, 2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0) {
        double until = MPI_Wtime() + 20;

        while (mem[0] < mp_size - 1 && MPI_Wtime() < until)
            ;
        CHECK_EQ(mem[0], mp_size - 1);
        CHECK_EQ(((volatile long *)own)[1], (long)TURNS * (mp_size - 1));
    } else {
        long one = 1, v, was;

        for (int i = 0; i < TURNS; i++) {
            v = -1;
            MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MUST(MPI_Get(&v, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
            MUST(MPI_Win_flush(0, win));
            v++;
            MUST(MPI_Put(&v, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
            MUST(MPI_Win_unlock(0, win));
        }
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, flags));
        MUST(MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, 0, MPI_SUM, flags));
        MUST(MPI_Win_unlock(0, flags));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_free(&win));
    free(own);
}

int main(int argc, char **argv)
{
    long *mem;
    MPI_Comm node;
    MPI_Win win;
    int n_node;

    mp_start(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &n_node);
    MPI_Comm_free(&node);
    if (n_node < mp_size)
        return mp_finish(); /* other hosts' locks are packets */
    MUST(MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                          &win));
    mem[0] = mem[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0)
        compute(mem);
    else
        others(win);
    MPI_Barrier(MPI_COMM_WORLD);
    created(win, mem);
    MUST(MPI_Win_free(&win));
    return mp_finish();
}
