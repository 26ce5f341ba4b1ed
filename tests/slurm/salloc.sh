#!/bin/bash
# test: timeout=200
# mpiexec inside salloc and sbatch: Hydra finds the hosts of the allocation and starts its
# helpers there by srun. Also within a step of srun, whose own variables must not confuse.
. "$TEST_LIB"
. "$TEST_SRC/tests/slurm/cluster"
need slurmctld slurm-wlm
need slurmd slurm-wlm
need salloc slurm-wlm
trap cluster_stop EXIT
trap 'exit 130' INT TERM HUP
cluster_start 4 node0 node1 node2 || fail 'the Slurm cluster does not start'

mpicc -o slurm_prog "$TEST_SRC/tests/slurm/prog.c" || fail 'prog.c does not compile'
prog=$PWD/slurm_prog
export DATUM_EXPLAIN=1

alloc() { timeout -k 5 40 salloc -Q -N 3 -n 6 "$@"; }
left() { ! gone 5 "$prog"; }
# says STATUS PATTERN COMMAND...: in seconds, with nothing left.
says() {
    local want=$1 text=$2 start=$SECONDS rc
    shift 2
    "$@" >out 2>&1
    rc=$?
    cat out
    ((SECONDS - start <= 15)) || { echo "it took $((SECONDS - start)) s"; return 1; }
    ! left || return 1
    [[ $rc = $want ]] || { echo "exit status $rc, expected $want"; return 1; }
    grep -Eq "$text" out
}

check 'mpiexec in salloc' says 0 'launcher: PMI-1 .*, 6 processes on 3 hosts' \
    alloc mpiexec -n 6 "$prog"
check 'the number of processes comes from the allocation' says 0 ', 3 processes on 3 hosts' \
    alloc mpiexec -ppn 1 -n 3 "$prog"
check 'exit status' says 3 . alloc mpiexec -n 6 "$prog" status 3
check 'MPI_Abort' says 13 'MPI_Abort\(MPI_COMM_WORLD, 13\)' alloc mpiexec -n 6 "$prog" abort 13
check 'exit' says 5 'exit\(5\) before MPI_Finalize' alloc mpiexec -n 6 "$prog" exit 5
# mpiexec sees its connection end, unless a survivor has said so before.
check 'killed' says '[1-9]*' 'rank 1 on .*(is gone|connection lost|was killed|ended without)' \
    alloc mpiexec -n 6 "$prog" kill 9
# A site may make PMI-2 or PMIx the default of srun: Hydra's helpers then inherit its variables.
for type in pmi2 pmix; do
    check "srun's default is $type" says 0 'launcher: PMI-1 .*, 6 processes on 3 hosts' \
        env SLURM_MPI_TYPE=$type salloc -Q -N 3 -n 6 mpiexec -n 6 "$prog"
done
check 'srun in a job of mpiexec' says 0 'launcher: PMI-[12] .*, 6 processes on 3 hosts' \
    alloc mpiexec.hydra -launcher fork -rmk user -n 1 srun --mpi=pmi2 -N 3 -n 6 "$prog"

printf '#!/bin/bash\nmpiexec -n 6 %s facts\n' "$prog" >batch
# Not sbatch -W: that looks after 2, 10, 42 and 170 seconds.
batch() {
    local id state i
    id=$(sbatch --parsable -N 3 -n 6 --export=ALL -o batch.out batch) || return
    for ((i = 0; i < 300; i++)); do
        state=$(scontrol -o show job "$id" | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p')
        [ "$state" != COMPLETED ] || return 0
        case $state in PENDING | CONFIGURING | RUNNING | COMPLETING) sleep 0.2 ;; *) break ;; esac
    done
    echo "job $id: $state"
    squeue
    cat batch.out
    scancel "$id"
    return 1
}
check 'mpiexec in sbatch' batch
check 'its output' grep -q '^rank 5 of 6' batch.out
totals
