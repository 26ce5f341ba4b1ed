#!/bin/sh
# test: timeout=120
# Wrong dat.conf files and provider names: the job ends with an error that names the
# file or the provider and says what to do; nothing is chosen silently instead.
. "$TEST_LIB"

cat >prog.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int sum = 0, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
END
mpicc -o prog prog.c || fail "mpicc does not build a program"
good=$DATUM_BUILD/etc/dat.conf
lib=$(sed -n 's/^datum-shm .*default *\("[^"]*"\) .*/\1/p' "$good" | head -n 1)

# refused NAME WORDS...: the job of the environment must fail soon and say each word
refused() {
    what=$1
    shift
    timeout 20 mpiexec -n 2 ./prog >out 2>err
    rc=$?
    [ $rc != 124 ] || fail "$what: the job hangs"
    [ $rc != 0 ] || fail "$what: the job runs"
    for word do
        grep -q -- "$word" err || {
            cat err
            fail "$what: the message does not say \"$word\""
        }
    done
    pass_one
}
# runs NAME: the job must work
runs() {
    timeout 20 mpiexec -n 2 ./prog >out 2>err && [ "$(grep -c 'sum 2' out)" = 2 ] || {
        cat out err
        fail "$1: the job does not run"
    }
    pass_one
}

DAT_OVERRIDE=$PWD/none.conf refused 'a file that does not exist' none.conf 'datum:'
: >empty.conf
DAT_OVERRIDE=$PWD/empty.conf refused 'an empty file' empty.conf
sed 's/$/\r/' "$good" >crlf.conf
DAT_OVERRIDE=$PWD/crlf.conf refused 'CRLF lines' crlf.conf CR
DATUM_PROVIDER=no-such refused 'an unknown provider' no-such datum-shm
DATUM_TIMEOUT=0 refused 'a time limit of nothing' DATUM_TIMEOUT auto
printf 'ghost u2.0 nonthreadsafe default /nowhere/libghost.so g.1.0 "x" ""\n' >ghost.conf
{ echo 'too short'; cat ghost.conf; } >two.conf
DAT_OVERRIDE=$PWD/two.conf refused 'a file of which nothing opens' 'line 1: it has 2 fields' 'ghost: '
check_fails 'datum-info says so, too' 'no provider of .*two.conf, which DAT_OVERRIDE names, opens' \
    env DAT_OVERRIDE="$PWD/two.conf" datum-info --usable
DAT_OVERRIDE=$PWD/two.conf DATUM_PROVIDER=datum-shm runs 'one that is named'
DAT_OVERRIDE=$PWD/ghost.conf DATUM_PROVIDER=ghost refused 'a library that does not exist' ghost \
    /nowhere/libghost.so 'cannot be loaded' 'No such file'
printf 'odd u2.0 nonthreadsafe default libm.so.6 o.1.0 "" ""\n' >other.conf
DAT_OVERRIDE=$PWD/other.conf refused 'a library that is no provider' 'odd: its library libm.so.6 is no DAT provider'
DAT_OVERRIDE=$PWD refused 'a directory' 'cannot be read: Is a directory'
printf 'odd u2.0 nonthreadsafe default %s odd.1.0 "copy=nonsense" ""\n' "$lib" >odd.conf
DAT_OVERRIDE=$PWD/odd.conf DATUM_PROVIDER=odd refused 'a provider that fails to open' odd
printf 'short u2.0 nonthreadsafe default\n' >short.conf
DAT_OVERRIDE=$PWD/short.conf refused 'an entry with too few fields' short.conf:1: 'it has 4 fields'
check "libdat2's lines are not beside ours" sh -c '! grep "corrupt\|DAT Registry" err'
# A process on its own and datum-check: one line, which is ours, and nothing on standard output.
alone() {
    DAT_OVERRIDE=$1 timeout 20 "$2" datum-shm >out 2>err
    [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -q "^datum.*: .*$1" err && return
    cat out err
    return 1
}
for prog in ./prog datum-check; do
    check "$prog, a wrong line" alone short.conf $prog
    check "$prog, no file" alone /nowhere/dat.conf $prog
done
printf 'x u2.0 threadsafe default l.so v.1.0 "" ""\n' >>short.conf
DAT_OVERRIDE=$PWD/short.conf refused 'each line' 'line 2: it is "threadsafe"'
DATUM_SPIN=100 refused 'a time without a unit' "DATUM_SPIN is '100' (from the environment)" 'say 100us, 100ms or 100s'
DATUM_RING_SLOTS=2 refused 'a number out of its range' 'DATUM_RING_SLOTS' 'from 4 to 4096'

if unshare -rn true 2>unshare.err; then # a network without any address
    check 'no network' says 'no interface with an address is up; this host has no address at all' \
        env DATUM_PROVIDER=datum-tcp sh -c 'unshare -rn mpiexec -n 2 ./prog 2>&1 || true'
fi
DATUM_PROVIDER=datum-shm runs 'the provider by name'
printf 'mine u2.0 nonthreadsafe default %s mine.1.0 "" ""\n' "$lib" >mine.conf
DAT_OVERRIDE=$PWD/mine.conf DATUM_PROVIDER=mine runs 'the same library under another name'
(cat ghost.conf mine.conf) >both.conf
DAT_OVERRIDE=$PWD/both.conf runs 'an absent entry beside a good one'
(cat mine.conf; echo 'a b c') >broken.conf
DAT_OVERRIDE=$PWD/broken.conf runs 'a broken entry beside a good one'
check 'and alone it says nothing' sh -c 'DAT_OVERRIDE=broken.conf ./prog >out && [ "$(cat out)" = "sum 1" ]'
check 'which datum-info tells' says 'broken.conf:2: it has 3 fields, and an entry has exactly 8; it is not used$' \
    env "DAT_OVERRIDE=$PWD/broken.conf" datum-info --providers
saved=$DAT_OVERRIDE
unset DAT_OVERRIDE
runs 'no DAT_OVERRIDE at all'
export DAT_OVERRIDE="$saved"
DATUM_EAGER=bogus refused 'a wrong setting' DATUM_EAGER bogus sendrecv
totals
