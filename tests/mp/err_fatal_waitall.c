/* test: np=2 exit=nonzero warn=request.1:.message.truncated:.the.message.from.rank.1.with.tag.3 */
/*
 * Of several requests one fails, with the default error handler: the text says which one, and why.
 */
#include "mp_test.h"

int main(int argc, char **argv)
{
    char small[2], big[8] = "1234567";
    MPI_Request req[2];

    mp_start(&argc, &argv);
    if (mp_rank == 1) {
        MPI_Send(big, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
        MPI_Send(big, 8, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Irecv(&small[0], 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &req[0]);
        MPI_Irecv(&small[1], 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &req[1]);
        MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    }
    return mp_finish();
}
