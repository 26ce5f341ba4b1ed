#!/bin/bash
# test: timeout=240
# DATUM_PROGRESS: nobody burns a core while he waits, what is said of it, a thread beside fork,
# a peer that dies, and programs that handle that.
. "$TEST_LIB"

mpicc -O1 -o idle "$TEST_SRC/tests/input/idle.c" || fail "idle.c does not compile"
mpicc -O1 -o lost "$TEST_SRC/tests/input/lost.c" || fail "lost.c does not compile"
cases=$(./lost) && [ -n "$cases" ] || fail "lost has no cases"

# idle N SECONDS [WHAT]: each rank says how much time it took; at most 5 %
idle() {
    n=$1
    shift
    timeout 60 mpiexec -n "$n" ./idle "$@" >said 2>&1
    rc=$?
    awk -v n="$n" '/ used /  { k++; if ($4 > 5) bad = 1 } END { exit bad || k != n }' said && return $rc
    cat said
    return 1
}

for progress in wait threads2 thread; do
    export DATUM_PROGRESS=$progress
    check "idle, $progress" idle 2 2
    check "idle, $progress, by send and receive" env DATUM_EAGER=sendrecv bash -c \
        "$(declare -f idle); idle 3 1"
    check "idle, $progress, on demand" env DATUM_CONNECT=demand bash -c "$(declare -f idle); idle 3 1"
done
# More ranks than cores: who waits sleeps until it is woken. A look each millisecond costs others the core.
seldom() {
    timeout 60 taskset -c 0 mpiexec -n 6 ./idle 2 >said 2>&1
    rc=$?
    awk '/ sleeps a second/ { k++; if ($6 > 200) bad = 1 } END { exit bad || k != 6 }' said && return $rc
    cat said
    return 1
}
for provider in datum-shm datum-tcp; do
    check "idle, more ranks than cores, $provider" env -u DATUM_PROGRESS DATUM_PROVIDER=$provider bash -c \
        "$(declare -f seldom); seldom"
done
check 'fork' idle 2 1 fork
check 'explained' says 'progress: as adaptive, and a thread .*\(DATUM_PROGRESS\)' \
    env DATUM_EXPLAIN=1 mpiexec -n 2 ./idle 0
check 'counted' says 'progress thread: times woken +[0-9]+ .* +[1-9]' \
    env DATUM_STATS=1 mpiexec -n 2 ./idle 1
check 'counted, two' says 'second progress thread: times woken +[0-9]+ .* +[1-9]' \
    env DATUM_PROGRESS=threads2 DATUM_STATS=1 mpiexec -n 2 ./idle 1
check 'explained, two' says 'progress: as adaptive, and two threads .*\(DATUM_PROGRESS\)' \
    env DATUM_PROGRESS=threads2 DATUM_EXPLAIN=1 mpiexec -n 2 ./idle 0
check 'one process' says 'rank 0 used' mpiexec -n 1 ./idle 0
a_peer_dies() {
    timeout 30 mpiexec -n 3 ./idle 20 die >said 2>&1
    rc=$?
    [ $rc != 0 ] && [ $rc != 124 ] && grep -q 'rank 1 .* \(is gone\|ended\)' said && return 0
    cat said
    return 1
}
check 'a peer dies' a_peer_dies
check 'explained, adaptive' says 'progress: .*\(the default' \
    env -u DATUM_PROGRESS DATUM_EXPLAIN=1 mpiexec -n 2 ./idle 0
wrong_word() {
    DATUM_PROGRESS=fast mpiexec -n 1 ./idle 0 >said 2>&1 && return 1
    grep -q 'DATUM_PROGRESS.*poll|adaptive|wait|thread|threads2' said || { cat said; return 1; }
}
check 'a wrong word' wrong_word
check 'poll' says 'rank 1 used' env DATUM_PROGRESS=poll mpiexec -n 2 ./idle 0

for case in $cases; do
    rm -f said
    timeout 12 mpiexec -n 2 ./lost $case "$PWD/said" >out 2>err
    if [ "$(cat said 2>/dev/null)" = "$case is fine" ]; then
        pass_one
    else
        fail_one "$case is handled, thread"
        cat said out err
    fi
done
totals
