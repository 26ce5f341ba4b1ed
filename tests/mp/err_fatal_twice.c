/* test: np=1,2 exit=15 timeout=20 warn=MPI_Init..:.other.error:.it.was.called.before */
/*
 * MPI_Init a second time.
 */
#include "mp_test.h"

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Init(&argc, &argv);
    return 0;
}
