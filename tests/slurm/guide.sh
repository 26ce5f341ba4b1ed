#!/bin/bash
# test: timeout=240 tier=full
# GUIDE on two hosts, word for word: what answers 2, 4, 6 and 9 say of several hosts and of Slurm, with an installation
# in a directory that both see.
. "$TEST_LIB"
need slurmctld slurm-wlm
need slurmd slurm-wlm
need srun slurm-wlm
. "$TEST_SRC/tests/hosts/lib.sh"
hosts_enter "$@"
hosts_make 2
cluster_on() { on_host "$@"; }
cluster_address() { host_address "$1"; }
. "$TEST_SRC/tests/slurm/cluster"
trap cluster_stop EXIT
cluster_start 4 h1 h2 || fail 'the Slurm cluster does not start'

# As after answer 1; nothing of the build is in the environment.
make -C "$DATUM_BUILD" install prefix="$PWD/datum" >install.out 2>&1 || fail "$(tail -n 5 install.out)"
unset DAT_OVERRIDE LD_LIBRARY_PATH
export PATH=$PWD/datum/bin:${PATH//$DATUM_BUILD\/bin:/}
like_ssh=$HYDRA_LAUNCHER_EXEC
unset HYDRA_LAUNCHER HYDRA_LAUNCHER_EXEC HYDRA_HOST_FILE

# The first line of an answer that has this in it, without its remark.
line() { # ANSWER WORDS
    awk -v n="$1" '/^[0-9]\. / { on = index($0, n) == 1 } on && /^    / && !/\$ /' "$TEST_SRC/GUIDE" |
        grep -m 1 -F -e "$2" | sed 's/^ *//; s/  *#.*//; s/node\([12]\)/h\1/g'
}
printf '%s\n' '#include <mpi.h>' '#include <stdio.h>' 'int main(void)' '{ int rank;' \
    'MPI_Init(NULL, NULL); MPI_Comm_rank(MPI_COMM_WORLD, &rank);' \
    'printf("hello from %d\n", rank); MPI_Finalize(); return 0; }' >hello.c
check 'mpicc' mpicc -o hello hello.c
run() { # COMMAND of the shell
    echo "$ $1"
    on_host h1 timeout -k 5 60 bash -c "$1" >out 2>&1
    local rc=$?
    cat out
    return $rc
}
eight() { run "$1" && [ "$(sort out | grep -c '^hello from [0-7]$')" = 8 ]; }

# ---- Slurm ----
srun_line=$(line 6 'srun --mpi=pmi2')
check 'srun' eight "$srun_line"
check 'srun --mpi=list' run 'srun --mpi=list'
if grep -q pmix out && datum-info --build | grep -q 'PMIx ('; then
    check 'srun --mpi=pmix' eight "${srun_line/pmi2/pmix}"
fi
check 'salloc' eight "$(line 6 'salloc -N 2')"
printf '%s\n' '#!/bin/sh' '#SBATCH -N 2 -n 8 -W -o batch.out' "$(line 6 'salloc -N 2' | sed 's/.* mpiexec/mpiexec/')" >batch
batch() {
    run 'sbatch batch' || return 1
    cat batch.out && [ "$(grep -c '^hello from [0-7]$' batch.out)" = 8 ]
}
check 'mpiexec in a batch script' batch
first_words() { line 6 "$1" | sed 's/^"\([^"]*\)".*/\1/'; }
check_fails 'without --mpi' "$(first_words 'no way to find')" run "${srun_line/--mpi=pmi2/}"
if command -v mpicc.mpich >/dev/null 2>&1; then
    sed 's/MPI_Finalize/char text[MPI_MAX_LIBRARY_VERSION_STRING]; int len; MPI_Get_library_version(text, \&len); puts(text); MPI_Finalize/' \
        hello.c >whose.c
    mpicc.mpich -o whose whose.c || fail 'whose.c does not compile'
    whose() { run "LD_LIBRARY_PATH=$PWD/datum/lib ${srun_line/hello/whose}" && [ "$(grep -c Datum out)" = 8 ]; }
    check 'a program not built by mpicc' whose
fi

# ---- several hosts by something like ssh ----
export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$like_ssh
check 'mpiexec on two hosts' eight "$(line 2 'mpiexec -hosts')"
check 'mpirun of Open MPI' eight "$(line 9 '--host a:4,b:4' | sed 's/  .*//; s/\ba:/h1:/; s/\bb:/h2:/') ./hello"
printf 'h1 slots=4\nh2 slots=4\n' >hosts
check 'a hostfile of Open MPI' eight 'mpirun -np 8 --hostfile hosts ./hello'

# What ranks are doing, of all hosts.
cat >waits.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    int rank, x;
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "up\n");
    if (rank == 1)
        MPI_Recv(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (;;)
        MPI_Barrier(MPI_COMM_SELF);
}
END
mpicc -o waits waits.c || fail 'waits.c does not compile'
cat >seen <<END
#!/bin/bash
mpiexec -timeout 60 -hosts h1,h2 -n 2 ./waits >waits.out 2>&1 &
for ((i = 0; i < 200; i++)); do
    sleep 0.1
    [ "\$(grep -c up waits.out 2>/dev/null)" = 2 ] || continue
    $(line 4 'kill -USR1' | sed 's/PID-OF-MPIEXEC/$!/')
    grep -q 'rank 1 .* is in MPI_Recv' waits.out && grep -q 'rank 0 of 2 on h1' waits.out && break
done
kill \$!
wait \$!
cat waits.out
((i < 200))
END
chmod +x seen
check 'SIGUSR1' on_host h1 ./seen
totals
