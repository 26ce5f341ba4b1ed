#!/bin/bash
# test: timeout=240
# A program that handles errors goes on when a rank dies: every kind of operation with it
# ends, soon and with an error, and what is left of it does no harm.
. "$TEST_LIB"

mpicc -O1 -o lost "$TEST_SRC/tests/input/lost.c" || fail "lost.c does not compile"
cases=$(./lost) && [ -n "$cases" ] || fail "lost has no cases"
for mode in rdma sendrecv; do
    export DATUM_EAGER=$mode
    for case in $cases; do
        rm -f said
        timeout 12 mpiexec -n 2 ./lost $case "$PWD/said" >out 2>err
        if [ "$(cat said 2>/dev/null)" = "$case is fine" ]; then
            pass_one
        else
            fail_one "$case, $mode"
            cat said out err
        fi
    done
done
totals
