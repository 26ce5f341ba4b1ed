#!/bin/sh
# test: timeout=120
# MPI over a modelled network: the same virtual times in every run, whatever else the machine does; programs work; jobs
# much larger than the machine; what cannot be used together, and figures that make no sense, are refused.
. "$TEST_LIB"

conf() { # IA_PARAMS
    for safe in nonthreadsafe threadsafe; do
        echo "modelled u2.0 $safe default \"$DATUM_BUILD/lib/libdatum_dapl_shm.so\" datum.1.0 \"$1\" \"\""
    done >dat.conf
}
conf preset=mt23108
export DAT_OVERRIDE="$PWD/dat.conf" DATUM_PROVIDER=modelled DATUM_TUNE=no

# Without the first line, which has the date, and the last column, which is processor time.
measure() { # RANKS TEST SIZES
    mpiexec -n "$1" datum-bench --quick --factor 16 --test "$2" --size "$3" | sed -e 1d -e 's/ *[^ ]*$//'
}
same() { # TEST
    check "$1" sh -c 'test "$(grep -c "^[0-9]" once)" -gt 1'
    check "$1, the same again" cmp once again
}
for run in '2 latency 8:64k' '2 sendrecv 2k:32k' '3 allreduce 8:1k'; do
    set -- $run
    measure "$1" "$2" "$3" >once
    nice -n 19 sh -c 'while :; do :; done' &
    busy=$!
    measure "$1" "$2" "$3" >again
    kill $busy
    same "$2"
done

for one in '4 p2p_order' '3 p2p_modes' '4 coll_random' '3 coll_vector' '3 rma_put_get' '4 rma_pscw' '3 rma_fetch' \
    '4 neighbor_random' '64 session_basic'; do
    set -- $one
    check "$2" mpiexec -n "$1" "$DATUM_BUILD/tests/mp/$2"
done

check_fails 'together with another' 'modelled models a network in virtual time, and cannot be used together' \
    env DATUM_PROVIDER=modelled,datum-tcp mpiexec -n 2 datum-bench --quick --test latency --size 8:8
conf preset=mt23109
check_fails 'no such preset' 'say "preset=mt23109"; it can be mt23108, t3b, elan4, gm or ammasso' \
    mpiexec -n 2 datum-bench --quick --test latency --size 8:8
conf latency=5
check_fails 'no such time' 'say "latency=5"; it can be a time up to 10000ms' \
    mpiexec -n 2 datum-bench --quick --test latency --size 8:8
conf 'latency=5us memcpy=fast'
check_fails 'no such rate' 'say "memcpy=fast"; it can be bytes a second' \
    mpiexec -n 2 datum-bench --quick --test latency --size 8:8
totals
