#!/bin/bash
# test: timeout=120
# A rank is killed while it has the lock of a file in atomic mode: the others, who wait for it, get an error.
. "$TEST_LIB"
mpicc -O1 -o io_dead "$TEST_SRC/tests/input/io_dead.c" || fail 'the program does not compile'

for provider in datum-shm datum-tcp; do
    for victim in 0 2; do
        rm -f held.* coming.*
        DATUM_PROVIDER=$provider timeout 30 mpiexec -disable-auto-cleanup -n 4 ./io_dead "$victim" x.dead >out 2>err
        rc=$?
        if [ "$rc" != 124 ] && [ "$(grep -c 'the lock of "x.dead"' out)" = 6 ]; then
            pass_one
        else
            fail_one "$provider, rank $victim has ended: status $rc"
            cat out err
        fi
    done
done
totals
