#!/bin/bash
# test: timeout=120
# mpiexec inside salloc where Hydra is not there: srun starts the agents.
. "$TEST_LIB"
. "$TEST_SRC/tests/slurm/cluster"
trap cluster_stop EXIT
cluster_start 4 node0 node1 node2 || fail 'the Slurm cluster does not start'
mpicc -o slurm_prog "$TEST_SRC/tests/slurm/prog.c" || fail 'prog.c does not compile'
prog=$PWD/slurm_prog
mkdir bin; for t in srun sh env sleep; do ln -s "$(command -v $t)" bin/$t; done
exe=$(readlink -f "$(command -v mpiexec)")
alloc() { timeout -k 5 40 salloc -Q -N 3 -n 6 "$@"; }
export DATUM_EXPLAIN=1
check 'agents by srun' says ', 6 processes on 3 hosts' alloc env PATH=$PWD/bin "$exe" -n 6 "$prog"
check 'agents by srun, status' status 3 . alloc env PATH=$PWD/bin "$exe" -n 6 "$prog" status 3
check 'agents by srun, the first of two statuses' status 3 . alloc env PATH=$PWD/bin "$exe" -n 6 \
    sh -c '[ $PMI_RANK = 5 ] && { : >first; exit 3; }; until [ -e first ]; do sleep 0.1; done; sleep 0.5; exit 7'
check 'agents by srun, MPI_Abort' status 13 'MPI_Abort' alloc env PATH=$PWD/bin "$exe" -n 6 "$prog" abort 13
check 'agents by srun, a rank is killed' status 137 'rank 1 on host .*killed by signal 9 ' \
    alloc env PATH=$PWD/bin "$exe" -n 6 "$prog" kill 9
check 'agents by srun, a rank is ended' status 143 'rank 1 on host .*killed by signal 15 ' \
    alloc env PATH=$PWD/bin "$exe" -n 6 "$prog" kill 15
cancelled() { # the user cancels the job: nobody is blamed, nothing is left
    local job i rc
    alloc env PATH=$PWD/bin "$exe" -n 6 sh -c "echo running; exec sleep 63.$$" >out 2>&1 &
    job=$!
    for ((i = 0; i < 200; i++)); do
        [ "$(grep -c running out)" = 6 ] && break
        sleep 0.1
    done
    scancel -u "$(id -un)"
    wait $job
    rc=$?
    cat out
    [ $rc != 0 ] && ! grep -q 'rank . on host' out || return 1
    for ((i = 0; i < 50; i++)); do
        pgrep -f "^sleep 63.$$" >/dev/null || return 0
        sleep 0.1
    done
    return 1
}
check 'agents by srun, scancel' cancelled
totals
