#!/bin/bash
# test: timeout=150
# mpiexec starts ranks on several hosts: environment, directory, arguments, input and exit
# status arrive; when a rank, a proxy, a host or mpiexec itself is killed, the job ends
# within seconds and leaves nothing anywhere.
. "$TEST_SRC/tests/hosts/lib.sh"
hosts_enter "$@"
. "$TEST_LIB"
mpicc -o sleeper "$TEST_SRC/tests/hosts/sleeper.c" || fail 'sleeper.c does not compile'
hosts_make 3
export DATUM_CONNECT=demand

on_all() { on_host h1 mpiexec -ppn 1 "$@"; }
prints() { # WANT COMMAND...: the lines, sorted
    local want=$1 got
    shift
    got=$("$@" 2>&1 | sort)
    [ "$got" = "$want" ] && return
    echo "wanted: $want"
    echo "got: $got"
    return 1
}

# ---- what arrives ----

check 'a process on each host' prints $'h1\nh2\nh3' on_all -n 3 hostname
check '-hosts' prints $'h2\nh3' on_host h1 mpiexec -hosts h2,h3 -n 2 hostname
check '-host of each program' prints $'h2 0\nh3 1\nh3 2' on_host h1 mpiexec -host h2 -n 1 sh -c 'echo $(hostname) $PMI_RANK' : \
    -host h3 -n 2 sh -c 'echo $(hostname) $PMI_RANK'
echo h3:2 >list
check '-f' prints $'h3\nh3' on_host h1 mpiexec -f list -n 2 hostname
check 'the ranks of mpiexec far away' prints $'h2' on_host h3 mpiexec -hosts h2 -n 1 hostname
check 'directory' prints "$PWD"$'\n'"$PWD" on_all -n 2 pwd
export DATUM_SPIN=7us MY_VAR='two  words; $HOME "quoted"'
check 'DATUM_ variables' prints $'7us\n7us' on_all -n 2 sh -c 'echo $DATUM_SPIN'
check 'quoted variables' prints "$MY_VAR"$'\n'"$MY_VAR" on_all -n 2 sh -c 'echo "$MY_VAR"'
check 'DAT_OVERRIDE' prints "$DAT_OVERRIDE"$'\n'"$DAT_OVERRIDE" on_all -n 2 sh -c 'echo $DAT_OVERRIDE'
check 'PATH' prints "$PATH"$'\n'"$PATH" on_all -n 2 sh -c 'echo $PATH'
check 'LD_LIBRARY_PATH' on_all -n 2 sh -c 'case $LD_LIBRARY_PATH in $DATUM_BUILD/lib:*) ;; *) exit 1 ;; esac'
unset DATUM_SPIN
args=('a  b' '$x' "it's" '"' '\' '*' '' ';')
check 'arguments' prints "$(printf '<%s>\n' "${args[@]}" "${args[@]}" | sort)" \
    on_all -n 2 bash -c 'printf "<%s>\n" "$@"' x "${args[@]}"
check 'input goes to rank 0' prints hello bash -c \
    "echo hello | '$hosts_d' run $hosts_dir/h1.sock mpiexec -hosts h2 -n 1 cat"
check 'exit status' status 9 '' on_all -n 3 ./sleeper 9
check 'end' status 0 '' on_all -n 5 ./sleeper 0
check 'one that ends before MPI_Init' status 3 'rank 0 on host h1 .*before MPI_Init, where rank [12] waits' \
    on_all -n 3 sh -c '[ $PMI_RANK != 0 ] || exit 3; exec ./sleeper 0'
on_host h1 cp /bin/true /tmp/only-h1
check 'a program that one host has not' status 127 '/tmp/only-h1 cannot be started on host h2: No such file' \
    on_all -n 2 /tmp/only-h1
on_host h1 rm /tmp/only-h1

# ---- what dies ----

# start N: a job whose ranks all run
start() {
    local i
    : >out
    # Not on_host: a shell would get the signals.
    "$hosts_d" run "$hosts_dir/h1.sock" mpiexec -ppn 1 -n "$1" ./sleeper >out 2>err &
    job=$!
    for ((i = 0; i < 300; i++)); do
        [ "$(grep -c '^rank' out)" = "$1" ] && return
        sleep 0.1
    done
    cat out err
    fail 'the job does not start'
}
# ended NAME: within 10 seconds, with a message, and nothing is left
ended() {
    local i left t0=$SECONDS
    while kill -0 $job 2>/dev/null; do
        if [ $((SECONDS - t0)) -gt 10 ]; then
            cat err
            fail_one "$1: the job still runs"
            kill -KILL $job
            hosts_make 3
            return
        fi
        sleep 0.05
    done
    wait $job
    rc=$?
    for ((i = 0; i < 30; i++)); do
        left=$(hosts_left)
        [ -n "$left" ] || break
        sleep 0.1
    done
    if [ -n "$left" ]; then
        fail_one "$1: left: $left"
        hosts_make 3
    elif [ $rc = 0 ]; then
        fail_one "$1: exit status 0"
    elif [ ! -s err ] && [ "${2:-}" != quiet ]; then
        fail_one "$1: no message"
    else
        pass_one
    fi
}
err_says() { # NAME PATTERN
    if grep -Eq "$2" err; then
        pass_one
    else
        fail_one "$1: nothing says \"$2\""
        cat err
    fi
}
process_of() { sed -n "s/^rank $1 on .*process //p" out; }

start 6
on_host h2 kill -KILL "$(process_of 1)"
ended 'kill -9 of a rank on another host'
err_says 'kill -9 of a rank on another host' 'error: rank 1 on host h2 '

start 6
on_host h1 kill -KILL "$(process_of 3)"
ended "kill -9 of a rank on mpiexec's host"
err_says "kill -9 of a rank on mpiexec's host" 'rank 3 on host h1'

# A busy machine takes its time to end a process.
gone() { # HOST PROCESS
    local i
    for ((i = 0; i < 200; i++)); do
        on_host "$1" kill -0 "$2" 2>/dev/null || return
        sleep 0.02
    done
}
# Hydra is slow to kill the ranks of this host: the first of them is no culprit.
start 6
on_host h1 pkill -STOP -x hydra_pmi_proxy
on_host h2 kill -KILL "$(process_of 1)"
gone h2 "$(process_of 1)"
on_host h1 kill -KILL "$(process_of 3)"
sleep 0.8
on_host h1 pkill -CONT -x hydra_pmi_proxy
ended 'a slow end of the ranks on one host'
err_says 'a slow end of the ranks on one host' 'error: rank 1 on host h2'

start 6
on_host h2 pkill -KILL -f 'mpiexec --agent'
ended 'kill -9 of an agent'

start 3
on_host h2 pkill -KILL -f hydra_pmi_proxy
ended 'kill -9 of a proxy'

start 3
host_kill h3
ended 'death of a host'
hosts_make 3

for sig in INT TERM; do
    start 4
    kill -$sig $job
    ended "SIG$sig"
    err_says "SIG$sig" "mpiexec got signal.*the job is ended"
done

start 4
on_host h1 pkill -KILL -x mpiexec
ended 'kill -9 of mpiexec' quiet
totals
