/* test: np=1,2 timeout=60 */
/*
 * Wrong arguments to the one-sided functions.
 */
#include "err_args.h"

#define W MPI_COMM_WORLD

static int buf[16], mem[16];

static void win_args(MPI_Win bad)
{
    MPI_Errhandler eh;
    MPI_Request req;
    MPI_Aint size;
    MPI_Group g;
    MPI_Info info;
    MPI_Win w;
    void *p;
    int flag;

    BAD(MPI_Get_accumulate(buf, 1, MPI_INT, buf, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, bad),
        MPI_ERR_WIN);
    BAD(MPI_Fetch_and_op(buf, buf, MPI_INT, 0, 0, MPI_SUM, bad), MPI_ERR_WIN);
    BAD(MPI_Compare_and_swap(buf, buf, buf, MPI_INT, 0, 0, bad), MPI_ERR_WIN);
    BAD(MPI_Rput(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, bad, &req), MPI_ERR_WIN);
    BAD(MPI_Rget(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, bad, &req), MPI_ERR_WIN);
    BAD(MPI_Raccumulate(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, bad, &req), MPI_ERR_WIN);
    BAD(MPI_Rget_accumulate(buf, 1, MPI_INT, buf, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, bad, &req),
        MPI_ERR_WIN);
    BAD(MPI_Win_attach(bad, mem, 4), MPI_ERR_WIN);
    BAD(MPI_Win_detach(bad, mem), MPI_ERR_WIN);
    BAD(MPI_Win_shared_query(bad, 0, &size, &flag, &p), MPI_ERR_WIN);
    BAD(MPI_Win_get_info(bad, &info), MPI_ERR_WIN);
    BAD(MPI_Put(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, bad), MPI_ERR_WIN);
    BAD(MPI_Get(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, bad), MPI_ERR_WIN);
    BAD(MPI_Accumulate(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, bad), MPI_ERR_WIN);
    BAD(MPI_Win_fence(0, bad), MPI_ERR_WIN);
    BAD(MPI_Win_start(MPI_GROUP_EMPTY, 0, bad), MPI_ERR_WIN);
    BAD(MPI_Win_complete(bad), MPI_ERR_WIN);
    BAD(MPI_Win_post(MPI_GROUP_EMPTY, 0, bad), MPI_ERR_WIN);
    BAD(MPI_Win_wait(bad), MPI_ERR_WIN);
    BAD(MPI_Win_test(bad, &flag), MPI_ERR_WIN);
    BAD(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, bad), MPI_ERR_WIN);
    BAD(MPI_Win_unlock(0, bad), MPI_ERR_WIN);
    BAD(MPI_Win_lock_all(0, bad), MPI_ERR_WIN);
    BAD(MPI_Win_unlock_all(bad), MPI_ERR_WIN);
    BAD(MPI_Win_flush(0, bad), MPI_ERR_WIN);
    BAD(MPI_Win_flush_all(bad), MPI_ERR_WIN);
    BAD(MPI_Win_sync(bad), MPI_ERR_WIN);
    BAD(MPI_Win_get_group(bad, &g), MPI_ERR_WIN);
    BAD(MPI_Win_get_attr(bad, MPI_WIN_BASE, &p, &flag), MPI_ERR_WIN);
    BAD(MPI_Win_set_errhandler(bad, MPI_ERRORS_RETURN), MPI_ERR_WIN);
    BAD(MPI_Win_get_errhandler(bad, &eh), MPI_ERR_WIN);
    w = bad;
    BAD(MPI_Win_free(&w), MPI_ERR_WIN);
}

static void creation(void)
{
    MPI_Win w;
    void *p;

    BAD(MPI_Win_create(mem, -1, 4, MPI_INFO_NULL, W, &w), MPI_ERR_SIZE);
    BAD(MPI_Win_create(mem, 4, 0, MPI_INFO_NULL, W, &w), MPI_ERR_DISP);
    BAD(MPI_Win_create(mem, 4, -4, MPI_INFO_NULL, W, &w), MPI_ERR_DISP);
    BAD(MPI_Win_create(mem, 4, 4, 17, W, &w), MPI_ERR_INFO);
    BAD(MPI_Win_create(mem, 4, 4, MPI_INFO_NULL, MPI_COMM_NULL, &w), MPI_ERR_COMM);
    BAD(MPI_Win_create(mem, 4, 4, MPI_INFO_NULL, freed_comm(), &w), MPI_ERR_COMM);
    BAD(MPI_Win_create(mem, 4, 4, MPI_INFO_NULL, W, NULL), MPI_ERR_ARG);
    BAD(MPI_Win_allocate(-1, 4, MPI_INFO_NULL, W, &p, &w), MPI_ERR_SIZE);
    BAD(MPI_Win_allocate(4, 0, MPI_INFO_NULL, W, &p, &w), MPI_ERR_DISP);
    BAD(MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_NULL, &p, &w), MPI_ERR_COMM);
    BAD(MPI_Win_allocate(4, 4, MPI_INFO_NULL, W, NULL, &w), MPI_ERR_ARG);
    BAD(MPI_Win_allocate_shared(-1, 4, MPI_INFO_NULL, W, &p, &w), MPI_ERR_SIZE);
    BAD(MPI_Win_allocate_shared(4, 0, MPI_INFO_NULL, W, &p, &w), MPI_ERR_DISP);
    BAD(MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_NULL, &p, &w), MPI_ERR_COMM);
    BAD(MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, W, NULL, &w), MPI_ERR_ARG);
    BAD(MPI_Win_create_dynamic(17, W, &w), MPI_ERR_INFO);
    BAD(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_NULL, &w), MPI_ERR_COMM);
    BAD(MPI_Win_create_dynamic(MPI_INFO_NULL, W, NULL), MPI_ERR_ARG);
    BAD(MPI_Alloc_mem(-1, MPI_INFO_NULL, &p), MPI_ERR_SIZE);
    BAD(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    BAD(MPI_Alloc_mem(8, 17, &p), MPI_ERR_INFO);
}

/* Inside an epoch, so that only the argument is wrong. */
static void transfers(MPI_Win w)
{
    MPI_Datatype uncommitted, stale = freed_type();
    MPI_Request req;
    MPI_Op op;

    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    MPI_Op_create(add_user, 1, &op);
    MUST(MPI_Win_fence(0, w));
    BAD(MPI_Put(buf, -1, MPI_INT, 0, 0, 1, MPI_INT, w), MPI_ERR_COUNT);
    BAD(MPI_Put(buf, 1, MPI_INT, 0, 0, -1, MPI_INT, w), MPI_ERR_COUNT);
    BAD(MPI_Put(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, w), MPI_ERR_BUFFER);
    BAD(MPI_Put(buf, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, w), MPI_ERR_TYPE);
    BAD(MPI_Put(buf, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, w), MPI_ERR_TYPE);
    BAD(MPI_Put(buf, 1, uncommitted, 0, 0, 1, MPI_INT, w), MPI_ERR_TYPE);
    BAD(MPI_Put(buf, 1, MPI_INT, 0, 0, 1, stale, w), MPI_ERR_TYPE);
    BAD(MPI_Put(buf, 1, MPI_INT, mp_size, 0, 1, MPI_INT, w), MPI_ERR_RANK);
    BAD(MPI_Put(buf, 1, MPI_INT, MPI_ANY_SOURCE, 0, 1, MPI_INT, w), MPI_ERR_RANK);
    BAD(MPI_Put(buf, 1, MPI_INT, 0, -1, 1, MPI_INT, w), MPI_ERR_DISP);
    BAD(MPI_Get(buf, -1, MPI_INT, 0, 0, 1, MPI_INT, w), MPI_ERR_COUNT);
    BAD(MPI_Get(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, w), MPI_ERR_BUFFER);
    BAD(MPI_Get(buf, 1, MPI_INT, -7, 0, 1, MPI_INT, w), MPI_ERR_RANK);
    BAD(MPI_Get(buf, 1, stale, 0, 0, 1, MPI_INT, w), MPI_ERR_TYPE);
    BAD(MPI_Accumulate(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, w), MPI_ERR_OP);
    BAD(MPI_Accumulate(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, op, w), MPI_ERR_OP);
    BAD(MPI_Accumulate(buf, 1, MPI_INT, mp_size, 0, 1, MPI_INT, MPI_SUM, w), MPI_ERR_RANK);
    BAD(MPI_Accumulate(buf, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, w), MPI_ERR_OP);
    BAD(MPI_Get_accumulate(NULL, 1, MPI_INT, buf, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, w),
        MPI_ERR_BUFFER);
    BAD(MPI_Get_accumulate(buf, 1, MPI_INT, NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, w),
        MPI_ERR_BUFFER);
    BAD(MPI_Get_accumulate(buf, -1, MPI_INT, buf, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, w),
        MPI_ERR_COUNT);
    BAD(MPI_Get_accumulate(buf, 1, stale, buf, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, w),
        MPI_ERR_TYPE);
    BAD(MPI_Get_accumulate(buf, 1, MPI_INT, buf, 1, uncommitted, 0, 0, 1, MPI_INT, MPI_SUM, w),
        MPI_ERR_TYPE);
    BAD(MPI_Get_accumulate(buf, 1, MPI_INT, buf, 1, MPI_INT, 0, 0, 1, MPI_INT, op, w), MPI_ERR_OP);
    BAD(MPI_Get_accumulate(buf, 2, MPI_INT, buf, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, w),
        MPI_ERR_TYPE);
    BAD(MPI_Fetch_and_op(NULL, buf, MPI_INT, 0, 0, MPI_SUM, w), MPI_ERR_BUFFER);
    BAD(MPI_Fetch_and_op(buf, NULL, MPI_INT, 0, 0, MPI_SUM, w), MPI_ERR_BUFFER);
    BAD(MPI_Fetch_and_op(buf, buf, MPI_INT, mp_size, 0, MPI_SUM, w), MPI_ERR_RANK);
    BAD(MPI_Fetch_and_op(buf, buf, MPI_INT, 0, 16, MPI_SUM, w), MPI_ERR_RMA_RANGE);
    BAD(MPI_Fetch_and_op(buf, buf, MPI_DOUBLE, 0, 0, MPI_BOR, w), MPI_ERR_OP);
    BAD(MPI_Compare_and_swap(buf, NULL, buf, MPI_INT, 0, 0, w), MPI_ERR_BUFFER);
    BAD(MPI_Compare_and_swap(buf, buf, buf, MPI_FLOAT, 0, 0, w), MPI_ERR_TYPE);
    BAD(MPI_Compare_and_swap(buf, buf, buf, MPI_INT, -5, 0, w), MPI_ERR_RANK);
    BAD(MPI_Compare_and_swap(buf, buf, buf, MPI_INT, 0, 16, w), MPI_ERR_RMA_RANGE);
    BAD(MPI_Rput(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, w, NULL), MPI_ERR_ARG);
    BAD(MPI_Rput(buf, 1, MPI_INT, 0, 0, 1, MPI_INT, w, &req), MPI_ERR_RMA_SYNC);
    BAD(MPI_Win_attach(w, mem, 4), MPI_ERR_RMA_FLAVOR);
    BAD(MPI_Win_detach(w, mem), MPI_ERR_RMA_FLAVOR);
    /* Beyond the end of the target's memory. */
    BAD(MPI_Put(buf, 1, MPI_INT, 0, 16, 1, MPI_INT, w), MPI_ERR_RMA_RANGE);
    BAD(MPI_Get(buf, 2, MPI_INT, 0, 15, 2, MPI_INT, w), MPI_ERR_RMA_RANGE);
    MUST(MPI_Put(buf, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w));
    MUST(MPI_Win_fence(0, w));
    MPI_Op_free(&op);
    MPI_Type_free(&uncommitted);
}

static void synchronization(MPI_Win w)
{
    BAD(MPI_Win_fence(1, w), MPI_ERR_ASSERT);
    BAD(MPI_Win_start(MPI_GROUP_NULL, 0, w), MPI_ERR_GROUP);
    BAD(MPI_Win_post(MPI_GROUP_NULL, 0, w), MPI_ERR_GROUP);
    BAD(MPI_Win_lock(7, 0, 0, w), MPI_ERR_LOCKTYPE);
    BAD(MPI_Win_lock(MPI_LOCK_SHARED, mp_size, 0, w), MPI_ERR_RANK);
    BAD(MPI_Win_lock(MPI_LOCK_SHARED, 0, 3, w), MPI_ERR_ASSERT);
    BAD(MPI_Win_unlock(mp_size, w), MPI_ERR_RANK);
    BAD(MPI_Win_test(w, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_Win w, stale, fresh;

    mp_start(&argc, &argv);
    errors_return();
    creation();
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, W, &w));
    MUST(MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN));
    transfers(w);
    synchronization(w);
    stale = w;
    MUST(MPI_Win_free(&w));
    CHECK(w == MPI_WIN_NULL);
    win_args(stale);
    win_args(MPI_WIN_NULL);
    for (int i = 0; i < N_NO_HANDLES; i++)
        win_args(no_handles[i]);
    /* What was refused has left no trace. */
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, W, &fresh));
    MUST(MPI_Win_free(&fresh));
    return mp_finish();
}
