#!/bin/sh
# test: timeout=120
# The application kernels of bench/apps, smallest class: on 1, 2 and 4 processes over shared memory, some over TCP. Each
# verifies its own result; that it would notice a wrong number is tried, too.
. "$TEST_LIB"
bench=$DATUM_BUILD/bench

# verified NAME PROVIDER N PROGRAM ARGS...
verified() {
    name=$1 provider=$2 n=$3 program=$4
    shift 4
    check "$name, $n processes, $provider" says 'verified: ' \
        env DATUM_PROVIDER="$provider" mpiexec -n "$n" "$bench/$program" -r 1 "$@"
}

for k in cg ft is mg sweep halo; do
    [ -x "$bench/$k" ] || fail "$bench/$k is not built"
done
for n in 1 2 4; do
    for k in cg ft is mg sweep; do
        verified $k datum-shm $n $k
    done
    for m in fence pscw lock flush flag send; do
        verified "halo $m" datum-shm $n halo -m $m
    done
done
for k in cg is sweep; do
    verified $k datum-shm 3 $k
done
for m in fence pscw lock; do
    verified "halo $m created" datum-shm 4 halo -w create -m $m
done
for k in cg ft is mg sweep; do
    verified $k datum-tcp 2 $k
done
for m in fence pscw flag; do
    verified "halo $m" datum-tcp 2 halo -m $m
done

for k in cg ft is mg sweep halo; do
    check "$k finds a wrong number" status 1 "^(.* )?$k .*WRONG: " mpiexec -n 2 "$bench/$k" -r 1 -x
done
check_fails 'ft on 3' 'ft: the number of ranks must divide 64 and 64, 3 does not' mpiexec -n 3 "$bench/ft"
check_fails 'mg on 3' 'mg: 1, 2, 4 or 8 ranks, not 3' mpiexec -n 3 "$bench/mg"
check_fails 'an unknown class' 'cg: no class "Z"; there are SWAB' mpiexec -n 2 "$bench/cg" -c Z
check_fails 'an unknown mode' 'halo: -m does not know "push"' mpiexec -n 2 "$bench/halo" -m push
totals
