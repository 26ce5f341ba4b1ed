#!/bin/bash
# test: timeout=300
# Two hosts with two networks for the data: a cable that is cut in mid-transfer costs a second
# or two and no byte; without the last one the job ends and says what broke; large
# transfers use both. A third network is mpiexec's. The second half, with times and bytes,
# only with TEST_FULL=yes ("make check-hosts").
. "$TEST_SRC/tests/hosts/lib.sh"
. "$TEST_LIB"
hosts_enter "$@"
san=$(sed -n "s/^SANFLAGS = //p" "$DATUM_BUILD/config.mk")
# shellcheck disable=SC2086 # none, or several options
mpicc -O1 $san -o rails "$TEST_SRC/tests/hosts/rails.c" || fail 'rails.c does not compile'
for net in 1 2; do
    sed -n "/^datum-tcp/{s/datum-tcp/net$net/;s/\"\" *\"\"\$/\"if=eth$net timeout=2\" \"\"/p}" \
        "$DAT_OVERRIDE"
done >dat.conf
[ "$(grep -c timeout=2 dat.conf)" = 4 ] || fail "dat.conf: $(cat dat.conf)"
sed -n '/^net2/{s/net2/ofi2/;s/dapl_tcp/dapl_ofi/;p}' dat.conf >ofi.conf
[ ! -e "$DATUM_BUILD/lib/libdatum_dapl_ofi.so" ] || cat ofi.conf >>dat.conf
export DAT_OVERRIDE=$PWD/dat.conf DATUM_TIMEOUT=5s

rounds() { sed -n 's/^round //p' out | tail -n 1; }
# wait_for SECONDS COMMAND...
wait_for() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        kill -0 $job 2>/dev/null && [ $SECONDS -le $until ] || return 1
        sleep 0.05
    done
}
is_at() { [ "$(rounds || echo 0)" -ge "$1" ] 2>/dev/null; }
has_moved() { grep -q 'it goes on over' err; }
# each process tries by itself when the time has come: what one has is of use when the other has it, too
both_join() { [ "$(grep -c 'net2 has joined the rails' err)" = 2 ]; }
finish() { # NAME: the job must end well
    local rc
    touch stop
    wait_for 30 is_over
    if kill -0 $job 2>/dev/null; then
        fail_one "$1: it does not end"
        kill -KILL $job
    else
        wait $job
        rc=$?
        if [ $rc != 0 ]; then
            fail_one "$1: exit status $rc"
        elif ! grep -q '^done' out; then
            fail_one "$1: not done"
        else
            pass_one
            return
        fi
    fi
    tail -n 5 out
    grep -v '^datum:  ' err | head -n 30
}
is_over() { ! kill -0 $job 2>/dev/null; }
ranks=(-ppn 1 -n 2 ./rails)
start() { # VARIABLE=VALUE...
    rm -f stop
    : >out
    env "$@" "$hosts_d" run "$hosts_dir/h1.sock" mpiexec "${ranks[@]}" >out 2>err &
    job=$!
    wait_for 30 grep -q running out || {
        cat out err
        fail 'the job does not start'
    }
}
# survives NAME NET PATTERN VARIABLE=VALUE...: NET is cut and comes back after it went on
survives() {
    local name=$1 net=$2 pattern=$3 t0
    shift 3
    start "$@"
    wait_for 30 is_at 10 || fail_one "$name: no traffic before"
    host_link h2 down "$net"
    t0=${EPOCHREALTIME/./}
    if [ -n "$pattern" ]; then
        wait_for 15 has_moved || fail_one "$name: it does not move"
        echo "$name: moved after $(((${EPOCHREALTIME/./} - t0) / 1000)) ms"
        grep -Eq "$pattern" err || fail_one "$name: nothing says \"$pattern\""
    fi
    sleep 0.2
    wait_for 30 is_at $(($(rounds) + 10)) || fail_one "$name: no traffic afterwards"
    host_link h2 up "$net"
    wait_for 30 is_at $(($(rounds) + 10)) || fail_one "$name: no traffic in the end"
    finish "$name"
}

# counted NAME [RAIL]: DATUM_STATS has such a counter, of that rail, and it is not 0
counted() {
    check "the counter \"$1\"${2:+ of rail $2}" awk -v name="$1" -v rail="${2:-}" '
        $2 == "rail" && $4 == "records" { at = $3 + 0 }
        index($0, name) && (rail == "" || at == rail) { n = 1 }
        END { exit !n }' err
}

hosts_make 2 --nets 3
survives "the pipe's network" 1 'rank [01] on host h[12] broke over net1 .*goes on over net2' \
    DATUM_PROVIDER=net1,net2 DATUM_STATS=1
counted 'moved to another rail'
for rail in 0 1; do
    counted records $rail
    counted 'in records' $rail
    counted 'by RDMA' $rail
done
survives "the pipe's network, send and receive" 1 'goes on over net2' \
    DATUM_PROVIDER=net1,net2 DATUM_EAGER=sendrecv
survives 'the other network, with shares of transfers' 2 '' DATUM_PROVIDER=net1,net2 \
    DATUM_STATS=1
counted 'striped transfers'
counted 'shares of striped transfers' 0
counted 'shares of striped transfers' 1
counted 'in shares' 1

# A network that is back is taken up again: by the pipe, if it is the better one, and by shares.
start DATUM_PROVIDER=net1,net2 DATUM_STATS=1 DATUM_EXPLAIN=1 DATUM_RAIL_RETRY=500ms
wait_for 30 is_at 5
host_link h2 down 1
wait_for 15 has_moved || fail_one 'a network that comes back: it does not move'
wait_for 30 is_at $(($(rounds) + 10)) || fail_one 'a network that comes back: no traffic without it'
host_link h2 up 1
wait_for 30 grep -q 'goes on over net1 again' err ||
    fail_one 'a network that comes back is not taken up again'
wait_for 30 is_at $(($(rounds) + 10)) || fail_one 'a network that comes back: no traffic over it'
host_link h2 down 2
wait_for 30 is_at $(($(rounds) + 10)) || fail_one 'a network that comes back: the other is needed'
host_link h2 up 2
finish 'a network that comes back'
check 'what is done with a lost rail is explained' grep -q 'tried again after 0.5 s' err
counted 'moved back to a better one'
counted 'links lost' 0
counted 'links taken up again' 0

# A network whose interfaces come while the job runs joins: transfers are shared with it.
sed -n '/^datum-shm/p;/^net1/{s/net1/datum-tcp/;p};/^net2/p' "$DATUM_BUILD/etc/dat.conf" dat.conf >late.conf
comes() { # UP|DOWN: the addresses of the second network
    local host
    for host in h1 h2; do
        if [ "$1" = up ]; then
            on_host $host ip addr add "$(host_address $host 2 4)/24" dev eth2 || return 1
        else
            on_host $host ip addr flush dev eth2 || return 1
        fi
    done
}
comes down || fail_one 'a network that comes later: its addresses do not go'
ranks=(-ppn 1 -n 2 ./rails -w)
start DAT_OVERRIDE="$PWD/late.conf" DATUM_STATS=1 DATUM_EXPLAIN=1 DATUM_RAIL_RETRY=200ms
wait_for 30 is_at 5 || fail_one 'a network that comes later: no traffic before'
! grep -q 'has joined the rails' err || fail_one 'a network that comes later: it is said to be there before it is'
comes up || fail_one 'a network that comes later: its addresses do not come'
wait_for 30 both_join || fail_one 'a network that comes later does not join'
wait_for 30 is_at $(($(rounds) + 20)) || fail_one 'a network that comes later: no traffic with it'
# each process says once why it is not there, however often it tries
check 'a network that comes later: what is said of it' [ "$(grep -c 'net2: interface eth2 has no address' err)" = 2 ]
# it has joined: the pipe moves to it
host_link h2 down 1
wait_for 15 grep -q 'broke over datum-tcp .*goes on over net2' err ||
    fail_one 'a network that came later does not take the pipe'
wait_for 30 is_at $(($(rounds) + 10)) || fail_one 'a network that came later: no traffic over it alone'
host_link h2 up 1
wait_for 30 grep -q 'goes on over datum-tcp again' err || fail_one 'a network that came later is not left again'
finish 'a network that comes later'
counted 'shares of striped transfers' 1
counted 'shares of striped transfers' 2

# Memory that was made known before it came is not reached over it: that waits for the first network.
comes down || fail_one 'a network that comes later, an older window: its addresses do not go'
ranks=(-ppn 1 -n 2 ./rails)
start DAT_OVERRIDE="$PWD/late.conf" DATUM_EXPLAIN=1 DATUM_RAIL_RETRY=200ms
wait_for 30 is_at 5 || fail_one 'a network that comes later, an older window: no traffic before'
comes up || fail_one 'a network that comes later, an older window: its addresses do not come'
wait_for 30 both_join || fail_one 'a network that comes later, an older window: it does not join'
wait_for 30 is_at $(($(rounds) + 10)) || fail_one 'a network that comes later, an older window: no traffic'
host_link h2 down 1
wait_for 15 has_moved || fail_one 'a network that comes later, an older window: the pipe does not move'
! wait_for 3 is_at $(($(rounds) + 10)) || fail_one 'a network that comes later, an older window: it does not wait'
host_link h2 up 1
wait_for 30 is_at $(($(rounds) + 20)) || fail_one 'a network that comes later, an older window: no traffic afterwards'
finish 'a network that comes later, an older window'
ranks=(-hosts h1 -n 1 ./rails -s h2)
survives 'a spawned process' 1 'goes on over net2' DATUM_PROVIDER=net1,net2
ranks=(-ppn 1 -n 2 ./rails)
[ $n_failed = 0 ] || cat err

[ -n "${TEST_FULL:-}" ] || totals
survives "the pipe's network, a rail at a time" 1 'goes on over net2' \
    DATUM_PROVIDER=net1,net2 DATUM_RAILS=1

# ---- the last one ----

start DATUM_PROVIDER=net1,net2 DATUM_RECONNECT=4s
wait_for 30 is_at 5
host_link h2 down 1
wait_for 15 has_moved || fail_one 'the first of two: it does not move'
host_link h2 down 2
t0=$SECONDS
# 2 s until it is noticed, 4 of trying
if ! wait_for 20 false && kill -0 $job 2>/dev/null; then
    fail_one 'the last network: the job still runs'
    kill -KILL $job
else
    wait $job && fail_one 'the last network: exit status 0'
    for word in 'rank [01] on host h[12]' 'over net[12]' 'DATUM_RECONNECT is over' 'net1: ' 'net2: '; do
        check "the last network: \"$word\"" grep -Eq "connection lost.*$word|$word.*connection lost" err
    done
    echo "the last network: ended after $((SECONDS - t0)) s"
fi
[ $n_failed = 0 ] || cat err

# ---- shares ----

sent() { on_host h1 cat "/sys/class/net/eth$1/statistics/tx_bytes"; }
# timed RAILS [PROVIDERS [MESSAGES]]: milliseconds for messages of 4 MB from h1 to h2; sets took, and
# bytes of either network
timed() {
    local before1 before2
    before1=$(sent 1) before2=$(sent 2)
    took=$(on_host h1 env DATUM_PROVIDER="${2:-net1,net2}" DATUM_RAILS="$1" DATUM_RNDV=read \
        DATUM_STATS=1 timeout 60 mpiexec -ppn 1 -n 2 ./rails -t 4000000 "${3:-6}" 2>err |
        sed -n 's/^took //p')
    bytes1=$(($(sent 1) - before1)) bytes2=$(($(sent 2) - before2))
    echo "$1 rails, ${2:-net1,net2}: ${took:-?} ms, $bytes1 and $bytes2 bytes"
}
hosts_make 2 --nets 3 # nothing is left of what was cut
hosts_rate 60mbit
timed 1
one=${took:-0}
check 'one rail: all goes over one network' [ "$bytes2" -lt 1000000 ]
[ "$bytes2" -lt 1000000 ] || cat err
check 'and is as fast as that' [ "$one" -ge 2500 ]
timed 2
check 'two rails: half over each' \
    [ $((bytes1 > 9000000 && bytes2 > 9000000 && bytes1 + bytes2 < 40000000)) = 1 ]
check "two rails ($took ms) are faster than one ($one ms)" \
    [ $((${took:-0} > 0 && took * 3 < one * 2)) = 1 ]

# ---- rails that are not alike ----

# split_well NAME: all has come, about a fifth of it over the second network
split_well() {
    check "$1: by speed" \
        [ $((${took:-0} > 0 && bytes1 > 2 * bytes2 && bytes1 < 10 * bytes2 && bytes2 > 3000000)) = 1 ]
    counted 'in shares' 0
    counted 'in shares' 1
}
hosts_rate 80mbit 1
hosts_rate 20mbit 2
timed 2 net1,net2 12
split_well 'the second is slower'
timed 2 net2,net1 12
split_well 'the first is slower'
if [ -e "$DATUM_BUILD/lib/libdatum_dapl_ofi.so" ]; then
    timed 2 net1,ofi2 12
    split_well 'a network of another kind'
fi
hosts_rate 100mbit 1
hosts_rate 4mbit 2
timed 2 net1,net2 12
check 'one that is too slow is left out' [ $((${took:-0} > 0 && bytes2 < 6000000)) = 1 ]
[ $n_failed = 0 ] || cat err
totals
