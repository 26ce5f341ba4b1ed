/* test: np=1,2,4 cfg=RMA=auto|emulated,RMA_UPDATE=auto|yes timeout=60 */
/*
 * Request forms: a request is complete when its buffers may be used again and what was asked
 * for is there; all completion calls; large and derived data; only under a lock.
 */
#include "mp_test.h"

#define N 4000

static long *mem;

static void put_get(MPI_Win win, int target)
{
    static long src[N], dst[N];
    MPI_Request req[2];
    MPI_Status st;
    int flag = 0;

    for (int i = 0; i < N; i++)
        src[i] = mp_rank * 100000 + i;
    MUST(MPI_Rput(src, N, MPI_LONG, target, mp_rank * N, N, MPI_LONG, win, &req[0]));
    CHECK(req[0] != MPI_REQUEST_NULL);
    MUST(MPI_Wait(&req[0], &st));
    CHECK(req[0] == MPI_REQUEST_NULL);
    /* complete at the origin: its buffer is free */
    memset(src, 0, sizeof(src));
    MUST(MPI_Win_flush(target, win));
    MUST(MPI_Rget(dst, N, MPI_LONG, target, mp_rank * N, N, MPI_LONG, win, &req[0]));
    while (!flag)
        MUST(MPI_Test(&req[0], &flag, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; i++)
        CHECK_EQ(dst[i], mp_rank * 100000 + i);
    /* a request may outlive what it waited for */
    MUST(MPI_Rget_c(dst, 1, MPI_LONG, target, mp_rank * N, 1, MPI_LONG, win, &req[0]));
    MUST(MPI_Rput_c(src, 1, MPI_LONG, target, mp_rank * N, 1, MPI_LONG, win, &req[1]));
    MUST(MPI_Win_flush_all(win));
    MUST(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
}

static void accumulates(MPI_Win win, int target)
{
    enum { M = 1500 };
    static long one[M], old[2 * M];
    MPI_Datatype every2;
    MPI_Request req[3];
    int index, n;

    MPI_Type_vector(M, 1, 2, MPI_LONG, &every2);
    MPI_Type_commit(&every2);
    for (int i = 0; i < M; i++) {
        one[i] = 1 + i;
        old[2 * i] = old[2 * i + 1] = -1;
    }
    /* my row of the target's part is mine alone */
    MUST(MPI_Rput(one, M, MPI_LONG, target, mp_rank * N, M, MPI_LONG, win, &req[0]));
    MUST(MPI_Waitany(1, req, &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, 0);
    MUST(MPI_Win_flush(target, win));
    MUST(
        MPI_Raccumulate(one, M, MPI_LONG, target, mp_rank * N, M, MPI_LONG, MPI_SUM, win, &req[0]));
    MUST(MPI_Rget_accumulate(one, M, MPI_LONG, old, 1, every2, target, mp_rank * N, M, MPI_LONG,
                             MPI_PROD, win, &req[1]));
    MPI_Type_free(&every2);
    MUST(MPI_Wait(&req[1], MPI_STATUS_IGNORE));
    for (int i = 0; i < M; i++)
        CHECK_EQ(old[2 * i], 2 * (1 + i));
    CHECK_EQ(old[1], -1);
    MUST(MPI_Wait(&req[0], MPI_STATUS_IGNORE));
    MUST(MPI_Rget_accumulate_c(NULL, 0, MPI_LONG, old, M, MPI_LONG, target, mp_rank * N, M,
                               MPI_LONG, MPI_NO_OP, win, &req[0]));
    MUST(MPI_Raccumulate_c(one, 0, MPI_LONG, target, mp_rank * N, 0, MPI_LONG, MPI_SUM, win,
                           &req[1]));
    req[2] = MPI_REQUEST_NULL;
    for (int left = 2; left > 0; left -= n) {
        int indices[3];

        MUST(MPI_Waitsome(3, req, &n, indices, MPI_STATUSES_IGNORE));
        CHECK(n > 0);
        if (n <= 0)
            break;
    }
    for (int i = 0; i < M; i++)
        CHECK_EQ(old[i], 2L * (1 + i) * (1 + i));
}

/* Many at once, with several targets, waited for together. */
static void many(MPI_Win win)
{
    enum { K = 200 };
    MPI_Request req[2 * K];
    long v[K], old[K];

    for (int i = 0; i < K; i++) {
        int target = (mp_rank + i) % mp_size;

        v[i] = 1;
        old[i] = -1;
        MUST(MPI_Raccumulate(&v[i], 1, MPI_LONG, target, 4L * N + 1, 1, MPI_LONG, MPI_SUM, win,
                             &req[2 * i]));
        MUST(MPI_Rget_accumulate(&v[i], 1, MPI_LONG, &old[i], 1, MPI_LONG, target, 4L * N + 2, 1,
                                 MPI_LONG, MPI_SUM, win, &req[2 * i + 1]));
    }
    MUST(MPI_Waitall(2 * K, req, MPI_STATUSES_IGNORE));
    for (int i = 0; i < K; i++) {
        CHECK(old[i] >= 0 && old[i] < (long)K * mp_size);
        /* to one target in order: the old values rise */
        if (i >= mp_size)
            CHECK(old[i] > old[i - mp_size]);
    }
    MUST(MPI_Win_flush_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_sync(win));
    CHECK_EQ(mem[4 * N + 1], K);
    CHECK_EQ(mem[4 * N + 2], K);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void null_and_wrong(MPI_Win win)
{
    MPI_Request req = MPI_REQUEST_NULL;
    long v = 0;

    MUST(MPI_Rput(&v, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Rget(&v, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Raccumulate(&v, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Rget_accumulate(&v, 1, MPI_LONG, &v, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG,
                             MPI_SUM, win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    FAILS(MPI_Rput(&v, 1, MPI_LONG, mp_size, 0, 1, MPI_LONG, win, &req), MPI_ERR_RANK);
    FAILS(MPI_Rput(&v, -1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &req), MPI_ERR_COUNT);
    if (!mp_is_library("MPICH")) {
        FAILS(MPI_Rget(&v, 1, MPI_LONG, 0, 1 << 20, 1, MPI_LONG, win, &req), MPI_ERR_RMA_RANGE);
        FAILS(MPI_Rput(&v, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, NULL), MPI_ERR_ARG);
    }
}

/* Outside a passive target epoch, and in those that are none. */
static void wrong_epoch(MPI_Win win)
{
    MPI_Request req = MPI_REQUEST_NULL;
    long v = 0;

    FAILS(MPI_Rput(&v, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &req), MPI_ERR_RMA_SYNC);
    if (mp_is_library("MPICH"))
        return;
    MUST(MPI_Win_fence(0, win));
    FAILS(MPI_Rput(&v, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &req), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Rget(&v, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &req), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Raccumulate(&v, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win, &req),
          MPI_ERR_RMA_SYNC);
    FAILS(MPI_Rget_accumulate(&v, 1, MPI_LONG, &v, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win,
                              &req),
          MPI_ERR_RMA_SYNC);
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    if (mp_size > 1)
        FAILS(MPI_Rput(&v, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win, &req), MPI_ERR_RMA_SYNC);
    MUST(MPI_Win_unlock(0, win));
}

static void run(MPI_Win win)
{
    MPI_Request req;
    long v = 5;

    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(mem, 0, (4 * N + 10) * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    wrong_epoch(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int t = 0; t < mp_size; t++) {
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, win));
        put_get(win, t);
        MUST(MPI_Win_unlock(t, win));
    }
    MUST(MPI_Win_lock_all(0, win));
    for (int t = 0; t < mp_size; t++)
        accumulates(win, t);
    many(win);
    null_and_wrong(win);
    MUST(MPI_Rput(&v, 1, MPI_LONG, mp_rank, 4L * N + 5, 1, MPI_LONG, win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Win_unlock_all(win));
    CHECK_EQ(mem[4 * N + 5], 5);
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    static long own[4 * N + 10];
    MPI_Win win;

    mp_start(&argc, &argv);
    mem = own;
    MUST(MPI_Win_create(mem, sizeof(own), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    run(win);
    MUST(MPI_Win_allocate(sizeof(own), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    run(win);
    return mp_finish();
}
