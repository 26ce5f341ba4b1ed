#!/bin/bash
# test: timeout=120
# dat-conform judges by what the programs say and do, not by their exit status. The programs
# here are played by one script, which misbehaves as $FAKE says.
. "$TEST_LIB"
conform=$TEST_SRC/scripts/dat-conform
need dtest dapl2-utils
need flock util-linux

# The programs here have no ports: not to wait for a real dat-conform of this host.
export DAT_CONFORM_LOCK=$PWD/lock

mkdir fake
cat >fake/play <<'END'
#!/bin/bash
me=${0##*/}
case " $* " in *' -h '* | *' -s '*) part=client ;; *) part=server ;; esac
case $me.$part:" $*" in
dapltest.server:*' -T L'*)
    case $* in
    *limit_size*) echo 'LimitTest: LMR of 0x40000000 bytes OK - stopping now.' ;;
    *limit_ia)
        n=$(sed 's/.*-m \([0-9]*\).*/\1/' <<<"$*")
        [ "$FAKE" != few ] || [ "$n" = 1 ] || n=7
        [ "$n" != 7 ] || echo 'LimitTest: dat_ia_open (x) #8 fails: DAT_INTERNAL_ERROR'
        echo "LimitTest: IAs opened: $n"
        ;;
    esac
    ;;
dapltest.server:*' -T F'*)
    case $FAKE in
    assert) echo 'rc == DAT_SUCCESS failed in file test/x.c, line 1' ;;
    crash) kill -SEGV $$ ;;
    hang) exec sleep 1000 ;;
    esac
    echo 'Result: PASS'
    ;;
dapltest.server:*)
    echo 'Dapltest: Service Point Ready - x'
    [ "$FAKE" != server_error ] || echo 'Test Error: dapl_event_wait (DTO) failed: DAT_X'
    [ "$FAKE" != server_crash ] || { sleep 0.1; kill -SEGV $$; }
    exec sleep 1000
    ;;
dapltest.client:*)
    [ "$FAKE" != server_crash ] || sleep 0.5
    [ "$FAKE" = no_end ] || echo 'DT_cs_Client: ========== End of Work -- Client Exiting'
    ;;
dtest.server:*)
    echo '1 Local Address AF_INET - 192.0.2.7 port 1'
    echo '1 Server is waiting for client connection to send server info'
    for ((i = 0; i < 300; i++)); do
        [ -e came ] && break
        sleep 0.02
    done
    rm -f came
    [ "$FAKE" != server_late ] || sleep 1000
    echo '1: DAPL Test Complete. PASSED'
    ;;
dtest.client:*)
    case $FAKE in
    dtest_failed) echo '1: DAPL Test Complete. FAILED'; exit 0 ;;
    dtest_data) echo '1: ERR: Tx data from server wrong' ;;
    race)
        [ -e raced ] || { : >raced; echo 'Error unexpected conn event NON_PEER_REJECTED'; exit 0; }
        ;;
    esac
    : >came
    echo '1: DAPL Test Complete. PASSED'
    ;;
esac
exit 0
END
# Time limits of a second.
cat >fake/timeout <<'END'
#!/bin/sh
shift 3
exec "$REAL_TIMEOUT" -k 1 "${FAKE_LIMIT:-2}" "$@"
END
chmod +x fake/play fake/timeout
for tool in dapltest dtest dtestcm dtestx dtestsrq; do ln -s play fake/$tool; done
REAL_TIMEOUT=$(type -P timeout)
export REAL_TIMEOUT

# judged FAKE ROWS: what it says goes to "said".
judged() {
    rm -f came raced
    FAKE=$1 PATH=$PWD/fake:$PATH bash "$conform" -o log -k "$2" "${@:3}" x >said 2>&1
}
# verdict NAME FAKE ROWS STATUS PATTERN...
verdict() {
    local name=$1 want=$4 status pattern
    judged "$2" "$3"
    status=$?
    for pattern in "${@:5}"; do
        if [ $status != "$want" ] || ! grep -qE -- "$pattern" said; then
            fail_one "$name: status $status, expected $want and \"$pattern\""
            cat said
            return
        fi
    done
    pass_one
}

verdict 'all is well' none 1,9,10 0 '^1.1 +ok ' '^10.1 +ok ' '^6 passed, 0 failed, 0 skipped$'
verdict 'assertion' assert 1.2 1 '^1.2 +FAILED .*failed in file' '^0 passed, 1 failed'
verdict 'crash' crash 4 1 'FAILED .*killed by SIGSEGV'
verdict 'time limit' hang 5.1 1 'FAILED .*time is up'
verdict 'too few' few 7.1 1 'FAILED .*#8 fails: DAT_INTERNAL_ERROR'
verdict 'error of the server' server_error 12 1 'FAILED .*Test Error' 'server> Test Error'
verdict 'crash of the server' server_crash 12 1 'FAILED .*the server has ended' '139'
verdict 'no end' no_end 12 1 'FAILED .*did not come to its end'
FAKE_LIMIT=20 verdict 'server that stays' none 11 1 'FAILED .*does not quit'
verdict 'dtest' none 23.1 0 '23.1 +ok' '^1 passed'
verdict 'dtest fails with status 0' dtest_failed 23.1 1 'FAILED'
verdict 'dtest with wrong data' dtest_data 24.2 1 'FAILED .*Tx data from server wrong'
verdict 'dtest too early for the server' race 23.1 0 '23.1 +ok'
check 'it did try twice' test -e raced
FAKE_LIMIT=20 verdict 'dtest server that does not end' server_late 23.1 1 'FAILED .*does not end'
verdict 'what cannot be run' none 6.14,29 0 'skipped .*crashes inside libdat2' '^0 passed, 0 failed, 2 skipped'
check 'the address of the provider' grep -q 'at 192.0.2.7' log

printf '1.2 is the wrong colour # ha\n7\n' >known
judged assert 1.2 -x known
check 'a known failure is no failure' test $? = 0
check 'it is told' grep -qE '^1.2 +known .*wrong colour' said
judged assert 1.3 -x known
check 'another failure is one' test $? = 1
judged none 29 -R env -A 192.0.2.9
check 'row 29 with a command' grep -qE '^29.1 .*192.0.2.9' said

if command -v python3 >/dev/null; then
    judged assert 1.2,6.14 --json
    check 'the same as JSON' python3 -c 'import json; r = json.load(open("said")); a, b = r["cases"]
assert (a["case"], a["verdict"], b["verdict"]) == ("1.2", "FAILED", "skipped") and "failed in file" in a["remark"], r
assert (r["provider"], r["failed"], r["skipped"], r["error"]) == ("x", 1, 1, None), r'
fi
run_it() { PATH=$PWD/fake:$PATH FAKE=none bash "$conform" -o log "$@"; }
check_fails 'no provider' 'Usage' run_it
check_fails 'wrong option' 'unknown option "--nonsense"' run_it --nonsense
check_fails 'two providers' 'one provider' run_it x y
check_fails 'bad rows' '-k wants' run_it -k 3- x
check_fails 'bad factor' '-t wants' run_it -t no x
check_fails 'no such row' 'no case' run_it -k 77 x
check_fails 'no such file' 'cannot read' run_it -x nowhere x
check_fails 'no tools' 'apt-get install' env PATH=/nowhere "$(type -P bash)" "$conform" x
check_fails 'unknown provider' 'has no provider "nosuch"; it has: .*datum-shm' bash "$conform" nosuch
check 'and leaves no log' test ! -e dat-conform.nosuch.log
log_of() { # what is said of a log that cannot be written: one line
    PATH=$PWD/fake:$PATH FAKE=none bash "$conform" -k 1.1 -o "$1" x >said 2>&1
    [ $? = 2 ] && [ "$(cat said)" = "dat-conform: cannot write the log $1; -o names another" ] || { cat said; return 1; }
}
check 'a log in no directory' log_of nowhere/log
check 'a directory as log' log_of fake
if command -v python3 >/dev/null; then
    json_error() { # PATTERN OPTION...
        local pattern=$1
        shift
        PATH=$PWD/fake:$PATH FAKE=none bash "$conform" "$@" >said.json 2>said
        [ $? = 2 ] && grep -q "$pattern" said && python3 -c 'import json, re, sys
error = json.load(open("said.json"))["error"]
assert re.search(sys.argv[1], error), error' "$pattern"
    }
    check 'JSON of a wrong option' json_error 'unknown option "--nonsense"' --nonsense --json
    check 'JSON of no provider' json_error 'no provider is named' --json
    check 'JSON of a log' json_error 'cannot write the log' --json -o nowhere/log x
    check 'JSON of no case' json_error 'no case is chosen' --json -o log -k 77 x
fi
check_fails 'no dat.conf' 'no dat.conf at "/nowhere"' env DAT_OVERRIDE=/nowhere bash "$conform" x
echo 'a u2.0 threadsafe default lib.so v.1.0 "" ""' >only.conf
check_fails 'threadsafe only' 'threadsafe only' env "DAT_OVERRIDE=$PWD/only.conf" bash "$conform" a
echo 'a u2.0 nonthreadsafe default /nowhere.so v.1.0 "" ""' >bad.conf
check_fails 'no library' 'cannot be opened' env "DAT_OVERRIDE=$PWD/bad.conf" bash "$conform" a
bash "$conform" -l >list
check 'the list has 29 rows' test "$(sed 's/\..*//' list | sort -u | grep -c .)" = 29

# Interrupted or killed, it leaves nothing: the runner complains about processes.
for signal in TERM KILL; do
    rm -f log # that of the run before says nothing of this one
    FAKE=server_late FAKE_LIMIT=60 PATH=$PWD/fake:$PATH bash "$conform" -o log -k 23.1 x >said 2>&1 &
    pid=$!
    for ((i = 0; i < 250; i++)); do
        grep -qs '^client:.*-h' log && break
        sleep 0.02
    done
    kill -$signal $pid
    wait $pid 2>kill.txt
    status=$?
    for ((i = 0; i < 250; i++)); do
        ps -e -o args | grep -q "$PWD/fake/[d]test" || break
        sleep 0.02
    done
    check "$signal ends it" test $status -gt 128
    check "$signal ends its programs" test $i -lt 250
done
rm -rf "$TMPDIR"/*
totals
