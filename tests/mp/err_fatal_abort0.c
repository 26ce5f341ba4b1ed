/* test: np=0,2 exit=nonzero timeout=20 warn=MPI_Abort.MPI_COMM_SELF,.0..was.called */
/*
 * MPI_Abort is no success even with code 0.
 */
#include "mp_test.h"

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Abort(MPI_COMM_SELF, 0);
    return 0;
}
