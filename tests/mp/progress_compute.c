/* test: np=2,3 cfg=PROGRESS=thread|threads2,EAGER=rdma|sendrecv timeout=90 */
/*
 * Progress while the program computes: processes read the clock and look at memory, without calls of
 * MPI, until something is there that only progress on their own side can bring.
 */
#include "mp_test.h"

#ifndef LEVEL
#define LEVEL MPI_THREAD_SINGLE
#endif

#define LIMIT  20.0 /* seconds until it is called a failure */
#define LARGE  (1 << 20)
#define BLOCKS 7

/* Compute until *at is want. */
static MP_LOOKS void compute_until(const volatile double *at, double want, const char *what)
{
    double start = MPI_Wtime();

    while (*at != want && MPI_Wtime() - start < LIMIT)
        ;
    if (*at != want)
        fprintf(stderr, "rank %d: no progress: %s\n", mp_rank, what);
    CHECK(*at == want);
}

/* Rank 0 computes; the others add to every second double of its memory. */
static void accumulate_to_computing(void)
{
    double mem[2 * BLOCKS], ones[BLOCKS];
    MPI_Datatype every2;
    MPI_Win win;

    for (int i = 0; i < 2 * BLOCKS; i++)
        mem[i] = 0;
    for (int i = 0; i < BLOCKS; i++)
        ones[i] = 1;
    MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &every2);
    MPI_Type_commit(&every2);
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0) {
        compute_until(&mem[2 * (BLOCKS - 1)], 5.0 * (mp_size - 1), "accumulate of a derived type");
    } else {
        for (int i = 0; i < 5; i++) {
            MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            MUST(MPI_Accumulate(ones, BLOCKS, MPI_DOUBLE, 0, 0, 1, every2, MPI_SUM, win));
            MUST(MPI_Win_unlock(0, win));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0) {
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        for (int i = 0; i < 2 * BLOCKS - 1; i++)
            CHECK(mem[i] == (i % 2 == 0 ? 5.0 * (mp_size - 1) : 0));
        MUST(MPI_Win_unlock(0, win));
    }
    MPI_Win_free(&win);
    MPI_Type_free(&every2);
}

/* Read, add, write under a lock; flushes in between. */
static void locks_of_computing(void)
{
    double *mem;
    MPI_Win win;

    MUST(MPI_Win_allocate(2 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                          &win));
    mem[0] = mem[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0) {
        compute_until(&mem[0], 10.0 * (mp_size - 1), "lock, get, flush, put, unlock");
    } else {
        for (int i = 0; i < 10; i++) {
            double v = -1;

            MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MUST(MPI_Get(&v, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win));
            MUST(MPI_Win_flush(0, win));
            v++;
            MUST(MPI_Put(&v, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win));
            MUST(MPI_Win_unlock(0, win));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

/* A rendezvous to one that computes, and from one that computes. */
static void large_messages(void)
{
    double *buf = malloc(LARGE * sizeof(double));
    MPI_Request req;

    CHECK(buf != NULL);
    if (buf == NULL)
        return;
    for (int i = 0; i < LARGE; i++)
        buf[i] = mp_rank == 0 ? 0 : mp_rank + i % 1000;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int from = 1; from < mp_size; from++) {
        if (mp_rank == 0) {
            MUST(MPI_Irecv(buf, LARGE, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, &req));
            /* the last byte need not come last: a short message follows and tells nothing */
            compute_until(&buf[LARGE - 1], from + (LARGE - 1) % 1000, "large message to receive");
            MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
            for (int i = 0; i < LARGE; i += 997)
                CHECK(buf[i] == from + i % 1000);
        } else if (mp_rank == from) {
            MUST(MPI_Send(buf, LARGE, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(buf);
}

/* The sender computes; the receiver tells by a one-sided update that it has everything. */
static void large_from_computing(void)
{
    double *buf = calloc(LARGE, sizeof(double));
    double flag = 0, one = 1;
    MPI_Request req;
    MPI_Win win;

    CHECK(buf != NULL);
    if (buf == NULL)
        return;
    MUST(MPI_Win_create(&flag, sizeof(flag), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0) {
        buf[LARGE - 1] = 42;
        MUST(MPI_Isend(buf, LARGE, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &req));
        compute_until(&flag, 1, "large message to send");
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    } else if (mp_rank == 1) {
        MUST(MPI_Recv(buf, LARGE, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(buf[LARGE - 1] == 42);
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        MUST(MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, win));
        MUST(MPI_Win_unlock(0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    free(buf);
}

/* Nonblocking collectives of many steps come to their end. */
static void collectives(void)
{
    int n = 40000;
    double *in = malloc((size_t)n * sizeof(double));
    double *out = calloc((size_t)n, sizeof(double));
    MPI_Request req;

    CHECK(in != NULL && out != NULL);
    for (int i = 0; in != NULL && i < n; i++)
        in[i] = 1 + mp_rank;
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &req));
    compute_until(&out[n - 1], mp_size * (mp_size + 1) / 2.0, "Iallreduce, the end");
    compute_until(&out[0], mp_size * (mp_size + 1) / 2.0, "Iallreduce, the beginning");
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    if (mp_rank == mp_size - 1)
        out[n - 1] = 7;
    MUST(MPI_Ibcast(out, n, MPI_DOUBLE, mp_size - 1, MPI_COMM_WORLD, &req));
    compute_until(&out[n - 1], 7, "Ibcast");
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    free(in);
    free(out);
}

/* A chain of them behind one that has computed: nobody calls MPI until it is through. */
static void chain(void)
{
    double in[3] = {1, 2, 3}, out[3] = {0, 0, 0}, all[16] = {0};
    MPI_Request req[3];

    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Iallreduce(in, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &req[0]));
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &req[1]));
    MUST(MPI_Iallgather(&in[1], 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD, &req[2]));
    compute_until(&out[2], 3.0 * mp_size, "small Iallreduce");
    for (int i = 0; i < mp_size; i++)
        compute_until(&all[i], 2, "Iallgather");
    MUST(MPI_Waitall(3, req, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    int want = LEVEL;
    int level = -1;

    MPI_Init_thread(&argc, &argv, want, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK(level >= want);
    for (int round = 0; round < 3; round++) {
        accumulate_to_computing();
        locks_of_computing();
        large_messages();
        large_from_computing();
        collectives();
        chain();
    }
    return mp_finish();
}
