#!/bin/bash
# test: timeout=120
# The runner itself: in a source tree of made-up tests everything that must fail fails.
. "$TEST_LIB"

mkdir -p src/tests/unit src/tests/mp src/tests/input b/tests/unit b/tests/mp b/bin b/lib
src=$PWD/src b=$PWD/b
cp -r "$TEST_SRC/tests/run" "$TEST_SRC/tests/lib.sh" "$TEST_SRC/tests/runner" src/tests/
cp "$DATUM_BUILD/tests/guard" b/tests/
echo 'SANITIZE = ' >b/config.mk
touch b/lib/libdatum_dapl_shm.so b/lib/libdatum_dapl_two.so
# An mpiexec that shows its arguments and settings, and runs the program once.
cat >b/bin/mpiexec <<'END'
#!/bin/sh
echo "RUN $*" $(env | grep ^DATUM_ | grep -v BUILD | sort) >>"$DATUM_BUILD/mpiexec.log"
shift 2
exec "$@"
END
chmod +x b/bin/mpiexec

# unit DIRECTIVES BODY: a unit test with this body.
unit() {
    printf '/* test: %s */\n' "$1" >src/tests/unit/t.c
    printf '#!/bin/bash\n%s\n' "$2" >b/tests/unit/t
    chmod +x b/tests/unit/t
}
run() { (unset TEST_TMP TEST_FULL; DATUM_BUILD=$b bash "$src/tests/run" "$@"); }
passes() { unit "$2" "$3"; check "$1" run unit; }
fails() { unit "$2" "$4"; check_fails "$1" "$3" run unit; }

passes 'a good test' timeout=5 'echo fine'
fails 'exit status' timeout=5 'FAILED: unit/t: exit status 3' 'exit 3'
fails 'a signal' timeout=5 'exit status 139' 'kill -SEGV $$'
fails 'time-out' timeout=1 'time-out after 2 s' 'sleep 20'
fails 'left process' timeout=9 'processes were left' 'setsid sleep 20 & exit 0'
fails 'left daemon' timeout=9 'processes were left' '(setsid bash -c "sleep 20 & exit" &) ; exit 0'
fails 'left file' timeout=5 'files left in TMPDIR: x' 'touch "$TMPDIR/x"'
# Units run three at a time, so nobody knows whose it is.
fails 'left file elsewhere' timeout=5 "FAILED: files left by .*: /tmp/datum-left-$$" "touch /tmp/datum-left-$$"
rm "/tmp/datum-left-$$"
fails 'error message' timeout=5 'unannounced message: datum: error' 'echo "datum: error: x" >&2'
fails 'warning of a rank' timeout=5 'unannounced' 'echo "datum: [rank 1 on h] warning: x" >&2'
fails 'sanitizer' exit=any 'a sanitizer complains' 'echo "==1==ERROR: AddressSanitizer: x" >&2'
passes 'announced message' 'warn=warning..x' 'echo "datum: warning: x" >&2'
fails 'another message' 'warn=warning..x' 'unannounced' 'echo "datum: warning: y" >&2'
fails 'announced but silent' 'warn=warning..x' 'did not come' 'exit 0'
passes 'any message' stderr=allowed 'echo "datum: error: x" >&2'
passes 'expected status' exit=7 'exit 7'
fails 'expected status, but 0' exit=nonzero 'not expected' 'exit 0'
passes 'arguments' 'args="a b" timeout=5' '[ "$1$2" = ab ]'
passes 'environment' 'env=A=1,B=2' '[ $A$B = 12 ]'
fails 'unknown directive' 'tiemout=5' 'unknown directive "tiemout"' 'exit 0'
fails 'no directive' 'np 3' 'cannot read the directive' 'exit 0'
unit timeout=5 'exit 0'
rm b/tests/unit/t
check_fails 'a test that did not compile' 'it is not built' run unit
rm src/tests/unit/t.c
check_fails 'nothing to run' 'no test matches' run unit

# Multi-process tests: numbers times providers times settings.
echo '/* test: np=1,3 cfg=EAGER_LIMIT=0|8k,EAGER=rdma */' >src/tests/mp/t.c
printf '#!/bin/sh\nexit 0\n' >b/tests/mp/t
chmod +x b/tests/mp/t
# One rank once, and of the others each pair of provider, number and setting.
check 'a part of a product of runs' run mp
check 'the number of runs' test "$(grep -c RUN b/mpiexec.log)" = 5
check 'pairs' eval 'for w in "-n 1 .*LIMIT=0" "-n 1 .*LIMIT=8k" "-n 3 .*LIMIT=0.*shm\|-n 3 .*LIMIT=8k.*shm" \
    "-n 3 .*LIMIT=0.*two" "-n 3 .*LIMIT=8k.*two"; do grep -q -e "RUN $w" b/mpiexec.log || exit 1; done'
rm b/mpiexec.log
check 'a product of runs' run --full mp
check 'the number of all runs' test "$(grep -c RUN b/mpiexec.log)" = 8
check 'one of the runs' grep -q \
    'RUN -n 3 .*/tests/mp/t DATUM_EAGER=rdma DATUM_EAGER_LIMIT=8k DATUM_PROVIDER=datum-two$' b/mpiexec.log
check 'a label' eval "run --list mp | grep -qx 'mp/t np=3 datum-two EAGER_LIMIT=8k EAGER=rdma'"
rm b/mpiexec.log
check 'one by its label' run -k 'mp/t np=3 datum-two EAGER_LIMIT=8k EAGER=rdma'
check 'it alone' test "$(grep -c RUN b/mpiexec.log)" = 1
check 'rounds' eval "run -n 3 mp | tail -n 1 | grep -qx '15 passed, 0 failed'"
check 'a wrapper' eval "run --wrapper 'env W=1' -k np=1 mp && grep -q 'RUN -n 1 env W=1 ' b/mpiexec.log"

# What the first tier leaves out.
mv src/tests/mp/t.c src/tests/mp/group_t.c
mv b/tests/mp/t b/tests/mp/group_t
check 'above the DAT line: with the second provider once' test "$(run --list mp | grep -c datum-two)" = 1
echo '/* test: np=1,4 cfg=COLL=|bcast=linear|bcast=tree */' >src/tests/mp/group_t.c
mv src/tests/mp/group_t.c src/tests/mp/c.c
check 'alternatives of DATUM_COLL: once' test "$(run --list mp | grep -c COLL=.)" = 2
check 'and all of them' test "$(run --full --list mp | grep -c COLL=.)" = 8
echo '/* test: np=2,4,7 */' >src/tests/mp/c.c
check 'many ranks with the first provider' test "$(run --list mp | tr '\n' ,)" = \
    'mp/c np=2 datum-shm,mp/c np=4 datum-shm,mp/c np=7 datum-shm,mp/c np=2 datum-two,mp/c np=4 datum-two,'
echo '/* test: np=7 */' >src/tests/mp/c.c
check 'unless there are no others' test "$(run --list mp | grep -c np=7)" = 2
rm src/tests/mp/c.c b/tests/mp/group_t
mkdir src/tests/dat
for t in slots transfer; do echo '/* test: params=copy=auto|copy=cma */' >src/tests/dat/$t.c; done
check 'ways of copying where data move' eval 'run --list dat | grep -v two | tr "\n" , |
    grep -qx "dat/slots datum-shm copy=auto,dat/transfer datum-shm copy=auto,dat/transfer datum-shm copy=cma,"'
rm -r src/tests/dat
printf '# test: tier=full\nexit 0\n' >src/tests/input/a.sh
check 'a script of the second tier' test -z "$(run --list input)"
check 'is in it' test "$(run --full --list input)" = input/a
check 'and can be named' test "$(run --list tests/input/a.sh)" = input/a

# Two at a time; and beside them what keeps a core busy.
for i in 1 2; do
    cp "src/tests/input/a.sh" "src/tests/input/$i.sh"
    printf '/* test: timeout=20 */\n' >src/tests/unit/t$i.c
    printf '#!/bin/sh\ntouch $DATUM_BUILD/t%s; while [ ! -e $DATUM_BUILD/t%s ]; do sleep 0.1; done\n' $i $((3 - i)) >b/tests/unit/t$i
    chmod +x b/tests/unit/t$i
done
check 'two at a time' run unit
check 'what they took' eval "run unit | grep -Eq '^in all [0-9]+ s, [0-9]+ s of processors$|^2 passed'"
rm src/tests/unit/t?.c b/t?
# What wants the machine for itself waits for it.
mkdir src/tests/lang
printf '# test: beside=yes timeout=20\ntouch $DATUM_BUILD/t1; while [ ! -e $DATUM_BUILD/t2 ]; do sleep 0.1; done; touch $DATUM_BUILD/t3\n' >src/tests/input/1.sh
printf '# test: timeout=20\ntouch $DATUM_BUILD/t2; while [ ! -e $DATUM_BUILD/t1 ]; do sleep 0.1; done\n' >src/tests/lang/2.sh
printf '# test: timeout=20\ntest -e $DATUM_BUILD/t3\n' >src/tests/input/3.sh
check 'beside others' eval 'run lang input >out; cat out; grep -q "^beside *1 runs *1 passed" out && tail -n 1 out | grep -qx "3 passed, 0 failed"'
check 'durations' grep -Eqx '[0-9.]+	[0-9.]+	input/1' b/durations.txt
check 'the slowest first' sort -rnc b/durations.txt
rm -r src/tests/input/?.sh src/tests/lang

# Scripts: skipping, and totals of their own.
echo 'echo no luck; exit 77' >src/tests/input/a.sh
printf 'echo 3 passed, 1 failed, 2 skipped; exit 1\n' >src/tests/input/b.sh
check 'totals' eval "run input | tail -n 1 | grep -qx '3 passed, 1 failed, 3 skipped'"
check 'the reason' eval "run input | grep -qx 'skipped: input/a: no luck'"
echo 'echo 3 passed, 0 failed; exit 1' >src/tests/input/b.sh
check_fails 'a status against the total' '3 passed, 1 failed' run input

# Interrupted: nothing stays.
mark=4711$$
unit timeout=50 "sleep $mark"
(DATUM_BUILD=$b exec bash "$src/tests/run" unit) >run.out 2>&1 &
pid=$!
for i in $(seq 100); do
    pgrep -f "sleep $mark" >/dev/null && break
    sleep 0.1
done
kill $pid
wait $pid
for i in $(seq 30); do
    pgrep -f "sleep $mark" >/dev/null || break
    sleep 0.1
done
check 'the test is gone after an interrupt' eval '! pgrep -f "sleep $mark"'
check 'so are temporary files' test -z "$(ls "$TMPDIR")"
totals
