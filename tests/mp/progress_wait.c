/* test: np=2 cfg=PROGRESS=thread|threads2,EAGER=rdma|sendrecv,SPIN=0us,CQ=auto|split timeout=90 */
/*
 * A call that waits lets the progress threads do the work: with DATUM_SPIN=0us it is they who find what comes.
 */
#include "counter.h"
#include "mp_test.h"

#define TURNS   40
#define COMPUTE 2e-3 /* seconds until the answer: the other one waits by then, as a rule */

/* Passes of the progress threads that did something. */
static long n_useful(void)
{
    return counter("progress thread: times woken: that found something") +
           counter("second progress thread: times woken: that found something");
}

static void compute(void)
{
    double start = MPI_Wtime();

    while (MPI_Wtime() - start < COMPUTE)
        ;
}

int main(int argc, char **argv)
{
    int provided, value = 0;
    long before;

    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    mp_start(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    before = n_useful();
    for (int i = 0; i < TURNS; i++) {
        if (mp_rank == 0) {
            MUST(MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
            MUST(MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(value == i + 1);
        } else {
            MUST(MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            compute();
            value++;
            MUST(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
        }
    }
    if (mp_rank == 0)
        CHECK(n_useful() > before);
    MUST(MPI_T_finalize());
    return mp_finish();
}
