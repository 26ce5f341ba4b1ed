#!/bin/bash
# test: timeout=240
# Slurm across hosts made of namespaces: srun and, inside salloc, mpiexec. Shared memory
# inside a host, the network between. TEST_FULL=yes (make check-slurm) does more.
. "$TEST_LIB"
need slurmctld slurm-wlm
need slurmd slurm-wlm
need srun slurm-wlm
. "$TEST_SRC/tests/hosts/lib.sh"
hosts_enter "$@"
hosts_make 3
# Slurm is to find the hosts, not what the namespaces offer to mpiexec.
unset HYDRA_LAUNCHER HYDRA_LAUNCHER_EXEC HYDRA_HOST_FILE

cluster_on() { on_host "$@"; }
cluster_address() { host_address "$1"; }
. "$TEST_SRC/tests/slurm/cluster"
trap cluster_stop EXIT
cluster_start 4 h1 h2 h3 || fail 'the Slurm cluster does not start'
mpicc -o slurm_prog "$TEST_SRC/tests/slurm/prog.c" || fail 'prog.c does not compile'
prog=$PWD/slurm_prog
types=pmi2
[ -z "${TEST_FULL:-}" ] || ! datum-info --build | grep -q 'PMIx (' || types='pmi2 pmix'
tests=coll_reduce
[ -z "${TEST_FULL:-}" ] || tests='coll_reduce p2p_order rma_put_get'

says() { # STATUS PATTERN COMMAND...
    local want=$1 text=$2 start=$SECONDS rc
    shift 2
    DATUM_EXPLAIN=1 on_host h1 timeout -k 5 40 "$@" >out 2>&1
    rc=$?
    cat out
    ((SECONDS - start <= 15)) || { echo "it took $((SECONDS - start)) s"; return 1; }
    [[ $rc = $want ]] || { echo "exit status $rc, expected $want"; return 1; }
    grep -Eq "$text" out
}
for type in $types; do
    check "$type" says 0 'launcher: PMI.*, 6 processes on 3 hosts' \
        srun --mpi=$type -N 3 -n 6 "$prog"
    check "$type: killed" says '[1-9]*' 'rank 1 on .*(is gone|connection lost)' \
        srun --mpi=$type -N 3 -n 6 "$prog" kill 9
    check "$type: MPI_Abort" says '[1-9]*' 'MPI_Abort\(MPI_COMM_WORLD, 13\)' \
        srun --mpi=$type -N 3 -n 6 "$prog" abort 13
    for test in $tests; do
        check "$type: $test" says 0 '' srun --mpi=$type -N 3 -n 6 -m cyclic \
            "$DATUM_BUILD/tests/mp/$test"
    done
done
check 'mpiexec in salloc' says 0 'launcher: PMI-1 .*, 6 processes on 3 hosts' \
    salloc -Q -N 3 -n 6 mpiexec -n 6 "$prog"
check 'mpiexec in salloc, MPI_Abort' says 13 'MPI_Abort' \
    salloc -Q -N 3 -n 6 mpiexec -n 6 "$prog" abort 13
totals
