#!/bin/bash
# test: timeout=240
# Many ranks on one host, few descriptors, and agents: hosts that are only names, started by Hydra on this machine.
. "$TEST_LIB"

cat >prog.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* How many mappings of memory files with that name. */
static int count_maps(const char *name)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) n += strstr(line, name) != NULL;
    return n;
}
int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
    if (argc > 1 && strcmp(argv[1], "arena") == 0) {
        const char *text = getenv("DATUM_ARENA");
        printf("%s\n", text == NULL || strcmp(text, "no") == 0 ? "no arena"
                       : count_maps("memfd:datum-arena") > 0 ? "arena" : "an arena that is not used");
    }
    if (argc > 1 && strcmp(argv[1], "left") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 13);
    MPI_Finalize();
    return 0;
}
END
mpicc -o prog prog.c || fail 'prog.c does not compile'

check '64 ranks' says '^64 ranks, sum 2016$' timeout 120 mpiexec -n 64 ./prog
check '256 processes without MPI' [ "$(timeout 120 mpiexec -n 256 sh -c 'echo x' | wc -l)" = 256 ]
check 'the limit of ranks is the one that was' says '^70$' bash -c 'ulimit -Sn 70; mpiexec -n 1 sh -c "ulimit -Sn"'
check 'a soft limit is no limit' bash -c 'ulimit -Sn 20; timeout 60 mpiexec -n 40 true'
few() { # one line, and nothing is left
    (ulimit -n 30; status 1 'Too many open files.*ulimit' timeout 60 mpiexec -n 60 sleep 60.$$) &&
        ! pgrep -f "sleep 60.$$"
}
check 'too few descriptors' few
early() { # what ranks have started, too, is ended whenever mpiexec is killed
    local i
    for ((i = 1; i <= 100; i++)); do
        timeout -s KILL 0.$(printf %04d $((40 + i * 4))) mpiexec -n 4 sh -c "sleep 61.$$; :"
    done >/dev/null 2>&1 </dev/null
    gone 6 "^sleep 61.$$"
}
check 'kill -9 of mpiexec while ranks start' early
[ -z "${TEST_FULL:-}" ] || check '1024 ranks' says '^1024 ranks, sum 523776$' timeout 200 mpiexec -n 1024 ./prog

# ---- agents ----

command -v mpiexec.hydra >/dev/null 2>&1 || { skip_one 'Hydra is not there (package mpich)'; totals; }
on_two() { timeout 60 mpiexec -launcher fork -hosts one,two "$@"; }
prints() { # WANT COMMAND...: the lines, sorted
    local want=$1 got
    shift
    got=$("$@" 2>&1 </dev/null | sort)
    [ "$got" = "$want" ] && return
    echo "wanted: $want"
    echo "got: $got"
    return 1
}
arena() { # WANT COMMAND...: how many ranks have one
    local want=$1
    shift
    prints "$want" bash -c '"$@" | grep arena | sort | uniq -c | tr -s " "' x timeout 60 "$@" ./prog arena
}
check 'an arena by mpiexec' arena ' 5 arena' mpiexec -n 5
check 'an arena by Hydra' arena ' 5 arena' mpiexec.hydra -n 5
check 'hosts of one rank' arena ' 2 no arena' mpiexec.hydra -launcher fork -hosts one,two -n 2
check 'two hosts, and one rank alone' arena $' 1 no arena\n 2 arena' \
    mpiexec.hydra -launcher fork -hosts one,two -ppn 2 -n 3
small() { (ulimit -f 200000; arena ' 5 no arena' mpiexec.hydra -n 5); } # files of less than 200 MB
check 'no arena can be made' small
name='echo $PMI_RANK $MPI_LOCALRANKID $MPIR_CVAR_CH3_INTERFACE_HOSTNAME'
check 'ranks in turn' prints $'0 0 one\n1 0 two\n2 1 one\n3 1 two' on_two -n 4 sh -c "$name"
check '-ppn' prints $'0 0 one\n1 1 one\n2 0 two' on_two -ppn 2 -n 3 sh -c "$name"
check 'slots' prints $'0 0 one\n1 0 two\n2 1 two' mpiexec -launcher fork -hosts one:1,two:2 sh -c "$name"
check 'two programs' prints $'0 a\n1 b' on_two -n 1 sh -c 'echo $PMI_RANK a' : -n 1 sh -c 'echo $PMI_RANK b'
check 'programs with hosts of their own' prints $'0 0 one\n1 0 two\n2 0 three\n3 1 three\n4 1 one' \
    mpiexec -launcher fork -hosts one,two -n 2 sh -c "$name" : -host three:2 -n 2 sh -c "$name" : -host one -n 1 sh -c "$name"
check 'hosts of programs only' prints $'0 0 two\n1 0 one\n2 1 two' \
    mpiexec -launcher fork -host two -n 1 sh -c "$name" : -host one -n 1 sh -c "$name" : -host two -n 1 sh -c "$name"
printf 'host two,one\nn 3\n' >own
check '-file, which agents do not read' prints $'0 0 two\n1 0 one\n2 1 two' \
    mpiexec -launcher fork -file own sh -c "$name"
check 'two programs, MPI' says '^5 ranks, sum 10' timeout 60 mpiexec -launcher fork -host two -n 2 ./prog : -host one -n 3 ./prog
check 'a host without ranks' prints '0 0 one' mpiexec -launcher fork -hosts one,two -n 1 sh -c "$name"
check 'arguments' prints '<a  b><$x><><*>' on_two -n 1 sh -c 'printf "<%s>" "$@"' x 'a  b' '$x' '' '*'
check '-l' prints $'[0] x\n[1] x' on_two -l -n 2 echo x
check 'input' [ "$(echo hello | on_two -n 2 cat)" = hello ]
for n in 2 5 16; do check "$n ranks of two agents" says "^$n ranks, sum" on_two -n $n ./prog; done
check 'status' status 3 '' on_two -n 2 sh -c 'exit 3'
check 'MPI_Abort' status 13 'MPI_Abort' on_two -n 4 ./prog left
check 'killed' status 137 'rank 1 on host two .*killed by signal 9' on_two -n 2 sh -c '[ $PMI_RANK = 0 ] || kill -9 $$; sleep 30'
check 'before MPI_Init' status 3 'rank 0 on host one .*before MPI_Init, where rank 1 waits' \
    on_two -n 2 sh -c '[ $PMI_RANK = 1 ] || exit 3; exec ./prog'
check 'a job without MPI' on_two -n 3 sh -c '[ $PMI_RANK = 1 ] || sleep 1'
check 'no such program' status 127 'nowhere cannot be started on host' on_two -n 2 ./nowhere
check '-timeout' status 124 'has run for 1 second' on_two -timeout 1 -n 2 sleep 20
check '-map-by node' prints $'0 0 one\n1 0 two\n2 1 two\n3 1 one' \
    mpiexec -launcher fork -hosts one:1,two:2 -map-by node -n 4 sh -c "$name"
check '-bind-to of more than a host has' status 2 'mpiexec may use [0-9]+ of them on host (one|two)' on_two -bind-to core:1025 -n 2 true
# In the place of ssh: one host is there, the other is not.
cat >reach <<'END'
#!/bin/sh
[ "$2" != two ] || { echo 'two is not there' >&2; exit 255; }
shift 2
exec sh -c "$*"
END
chmod +x reach
unreached() { # only what ssh says, and we
    status 255 'launcher of a host .* ended with status 255' \
        timeout 60 mpiexec -launcher ssh -launcher-exec "$PWD/reach" -hosts one,two -n 2 sleep 64.$$ || return 1
    [ "$(wc -l <said)" = 2 ] || { cat said; return 1; }
}
check 'a host that is not reached' unreached
killed() { # WHOM
    local job i
    mpiexec -launcher fork -hosts one,two -n 4 sleep 63.$$ >out 2>&1 </dev/null &
    job=$!
    for ((i = 0; i < 100; i++)); do
        [ "$(pgrep -fc "^sleep 63.$$")" = 4 ] && break
        sleep 0.1
    done
    case $1 in
    mpiexec) kill -9 $job ;;
    hydra) kill -9 $(pgrep -P $job) ;;
    proxy) kill -9 $(pgrep -P $(pgrep -P $job) | head -n 1) ;;
    agent) kill -9 $(pgrep -f 'mpiexec --agent' -P $(pgrep -P $(pgrep -P $job) | head -n 1) | head -n 1) ;;
    esac
    wait $job
    [ $? != 0 ] || { echo 'status 0'; cat out; return 1; }
    gone 6 "^sleep 63.$$"
}
for who in mpiexec hydra proxy agent; do check "kill -9 of $who" killed $who; done
totals
