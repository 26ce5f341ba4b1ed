/* test: np=2 timeout=60 */
/*
 * A message that is read is over for its sender when it has been received, whatever the receiver does
 * then: after many that were answered at once, one whose receiver computes.
 */
#include "mp_test.h"

#include <stdlib.h>

#define LEN    (256 << 10)
#define ROUNDS 100
#define AWAY   2.0 /* seconds without a call of MPI, */
#define LIMIT  1.0 /* and those that the sender may wait */

static void compute(double seconds)
{
    double start = MPI_Wtime();

    while (MPI_Wtime() - start < seconds)
        ;
}

static void pingpong(char *buf)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (mp_rank == 0)
            MUST(MPI_Send(buf, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        MUST(MPI_Recv(buf, LEN, MPI_BYTE, 1 - mp_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (mp_rank == 1)
            MUST(MPI_Send(buf, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv)
{
    double start;
    char *buf;

    mp_start(&argc, &argv);
    buf = calloc(1, LEN);
    for (int i = 0; i < 2; i++) {
        pingpong(buf);
        start = MPI_Wtime();
        if (mp_rank == 0) {
            MUST(MPI_Send(buf, LEN, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
            CHECK(MPI_Wtime() - start < LIMIT);
        } else {
            MUST(MPI_Recv(buf, LEN, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            compute(AWAY);
        }
    }
    free(buf);
    return mp_finish();
}
