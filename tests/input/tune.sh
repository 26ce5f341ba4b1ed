#!/bin/sh
# test: timeout=200
# datum-tune in its quick form: the file it writes, that the library takes it; what it makes of wrong and old files; wrong options.
. "$TEST_LIB"

check 'a quick run' timeout 120 datum-tune --quick --ranks "2 3" --sizes 8:4096 --only collectives \
    --collectives bcast,allgather,alltoallv --output my.tune
check 'the file says for whom' grep -qx "version $(datum-info --version | sed 's/^Datum //')" my.tune
check 'of which provider' grep -qx 'provider datum-shm' my.tune
check 'when and where' grep -Eq '^measured 20[0-9][0-9]-.* UTC on .*, one-node$' my.tune
check 'values and spread' grep -Eq '^# 8 bytes: .*binomial [0-9.]+ \[[0-9.]+ [0-9.]+\], scatter [0-9.]+' my.tune
check 'rows' grep -Eq '^bcast (shm|binomial|scatter|linear) ranks=2 .*one-node$' my.tune
check 'rows of the other number of ranks' grep -Eq '^alltoallv (shm|linear|pairwise) ranks=3-5 one-node$' my.tune
check 'no row of an algorithm that needs 2^n ranks' sh -c '! grep "^allgather doubling ranks=3" my.tune'
check 'transfers' timeout 120 datum-tune --quick --ranks 2 --only transfers --output my2.tune
check 'what to do with large ones, or that it is not clear' sh -c 'grep -Eqx "rendezvous (read|pipe)|# rendezvous: not clear" my2.tune'
check 'no other file' test -z "$(find . -name '*rendezvous*')"
check 'their figures' grep -Eq '^# bw 1048576 bytes, MB/s: read [0-9.]+ \[.*pipe [0-9.]+' my2.tune
check 'their slots' grep -Eq '^# slots beside 64x16k, 64x8k x [0-9.]+' my2.tune
if command -v python3 >/dev/null; then
    json='import json, sys; r = json.load(sys.stdin); t = r["collectives"][0]
assert r["provider"] == "datum-shm" and r["file"].endswith("my3.tune") and r["transfers"] == {}, r
assert t["collective"] == "barrier" and t["ranks"] == "2-3" and t["layout"] == "one-node", r'
    check 'the same as JSON' sh -c 'datum-tune --json --quick --ranks 2 --only collectives --collectives barrier \
        --output my3.tune | python3 -c "$1" && grep "^barrier .*ranks=2-3 one-node" my3.tune' - "$json"
fi
takes() {
    DATUM_EXPLAIN=1 DATUM_TUNE=my.tune timeout 20 mpiexec -n 3 datum-bench --test bcast,alltoallv \
        --size 8 --quick >out 2>&1 && grep -Eq "bcast of [0-9]+ bytes, 3 ranks: [a-z]+ \(my.tune:[0-9]+\)" out &&
        grep -Eq "alltoallv of 0 bytes, 3 ranks: [a-z]+ \(my.tune:[0-9]+\)" out
}
check 'the library takes it' takes
check 'to standard output' sh -c 'datum-tune --quick --ranks 2 --only collectives --collectives barrier --output - |
    grep -q "^barrier [a-z]* ranks=2-3 one-node"'

blank_name() { # and an ia_params that has blanks, too
    printf '"my shm" u2.0 %s default "%s/lib/libdatum_dapl_shm.so" datum.0.1 "copy=cma segment=64m" ""\n' \
        nonthreadsafe "$DATUM_BUILD" threadsafe "$DATUM_BUILD" >blank.conf
    DAT_OVERRIDE=$PWD/blank.conf DATUM_PROVIDER='my shm' datum-tune --quick --ranks 2 --only collectives --collectives barrier \
        --output blank.tune && grep -qx 'provider my shm' blank.tune && grep -qx 'params copy=cma segment=64m' blank.tune &&
        DAT_OVERRIDE=$PWD/blank.conf DATUM_PROVIDER='my shm' DATUM_TUNE=$PWD/blank.tune DATUM_EXPLAIN=1 mpiexec -n 2 \
            datum-bench --test barrier --quick 2>&1 | grep -q 'tuning: .*/blank.tune, measured'
}
check 'a name with a blank' blank_name

# ---- what the library makes of a file ----

version=$(datum-info --version | sed 's/^Datum //')
tune() { # LINE...: a file of this version
    printf 'format 1\nversion %s\n' "$version" >the.tune
    printf '%s\n' "$@" >>the.tune
}
job() { DATUM_EXPLAIN=1 DATUM_COLL_SHM=no timeout 20 mpiexec -n 2 datum-bench --test bcast --size 8 --quick; }
with() { DATUM_TUNE=$PWD/the.tune job; }
tune 'provider datum-tcp' 'eager-limit 1k' 'bcast binomial' 'provider datum-shm' 'params ' 'measured today' \
    'rendezvous pipe # as measured' 'eager-limit 64k' 'ring-slots 16' 'ring-slot-size 8k' 'bcast scatter bytes=-100'
check 'tuned rendezvous' says 'large messages: copies through the pipe \(tuned\)' with
check 'tuned slots' says '16 slots of 8192 bytes' with
check 'tuned limit' says "tuning: $PWD/the.tune, measured today; without asking up to 65536 bytes" with
check 'tuned rows' says 'bcast of [0-9]+ bytes, 2 ranks: scatter \(.*/the.tune:13\)' with
check 'a setting wins' says '64 slots of 16384 bytes' env DATUM_RING_SLOT_SIZE=16k sh -c '. "$TEST_LIB"
    DATUM_EXPLAIN=1 DATUM_TUNE=$PWD/the.tune timeout 20 mpiexec -n 2 datum-bench --test barrier --quick'
check 'DATUM_COLL wins' says 'bcast of [0-9]+ bytes, 2 ranks: binomial \(DATUM_COLL\)' env DATUM_COLL=bcast=binomial DATUM_COLL_SHM=no \
    DATUM_EXPLAIN=1 DATUM_TUNE="$PWD/the.tune" timeout 20 mpiexec -n 2 datum-bench --test bcast --size 8 --quick
mkdir -p config/datum && cp the.tune config/datum/tune
found() { XDG_CONFIG_HOME=$PWD/config job; }
check 'found at the default place' says "tuning: $PWD/config/datum/tune, measured today" found
check 'and not wanted' says 'tuning: computed defaults, no tuning file' env DATUM_TUNE=no XDG_CONFIG_HOME="$PWD/config" \
    DATUM_EXPLAIN=1 timeout 20 mpiexec -n 2 datum-bench --test barrier --quick
check 'a new section leaves the others' timeout 60 datum-tune --quick --ranks 2 --only collectives --collectives barrier \
    --output config/datum/tune
check 'both are there' test "$(grep -c '^provider datum' config/datum/tune)" = 2
check 'the other is as it was' grep -qx 'eager-limit 1k' config/datum/tune
tune 'provider datum-shm' 'params copy=cma' 'eager-limit 64k'
check 'other ia_params' says 'tuning: computed defaults, .* other ia_params' with
sed -i "s/^version .*/version 0.0.1/" the.tune
check 'another version' says 'the.tune was measured with Datum 0.0.1, this is .*: it is not used' with
check 'which is no error' says 'tuning: computed defaults' with
cp the.tune config/datum/tune
check 'the same at the default place' says 'datum/tune was measured with Datum 0.0.1' found
bad() { # PATTERN LINE...
    pattern=$1
    shift
    tune "$@"
    check_fails "$*" "the.tune:[0-9]+: $pattern" with
    cp the.tune config/datum/tune
    check "$*: at the default place" says "tune:[0-9]+: $pattern.*; (the file is not used|no algorithm is taken)" found
}
bad 'eager-limit wants a number from 64 to 1073741824, not "much"' 'provider datum-shm' 'eager-limit much'
bad 'ring-slots wants a number from 4' 'provider datum-shm' 'ring-slots 2'
bad 'rendezvous is read or pipe, not "fast"' 'provider datum-shm' 'rendezvous fast'
bad 'there is no collective "bcats"' 'provider datum-shm' 'bcats binomial'
bad 'which provider\?' 'provider'
bad 'datum-shm is there already' 'provider datum-shm' 'provider datum-shm'
bad '"eager-limit" comes before the first' 'eager-limit 64k'
check_fails 'no such file' 'DATUM_TUNE .from the environment.: cannot open /no/such' env DATUM_TUNE=/no/such timeout 20 mpiexec -n 1 datum-bench --test barrier --quick
check_fails 'a directory' '/tmp is no file' env DATUM_TUNE=/tmp timeout 20 mpiexec -n 1 datum-bench --test barrier --quick
check_fails 'a file without an end' '/dev/zero is no file' env DATUM_TUNE=/dev/zero timeout 20 mpiexec -n 1 datum-bench --test barrier --quick
rm config/datum/tune
mkfifo config/datum/tune
check 'a pipe at the default place' says 'datum/tune is no file; the file is not used' found
if [ "$(id -u)" = 0 ]; then
    skip_one 'a file that root cannot read'
else
    rm config/datum/tune
    : >config/datum/tune
    chmod 0 config/datum/tune
    check 'one that may not be read' says 'cannot open .*Permission denied; the file is not used' found
fi
rm -f config/datum/tune
echo 'bcast binomial' >the.tune
check_fails 'no tuning file' 'comes before the first "provider NAME"' with
: >the.tune
check_fails 'an empty file' 'no tuning file' with
differ() {
    timeout 20 mpiexec -n 1 -env DATUM_TUNE "$PWD/my.tune" datum-bench --test barrier --quick : \
        -n 1 -env DATUM_TUNE no datum-bench --test barrier --quick
}
check_fails 'ranks that differ' 'choose different algorithms.*DATUM_TUNE' differ

check_fails 'help that cannot be written measures nothing' 'No space' sh -c 'timeout 20 datum-tune --help --output x.tune >/dev/full'
stopped() {
    datum-tune --ranks 2 --output y.tune >said 2>&1 &
    sleep 2
    kill $!
    wait $!
    [ $? = 130 ] && grep -q 'stopped; nothing is written' said && [ ! -e y.tune ]
}
check 'stopped in the middle' stopped
check_fails 'unknown option' 'unknown option "--fast"' datum-tune --fast
check_fails 'no value' 'no value for "--ranks"' datum-tune --ranks
check_fails 'two at one place' 'cannot both be on standard output' datum-tune --json --output -
check_fails 'wrong part' '--only wants transfers or collectives' datum-tune --only all
check_fails 'wrong ranks' 'wants numbers from 2, not "1"' datum-tune --ranks 1
check_fails 'wrong sizes' '--sizes wants MIN:MAX' datum-tune --sizes 8
check_fails 'sizes backwards' '--sizes wants MIN:MAX' timeout 20 datum-tune --sizes 16:8
check_fails 'sizes out of range' '--sizes wants MIN:MAX' timeout 20 datum-tune --sizes 8:2147483648
check_fails 'ranks out of range' 'wants numbers from 2, not "99999999999999999999"' datum-tune --ranks 99999999999999999999
check_fails 'wrong rounds' '--rounds wants a number' datum-tune --rounds none
check_fails 'unknown collective' '"bcats" is no collective.*bcast' datum-tune --collectives bcats
check_fails 'no choice' '"neighbor_alltoall" is no collective with several' \
    datum-tune --collectives neighbor_alltoall
check_fails 'no home' 'HOME is not set' env -u HOME -u XDG_CONFIG_HOME datum-tune
check_fails 'no place to write to' 'cannot write /no/such' datum-tune --output /no/such/file
check_fails 'no directory for files in between' '/no/such .TMPDIR. cannot' env TMPDIR=/no/such datum-tune --output x.tune
# The old file stays when there is no room for the new one.
cp my.tune old.tune
ln -s /dev/full old.tune.new
check_fails 'no room' 'old.tune is not written: .*No space' \
    datum-tune --quick --ranks 2 --only collectives --collectives barrier --output old.tune
check 'what was there stays' cmp my.tune old.tune
check 'nothing else does' test ! -L old.tune.new
check_fails 'a job that does not start' 'a job of 2 ranks does not run' \
    env DATUM_PROVIDER=none-such datum-tune --ranks 2 --output x.tune
totals
