/* test: np=2 timeout=60 */
/*
 * More than 65536 messages one way without an answer, none of them expected, received last first: credits
 * are counted right and nothing is lost.
 */
#include "p2p.h"

#define N 70000

int main(int argc, char **argv)
{
    int value;
    MPI_Status st;

    begin(&argc, &argv);
    /* A little the other way before, for what answers carry. */
    if (me == 1)
        MPI_Send(&me, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &st);
    if (me == 0) {
        for (int i = 0; i < N; i++)
            MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
    } else {
        MPI_Probe(0, N - 1, MPI_COMM_WORLD, &st);
        for (int i = N - 1; i >= 0; i--) {
            MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, &st);
            CHECK_EQ(value, i);
        }
    }
    return end();
}
