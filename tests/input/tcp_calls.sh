#!/bin/bash
# test: timeout=120 san=no
# What a short message over datum-tcp asks of the kernel: one call that sends and one that receives it;
# acknowledgements go along. strace counts those of all threads in ping-pongs of two lengths.
. "$TEST_LIB"
need strace strace
strace -c -o trace true 2>/dev/null || skip "strace may not trace here"

few=40 many=240
messages=$((2 * (many - few) * 5 / 4)) # with those that warm up
export DATUM_PROVIDER=datum-tcp DATUM_PROGRESS=poll DATUM_CONNECT=start

# counts N BYTES: "SENT RECEIVED", calls of N exchanges; those that receive nothing do not count
counts() {
    timeout 60 strace -f -c -o trace -e trace=sendto,sendmsg,recvfrom,recvmsg \
        mpiexec -n 2 "$DATUM_BUILD/bench/pingpong" -l -r 1 -s "$2:$2" -n "$1" >said 2>&1 || { cat said >&2; return 1; }
    awk '/send(to|msg)$/ { sent += $4 }
        /recv(from|msg)$/ { got += $4 - (NF == 6 ? $5 : 0) }
        END { print sent + 0, got + 0 }' trace
}

for bytes in 8 1024 16384; do
    low=$(counts $few $bytes) && high=$(counts $many $bytes) || { fail_one "$bytes bytes do not run"; continue; }
    read -r sent got <<<"$low"
    read -r sent_more got_more <<<"$high"
    sent=$((sent_more - sent)) got=$((got_more - got))
    check "$bytes bytes: $sent calls to send $messages messages" [ $((100 * sent)) -le $((104 * messages)) ]
    check "$bytes bytes: $got calls to receive them" [ $((10 * got)) -le $((11 * messages)) ]
done
# A message that is read: the peer asks for it, says that it has it, and has the next one for us at once.
reads() {
    timeout 60 strace --seccomp-bpf -f -c -o trace -e trace=sendto,sendmsg mpiexec -n 2 \
        "$DATUM_BUILD/bench/pingpong" -l -r 1 -s 262144:262144 -n "$1" >said 2>&1 || { cat said >&2; return 1; }
    awk '/send(to|msg)$/ { sent += $4 } END { print sent + 0 }' trace
}

export DATUM_RNDV=read
low=$(reads $few) && high=$(reads $many) || fail_one "262144 bytes do not run"
sent=$((high - low))
check "262144 bytes: $sent calls to send for $messages messages" [ $((10 * sent)) -le $((34 * messages)) ]
rm -f trace said
totals
