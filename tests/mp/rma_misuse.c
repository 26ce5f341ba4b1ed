/* test: np=2 timeout=30 */
/*
 * Misuse of windows is told apart before anything is sent: ranges, epochs, wrong
 * arguments; the window works afterwards.
 */
#include "mp_test.h"

static void ranges(MPI_Win win, int *v)
{
    FAILS(MPI_Put(v, 1, MPI_INT, 1, 10, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(v, 2, MPI_INT, 1, 9, 2, MPI_INT, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Get(v, 1, MPI_INT, 1, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    FAILS(MPI_Accumulate(v, 1, MPI_INT, 1, 1 << 20, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(v, 1, MPI_INT, 2, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    FAILS(MPI_Put(v, -1, MPI_INT, 1, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    FAILS(MPI_Put(v, 1, MPI_DATATYPE_NULL, 1, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    FAILS(MPI_Put(v, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN);
    FAILS(MPI_Accumulate(v, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
}

/* Windows are for intracommunicators. */
static void between(void)
{
    MPI_Comm inter;
    MPI_Win win;
    int mem;
    void *p;

    MUST(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - mp_rank, 0, &inter));
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(MPI_Win_create(&mem, sizeof(mem), 4, MPI_INFO_NULL, inter, &win), MPI_ERR_COMM);
    FAILS(MPI_Win_allocate(sizeof(mem), 4, MPI_INFO_NULL, inter, &p, &win), MPI_ERR_COMM);
    FAILS(MPI_Win_allocate_shared(sizeof(mem), 4, MPI_INFO_NULL, inter, &p, &win), MPI_ERR_COMM);
    FAILS(MPI_Win_create_dynamic(MPI_INFO_NULL, inter, &win), MPI_ERR_COMM);
    MUST(MPI_Comm_free(&inter));
}

/* One process has no memory for its part: all hear of it. MPICH 4.0.2 lets the others wait. */
static void too_much(void)
{
    MPI_Aint size = mp_rank == 0 ? (MPI_Aint)1 << 60 : 8;
    MPI_Win win;
    void *p;

    if (!mp_is_library("MPICH"))
        FAILS(MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &p, &win), MPI_ERR_NO_MEM);
}

int main(int argc, char **argv)
{
    int mem[10] = {0}, v[2] = {1, 2};
    MPI_Group self;
    MPI_Win win;
    int flag;

    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    between();
    too_much();
    FAILS(MPI_Win_create(mem, -1, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
    FAILS(MPI_Win_create(mem, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
    MUST(MPI_Win_create(mem, sizeof(mem), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MPI_Comm_group(MPI_COMM_SELF, &self);

    FAILS(MPI_Put(v, 1, MPI_INT, 1, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock(1, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush(1, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock(77, 1, 0, win), MPI_ERR_LOCKTYPE);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 5, 0, win), MPI_ERR_RANK);

    MUST(MPI_Win_fence(0, win));
    ranges(win, v);
    MUST(MPI_Put(v, 2, MPI_INT, 1 - mp_rank, 8, 2, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(mem[9], 2);
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));

    MUST(MPI_Win_lock(MPI_LOCK_SHARED, 1 - mp_rank, 0, win));
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 1 - mp_rank, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Put(v, 1, MPI_INT, mp_rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    MUST(MPI_Win_unlock(1 - mp_rank, win));

    MUST(MPI_Win_post(self, 0, win));
    MUST(MPI_Win_start(self, 0, win));
    FAILS(MPI_Put(v, 1, MPI_INT, 1 - mp_rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_post(self, 0, win), MPI_ERR_RMA_SYNC);
    MUST(MPI_Win_complete(win));
    MUST(MPI_Win_wait(win));
    MPI_Group_free(&self);
    MUST(MPI_Win_free(&win));
    FAILS(MPI_Win_free(&win), MPI_ERR_WIN);
    return mp_finish();
}
