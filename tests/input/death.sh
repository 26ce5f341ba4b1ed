#!/bin/bash
# test: timeout=180
# Ranks that die or leave: the job ends within 5 seconds, the message names rank and
# host, and no process of it is left.
. "$TEST_LIB"

src=$TEST_SRC/tests/input
for name in traffic locked; do
    mpicc -O1 -o $name "$src/$name.c" || fail "$name.c does not compile"
done
prog=$PWD/traffic
host=$(uname -n)

# wait until the job has done a round: "running" in its output
await() {
    for ((i = 0; i < 200; i++)); do
        grep -q running out && return
        sleep 0.1
    done
    cat out err
    fail "$1: the job does not start"
}
# ended NAME PID: within 5 seconds, and nothing is left
ended() {
    local start=$SECONDS
    while kill -0 "$2" 2>/dev/null; do
        ((SECONDS - start < 6)) || {
            pgrep -af "$prog"
            cat err
            fail "$1: the job still runs after 5 seconds"
        }
        sleep 0.05
    done
    wait "$2"
    rc=$?
    for ((i = 0; i < 20; i++)); do
        pgrep -f "$prog" >/dev/null || break
        sleep 0.1
    done
    ! pgrep -f "$prog" >/dev/null || fail "$1: processes are left: $(pgrep -af "$prog")"
    [ $rc != 0 ] || fail "$1: exit status 0"
}
says() {
    grep -Eq "$2" err out || {
        cat out err
        fail "$1: nothing says $2"
    }
}
start() {
    : >out
    mpiexec -n 4 "$@" >out 2>err &
    job=$!
}
# the processes of the program, without launchers
ranks() { pgrep -x "${prog##*/}"; }

for mode in rdma sendrecv; do
    export DATUM_EAGER=$mode
    start "$prog"
    await "kill -9, $mode"
    victim=$(ranks | sed -n 2p)
    rank=$(tr '\0' '\n' <"/proc/$victim/environ" | sed -n 's/^PMI_RANK=//p')
    kill -9 "$victim"
    ended "kill -9, $mode" $job
    says "kill -9, $mode" "rank $rank .*$host|$host.*rank $rank"
    pass_one

    start "$prog" -x 2
    ended "exit without MPI_Finalize, $mode" $job
    says "exit without MPI_Finalize, $mode" 'rank 2.*MPI_Finalize'
    pass_one
done
unset DATUM_EAGER

start "$prog" -a 1
ended MPI_Abort $job
[ $rc = 7 ] || fail "MPI_Abort(7): exit status $rc"
says MPI_Abort 'rank 1.*MPI_Abort|MPI_Abort.*rank 1'
pass_one

# a rank that computes does not keep the others from ending
start "$prog" -w 3
await 'a rank that computes'
victim=$(ranks | head -n 1)
kill -9 "$victim"
ended 'kill -9 while a rank computes' $job
pass_one

# Rank 1 holds a lock of rank 0's part, others are in the queue: by words of shared memory, and by the
# provider's fetch-and-add.
prog=$PWD/locked
for how in shm,auto shm,yes tcp,yes; do
    export DATUM_PROVIDER=datum-${how%,*} DATUM_RMA_ATOMIC=${how#*,}
    for who in 0,target 1,holder 2,waiter; do
        name="the ${who#*,} of a lock, $how"
        start "$prog" ${who%,*}
        await "$name"
        ended "$name" $job
        says "$name" "rank ${who%,*} .*$host"
        ! grep -E "rank [^${who%,*}] .*(is gone|was lost|killed)|nobody has given back" err out || fail "$name: wrong"
        pass_one
    done
done
unset DATUM_PROVIDER DATUM_RMA_ATOMIC
prog=$PWD/traffic

for sig in INT TERM; do
    start "$prog"
    await "SIG$sig"
    kill -$sig $job
    ended "SIG$sig to mpiexec" $job
    pass_one
done
totals
