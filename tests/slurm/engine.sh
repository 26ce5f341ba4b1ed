#!/bin/bash
# test: timeout=120
# mpiexec inside salloc where Hydra is not there: srun starts the agents.
. "$TEST_LIB"
. "$TEST_SRC/tests/slurm/cluster"
trap cluster_stop EXIT
cluster_start 4 node0 node1 node2 || fail 'the Slurm cluster does not start'
mpicc -o slurm_prog "$TEST_SRC/tests/slurm/prog.c" || fail 'prog.c does not compile'
prog=$PWD/slurm_prog
mkdir bin; for t in srun sh env; do ln -s "$(command -v $t)" bin/$t; done
exe=$(readlink -f "$(command -v mpiexec)")
alloc() { timeout -k 5 40 salloc -Q -N 3 -n 6 "$@"; }
export DATUM_EXPLAIN=1
check 'agents by srun' says ', 6 processes on 3 hosts' alloc env PATH=$PWD/bin "$exe" -n 6 "$prog"
check 'agents by srun, status' status 3 . alloc env PATH=$PWD/bin "$exe" -n 6 "$prog" status 3
check 'agents by srun, MPI_Abort' status 13 'MPI_Abort' alloc env PATH=$PWD/bin "$exe" -n 6 "$prog" abort 13
totals
