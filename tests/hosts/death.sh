#!/bin/bash
# test: timeout=200
# Traffic across hosts, and what happens to it: a slow or lossy network and a cable that is
# out for two seconds cost time alone; a rank, a host or a cable that is gone for good ends
# the job with a message; which rank it was is known when mpiexec or a peer saw it die.
. "$TEST_SRC/tests/hosts/lib.sh"
. "$TEST_LIB"
hosts_enter "$@"
mpicc -O1 -o traffic "$TEST_SRC/tests/input/traffic.c" || fail 'traffic.c does not compile'
# How long a connection may be silent is the provider's matter.
sed '/^datum-tcp/s/"" *""$/"timeout=8" ""/' "$DAT_OVERRIDE" >dat.conf
export DAT_OVERRIDE=$PWD/dat.conf

start() { # N ARGUMENT...: traffic that runs
    local i n=$1
    shift
    : >out
    "$hosts_d" run "$hosts_dir/h1.sock" mpiexec -ppn 1 -n "$n" ./traffic "$@" >out 2>err &
    job=$!
    for ((i = 0; i < 300; i++)); do
        grep -q running out && return
        sleep 0.1
    done
    cat out err
    fail 'the job does not start'
}
# ended NAME SECONDS PATTERN: in time, with an error that says so, and nothing is left
ended() {
    local i left t0=$SECONDS
    while kill -0 $job 2>/dev/null && [ $((SECONDS - t0)) -le "$2" ]; do sleep 0.05; done
    if kill -0 $job 2>/dev/null; then
        fail_one "$1: the job still runs after $2 seconds"
        tail -n 20 err
        kill -KILL $job
        return
    fi
    wait $job
    rc=$?
    # A host that is cut off has a rank that asks for its launcher for three seconds.
    for ((i = 0; i < 60; i++)); do
        left=$(hosts_left)
        [ -n "$left" ] || break
        sleep 0.1
    done
    if [ -n "$left" ]; then
        fail_one "$1: left: $left"
    elif [ $rc = 0 ]; then
        fail_one "$1: exit status 0"
    elif ! grep -Eq "$3" err; then
        fail_one "$1: nothing says \"$3\""
        tail -n 20 err
    else
        pass_one
    fi
}
survives() { # NAME
    if wait $job; then
        pass_one
    else
        fail_one "$1: exit status $?"
        tail -n 20 err
    fi
}

# ---- what costs time alone ----

hosts_make 2
start 3 -n 100
host_link h2 down
sleep 2
host_link h2 up
survives 'a cable that is out for two seconds'

start 2 -n 30
hosts_loss 1
survives 'one percent is lost'
hosts_loss 0

start 2 -n 20
hosts_rate 100mbit
survives 'a slow network'

# ---- what ends the job ----

# Hydra may give up before anybody has seen who was the first.
elsewhere='a host, or the connection to it, is gone'

hosts_make 3
start 3
victim=$(on_host h2 pgrep -x traffic)
on_host h2 kill -KILL "$victim"
ended 'kill -9 of a rank on another host' 10 'rank 1 on( host)? h2'

hosts_make 3
start 3
host_kill h3
ended 'death of a host' 10 "rank 2 on( host)? h3|$elsewhere"

hosts_make 2
start 2
host_link h2 down
ended 'a cable that stays out' 40 'rank [01] on( host)? h[12]'
totals
