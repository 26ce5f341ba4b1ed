#!/bin/bash
# test: timeout=60
# A rank that crashes says so in one block: who it is, the signal, the address, the stack. The signal is still
# what ends it, and handlers of the program stay.
. "$TEST_LIB"

cat >prog.c <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void own(int signo)
{
    (void)signo;
    _exit(9);
}
int main(int argc, char **argv)
{
    const char *how = argv[1];
    int rank;
    if (strcmp(how, "own") == 0)
        signal(SIGSEGV, own);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && strcmp(how, "buffer") == 0)
        MPI_Send((void *)8, 100, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 1 && strcmp(how, "abort") == 0)
        abort();
    if (rank == 1 && strcmp(how, "own") == 0)
        *(volatile int *)8 = 1;
    if (rank == 0)
        MPI_Recv(&rank, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
END
mpicc -o crash_prog prog.c || fail 'prog.c does not compile'
ulimit -c 0
host=$(uname -n)

# crashes HOW STATUS: what it has said is in out
crashes() {
    timeout 20 mpiexec -n 2 ./crash_prog "$1" >out 2>&1
    rc=$?
    cat out
    [ $rc = "$2" ]
}
buffer() {
    crashes buffer 139 || return 1
    grep -q "^datum: \[rank 1 on $host\] error: process [0-9]*, got signal 11 (SIGSEGV): no memory is mapped, address 0x8; it was in$" out &&
        grep -q '^ *#[0-9]* P*MPI_Send+0x[0-9a-f]* (.*libmpi.so.12+0x' out &&
        grep -q '^ *#[0-9]* .*crash_prog+0x' out
}
aborts() {
    crashes abort 134 && grep -q 'error: process [0-9]*, got signal 6 (SIGABRT); it was in' out
}
stays() { crashes own 9 && ! grep -q 'got signal' out; }
check 'a bad buffer' buffer
check 'abort' aborts
check 'a handler of the program' stays
totals
