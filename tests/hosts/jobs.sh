#!/bin/bash
# test: timeout=240
# Some of the multi-process tests on two and three hosts, with and without loss;
# "make check-hosts" runs all of them under all conditions.
. "$TEST_LIB"
"$TEST_SRC/tests/hosts/on-hosts" -n 2 true || skip 'no network namespaces'

run() { # HOSTS FILE...
    local hosts=$1 last
    shift
    "$TEST_SRC/tests/run" --first --hosts "$hosts" "${@/#/tests/mp/}" >run.out 2>&1
    last=$(tail -n 1 run.out)
    if [[ $last =~ ^([0-9]+)' passed, '([0-9]+)' failed' ]]; then
        n_passed=$((n_passed + BASH_REMATCH[1])) n_failed=$((n_failed + BASH_REMATCH[2]))
        [ "${BASH_REMATCH[2]}" = 0 ] || grep -v ' passed' run.out
    else
        fail_one "$hosts: $last"
    fi
}

run '-n 2' init_basic.c p2p_modes.c p2p_order.c coll_move.c coll_errors.c comm_make.c rma_put_get.c rma_words.c \
    err_fatal_abort.c dyn_random.c io_random.c io_lock.c
run '-n 3' coll_vector.c comm_inter.c rma_pscw.c rma_late.c rma_threads_lock.c dyn_names.c io_random.c
run '-n 2 --loss 1' p2p_order.c
run '-n 2 --mtu 9000' p2p_wait.c
tuned() { # on two hosts, and not with some jobs on one
    "$TEST_SRC/tests/hosts/on-hosts" -n 2 -- datum-tune --quick --ranks 2 --only collectives --collectives barrier \
        --output "$PWD/tune" -- -ppn 1 >said 2>&1 &&
        grep -q '^measured .* on h1, several-nodes' tune && grep -q '^every host needs this file' said && return
    cat said
    return 1
}
gathered() { # data for the other host go by one process of each
    "$TEST_SRC/tests/hosts/on-hosts" -n 2 -- env DATUM_EXPLAIN=yes IO_RANDOM_SEED=1 IO_RANDOM_ROUND=0 \
        mpiexec -n 4 -ppn 2 "$DATUM_BUILD/tests/mp/io_random" >said 2>&1 &&
        grep -q 'written by way of one process of the host' said &&
        grep -q 'read by way of one process of the host' said && return
    cat said
    return 1
}
updated() { # 8-byte integers of windows, by all ranks, hosts or not, by the network's provider
    "$TEST_SRC/tests/hosts/on-hosts" -n 2 -- env DATUM_RMA_UPDATE=yes DATUM_EXPLAIN=yes DATUM_STATS=1 \
        mpiexec -n 4 -ppn 2 "$DATUM_BUILD/tests/mp/rma_words" >said 2>&1 &&
        grep -q '8-byte integers in windows: updated by atomic operations over datum-tcp' said &&
        grep -Eq "provider's atomics +[1-9]" said && grep -Eq 'compare-and-swaps +[1-9]' said && return
    cat said
    return 1
}
check 'files: gathered within hosts' gathered
computing() { # WHO VARIABLE=VALUE...
    local who=$1
    shift
    "$TEST_SRC/tests/hosts/on-hosts" -n 2 -- env "$@" timeout -k 5 60 mpiexec -n 4 -ppn 2 \
        "$DATUM_BUILD/tests/mp/io_computing" $who
}
check 'files: shared pointers while a rank computes, by the provider' computing all
check 'files: by memory of a host and packets' computing '' DATUM_RMA_ATOMIC=no
check 'files: the same, windows emulated' computing '' DATUM_RMA=emulated
check 'files: by packets that a progress thread answers' computing all DATUM_RMA=emulated DATUM_PROGRESS=thread
asleep() { # progress threads, of processes that have peers over two rails
    "$TEST_SRC/tests/hosts/on-hosts" -n 2 -- env DATUM_PROGRESS=$1 timeout -k 5 60 mpiexec -n 4 -ppn 2 \
        "$DATUM_BUILD/tests/mp/progress_asleep"
}
check 'a progress thread sleeps' asleep thread
check 'two of them' asleep threads2
check 'updates of 8-byte integers by the provider' updated
locks() { # of windows, by the network's provider: more ranks than cores
    "$TEST_SRC/tests/hosts/on-hosts" -n 2 -- env DATUM_RMA_ATOMIC=yes timeout -k 5 60 mpiexec -n 8 -ppn 4 \
        "$DATUM_BUILD/tests/mp/rma_lock_told"
}
check 'locks by the provider' locks
check 'datum-tune' tuned
check_fails 'datum-tune where hosts are not alike' '2 ranks are on one host, while 4 were on several: rows hold' \
    "$TEST_SRC/tests/hosts/on-hosts" -n 2 -- datum-tune --quick --ranks "4 2" --only collectives --collectives barrier \
    --output "$PWD/tune" -- -ppn 2
totals
