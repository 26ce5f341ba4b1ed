/* test: np=1,2 timeout=300 tier=full */
/*
 * A million communicators at a time. When ids run out that is an error, and freed ones can be used
 * again, the same number of them. Communicators of one process need no id that others must agree to.
 */
#include "mp_test.h"

#define MOST  1100000
#define LEAST 1000000

int main(int argc, char **argv)
{
    MPI_Comm *comms = malloc(MOST * sizeof(*comms));
    int n[2];

    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 2; round++) {
        n[round] = 0;
        while (n[round] < MOST && MPI_Comm_dup(MPI_COMM_WORLD, &comms[n[round]]) == MPI_SUCCESS)
            n[round]++;
        CHECK(n[round] >= LEAST);
        CHECK(n[round] < MOST || mp_size == 1);
        for (int i = 0; i < n[round]; i++)
            MUST(MPI_Comm_free(&comms[i]));
    }
    CHECK_EQ(n[0], n[1]);
    free(comms);
    return mp_finish();
}
