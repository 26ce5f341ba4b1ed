#!/bin/sh
# test: timeout=300
# The examples that check themselves, built by our mpicc as examples/README says, on every
# provider and several numbers of ranks.
. "$TEST_LIB"
names='dht steal halo farm pool'
for e in $names; do
    check "mpicc $e" mpicc -O2 -pthread -o "$e" "$TEST_SRC/examples/$e.c"
done
# ends RIGHT COMMAND...: with this text
ends() {
    text=$1
    shift
    timeout 60 "$@" >out 2>&1 || { echo "exit status $?"; tail -n 20 out; return 1; }
    grep -q "$text\$" out || { tail -n 20 out; return 1; }
}
for provider in $(awk '$1 ~ /^datum-/ { print $1 }' "$DAT_OVERRIDE" | sort -u); do
    export DATUM_PROVIDER="$provider"
    for n in 1 2 3 4 8; do
        check "dht on $n, $provider" ends 'all found' mpiexec -n $n ./dht 300
        check "steal on $n, $provider" ends 'right' mpiexec -n $n ./steal 5000
        check "halo on $n, $provider" ends 'as one process alone' mpiexec -n $n ./halo 37 31
    done
    # These spawn their workers.
    check "farm of 2, $provider" ends '148933 primes below 2000000' ./farm 2
    check "farm of 3, $provider, under mpiexec" ends '148933 primes below 2000000' \
        mpiexec -n 1 ./farm 3
    check "pool of 3, $provider" ends 'pi is 3.141593, the mean of 20 calls' ./pool 3 20
done
totals
