#!/bin/bash
# test: timeout=120 beside=yes
# What ranks are doing: datum-ps, SIGUSR1 to mpiexec, and the end of -timeout.
. "$TEST_LIB"

mpicc -O1 -o where_prog "$TEST_SRC/tests/input/deadlock.c" || fail 'deadlock.c does not compile'
host=$(uname -n)
export DATUM_DEADLOCK=0

# Ranks 0 and 1 wait for each other, rank 2 sleeps.
mpiexec -n 3 ./where_prog two >out 2>&1 &
mpiexec=$!
for ((i = 0; i < 200; i++)); do
    job=$(datum-ps | sed -n "s/^job \(datum_${mpiexec}_.*\)/\1/p")
    [ -n "$job" ] && datum-ps --job "$job" | grep -q 'rank 1 .* is in MPI_Recv' && break
    sleep 0.1
done
lists() {
    datum-ps --job "$job" | tee ps
    grep -qE "^rank 0 of 3 on $host \(process [0-9]+\) is in MPI_Recv for [0-9.]+ s: waits for a message from rank 1 of MPI_COMM_WORLD, tag 5 \(count 1, MPI_INT\); receives posted: 1, messages unexpected: 1 \([0-9]+ bytes\): from rank 1 of MPI_COMM_WORLD, tag 6, 8 bytes$" ps &&
        grep -qE '^rank 1 .* from rank 0 ' ps && grep -qE '^rank 2 .* sleeps$' ps && [ "$(grep -c '^rank' ps)" = 3 ]
}
stacks() {
    datum-ps --stacks --job "$job" | tee ps
    [ "$(grep -c '^    #0 ' ps)" = 2 ] && [ "$(grep -c 'MPI_Recv+0x' ps)" = 2 ] && [ "$(grep -c 'where_prog+0x' ps)" -ge 2 ] &&
        grep -A 1 '^rank 2 ' ps | grep -q '^    (no stack: asking for it would end its sleep)$'
}
json() {
    datum-ps --json --stacks --job "$job" | tee ps
    python3 - ps <<'END'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1
job = json.loads(lines[0])
assert job["format"] == 1 and job["size"] == 3 and [r["rank"] for r in job["ranks"]] == [0, 1, 2]
first = job["ranks"][0]
assert first["state"] == "waits" and first["call"] == "MPI_Recv" and first["posted"] == 1 and first["seconds"] > 0
assert first["unexpected_from"] == "from rank 1 of MPI_COMM_WORLD, tag 6, 8 bytes"
assert "from rank 1" in first["for"] and "MPI_Recv+" in first["stack"]
assert job["ranks"][2]["state"] == "sleeps" and job["ranks"][2]["stack"] == ""
END
}
stopped() {
    local pid rc
    pid=$(datum-ps --job "$job" | sed -n 's/^rank 2 .*process \([0-9]*\).*/\1/p')
    kill -STOP $pid
    for ((i = 0; i < 1000; i++)); do # it stops when it next enters the system
        grep -q '^State:.T' /proc/$pid/status && break
        sleep 0.01
    done
    datum-ps --job "$job" | tee ps
    grep -q '^rank 2 .* is stopped$' ps
    rc=$?
    kill -CONT $pid
    return $rc
}
usr1() {
    kill -USR1 $mpiexec
    for ((i = 0; i < 100; i++)); do
        [ "$(grep -c '^rank [012] of 3' out)" = 3 ] && break
        sleep 0.1
    done
    cat out
    grep -q "^datum: mpiexec: what the ranks on host $host are doing, 3 of 3 have called MPI_Init:$" out &&
        grep -q '^rank 0 .* is in MPI_Recv ' out && [ "$(grep -c 'MPI_Recv+0x' out)" = 2 ] && kill -0 $mpiexec
}
check 'the list' lists
check 'stacks' stacks
check 'JSON' json
check 'a rank that is stopped' stopped
check 'SIGUSR1' usr1
check 'nobody is woken' eval '! grep -q "woken early" out'
kill $mpiexec
wait $mpiexec
time_is_up() {
    mpiexec -timeout 2 -n 2 ./where_prog recv >out 2>&1
    rc=$?
    cat out
    [ $rc = 124 ] && [ "$(grep -c '^rank [01] of 2 .* is in MPI_Recv ' out)" = 2 ] && [ "$(grep -c 'MPI_Recv+0x' out)" = 2 ]
}
check '-timeout' time_is_up
# The last look may wake: the stack of who sleeps is printed.
sleeper() {
    mpiexec -timeout 2 -n 3 ./where_prog two >out 2>&1
    rc=$?
    cat out
    [ $rc = 124 ] && [ "$(grep -c '^    #0 ' out)" = 3 ]
}
check '-timeout while one sleeps' sleeper
check_fails 'no such job' 'no job nonsense has ranks on this host' datum-ps --job nonsense
check_fails 'an option without its value' 'no value for --job' datum-ps --job
check_fails 'a wrong option' 'unknown option "--nonsense"' datum-ps --nonsense
totals
