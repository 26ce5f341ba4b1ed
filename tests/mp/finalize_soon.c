/* test: np=8 prov=datum-shm timeout=30 */
/*
 * MPI_Finalize does not wait for what nobody will say: after waits in which processes slept
 * and were woken it takes little of the processor.
 */
#include <time.h>

#include "mp_test.h"

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    double start;

    mp_start(&argc, &argv);
    for (int i = 0; i < 1000; i++)
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    start = cpu_ms();
    MPI_Finalize();
    CHECK(cpu_ms() - start < 40);
    return mp_failures != 0;
}
