#!/bin/bash
# test: timeout=180 beside=yes
# Processes that wait for each other say so, once, with what each waits for; those that only wait for long say nothing.
. "$TEST_LIB"

mpicc -O1 -o deadlock_prog "$TEST_SRC/tests/input/deadlock.c" || fail 'deadlock.c does not compile'
host=$(uname -n)
export DATUM_DEADLOCK=300ms

# found HOW LINE...: the message has these lines, each of them once, and there is one message
found() {
    local how=$1 line rc=0 i
    shift
    : >out # what the program before said is not taken for this one's
    mpiexec -n 3 ./deadlock_prog "$how" >out 2>&1 &
    for ((i = 0; i < 300; i++)); do
        grep -q 'DATUM_DEADLOCK=0' out && break
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    sleep 1 # others would speak now, too
    kill $!
    wait $!
    cat out
    [ "$(grep -c ' warning: deadlock: ' out)" = 1 ] || rc=1
    for line; do
        [ "$(grep -cE "^    rank $line" out)" = 1 ] || { echo "not there once: $line"; rc=1; }
    done
    return $rc
}
world='of MPI_COMM_WORLD'
for provider in datum-shm datum-tcp; do
    export DATUM_PROVIDER=$provider
    check "$provider: a ring of receives" found recv "0 on $host is in MPI_Recv and waits for a message from rank 1 $world, tag 5 \\(count 1, MPI_INT\\)$" \
        '1 .* from rank 2 ' '2 .* from rank 0 '
    check "$provider: a long message" found send "0 .* MPI_Send .* its message of 1048576 bytes to be received by rank 1 $world, tag 5 \\(count 1048576, MPI_BYTE\\)$" '1 ' '2 '
    check "$provider: MPI_Finalize" found finalize '0 .* MPI_Recv .* from rank 1 ' \
        '1 on .* has called MPI_Finalize and waits for '
done
unset DATUM_PROVIDER
check 'any source' found any "0 .* any rank $world, any tag \\(count 1, MPI_INT\\)$" '1 ' '2 '
check 'a synchronous send' found ssend '0 .* MPI_Ssend ' '1 ' '2 '
check 'a probe' found probe '0 .* MPI_Probe ' '1 ' '2 '
check 'one of several requests' found waitany '0 .* MPI_Waitany and waits for one of 2 requests: a message from ' '1 ' '2 '
check 'two of three' found two '0 ' '1 '
check 'a barrier by messages' found barrier '0 .* MPI_Recv ' "1 .* MPI_Barrier and waits for a message from rank 0 $world"
export DATUM_COLL_SHM=yes
check 'a barrier and a receive' found barrier '0 .* MPI_Recv ' "1 .* MPI_Barrier and waits for rank 0 $world"
# Calls that are watched go another way, which the loader has no name for.
DATUM_CHECK=all
export DATUM_CHECK
check 'a barrier and a receive, DATUM_CHECK' found barrier '0 .* is in MPI_Recv ' '1 .* is in MPI_Barrier '
check 'a file and another communicator, DATUM_CHECK' found file "0 .* is in MPI_File_open and waits for .*rank 1 $world" \
    '1 .* is in MPI_Barrier and waits for .*rank 0 of the communicator '
check 'in a call in a callback' found inner '0 .* is in MPI_Recv ' '1 .* is in MPI_Barrier '
unset DATUM_CHECK
check 'in a call in a callback, not watched' found inner '0 .* is in MPI_Recv ' '1 .* is in MPI_Barrier '
DATUM_STATS=calls
export DATUM_STATS
check 'a barrier and a receive, counted' found barrier '0 .* is in MPI_Recv ' "1 .* is in MPI_Barrier and waits for rank 0 $world"
# Rank 1 combines what rank 0 has sent, in a function that calls MPI, and waits for rank 2.
DATUM_COLL=allreduce=doubling DATUM_COLL_SHM=no
export DATUM_COLL DATUM_COLL_SHM
check 'after a call in a callback' found outer '1 .* is in MPI_Allreduce and ' '2 .* is in MPI_Recv '
unset DATUM_STATS DATUM_COLL DATUM_COLL_SHM
check 'without sleep' env DATUM_PROGRESS=poll bash -c "$(declare -f found); host=$host; found recv '0 ' '1 ' '2 '"

silent() { # HOW [VARIABLE=VALUE]...
    env "${@:2}" mpiexec -n 3 ./deadlock_prog "$1" >out 2>&1
    rc=$?
    cat out
    [ $rc = 0 ] && [ ! -s out ]
}
for how in late late_barrier looking; do
    check "$how" silent $how
done
check 'switched off' eval '! DATUM_DEADLOCK=0 timeout 3 mpiexec -n 3 ./deadlock_prog recv >out 2>&1 && ! grep -q "deadlock:" out'
totals
