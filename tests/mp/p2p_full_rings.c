/* test: np=40 prov=datum-shm cfg=CONNECT=demand timeout=60 */
/*
 * Many connect to one at the same time: the queue of events has to grow meanwhile, and no pair gets smaller
 * rings than others have.
 */
#include <stdint.h>
#include <string.h>

#include "counter.h"
#include "mp_test.h"

enum {
    LEN = 4000 /* more than goes without a connection */,
    MANY = 200 /* short ones, more than a ring holds */
};

static char out[LEN], in[LEN];

static void send_all(void)
{
    MUST(MPI_Send(out, LEN, MPI_CHAR, 0, 1, MPI_COMM_WORLD));
    for (int i = 0; i < MANY; i++)
        MUST(MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
}

static void receive_all(void)
{
    int got[64] = {0}, value;
    MPI_Status status;

    for (int i = 1; i < mp_size; i++) {
        MUST(MPI_Recv(in, LEN, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status));
        CHECK_EQ(in[0], status.MPI_SOURCE);
        CHECK_EQ(in[LEN - 1], status.MPI_SOURCE);
    }
    for (int i = 0; i < MANY * (mp_size - 1); i++) {
        MUST(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status));
        CHECK_EQ(value, got[status.MPI_SOURCE]++);
    }
}

static uint64_t rings_of_one(void)
{
    uint64_t n = counter("peers connected");

    return n > 0 ? counter("memory of peers: rings") / n : 0;
}

int main(int argc, char **argv)
{
    uint64_t mine, most;
    int level;

    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    mp_start(&argc, &argv);
    CHECK(mp_size <= 64);
    memset(out, mp_rank, LEN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0)
        receive_all();
    else
        send_all();
    mine = rings_of_one();
    MUST(MPI_Allreduce(&mine, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD));
    CHECK(mine > 0);
    CHECK_EQ(mine, most);
    MUST(MPI_T_finalize());
    return mp_finish();
}
