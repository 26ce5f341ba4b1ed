#!/bin/bash
# test: timeout=600
# Jobs of srun on a Slurm cluster of three hosts: PMI-2, PMIx, and neither; how jobs end.
# TEST_FULL=yes (make check-slurm) runs more programs.
. "$TEST_LIB"
. "$TEST_SRC/tests/slurm/cluster"
need slurmctld slurm-wlm
need slurmd slurm-wlm
need srun slurm-wlm
trap cluster_stop EXIT
trap 'exit 130' INT TERM HUP
cluster_start 4 node0 node1 node2 || fail 'the Slurm cluster does not start'

mpicc -o slurm_prog "$TEST_SRC/tests/slurm/prog.c" || fail 'prog.c does not compile'
prog=$PWD/slurm_prog
types=pmi2
if ! datum-info --build | grep -q 'PMIx ('; then
    skip_one 'PMIx: Datum was built without it (package libpmix-dev)'
elif ! srun --mpi=list 2>&1 | grep -q pmix; then
    skip_one 'PMIx: this srun has no --mpi=pmix'
else
    types='pmi2 pmix'
fi

job() { timeout -k 5 60 srun "$@"; }
left() { ! gone 5 "$prog"; }

# started TYPE NAME ARGUMENT...: six processes find each other by this client.
started() {
    local type=$1 name=$2 rank
    shift 2
    DATUM_EXPLAIN=1 job --mpi=$type "$@" "$prog" facts >out 2>&1
    local rc=$?
    cat out
    [ $rc = 0 ] || return 1
    grep -q "launcher: $name (.*), 6 processes on" out || return 1
    for rank in 0 1 2 3 4 5; do
        grep -q "^rank $rank of 6, universe 6$" out || return 1
    done
}

# ended TYPE HOW NUMBER STATUS TEXT: in seconds, with this status and text, nothing left; 2: all but the text.
ended() {
    local type=$1 how=$2 number=$3 want=$4 text=$5 start=$SECONDS rc
    job --mpi=$type -N 3 -n 6 "$prog" $how $number >out 2>&1
    rc=$?
    cat out
    ((SECONDS - start <= 10)) || { echo "it took $((SECONDS - start)) s"; return 1; }
    ! left || return 1
    [[ $rc = $want ]] || { echo "exit status $rc, expected $want"; return 1; }
    [ -z "$text" ] || grep -Eq "$text" out || return 2
}
# Slurm's PMIx server kills the other tasks by itself, sometimes before one of them has said why.
killed() {
    local rc
    for _ in 1 2 3; do
        ended "$1" kill 9 '[1-9]*' 'rank 1 on .*(is gone|connection lost)'
        rc=$?
        [ $rc = 2 ] && grep -q _errhandler out || return $rc
    done
    return $rc
}

check 'PMI-2' started pmi2 PMI-2 -N 3 -n 6
check 'PMI-2, cyclic' started pmi2 PMI-2 -N 3 -n 6 --distribution=cyclic
check "PMI-1 of Slurm's server" env DATUM_PMI=pmi1 bash -c \
    "$(declare -f job started); prog=$prog started pmi2 PMI-1 -N 3 -n 6"
[[ $types != *pmix* ]] || check 'PMIx' started pmix PMIx -N 3 -n 6
[[ $types != *pmix* ]] || check 'PMIx, cyclic' started pmix PMIx -N 3 -n 6 --distribution=cyclic
check_fails 'no PMI: never six singletons' 'srun --mpi=pmi2' job --mpi=none -N 3 -n 6 "$prog"
check 'one task is a job of one' job --mpi=none -N 1 -n 1 "$prog"

for type in $types; do
    check "$type: status 0" ended $type status 0 0 ''
    check "$type: status 3" ended $type status 3 3 'xited with exit code 3'
    check "$type: killed" killed $type
    # PMI-2 has no exit code of an abort: srun reports that the tasks were killed.
    [ $type = pmi2 ] && code=137 || code=13
    check "$type: MPI_Abort" ended $type abort 13 $code 'rank 1 on .*MPI_Abort\(MPI_COMM_WORLD, 13\)'
    [ $type = pmi2 ] && code=137 || code=5
    check "$type: exit" ended $type exit 5 $code 'rank 1 on .*exit\(5\) before MPI_Finalize'
    check "$type: _exit" ended $type _exit 6 '[1-9]*' 'rank 1 on .*(is gone|connection lost)'
done

# A step's processes spawn others beside them: by a mpiexec on their host, or with Slurm on several.
tests='coll_reduce dyn_spawn'
[ -z "${TEST_FULL:-}" ] || tests="$tests p2p_order coll_move coll_vector comm_make p2p_modes rma_put_get rma_lock"
for type in $types; do
    for test in $tests; do
        check "$type: $test" job --mpi=$type -N 3 -n 6 "$DATUM_BUILD/tests/mp/$test"
    done
done
totals
