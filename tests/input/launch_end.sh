#!/bin/bash
# test: timeout=240
# Every way to end a job from outside or inside: within 5 seconds, with a message that
# names rank and host, the exit status kept, and nothing left.
# Under nohup SIGHUP is ignored, by mpiexec then as well.
[ "${1:-}" = again ] || exec env --default-signal=HUP bash "$0" again
. "$TEST_LIB"

cat >prog.c <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    const char *how = argv[1];
    int victim = atoi(argv[2]), rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "deaf") == 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        if (strcmp(how, "kill") == 0) raise(SIGKILL);
        if (strcmp(how, "segv") == 0) { signal(SIGSEGV, SIG_DFL); raise(SIGSEGV); }
        if (strcmp(how, "exit") == 0) exit(5);
        if (strcmp(how, "_exit") == 0) _exit(6);
        if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 13);
    }
    if (strcmp(how, "slow") == 0) {
        if (rank == victim) raise(SIGKILL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) {
        printf("running\n");
        fflush(stdout);
    }
    for (int i = 0; i < 60; i++)
        sleep(1);
    MPI_Finalize();
    return 0;
}
END
mpicc -o launch_prog prog.c || fail 'prog.c does not compile'
prog=$PWD/launch_prog
host=$(uname -n)

left() { ! gone 3 "$prog"; }

# inside: how, exit status (or any), message
inside() {
    local rank=$1 how=$2 want=$3 text=$4 start=$SECONDS rc
    mpiexec -n 4 "$prog" $how $rank >out 2>&1
    rc=$?
    ((SECONDS - start <= 5)) || { echo "it took $((SECONDS - start)) s"; return 1; }
    ! left || return 1
    cat out
    [ $rc = "$want" ] || { echo "exit status $rc, expected $want"; return 1; }
    # A survivor that notices first ends the job, and says who is gone.
    grep -Eq "$text" out ||
        { [[ $how == @(kill|segv|_exit) ]] && grep -Eq "rank $rank on $host is gone" out; }
}
for rank in 0 1 3; do
    check "kill, rank $rank" inside $rank kill 137 "rank $rank on host $host .* killed by signal 9 "
    check "segv, rank $rank" inside $rank segv 139 "rank $rank on host $host .* killed by signal 11 "
    check "exit, rank $rank" inside $rank exit 5 "rank $rank on $host\\].*exit\\(5\\).*MPI_Finalize"
    check "_exit, rank $rank" inside $rank _exit 6 "rank $rank on host $host .* status 6.*MPI_Finalize"
    check "abort, rank $rank" inside $rank abort 13 "rank $rank on $host\\]"
done

# The ranks are ended one after the other: those that are still there must not take the ones before
# for the cause.
cat >slow.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>
int kill(pid_t pid, int sig)
{
    int (*real)(pid_t, int) = (int (*)(pid_t, int))dlsym(RTLD_NEXT, "kill");
    int rc = real(pid, sig);

    usleep(20000);
    return rc;
}
END
slow() {
    local i rc
    for i in 1 2 3; do
        LD_PRELOAD=$PWD/slow.so mpiexec -n 5 "$prog" slow 1 >out 2>&1
        rc=$?
        [ $rc = 137 ] && ! left && ! grep -E 'rank [0234] on .* is gone' out || { cat out; echo "exit status $rc"; return 1; }
    done
}
${CC:-cc} -shared -fPIC -o slow.so slow.c -ldl || fail 'slow.c does not compile'
check 'a launcher that is slow' slow
# before: how rank 1 ends before MPI_Init, in which the others are; exit status, message
before() {
    local how=$1 want=$2 text=$3 start=$SECONDS rc
    shift 3
    timeout 20 mpiexec "$@" -n 3 sh -c '[ ${PMI_RANK:-$PMI_ID} != 1 ] || '"$how"'; exec "$0" hear -1' "$prog" >out 2>&1
    rc=$?
    ((SECONDS - start <= 5)) || { echo "it took $((SECONDS - start)) s"; return 1; }
    ! left || return 1
    cat out
    [ $rc = $want ] || { echo "exit status $rc, expected $want"; return 1; }
    grep -Eq "$text" out
}
before_init='before MPI_Init, where rank [02] waits for it'
check 'exit(0) before MPI_Init' before 'exit 0' 1 "rank 1 on host $host .* status 0 $before_init"
check 'exit(3) before MPI_Init' before 'exit 3' 3 "rank 1 on host $host .* status 3 $before_init"
check 'late exit before MPI_Init' before '{ sleep 1; exit 0; }' 1 "$before_init"
check 'SIGSEGV before MPI_Init' before 'kill -11 $$' 139 "rank 1 on host $host .* killed by signal 11 "
check 'SIGKILL before MPI_Init' before 'kill -9 $$' 137 "rank 1 on host $host .* killed by signal 9 "
check 'exit before MPI_Init, -pmi-port' before 'exit 0' 1 "$before_init" -pmi-port
check 'a program without MPI beside one with' status 1 "rank 1 .*before MPI_Init, where rank 0 waits" \
    timeout 20 mpiexec -n 1 "$prog" hear -1 : -n 1 true
check 'no such program beside one' status 127 './nowhere cannot be started on host' \
    timeout 20 mpiexec -n 1 "$prog" hear -1 : -n 1 ./nowhere
# It may come yet.
check 'a shell that has left its rank behind' status 13 'rank 1 on' \
    timeout 20 mpiexec -n 2 sh -c '[ $PMI_RANK != 1 ] || { (sleep 1; exec "$0" abort 1) & exit 0; }; exec "$0" abort 1' "$prog"
check 'a job without MPI' timeout 20 mpiexec -n 3 sh -c '[ $PMI_RANK = 1 ] || sleep 1'

# outside: signal, to whom, program
outside() {
    local sig=$1 who=$2 how=$3 text=$4 job rc start i
    : >out
    # A shell without job control lets its background jobs ignore SIGINT.
    set -m
    mpiexec -n 4 "$prog" $how -1 >out 2>&1 </dev/null &
    job=$!
    set +m
    for ((i = 0; i < 300; i++)); do
        grep -q running out && break
        sleep 0.1
    done
    grep -q running out || {
        cat out
        pgrep -P $job >/dev/null || echo 'no child of mpiexec'
        pgrep -af "$prog"
        kill -9 $job
        echo 'it does not start'
        return 1
    }
    start=$SECONDS
    case $who in
    front) kill -$sig $job ;;
    group) kill -$sig -$job ;;
    rank) kill -$sig $(pgrep -P $job -x launch_prog | head -n 1) ;;
    esac
    wait $job
    rc=$?
    cat out
    ((SECONDS - start <= 5)) || { echo "it took $((SECONDS - start)) s"; return 1; }
    [ $rc != 0 ] || { echo 'exit status 0'; return 1; }
    ! left || return 1
    ! pgrep -P $job >/dev/null || { echo 'children are left'; return 1; }
    grep -Eq "$text" out
}
for how in hear deaf; do
    for sig in INT TERM HUP; do
        check "SIG$sig to mpiexec, $how" outside $sig front $how "mpiexec got signal"
        check "SIG$sig to the group, $how" outside $sig group $how "mpiexec got signal"
    done
    check "SIGKILL to mpiexec, $how" outside KILL front $how running
    check "SIGKILL to a rank, $how" outside KILL rank $how 'rank 0 on .*killed by signal 9'
done

# What ranks have started ends, too: when mpiexec is killed, and when it ends; in the same process group and in a session of its own.
prog="sleep 61.$$"
offspring() { # SIGNAL, or none
    local i job
    mpiexec -n 2 sh -c "setsid $prog & $prog & sleep 0.1; [ -z '$1' ] || sleep 60" >out 2>&1 </dev/null &
    job=$!
    if [ -n "$1" ]; then
        for ((i = 0; i < 100; i++)); do
            [ "$(pgrep -fc "^$prog")" -ge "$2" ] && break
            sleep 0.1
        done
        kill -$1 $job
    fi
    wait $job
    ! left
}
check 'offspring at the end' offspring ''
check 'offspring at SIGTERM' offspring TERM 4
prog="sleep 62.$$"
group_of_killed() {
    mpiexec -n 2 sh -c "$prog & sleep 60" >out 2>&1 </dev/null &
    for ((i = 0; i < 100; i++)); do
        [ "$(pgrep -fc "^$prog")" -ge 2 ] && break
        sleep 0.1
    done
    kill -9 $!
    ! left
}
check 'offspring when mpiexec is killed' group_of_killed

# The terminal's and other signals
passes() {
    mpiexec -n 2 sh -c 'trap "echo usr1; exit 0" USR1; echo running; while :; do sleep 0.1; done' >out 2>&1 </dev/null &
    for ((i = 0; i < 100; i++)); do
        [ "$(grep -c running out)" = 2 ] && break
        sleep 0.1
    done
    kill -USR1 $!
    wait $! && [ "$(grep -c usr1 out)" = 2 ]
}
check 'SIGUSR1 is passed on' passes
stopped() {
    local job rank i
    mpiexec -n 1 sh -c 'echo running; while [ ! -e go ]; do sleep 0.1; done' >out 2>&1 </dev/null &
    job=$!
    for ((i = 0; i < 100; i++)); do
        grep -q running out && break
        sleep 0.1
    done
    rank=$(pgrep -P $job -x sh)
    kill -TSTP $job
    for ((i = 0; i < 50; i++)); do
        grep -q 'T (stopped)' /proc/$job/status && grep -q 'T (stopped)' /proc/$rank/status && break
        sleep 0.1
    done
    kill -CONT $job
    touch go
    wait $job && [ $i -lt 50 ]
}
check 'SIGTSTP and SIGCONT' stopped

# C++ programs may end MPI in a destructor, which exit() runs.
cat >late.cc <<'END'
#include <mpi.h>
struct Session {
    ~Session() { MPI_Finalize(); }
};
static Session session;
int main(int argc, char **argv) { MPI_Init(&argc, &argv); return 0; }
END
if command -v "${CXX:-c++}" >/dev/null 2>&1; then
    cpp=$(mpicc -show -c late.cc -o late.o | sed "s/^[^ ]*/${CXX:-c++}/")
    late() { $cpp && ${CXX:-c++} -o late late.o $(mpicc -show | sed 's/^[^ ]*//'); }
    check 'a destructor that ends MPI compiles' late
    check 'MPI_Finalize in a destructor' status 0 '' timeout 20 mpiexec -n 3 ./late
else
    skip_one 'no C++ compiler (package g++)'
fi

# What must not end it
hangup() {
    (trap '' HUP; exec mpiexec -n 2 sh -c 'echo running; sleep 1') >out 2>&1 </dev/null &
    for ((i = 0; i < 100; i++)); do
        grep -q running out && break
        sleep 0.1
    done
    kill -HUP $!
    wait $! || { cat out; return 1; }
}
check 'SIGHUP under nohup' hangup
background() {
    timeout 20 script -qec "bash -c 'set -m; mpiexec -n 2 sleep 0.3 & wait %1; echo ended \$?; kill -9 %1'" /dev/null \
        </dev/null | tee out | grep -q 'ended 0' || { cat out; return 1; }
}
if command -v script >/dev/null 2>&1; then
    check 'in the background of a terminal' background
else
    skip_one 'script is not there (package bsdutils)'
fi
check 'a reader that leaves' [ "$({ mpiexec -n 2 seq 1000000 2>err || true; } | head -n 1)" = 1 ]
totals
