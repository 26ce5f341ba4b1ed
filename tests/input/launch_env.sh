#!/bin/bash
# test: timeout=120
# mpiexec sets the environment, passes input and exit status on, finds Hydra for other hosts; a
# program that is one of several without a way to the others says so.
. "$TEST_LIB"

cat >prog.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\n", rank, size);
    MPI_Finalize();
    return argc > 1 && rank == size - 1 ? atoi(argv[1]) : 0;
}
END
mpicc -o prog prog.c || fail 'prog.c does not compile'

# exit status
for code in 0 1 7 200; do
    check "exit status $code" status $code '' mpiexec -n 3 ./prog $code
    check "exit status $code of one" status $code '' mpiexec -n 1 ./prog $code
done
check 'exit status without MPI' status 3 '' mpiexec -n 2 sh -c 'exit 3'
no_program() { # STATUS TEXT PROGRAM: said once
    status "$1" "$2" mpiexec -n 3 "$3" && [ "$(wc -l <said)" = 1 ] || { cat said; return 1; }
}
printf '#!/no/such/interpreter\n' >bad-script
printf 'exit 7\n' >plain-script
echo 'no program' >not-executable
chmod +x bad-script plain-script
check 'no such program' no_program 127 './no-such-prog cannot be started on host .*No such file' ./no-such-prog
check 'no such program in PATH' no_program 127 'no-such-prog cannot .*in PATH' no-such-prog
check 'a directory' no_program 126 'Is a directory' ./
check 'not executable' no_program 126 'Permission denied' ./not-executable
check 'a script without its interpreter' no_program 126 'interpreter' ./bad-script
check 'a script without a first line' status 7 '' mpiexec -n 2 ./plain-script
check 'quiet' bash -c '[ -z "$(mpiexec -n 3 ./prog 2>&1 >/dev/null)" ]'

# finding Hydra, which only other hosts need
mkdir bin
ln -s "$(command -v sh)" bin/sh
exe=$(readlink -f "$(command -v mpiexec)")
away="-hosts 198.51.100.1" # an address that is nobody's
check 'one host without Hydra' says 'rank 1 of 2' env PATH="$PWD/bin" "$exe" -n 2 ./prog
check_fails 'Hydra is missing' 'mpiexec.hydra.*apt-get install mpich' \
    env PATH="$PWD/bin" "$exe" $away -n 1 ./prog
check 'status when Hydra is missing' status 127 '' env PATH="$PWD/bin" "$exe" $away -n 1 ./prog
check_fails 'DATUM_HYDRA names nothing' "DATUM_HYDRA is './no/hydra'|DATUM_HYDRA is '/no/hydra'" \
    env DATUM_HYDRA=/no/hydra mpiexec $away -n 1 ./prog
check_fails 'DATUM_HYDRA names mpiexec' 'mpiexec itself' env DATUM_HYDRA=mpiexec mpiexec $away -n 1 ./prog
printf '#!/bin/sh\necho "hydra got: $*"\nexit 9\n' >bin/my-hydra
chmod +x bin/my-hydra
check "DATUM_HYDRA, its exit status" status 9 \
    'hydra got: -iface eth7 -hosts 198.51.100.1 -ppn 1 -n 1 [^ ]*mpiexec --agent$' \
    env DATUM_HYDRA=bin/my-hydra mpiexec $away -iface eth7 -n 1 ./prog
check_fails 'no program' 'no program is named' mpiexec
check_fails 'options without a program' 'no program is named at the end' mpiexec -genv A B -n 2
check_fails 'a part without a program' "no program is named before a ':'" mpiexec -n 1 : -n 1 ./prog
for n in 0 -1 x 2x; do
    check_fails "-n $n" "-n is '$n', but must be a number" mpiexec -n $n ./prog
    check_fails "-ppn $n" "-ppn is '$n', but must be a number" mpiexec -ppn $n -n 1 ./prog
    check_fails "--np=$n" "-np is '$n', but must be a number" mpiexec --np=$n ./prog
done
check 'options with an equals sign' says 'rank 1 of 2' mpiexec --n=2 -genv=A=B ./prog
check '--version' says '^Datum [0-9]' mpiexec --version
check '--help' says 'DATUM_HYDRA' mpiexec --help
check 'help' says 'genvall' mpiexec -help

# environment of the ranks
check 'DAT_OVERRIDE is kept' says '^/my/dat.conf$' \
    env DAT_OVERRIDE=/my/dat.conf mpiexec -n 1 sh -c 'echo $DAT_OVERRIDE'
check 'DAT_OVERRIDE is set' says "^$DATUM_BUILD/etc/dat.conf$" \
    env -u DAT_OVERRIDE mpiexec -n 1 sh -c 'echo $DAT_OVERRIDE'
check 'an empty DAT_OVERRIDE is set' says "^$DATUM_BUILD/etc/dat.conf$" \
    env DAT_OVERRIDE= mpiexec -n 1 sh -c 'echo $DAT_OVERRIDE'
check 'LD_PRELOAD is kept' says '^<>$' env -u LD_PRELOAD mpiexec -n 1 sh -c 'echo "<$LD_PRELOAD>"'
check 'LD_PRELOAD of the user is kept' says '^<libm.so.6>$' \
    env LD_PRELOAD=libm.so.6 mpiexec -n 1 sh -c 'echo "<$LD_PRELOAD>"'

# one session for the ranks of a host, a process group for each
mpiexec -n 3 sh -c 'ps -o sess=,pgid= -p $$' >sessions
check 'one session' bash -c "[ \$(awk '{ print \$1 }' sessions | sort -u | wc -l) -eq 1 ]"
check 'three process groups' bash -c "[ \$(awk '{ print \$2 }' sessions | sort -u | wc -l) -eq 3 ]"

# standard input: rank 0's, however slowly it reads; the others have none; nobody waits for who does not read
seq 500000 >numbers
counts() {
    cat numbers | timeout 60 mpiexec -n 3 sh -c '[ $PMI_RANK != 0 ] || sleep 0.3; echo $PMI_RANK $(wc -l)' | sort
}
check 'standard input of three ranks' [ "$(counts | tr '\n' ,)" = '0 500000,1 0,2 0,' ]
check 'standard input from a file' [ "$(timeout 60 mpiexec -n 2 cat <numbers | tail -n 1)" = 500000 ]
ends() {
    for i in 1 2 3 4 5 6 7 8 9 10; do
        cat numbers 2>/dev/null | timeout 60 mpiexec -n 2 true || return 1
        timeout 60 mpiexec -n 1 true </dev/null || return 1
    done
}
check 'standard input that nobody reads' ends
check 'no standard input' timeout 60 mpiexec -n 2 cat <&-
check 'standard input with -pmi-port' [ "$(timeout 60 mpiexec -pmi-port -n 2 cat <numbers | tail -n 1)" = 500000 ]
check 'no variable of ours is left' says '^<>$' mpiexec -n 1 sh -c 'echo "<$DATUM_AGENT$DATUM_AGENT_HOSTS>"' </dev/null

check 'our library comes first' says "^$DATUM_BUILD/lib:/other/lib$" \
    env LD_LIBRARY_PATH=/other/lib mpiexec -n 1 sh -c 'echo $LD_LIBRARY_PATH'
check 'no empty library directory' says "^$DATUM_BUILD/lib$" \
    env -u LD_LIBRARY_PATH mpiexec -n 1 sh -c 'echo $LD_LIBRARY_PATH'
check 'input' bash -c '[ "$(echo hello | mpiexec -n 1 cat)" = hello ]'
check 'PMI_PORT instead of PMI_FD' says 'rank 1 of 2' mpiexec -pmi-port -n 2 ./prog
check "Hydra's mpiexec" says 'rank 1 of 2' mpiexec.hydra -n 2 ./prog
check 'programs side by side' says 'rank 2 of 3' mpiexec -n 1 ./prog : -n 2 ./prog
check 'signals are as they were' bash -c \
    'mpiexec -n 1 grep SigBlk /proc/self/status | grep -q "SigBlk:.0000000000000000"'

# alone, or not
check 'alone' says '^rank 0 of 1$' ./prog
check 'a job of one' says '^rank 0 of 1$' mpiexec -n 1 ./prog
check 'a child of a job of one is alone' says '^rank 0 of 1$' \
    env PMI_FD=77 PMI_RANK=0 PMI_SIZE=1 ./prog
for var in PMI_SIZE=2 OMPI_COMM_WORLD_SIZE=4 MPI_LOCALNRANKS=2 PMIX_RANK=1; do
    check_fails "$var" "${var%=*} is ${var#*=}.*mpiexec" env $var ./prog
done
check_fails 'srun without PMI' 'SLURM_NTASKS is 4.*srun.*say srun --mpi=pmi2' \
    env SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_PROCID=1 ./prog
check_fails 'PMI_FD is closed' 'PMI_FD is 77.*not open' \
    env PMI_FD=77 PMI_RANK=0 PMI_SIZE=2 ./prog
check_fails 'PMI_FD is something else' 'process manager' \
    env PMI_FD=0 PMI_RANK=0 PMI_SIZE=2 ./prog </dev/null
totals
