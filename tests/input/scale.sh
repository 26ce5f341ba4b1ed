#!/bin/sh
# test: timeout=180
# 64 processes: connections are made at first use, so that what a process holds grows
# with the peers that it talks to and not with the job; DATUM_STATS prints it.
. "$TEST_LIB"

cat >prog.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, got = -1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int d = 1; argc > 2 && d < size; d++) { /* too long for datagrams */
        int out[500] = {rank}, in[500];
        MPI_Sendrecv(out, 500, MPI_INT, (rank + d) % size, 0, in, 500, MPI_INT,
                     (rank + size - d) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in[0] != (rank + size - d) % size)
            got = -1;
    }
    if (argc > 1)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (got != (rank + size - 1) % size || (argc > 1 && sum != size * (size - 1) / 2))
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        printf("fine\n");
    MPI_Finalize();
    return 0;
}
END
mpicc -o prog prog.c || fail "mpicc does not build a program"

# most NAME: the largest value of a counter over the processes; mean NAME
most() {
    sed -n "s/^datum: *$1  *[0-9][0-9]*  *[0-9.][0-9.]*  *\([0-9][0-9]*\).*/\1/p" err | head -n 1
}
mean() {
    sed -n "s/^datum: *$1  *[0-9][0-9]*  *\([0-9][0-9]*\)[0-9.]*  *[0-9][0-9]*.*/\1/p" err | head -n 1
}
# at_most NAME LIMIT [mean]
at_most() {
    value=$("${3:-most}" "$1")
    [ -n "$value" ] || {
        cat err
        fail "no counter \"$1\""
    }
    [ "$value" -le "$2" ] || {
        cat err
        fail "$1: $value, more than $2"
    }
    pass_one
}

DATUM_STATS=1 timeout 120 mpiexec -n 64 ./prog >out 2>err || {
    cat err
    fail "64 processes do not run"
}
grep -q '^fine$' out || fail "64 processes: wrong data"
pass_one
# to two neighbours; who gathers the counters sends some, too
at_most 'datagrams' 200
grep -q 'peers connected  *[1-9]' err && fail "peers are connected for a few short messages"
pass_one
at_most 'memory per process' 300000
# Two neighbours, and who has counted already: of those below it in a tree of six levels a rank may have heard.
at_most 'memory of peers: objects' 30000
at_most 'memory of peers: objects' 12000 mean
at_most 'messages to the launcher' 30
at_most 'memory of the process (PSS)' 8000000

DATUM_STATS=1 timeout 120 mpiexec -n 64 ./prog all >out 2>err || fail "64 processes do not add up"
at_most 'datagrams' 300
grep -q 'peers connected  *[1-9]' err && fail "peers are connected for a message to each"
pass_one
DATUM_STATS=1 DATUM_CONNECT=start timeout 120 mpiexec -n 4 ./prog >out 2>err || fail "4 processes"
[ "$(most 'peers connected')" = 3 ] || fail "not all are connected at start"
pass_one

# everybody talks to everybody: two descriptors for each peer
DATUM_STATS=1 timeout 120 mpiexec -n 48 sh -c 'ulimit -n 140 && exec ./prog all everybody' >out 2>err || {
    cat err
    fail "48 processes that all talk want more than 140 descriptors each"
}
pass_one
# and a poll looks at the rings whose bits are set, and at the last one that had something
[ "$(most 'polls of many peers')" -gt 0 ] || fail "no poll of many peers is counted"
at_most 'rings looked at in one' 12
totals
