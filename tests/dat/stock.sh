#!/bin/bash
# test: timeout=300 san=no
# The distribution's own DAT tests against one provider.
#
#   stock.sh PROVIDER
#
# DAT_OVERRIDE names the dat.conf. One line per case, then "N passed, N failed".
# The tools' exit codes say little (dtest ends with 0 when it has failed, FFT
# says PASS after a failed assertion), so their output is read. Every case has
# a time limit; nothing is left running.
set -u

name=${1:?usage: stock.sh PROVIDER}
dir=$(mktemp -d) || exit 1
limit=30
n_passed=0
n_failed=0
server=

stop_server() {
    [ -z "$server" ] && return
    kill "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    server=
}
cleanup() {
    stop_server
    rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

result() { # CASE IS_OK
    if [ "$2" = 0 ]; then
        n_passed=$((n_passed + 1))
        echo "ok      $1"
    else
        n_failed=$((n_failed + 1))
        echo "FAILED  $1"
        sed 's/^/        server: /' "$dir/server" | tail -n 5
        sed 's/^/        client: /' "$dir/client" | tail -n 10
    fi
}

# Until the server says that it is ready, or has ended.
wait_for() { # TEXT
    for _ in $(seq 200); do
        grep -q "$1" "$dir/server" && return 0
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.02
    done
    return 1
}

# One server and client; 0 when both say that they passed.
dtest_pair() { # OPTIONS
    : >"$dir/client"
    timeout -k 1 $limit stdbuf -oL dtest -P "$name" "$@" >"$dir/server" 2>&1 &
    server=$!
    wait_for "Server is waiting for client\|Running as server"
    # The side channel's port may take a moment to be open.
    for _ in $(seq 20); do
        timeout -k 1 $limit dtest -P "$name" "$@" -h 127.0.0.1 >"$dir/client" 2>&1
        grep -q "Connection refused\|ECONNREFUSED\|connect.*refused" "$dir/client" || break
        sleep 0.05
    done
    # A client that failed leaves the server waiting for ever.
    grep -q "DAPL Test Complete. FAILED" "$dir/client" || for _ in $(seq 100); do
        kill -0 "$server" 2>/dev/null || break
        sleep 0.02
    done
    stop_server
    grep -q "DAPL Test Complete. PASSED" "$dir/client" &&
        grep -q "DAPL Test Complete. PASSED" "$dir/server"
}

run_dtest() { # OPTIONS
    local ok=1
    # dtest's server lets the client go before it listens: a fast client is rightly refused.
    for _ in 1 2 3 4 5; do
        dtest_pair "$@" && ok=0
        [ $ok = 1 ] && grep -q NON_PEER_REJECTED "$dir/client" || break
    done
    result "dtest $*" $ok
}

run_dapltest() { # KIND OPTIONS
    local kind=$1 ok=1
    shift
    : >"$dir/client"
    timeout -k 1 $limit stdbuf -oL dapltest -T S -D "$name" >"$dir/server" 2>&1 &
    server=$!
    wait_for "Service Point Ready"
    if timeout -k 1 $limit dapltest -T "$kind" -s 127.0.0.1 -D "$name" "$@" \
        >"$dir/client" 2>&1; then
        ok=0
    fi
    grep -qi "error\|fail\|usage:" "$dir/client" "$dir/server" && ok=1
    grep -q "End of Work" "$dir/client" || ok=1
    stop_server
    result "dapltest -T $kind $*" $ok
}

run_fft() { # CASES
    local ok=0
    : >"$dir/server"
    timeout -k 1 $limit dapltest -T F -D "$name" -f "$@" >"$dir/client" 2>&1 || ok=1
    grep -q "failed in file\|Test Error" "$dir/client" && ok=1
    grep -q "Result: PASS" "$dir/client" || ok=1
    result "dapltest -T F -f $*" $ok
}

for tool in dtest dapltest; do
    if ! command -v $tool >/dev/null; then
        echo "stock.sh: $tool is missing: apt-get install dapl2-utils" >&2
        exit 1
    fi
done

if ! timeout -k 1 $limit dapltest -T L -D "$name" -m 1 limit_ia 2>&1 |
    grep -q "IAs opened: 1"; then
    echo "stock.sh: provider '$name' cannot be opened (DAT_OVERRIDE=${DAT_OVERRIDE-})" >&2
    exit 1
fi

for size in 64 4096 65536; do
    run_dtest -b $size
done
run_dtest -b 4096 -p
run_dtest -b 4096 -c
# Both sides spin: few sizes and much time, for machines that are busy.
limit=60 run_dtest -b 16 -W -a

run_dapltest T -i 1 client SR 4096 server SR 4096
run_dapltest Q
run_dapltest T -i 2000 client SR 256 server SR 256
run_dapltest T -i 2000 -P client SR 256 server SR 256
run_dapltest T -r -i 100 client SR 1024 server SR 1024
run_dapltest T -V -i 200 client SR 1024 3 -f server SR 1536 2 -f
run_dapltest T -i 2000 client SR 256 server RW 4096 server SR 256
run_dapltest T -i 2000 client SR 256 server RR 4096 server SR 256
run_dapltest T -P -V -i 1000 client RW 4096 1 server RW 2048 4 server RR 1024 1 \
    client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f
run_dapltest T -P -i 300 client RW 32768 4 server RW 32768 4 server RR 32768 1 \
    client RR 32768 1 client SR 16384 4 -f server SR 16384 4 -f
run_dapltest T -V -t 4 -w 8 -i 50 client SR 256 server RR 4096 server SR 256 \
    client SR 256 server RW 4096 server SR 256

run_fft hwconn
run_fft pz
run_fft mem
run_fft endpoint
run_fft connmgt

echo "$n_passed passed, $n_failed failed"
[ $n_failed = 0 ]
