#!/bin/bash
# test: timeout=500 tier=full
# Hosts with different numbers of ranks, oversubscribed ones beside ranks that are alone there: communicators that
# have one rank on a busy host, leaders with and without followers. UNEVEN_SEED chooses the random ones.
. "$TEST_SRC/tests/hosts/lib.sh"
. "$TEST_LIB"
hosts_enter "$@"
hosts_make 3

# on LAYOUT PROGRAM [VAR=VALUE]...: a layout is h1:4,h2:1,h3:1
on() {
    local layout=$1 program=$2 n=0 part
    shift 2
    for part in ${layout//,/ }; do n=$((n + ${part#*:})); done
    on_host h1 env "$@" timeout -k 5 150 mpiexec -n $n -hosts "$layout" "$DATUM_BUILD/tests/mp/$program" >out 2>&1 && return
    cat out
    return 1
}
seed=${UNEVEN_SEED:-$RANDOM}
for layout in h1:4,h2:1,h3:1 h1:1,h2:6 h1:1,h2:1,h3:5; do
    for program in coll_reduce coll_vector coll_move comm_make rma_pscw; do
        check "$program on $layout" on $layout $program
    done
    check "coll_random on $layout, seed $seed" on $layout coll_random COLL_RANDOM_SEED=$seed COLL_RANDOM_SECONDS=2
    check "rma_random on $layout, seed $seed" on $layout rma_random RMA_RANDOM_SEED=$seed RMA_RANDOM_SECONDS=2
done
totals
