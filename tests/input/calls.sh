#!/bin/bash
# test: timeout=60
# DATUM_STATS=calls: a profile of the MPI functions, of all processes.
. "$TEST_LIB"

cat >prog.c <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    double x[8] = {0}, sum[8];
    MPI_Request req;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 10; i++) {
        if (rank == 0)
            MPI_Send(x, 8, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(x, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        usleep(200000);
    MPI_Bcast(x, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Iallreduce(x, sum, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    if (rank == 0) {
        MPI_Ssend_c(x, 2, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        MPI_Send(x, -1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(x, 2, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
END
mpicc -o calls_prog prog.c || fail 'prog.c does not compile'
# row NAME CALLS BYTES
row() { grep -qE "^datum: $1 +$2 +$3 +[0-9.]+ +[0-9.]+ +[0-9.]+$" out || { grep "$1 " out; return 1; }; }
profile() {
    env DATUM_STATS=calls "$@" mpiexec -n 2 ./calls_prog >out 2>&1 || { cat out; return 1; }
    # An erroneous call counts, but has no bytes.
    row MPI_Send 11 640 && row MPI_Recv 11 656 && row MPI_Bcast 2 128 && row MPI_Iallreduce 2 48 &&
        row MPI_Wait 2 0 && row MPI_Ssend_c 1 16 && row MPI_Comm_rank 2 0 && grep -q '^datum: memory of the process' out
}
# Rank 1 waits for the message, or in the broadcast, while rank 0 sleeps.
waits() { awk '/^datum: MPI_Bcast / { exit !($5 >= 0.1 && $6 >= 0.1 && $6 <= $5) }' out; }
none() {
    env DATUM_STATS=yes mpiexec -n 2 ./calls_prog >out 2>&1
    cat out
    ! grep -q 'MPI_Send' out && grep -q 'memory of the process' out
}
check 'the profile' profile
check 'waiting' waits
cat >jumps.c <<'END'
#include <mpi.h>
#include <setjmp.h>
static jmp_buf back;
static void jump(MPI_Comm *comm, int *code, ...)
{
    longjmp(back, 1);
}
int main(int argc, char **argv)
{
    volatile int n = 0;
    MPI_Errhandler eh;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(jump, &eh);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, eh);
    setjmp(back);
    while (n++ < 5)
        MPI_Send(0, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
mpicc -o jumps jumps.c || fail 'jumps.c does not compile'
# A call whose error handler does not return has ended.
jumped() {
    env DATUM_STATS=calls mpiexec -n 1 ./jumps >out 2>&1 || { cat out; return 1; }
    row MPI_Send 5 0 && row MPI_Barrier 1 0
}
check 'error handlers that jump away' jumped
for how in DATUM_PROGRESS=thread DATUM_PROVIDER=datum-tcp; do
    check "$how" profile $how
done
check 'without calls' none
totals
