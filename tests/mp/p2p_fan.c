/* test: np=36 timeout=60 */
/*
 * One rank with many peers, one after another: short and long messages with each, so that a
 * provider has to have all its connections at the same time.
 */
#include "p2p.h"

#define LONG 150000

static unsigned char out[LONG], in[LONG];

static void fill(int seed)
{
    for (size_t i = 0; i < LONG; i++)
        out[i] = byte_of(seed, i);
}

static void exchange(int peer, int seed, int expected)
{
    int sent = seed;
    int got = -1;

    MPI_Sendrecv(&sent, 1, MPI_INT, peer, 1, &got, 1, MPI_INT, peer, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_EQ(got, expected);
    fill(seed);
    MPI_Sendrecv(out, LONG, MPI_BYTE, peer, 2, in, LONG, MPI_BYTE, peer, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (size_t i = 0; i < LONG; i++)
        CHECK_EQ(in[i], byte_of(expected, i));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int round = 0; round < 2; round++) {
        if (me != 0)
            exchange(0, me + round, round - me);
        for (int peer = 1; me == 0 && peer < np; peer++)
            exchange(peer, round - peer, peer + round);
    }
    return end();
}
