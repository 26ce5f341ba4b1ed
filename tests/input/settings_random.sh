#!/bin/bash
# test: timeout=170 san=no
# Random combinations of the settings that choose a design (docs/TUNING.md), each with a few programs of tests/mp.
# TEST_FULL=yes: 30 of them; TEST_SEED another start, TEST_COMBINATIONS how many. What a combination was is said when it fails.
. "$TEST_LIB"

seed=${TEST_SEED:-$((10#$(date +%j)))} # another one every day
n=${TEST_COMBINATIONS:-$([ "${TEST_FULL:-}" = yes ] && echo 30 || echo 3)}
programs='p2p_isendrecv coll_vector rma_put_get rma_fetch' # any number of ranks does
for p in $programs; do
    [ -x "$DATUM_BUILD/tests/mp/$p" ] || skip "tests/mp/$p is not built"
done
RANDOM=$seed
limit=${TEST_LIMIT:-40}

# name, then what it may be; the first is the default
table='PROVIDER datum-shm datum-tcp
EAGER auto rdma sendrecv basic
SRQ no yes
SRQ_SIZE 1m 4k 20k
SRQ_FROM 2 3
RNDV auto read pipe write imm serial split zerocopy
RNDV_INLINE no yes
FIN completion chained
CHUNK auto 1k 8k
RING_SLOTS 64 8
RING_SLOT_SIZE auto 8k 32k
EAGER_LIMIT auto 0 512 64k
UNEXPECTED 64m 0
REG_CACHE yes no exact dme interval
REG_CACHE_SIZE 256m 0 64k
PROGRESS adaptive wait poll thread threads2
CQ auto split shared
SPIN auto 0
CONNECT auto start demand
RMA auto emulated direct
COLL_SHM auto yes no
RECONNECT 10s 0'

draw() { # to the array vars
    local name words
    vars=()
    while read -r name words; do
        set -- $words
        shift $((RANDOM % $#))
        vars+=("DATUM_$name=$1")
    done <<<"$table"
    np=$((2 + RANDOM % 2))
    # a FIN behind a write needs one
    [[ ${vars[*]} == *_RNDV=write* ]] || vars=("${vars[@]/DATUM_FIN=chained/DATUM_FIN=completion}")
    # rings are nobody's shared receives
    [[ ${vars[*]} != *EAGER=rdma* && ${vars[*]} != *EAGER=basic* ]] || vars=("${vars[@]/DATUM_SRQ=yes/DATUM_SRQ=no}")
    # two threads need two queues
    [[ ${vars[*]} != *=threads2* ]] || vars=("${vars[@]/DATUM_CQ=shared/DATUM_CQ=split}")
    # who polls for ever needs a core of his own
    [[ ${vars[*]} != *=poll* ]] || np=2
}

for ((i = 0; i < n; i++)); do
    draw
    for p in $programs; do
        # shellcheck disable=SC2153 # the runner's
        if timeout $limit env "${vars[@]}" mpiexec -n $np "$DATUM_BUILD/tests/mp/$p" >out 2>&1; then
            pass_one
        else
            fail_one "status $? of: ${vars[*]} mpiexec -n $np $p (TEST_SEED=$seed, combination $i)"
            tail -n 20 out
        fi
    done
done

# Each of them says what is wrong with a word or a number that it does not have.
while read -r name words; do
    [ "$name" != PROVIDER ] || continue
    check_fails "DATUM_$name=nonsense" "DATUM_$name" env "DATUM_$name=nonsense" timeout 20 mpiexec -n 1 "$DATUM_BUILD/tests/mp/p2p_isendrecv" </dev/null
done <<<"$table"
totals
