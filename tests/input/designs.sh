#!/bin/bash
# test: timeout=240
# The designs of the channel (docs/TUNING.md): what each puts on the wire, by its counters; that a slice of
# traffic is right with each; and what is refused.
. "$TEST_LIB"

mpicc -O1 -o designs "$TEST_SRC/tests/input/designs.c" || fail "designs.c does not compile"
mpicc -O1 -o traffic "$TEST_SRC/tests/input/traffic.c" || fail "traffic.c does not compile"

# counts SETTINGS ARGS... -- "RANK NAME=VALUE"...: so many of each; or LEAST-MOST
counts() {
    local settings=$1 args=() want
    shift
    while [ "$1" != -- ]; do
        args+=("$1")
        shift
    done
    shift
    # shellcheck disable=SC2086 # the settings are words
    env DATUM_CONNECT=start DATUM_EAGER=rdma DATUM_EAGER_LIMIT=16k $settings mpiexec -n 2 ./designs "${args[@]}" >said 2>&1 ||
        { cat said; return 1; }
    for want in "$@"; do
        awk -v want="$want" '
            BEGIN { split(want, w, "="); name = w[1]; n = split(w[2], lim, "-") }
            index($0, name " ") == 1 && NF == split(name, parts, " ") + 1 { got = $NF }
            END { if (got == "" || got + 0 < lim[1] + 0 || got + 0 > lim[n] + 0) { print name ": " got ", not " w[2]; exit 1 } }' said ||
            { cat said; return 1; }
    done
}

for p in datum-shm datum-tcp; do
    export DATUM_PROVIDER=$p
    # 20 messages and 20 answers: rank 0 posts one or two writes for each of its own, and in the
    # basic design one for the tail of each answer
    check "$p: piggyback" counts '' 20 64 -- '0 posts: RDMA writes=20' '1 posts: RDMA writes=20' \
        '0 posts: sends=0' '0 copies into rings=20' '1 copies out of rings=20'
    check "$p: basic" counts DATUM_EAGER=basic 20 64 -- '0 posts: RDMA writes=60' \
        '1 posts: RDMA writes=60' '0 posts: sends=0' '0 copies into rings=20'
    check "$p: send/receive" counts DATUM_EAGER=sendrecv 20 64 -- '0 posts: sends=20' \
        '1 posts: sends=20' '0 posts: RDMA writes=0'
    check "$p: shared receives" counts 'DATUM_EAGER=auto DATUM_SRQ=yes' 20 64 -- '0 posts: sends=20-24' \
        '1 posts: sends=20-24' '0 shared receives: messages in them=20-24' \
        '1 shared receives: messages in them=20-24' '1 shared receives: credits kept back=0' '0 posts: RDMA writes=0'
    check "$p: shared receives in larger jobs" counts 'DATUM_EAGER=auto DATUM_SRQ=yes DATUM_SRQ_FROM=3' 20 64 -- \
        '0 posts: RDMA writes=20' '0 posts: sends=0'
    check "$p: receives that are not shared" counts DATUM_EAGER=auto 20 64 -- \
        '1 shared receives: messages in them=0'
    check "$p: read" counts DATUM_RNDV=read 20 100000 -- '0 rendezvous packets: RTS=20' \
        '1 rendezvous packets: FIN=20' '0 rendezvous packets=20' '1 rendezvous packets=20' \
        '1 posts: RDMA reads=20' '0 posts: RDMA writes=20' '1 posts: RDMA writes=40'
    check "$p: write" counts DATUM_RNDV=write 20 100000 -- '0 rendezvous packets: RTS=20' \
        '1 rendezvous packets: CTS=20' '0 rendezvous packets: FIN=20' '1 rendezvous packets=20' \
        '0 rendezvous packets=40' '0 posts: RDMA writes=60' '1 posts: RDMA reads=0' \
        '0 posts: with immediate value=0' '0 rendezvous packets: FIN, chained=0' '0 posts: sends=0'
    check "$p: write, FIN behind it" counts 'DATUM_RNDV=write DATUM_FIN=chained' 20 100000 -- \
        '1 rendezvous packets: CTS=20' '0 rendezvous packets: FIN=20' '0 rendezvous packets: FIN, chained=20' \
        '0 posts: RDMA writes=40' '0 posts: sends=20' '1 posts: sends=0' '1 posts: RDMA writes=40'
    check "$p: write with immediate value" counts DATUM_RNDV=imm 20 100000 -- \
        '0 rendezvous packets: RTS=20' '1 rendezvous packets: CTS=20' '0 rendezvous packets=20' \
        '1 rendezvous packets=20' '0 posts: RDMA writes=40' '0 posts: with immediate value=20'
    # a header of 24 bytes goes before 64000 bytes of data
    check "$p: chunks of 8k" counts 'DATUM_RNDV=pipe DATUM_CHUNK=8k' 20 64000 -- \
        '0 rendezvous packets: DATA=20' '1 rendezvous packets: CTS=20' '0 copies into rings=180' \
        '0 posts: RDMA reads=0' '1 rendezvous packets: FIN=0'
    check "$p: chunks of 32k" counts 'DATUM_RNDV=pipe DATUM_CHUNK=32k' 20 64000 -- \
        '0 copies into rings=60'
    # a CTS for each chunk, none of which is under way with another
    check "$p: serial, 8k" counts 'DATUM_RNDV=serial DATUM_CHUNK=8k' 20 64000 -- '0 rendezvous packets: RTS=20' \
        '0 rendezvous packets: DATA=160' '1 rendezvous packets: CTS=160' '0 copies into rings=180' \
        '1 copies into rings=180' '0 posts: RDMA writes=180' '0 posts: RDMA reads=0' '1 rendezvous packets: FIN=0'
    # the receiver reads one half, the sender writes the other
    check "$p: split" counts DATUM_RNDV=split 20 100000 -- '0 rendezvous packets: RTS=20' \
        '1 rendezvous packets: CTS=20' '0 rendezvous packets: FIN=20' '1 rendezvous packets: FIN=20' \
        '1 messages moved by both sides=20' '1 posts: RDMA reads=20' '0 posts: RDMA writes=60' \
        '0 copies into rings=40' '1 copies into rings=60' '1 posts: RDMA writes=60'
    # RTS and CTS, then a DATA whose payload is offered, read and answered; or the message's packet itself
    check "$p: zero copy" counts DATUM_RNDV=zerocopy 20 100000 -- '0 rendezvous packets: RTS=20' \
        '1 rendezvous packets: CTS=20' '0 rendezvous packets: DATA=20' '1 posts: RDMA reads=20' \
        '0 posts: RDMA writes=40' '1 posts: RDMA writes=60' '0 copies into rings=40' '1 rendezvous packets: FIN=0'
    check "$p: zero copy, eager" counts 'DATUM_RNDV=zerocopy DATUM_EAGER_LIMIT=200k' 20 100000 -- \
        '0 rendezvous packets: RTS=0' '1 posts: RDMA reads=20' '0 posts: RDMA writes=20' '1 posts: RDMA writes=40' \
        '0 copies into rings=20'
    check "$p: serial, whole messages" counts 'DATUM_RNDV=serial DATUM_CHUNK=64k' 20 64000 -- \
        '0 rendezvous packets: DATA=20' '1 rendezvous packets: CTS=20' '0 copies into rings=40'
    check "$p: first bytes" counts 'DATUM_RNDV=read DATUM_RNDV_INLINE=yes' 20 100000 -- \
        '0 rendezvous packets: RTS=20' '1 posts: RDMA reads=20' '1 rail 0: records: by RDMA=1918080'
    check "$p: a message that is all first bytes" counts \
        'DATUM_RNDV=read DATUM_RNDV_INLINE=yes DATUM_EAGER_LIMIT=0' 20 4096 -- \
        '0 rendezvous packets: RTS=20' '1 rendezvous packets: FIN=20' '1 posts: RDMA reads=0' \
        '0 registrations made=0' '0 registrations made: found again=0'
    # a put and its flush: two packets and two answers by the target, or one write that it has no part in
    check "$p: one-sided, emulated" counts 'DATUM_RMA=emulated DATUM_COLL_SHM=no' 100 64 put -- \
        '0 copies into rings=200-220' '0 posts: RDMA writes=200-220' '1 copies into rings=100-220'
    check "$p: one-sided, direct" counts 'DATUM_RMA=direct DATUM_COLL_SHM=no' 100 64 put -- \
        '0 copies into rings=0-20' '0 posts: RDMA writes=100-120' '1 posts: RDMA writes=0-20'
    # every record that comes is a completion of a receive
    check "$p: two queues" counts 'DATUM_EAGER=sendrecv DATUM_CQ=split' 20 64 -- \
        '0 completions: in the queue of receives=20' '1 completions: in the queue of receives=20' \
        '0 completions: in the queue of requests=0-4' '0 completions: in one queue for all=0'
    check "$p: one queue" counts 'DATUM_EAGER=sendrecv DATUM_CQ=shared' 20 64 -- \
        '0 completions: in one queue for all=20-24' '1 completions: in one queue for all=20-24' \
        '0 completions: in the queue of receives=0' '0 completions: in the queue of requests=0'
    check "$p: two queues, waiting" counts 'DATUM_EAGER=sendrecv DATUM_CQ=split DATUM_PROGRESS=wait' 200 64 -- \
        '0 rail 0: records: waits that an event ended=50-1000' '0 completions: in the queue of receives=200'
    # what comes by send and receive wakes who sleeps; who polls does not sleep
    check "$p: polling" counts 'DATUM_EAGER=sendrecv DATUM_PROGRESS=poll' 200 64 -- \
        '0 rail 0: records: waits in the provider=0' '1 rail 0: records: waits in the provider=0'
    check "$p: waiting" counts 'DATUM_EAGER=sendrecv DATUM_PROGRESS=wait' 200 64 -- \
        '0 rail 0: records: waits that an event ended=50-1000' '1 rail 0: records: waits that an event ended=50-1000'
done
export DATUM_PROVIDER=datum-shm
# 40 messages, the odd ones halves of the buffer in turn
check 'no cache' counts 'DATUM_RNDV=write DATUM_REG_CACHE=no' 40 100000 halves -- \
    '0 registrations made=40' '1 registrations made=40' '0 registrations made: found again=0'
check 'exact cache' counts 'DATUM_RNDV=write DATUM_REG_CACHE=exact' 40 100000 halves -- \
    '0 registrations made=2' '0 registrations made: found again=38' '1 registrations made=2'
check 'cache by pages' counts 'DATUM_RNDV=write DATUM_REG_CACHE=dme' 40 100000 halves -- \
    '0 registrations made=1' '0 registrations made: found again=39' '1 registrations made=1'
check 'cache of intervals' counts 'DATUM_RNDV=write DATUM_REG_CACHE=interval' 40 100000 halves -- \
    '0 registrations made=0' '0 registrations made: found again=40' '1 registrations made=0'
# a blocking send that polls is given a part; without DATUM_RNDV where that is faster than the pipe, or on trial
[ "$(nproc)" -lt 2 ] ||
    check 'both copy' counts 'DATUM_PROVIDER=datum-shm DATUM_PROGRESS=poll' 4000 100000 -- \
        '1 messages moved by both sides=3-4000' '0 rendezvous packets: RTS=4000'
check 'more values than places' counts DATUM_RNDV=imm 200 20000 queue -- '0 rendezvous packets: RTS=200'
check 'more FINs than places' counts 'DATUM_RNDV=write DATUM_FIN=chained' 200 20000 queue -- \
    '0 rendezvous packets: RTS=200' '0 rendezvous packets: FIN=200' '0 rendezvous packets: FIN, chained=1-200'

for s in DATUM_EAGER=basic 'DATUM_RNDV=write DATUM_RNDV_INLINE=yes' DATUM_RNDV=imm 'DATUM_RNDV=write DATUM_FIN=chained' \
    'DATUM_RNDV=pipe DATUM_CHUNK=1k' DATUM_RNDV=serial DATUM_RNDV=split DATUM_RNDV=zerocopy \
    'DATUM_RNDV=zerocopy DATUM_EAGER_LIMIT=1m' 'DATUM_RNDV=zerocopy DATUM_SRQ=yes' \
    'DATUM_RNDV=zerocopy DATUM_CHUNK=1k DATUM_EAGER=basic' DATUM_SRQ=yes 'DATUM_SRQ=yes DATUM_SRQ_SIZE=4k DATUM_CHUNK=300' 'DATUM_RNDV=read DATUM_REG_CACHE=exact DATUM_CONNECT=demand'; do
    for p in datum-shm datum-tcp; do
        # shellcheck disable=SC2086
        check "traffic, $p, $s" says running env DATUM_PROVIDER=$p $s mpiexec -n 3 ./traffic -n 5
    done
done

for p in shm tcp; do
    for word in nonthreadsafe threadsafe; do
        echo "datum-$p u2.0 $word default $DATUM_BUILD/lib/libdatum_dapl_$p.so datum.0.1 \"strict=yes\" \"\""
    done
done >strict.conf
for p in datum-shm datum-tcp; do
    check "traffic, $p, zero copy over a strict provider" says running env DAT_OVERRIDE="$PWD/strict.conf" \
        DATUM_PROVIDER=$p DATUM_RNDV=zerocopy DATUM_EAGER_LIMIT=1m mpiexec -n 3 ./traffic -n 5
done

for s in poll adaptive thread threads2; do
    check "traffic, two queues, $s" says running env DATUM_CQ=split DATUM_PROGRESS=$s DATUM_EAGER=sendrecv \
        mpiexec -n 2 ./traffic -n 5
done

differ() { # SETTING PATTERN: rank 1 has it, rank 0 has not
    timeout 30 mpiexec -n 1 ./traffic -n 1 : -n 1 env "$1" ./traffic -n 1 >said 2>&1 && return 1
    grep -Eqe "$2" said && return 0
    cat said
    return 1
}
for s in DATUM_EAGER=basic DATUM_RNDV=write DATUM_RNDV_INLINE=yes; do
    check "not alike: $s" differ $s "different settings of ${s%=*}; set it alike"
done
check_fails 'a chunk that is too large' "DATUM_CHUNK is '2m' \\(from the environment\\), but must be a number of bytes from 64 to 1m" \
    env DATUM_CHUNK=2m mpiexec -n 2 ./traffic -n 1
check_fails 'a chunk over a slot' 'DATUM_CHUNK is 8192; .*4096 bytes, which DATUM_RING_SLOT_SIZE is' \
    env DATUM_CHUNK=8k DATUM_RING_SLOT_SIZE=4k mpiexec -n 2 ./traffic -n 1
check_fails 'a FIN behind no write' 'DATUM_FIN=chained is for RDMA writes, but DATUM_RNDV is auto; set DATUM_RNDV=write' \
    env DATUM_FIN=chained mpiexec -n 2 ./traffic -n 1
check_fails 'one queue for two threads' 'DATUM_CQ=shared cannot be with DATUM_PROGRESS=threads2' \
    env DATUM_CQ=shared DATUM_PROGRESS=threads2 mpiexec -n 2 ./traffic -n 1
check_fails 'rings and shared receives' 'DATUM_SRQ=yes has .* DATUM_EAGER=rdma wants rings; set DATUM_EAGER=sendrecv' \
    env DATUM_SRQ=yes DATUM_EAGER=rdma mpiexec -n 2 ./traffic -n 1
check_fails 'too few shared receives' "DATUM_SRQ_SIZE is '1k' .*, but must be a number of bytes from 4k to 1g" \
    env DATUM_SRQ=yes DATUM_SRQ_SIZE=1k mpiexec -n 2 ./traffic -n 1
check_fails 'a wrong word' 'DATUM_RNDV is .reed. \(from the environment\), but must be one of auto\|read\|pipe\|write\|imm' \
    env DATUM_RNDV=reed mpiexec -n 2 ./traffic -n 1
check 'explained' says 'data, head and tail each' env DATUM_EXPLAIN=1 DATUM_EAGER=basic \
    DATUM_RNDV=imm mpiexec -n 2 ./traffic -n 1
check 'explained, large messages' says 'RDMA write with immediate value after' \
    env DATUM_EXPLAIN=1 DATUM_RNDV=imm mpiexec -n 2 ./traffic -n 1
check 'explained, FIN' says 'FIN is posted right behind the write' \
    env DATUM_EXPLAIN=1 DATUM_RNDV=write DATUM_FIN=chained mpiexec -n 2 ./traffic -n 1
check 'explained, queues' says 'one for receives, one for requests' \
    env DATUM_EXPLAIN=1 DATUM_CQ=split mpiexec -n 2 ./traffic -n 1
check 'explained, shared receives' says 'receives: 32 of 8256 bytes that the peers share, [0-9]+ of them spare \(DATUM_SRQ\)' \
    env DATUM_EXPLAIN=1 DATUM_SRQ=yes mpiexec -n 3 ./traffic -n 1
check 'explained, shared receives of a job that is large enough' says 'receives: [0-9]+ of [0-9]+ bytes that the peers share' \
    env DATUM_EXPLAIN=1 DATUM_SRQ=yes DATUM_SRQ_FROM=3 mpiexec -n 3 ./traffic -n 1
check 'explained, a job that is too small for them' says "receives: each peer's own \\(DATUM_SRQ_FROM" \
    env DATUM_EXPLAIN=1 DATUM_SRQ=yes DATUM_SRQ_FROM=4 mpiexec -n 3 ./traffic -n 1
check 'for each message' says 'RDMA writes +[0-9.]+$' env DATUM_STATS=1 mpiexec -n 2 ./traffic -n 1
totals
