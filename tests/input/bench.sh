#!/bin/sh
# test: timeout=200 san=no
# datum-bench: its options and errors, quick runs of every group, the JSON.
. "$TEST_LIB"

once() { # PATTERN COMMAND...: the ranks of a job say it once
    pattern=$1
    shift
    "$@" >said 2>&1
    [ "$(grep -Ece "$pattern" said)" = 1 ] || { cat said; return 1; }
}
bench() { # N OPTION...
    n=$1
    shift
    mpiexec -n "$n" datum-bench --quick --time 0.01 "$@"
}

check 'help' says '--window KIND' datum-bench --help
check 'version' says '^Datum [0-9]' datum-bench --version
check 'list' says '^  get_bw +MB/s ' datum-bench --list
check 'wrong option' status 2 'unknown option "--tests"' datum-bench --tests latency
check 'wrong test' status 2 'no test "latent"' datum-bench --test latency,latent
check 'empty list' status 2 'no tests' datum-bench --test ,
check 'wrong size' status 2 'MIN:MAX' datum-bench --size 8:4
check 'negative size' status 2 'MIN:MAX' datum-bench --size -1
check 'large size' status 2 'at most 1g' datum-bench --size 8:2g
check 'odd size' status 2 'MIN:MAX' datum-bench --size 8kb
check 'wrong number of ranks' status 2 'wants a number' datum-bench --ranks two
check 'wrong factor' status 2 'wants a number from 2' datum-bench --factor 1
check 'wrong memory' status 2 '--memory wants bytes' datum-bench --memory much
check 'wrong flight' status 2 'up to 64' datum-bench --flight 65
check 'steps' says '^4096 ' bench 2 --test latency --size 8:4096 --factor 100
check 'no other' test "$(grep -c '^[0-9]' said)" = 3
check 'what needs much memory is left out' says '^1024 ' bench 2 --test alltoall --size 1024:4096 --memory 4k
check 'as it should' test "$(grep -c '^[0-9]' said)" = 1
check 'nothing is left' says '# alltoall: not measured: none of its sizes' bench 2 --test alltoall --size 2k --memory 4k
check 'no such size' says '# acc: not measured: none of its sizes' bench 2 --test acc --size 4
check 'fewer in flight' says '^8 ' bench 2 --test bw,bibw --size 8 --flight 2
check 'and the table says so' grep -q '^# bw: .*, 2 in flight$' said
# 10 GB for a rank; and more than displacements can say.
if [ "$(awk '$1 == "MemAvailable:" { print int($2 / 1048576) }' /proc/meminfo)" -lt 50 ]; then
    check 'more than there is' says '# alltoall: not measured: no memory for the buffers' bench 6 --test alltoall --size 256m
    # Takes all the memory of the machine, and the time to clear it.
    [ "${TEST_FULL:-}" != yes ] || check 'part of it is there' says '# alltoall: no memory for sizes beyond' bench 6 --test alltoall --size 8:256m --factor 33554432
    [ "${TEST_FULL:-}" != yes ] || check 'which is measured' test "$(grep -c '^8 ' said)" = 1
else
    skip_one 'sizes beyond the memory: there is too much of it'
fi
check 'blocks beyond int' says '# alltoallv: not measured: none of its sizes' bench 8 --test alltoallv --size 256m
bar() { # COLUMNS COMMAND: what a terminal so wide gets, a line for each time that the cursor goes back
    python3 - "$@" <<'END' | tr '\r' '\n' >bar
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execvp("sh", ["sh", "-c", sys.argv[2]])
try:
    while data := os.read(fd, 65536):
        os.write(1, data)
except OSError:
    pass
END
}
if command -v python3 >/dev/null 2>&1; then
    bar 100 'mpiexec -n 2 datum-bench --quick --time 0.01 --test latency,barrier --size 8:16'
    check 'a bar' grep -Fq '[#######.......................]  25 %' bar
    check 'that goes away' test "$(grep -Ec '%.*[0-9]+\.[0-9]' bar)" = 0
    bar 20 'mpiexec -n 2 datum-bench --quick --time 0.01 --test latency,barrier --size 8:16 >table'
    check 'a narrow one' grep -q ' 25 % latency, 16 b' bar
    check 'that fits' test "$(awk 'length($0) > 22' bar | wc -l)" = 0
    check 'is not in the file' sh -c '! grep % table'
    bar 80 'mpiexec -n 2 datum-bench --quick --time 0.01 --test barrier >table 2>&1'
    check 'no terminal, no bar' test ! -s bar
fi
check 'wrong time' status 2 'wants seconds' datum-bench --time 0
check 'wrong window' status 2 'allocate or create' datum-bench --window shared
check 'arguments' status 2 'unexpected argument "latency"' datum-bench latency
check 'errors are said once' once 'no test "latent"' mpiexec -n 3 datum-bench --test latent
check 'help is said once' once '^Usage' mpiexec -n 2 datum-bench --help
check 'other ranks' status 2 'has 2 ranks, --ranks wants 4' bench 2 --ranks 4
check 'a list that cannot be written' status 1 'standard output: .*No space' sh -c 'datum-bench --list >/dev/full'
check 'a table that cannot be written' status 1 'standard output: .*No space' sh -c 'datum-bench --ranks 1 --test barrier --quick >/dev/full'
check 'file that cannot be' status 1 '/no/such/dir' bench 2 --test barrier --json /no/such/dir/x

# Without mpiexec.
check 'two ranks by itself' says '^# datum-bench .*, 2 ranks on 1 host' datum-bench --quick --test barrier
check 'three' says '^# barrier: .*, 3 ranks' datum-bench -n 3 --quick --test barrier
check 'one' says '^# barrier: .*, 1 ranks' datum-bench --ranks 1 --quick --test barrier
check 'their table that cannot be written' status 1 'No space' sh -c 'datum-bench --test barrier --quick >/dev/full'
check 'errors before they start' once 'no test "latent"' datum-bench -n 3 --test latent
mkdir alone
cp "$DATUM_BUILD/bin/datum-bench" alone
check 'no mpiexec beside it: one rank' says '^# datum-bench .*, 1 ranks' env LD_LIBRARY_PATH="$DATUM_BUILD/lib" alone/datum-bench --quick --test barrier
check 'nothing but a start' test -z "$(datum-bench --start --ranks 3 2>&1)"
check 'one rank' says 'latency: not measured: it needs two ranks' bench 1 --test latency,barrier
check 'latency' says '^1024 +[0-9.]+' bench 2 --test latency --size 1k --ranks 2
check 'size 0' says '^0 +[0-9.]+' bench 2 --test latency --size 0:1
check 'pt2pt' bench 2 --test pt2pt --size 64:1k
check 'onesided' bench 3 --test onesided --size 8
check 'onesided, created' bench 2 --test put,get,acc --size 8:64 --window create
check 'coll' bench 3 --test coll --size 8:16
check 'overlap' bench 2 --test overlap --size 64k
check 'one size only' sh -c 'mpiexec -n 2 datum-bench --quick --test cas,lock --size 1m >said 2>&1; cat said; grep -q "^8 " said && grep -q "^0 " said'
check 'json on standard output' sh -c 'datum-bench --quick --test latency --size 8:64 --json - >stdout.json'
check 'json' bench 2 --test latency,barrier,fop --size 8:16 --json out.json
if command -v python3 >/dev/null 2>&1; then
    check 'json is valid' python3 -m json.tool out.json
    check 'nothing but json' python3 -m json.tool stdout.json
    check 'json has it all' python3 -c '
import json
j = json.load(open("out.json"))
r = j["results"]
assert j["ranks"] == 2 and j["pss"] > 0 and j["hosts"] == 1 and "Datum" in j["library"], j
assert [(x["test"], x["size"]) for x in r] == \
    [("latency", 8), ("latency", 16), ("barrier", 0), ("fop", 8)], r
for x in r:
    assert 0 < x["min"] <= x["p10"] <= x["median"] <= x["p90"] <= x["max"], x
    assert x["samples"] >= 5 and x["outliers"] <= x["samples"] and x["iterations"] >= 1, x
'
fi
check 'raw' says 'datum-shm' datum-bench --raw datum-shm
check 'raw, unknown' status 2 '^datum-bench: there is no provider "nothing"' datum-bench --raw nothing
check 'raw, a disk that is full' status 1 '^datum-bench: standard output cannot be written: No space' sh -c 'datum-bench --raw datum-shm >/dev/full'
totals
