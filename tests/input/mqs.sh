#!/bin/bash
# test: timeout=60 san=no
# The queues of messages that a debugger sees by the library of MPIR_dll_name.
. "$TEST_LIB"

${CC:-gcc} -O1 -o mqs -I"$TEST_SRC/src" "$TEST_SRC/tests/input/mqs.c" -ldl || fail 'mqs.c does not compile'
mpicc -O1 -o mqs_prog "$TEST_SRC/tests/input/mqs_prog.c" || fail 'mqs_prog.c does not compile'

mpiexec -n 2 ./mqs_prog "$PWD" >out 2>&1 &
mpiexec=$!
for ((i = 0; i < 300; i++)); do
    [ -e at.0 ] && [ -e at.1 ] && break
    kill -0 $mpiexec || break
    sleep 0.1
done
pid_of() { datum-ps | sed -n "/^job datum_${mpiexec}_/,/^job /s/^rank $1 .*process \([0-9]*\).*/\1/p" | head -n 1; }
pids=("$(pid_of 0)" "$(pid_of 1)")
if ! ./mqs "${pids[0]}" >rank0 2>err; then
    rm -f at.0 at.1
    wait $mpiexec
    cat out rank0 err
    ./mqs $$ 2>&1 | grep -q 'no libmpi' || skip 'processes may not look into each other'
    fail 'the queues cannot be read'
fi
./mqs "${pids[1]}" >rank1

cat >want0 <<'END'
MPI_COMM_WORLD: rank 0 of 2: 0 1
  unexpected status 1 peer 1 1 tag 8 length 14 actual 1 1 tag 8 length 14 buffered
MPI_COMM_SELF: rank 0 of 1: 0
workers: rank 0 of 2: 0 1
  send status 0 peer 1 1 tag 7 length 4194304 actual 1 1 tag 7 length 4194304
END
cat >want1 <<'END'
MPI_COMM_WORLD: rank 1 of 2: 0 1
  unexpected status 1 peer 0 0 tag 3 length 12 actual 0 0 tag 3 length 12 buffered
MPI_COMM_SELF: rank 0 of 1: 1
  receive status 0 peer -1 -1 any tag length 22
workers: rank 1 of 2: 0 1
  receive status 0 peer -1 -1 tag 6 length 2
  receive status 0 peer 0 0 tag 5 length 21
  unexpected status 1 peer 0 0 tag 3 length 11 actual 0 0 tag 3 length 11 buffered
  unexpected status 1 peer 0 0 tag 4 length 13 actual 0 0 tag 4 length 13 buffered
  unexpected status 1 peer 0 0 tag 7 length 4194304 actual 0 0 tag 7 length 4194304 buffered
END
# Operations have no order among those of a kind.
sorted() { awk '/^[^ ]/ { n++ } { printf "%03d %s\n", n, $0 }' "$1" | LC_ALL=C sort -s -k1,1 -k2; }
shows() {
    sorted want$1 >want
    sorted rank$1 | diff want -
}
check 'the queues of rank 0' shows 0
check 'the queues of rank 1' shows 1
check_fails 'a process without MPI' 'has no libmpi' ./mqs $$
rm -f at.0 at.1
ends() {
    wait $mpiexec
    rc=$?
    cat out
    [ $rc = 0 ]
}
check 'the program goes on' ends
totals
