#!/bin/bash
# test: timeout=120
# 64 ranks on 4 hosts, shared memory inside a host and the network between: a ring and a sum. What
# each of them holds and sends is bounded.
. "$TEST_SRC/tests/hosts/lib.sh"
. "$TEST_LIB"
hosts_enter "$@"
cat >prog.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0, got[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 3; round++) {
        got[0] = rank;
        MPI_Sendrecv_replace(got, 64, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (got[0] != (rank + size - 1) % size)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (argc > 1)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 1 && sum != size * (size - 1) / 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0)
        printf("fine\n");
    MPI_Finalize();
    return 0;
}
END
mpicc -O1 -o prog prog.c || fail 'prog.c does not compile'

# of COLUMN NAME [RAIL]: the least (1), the mean (2) or the most (3) of a counter, whole; of the counters
# of a rail, its row in that part
of() {
    sed -n "${3:+/rail $3: records/,/rail $((${3:-0} + 1)): records/}s/^datum: *$2  *\([0-9][0-9]*\)  *\([0-9]*\)\(\.[0-9]*\)*  *\([0-9][0-9]*\).*/\1 \2 \4/p" \
        err | head -n 1 | cut -d ' ' -f "$1"
}
# between NAME LEAST MOST [RAIL [COLUMN]]: the most is, or what that column has
between() {
    local value
    value=$(of "${5:-3}" "$1" "${4:-}")
    check "$1${4:+ of rail $4}: ${value:-none}, not $2 to $3" [ "${value:--1}" -ge "$2" -a "${value:--1}" -le "$3" ]
}
run() { # ARGUMENT...
    local t0=${EPOCHREALTIME/./}
    on_host h1 env DATUM_STATS=1 timeout 55 mpiexec -ppn 16 -n 64 ./prog "$@" >out 2>err || {
        tail -n 20 err
        fail "64 ranks: exit status $?"
    }
    check '64 ranks: the answer' grep -q '^fine$' out
    echo "64 ranks${1:+, $1}: $(((${EPOCHREALTIME/./} - t0) / 1000)) ms"
}

hosts_make 4
run
check 'rail 0 is shared memory' grep -q 'rail 0 of rank 0: datum-shm' err
check 'rail 1 is the network' grep -q 'rail 1 of rank 0: datum-tcp' err
# The ring's two neighbours; where counters are gathered some more.
between 'peers connected' 2 9
between 'messages to the launcher' 2 30
between 'memory per process' 1 300000
# Rank 0 may have been asked for connections meanwhile that are not counted yet.
between 'memory of peers: objects' 1 60000
between 'memory of peers: objects' 1 12000 '' 2
between 'memory of the process (PSS)' 1 12000000
between 'rail 1: records' 3 100
between 'in records' 300 60000 1
grep -v '^fine' err >ring.stats

run all
between 'peers connected' 2 16
[ $n_failed = 0 ] || head -n 48 ring.stats

totals
