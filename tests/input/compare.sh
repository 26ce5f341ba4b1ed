#!/bin/bash
# test: timeout=300 san=no
# datum-compare: its errors, a small report with everything in it, and comparing two. What it says of figures: report.sh.
. "$TEST_LIB"
need python3 python3

says_again() { grep -q "$1" said; }
# quick DIR OPTION...: the least that can be measured
quick() {
    local out=$1
    shift
    datum-compare --output "$out" --quick --test barrier --rounds 1 --no-raw --peer none --providers datum-shm "$@"
}
# of FILE EXPRESSION: true of the JSON there, "r"
of() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$1" "$2"; }

check 'help' status 0 '--diff OLD NEW' datum-compare --help
check 'no place' status 2 'where to' datum-compare
check 'wrong option' status 2 'unknown option "--outputs"' datum-compare --outputs x
check 'no value' status 2 'no value for "--peer"' datum-compare --output x --peer
check 'no such peer' status 2 '--peer nothing: there is no mpicc.nothing' datum-compare --output x --peer nothing
check 'no such directory of a peer' status 2 'no mpicc in /no/such' datum-compare --output x --peer mine=/no/such
check 'no such provider' status 2 'provider nothing cannot' datum-compare --output x --peer none --providers nothing
check 'no provider' status 2 'names none' datum-compare --output x --peer none --providers ,
check 'wrong ranks' status 2 'wants a number' datum-compare --output x --ranks two
check 'wrong rounds' status 2 '--rounds wants a number, not "0"' datum-compare --output x --rounds 0
check 'wrong test' status 2 'no test "latent"' quick x --test latent
check 'no report to compare' status 2 'no results.json' datum-compare --diff x y
check 'nothing is left behind' test ! -e x/results.json
check 'wrong limit' status 2 'wants seconds' datum-compare --output x --limit soon
check 'limit out of range' status 2 'wants seconds' datum-compare --output x --limit 99999999999999999999
: >file
check 'no directory there' status 2 'file/x cannot be made' quick file/x
check 'too slow' status 2 'over datum-shm needs more than 1 s .*left out' \
    datum-compare --output slow1 --limit 1 --providers datum-shm --no-raw --peer none
check 'and then there is nothing' says_again 'nothing could be measured'
check 'help that cannot be written' status 1 'No space' sh -c 'datum-compare --help >/dev/full'
mkdir full
ln -s /dev/full full/results.json.new
check 'no room' status 2 'full/results.json cannot be written: No space .* are free' quick full
check 'no directory for files in between' status 2 '/no/such .TMPDIR. cannot' env TMPDIR=/no/such datum-compare --output x
check 'no half report' test ! -e full/results.json
mkdir away
check 'its parts are missing' status 1 'install Datum again' sh -c 'cp "$DATUM_BUILD/bin/datum-compare" away && away/datum-compare --help'
check 'no Python' status 127 'python3' env PATH=/no/such "$DATUM_BUILD/bin/datum-compare" --help
interrupted() {
    datum-compare --output stopped --providers datum-shm --no-raw --peer none >said 2>&1 &
    sleep 2
    kill $!
    wait $!
    [ $? = 130 ] && grep -q 'stopped; there is no report' said && [ ! -e stopped/report.html ]
}
check 'stopped in the middle' interrupted
killed() {
    datum-compare --output killed --providers datum-shm --no-raw --peer none >said 2>&1 &
    sleep 2
    kill -9 $!
    wait $!
    for ((i = 0; i < 50; i++)); do
        pgrep -f "json $TMPDIR.*/bench.json" >/dev/null || break
        sleep 0.1
    done
    rm -rf "$TMPDIR"/tmp* # nobody is left who could
    ((i < 50))
}
command -v setpriv >/dev/null 2>&1 && check 'killed in the middle' killed

check 'a report' says 'one source only' datum-compare --output 'a b' --quick --test latency,barrier --size 8:32 \
    --providers datum-shm --peer none
check 'json' of 'a b/results.json' '[x["size"] for x in r["results"] if x["test"] == "latency"] == [8, 16, 32]'
check 'rounds' of 'a b/results.json' 'all(len(x["values"]) == r["rounds"] == 5 and x["low"] <= x["median"] <= x["high"] for x in r["results"])'
check 'start-up and memory' of 'a b/results.json' '{x["group"]: x["unit"] for x in r["results"]}.items() >= {"start": "ms", "memory": "MiB"}.items()'
check 'raw' of 'a b/results.json' 'len(r["raw"]) == 24 and {x["source"] for x in r["raw"]} == {"datum-shm"}'
check 'machine' of 'a b/results.json' 'r["machine"]["cores"] > 0 and r["sources"][0]["library"].startswith("Datum")'
check 'csv' test "$(grep -c '^datum over datum-shm,latency,pt2pt,us,' 'a b/results.csv')" = 3
check 'csv, processor time' grep -Eq '^datum over datum-shm,latency,pt2pt,us,8,.*,5,[0-9.e-]+$' 'a b/results.csv'
check 'csv, raw' test "$(grep -Ec '^raw datum-shm,raw_(write|write_bw|read_bw|registration|wakeup|send),' 'a b/results.csv')" = 24
check 'page' grep -q '<h3>latency, us</h3>' 'a b/report.html'
check 'page, what MPI adds' grep -q '<td>MPI message over a DAT write, us</td><td>8</td>' 'a b/report.html'
check 'page, one source' grep -q 'nothing to compare' 'a b/report.html'
check 'page, machine' grep -q '<th>cores</th><td>[0-9]' 'a b/report.html'
check 'page, what measures' grep -q '<p>.*half a round trip of MPI_Send' 'a b/report.html'
check 'page ends' grep -q '</body></html>' 'a b/report.html'
check 'curves' grep -q '<svg' 'a b/report.html'
check 'nothing from outside' sh -c '! grep -E "(src|href)=.?http" "a b/report.html"'

# Names that are a path, a separator or HTML; a CDPATH.
lib=$DATUM_BUILD/lib/libdatum_dapl_shm.so
names=("x/../<b>&y" "',system('touch $PWD/pwned'),'\$(touch $PWD/pwned)" 'two words' '*')
for n in "${names[@]}"; do
    echo "\"$n\" u2.0 nonthreadsafe default \"$lib\" datum.1.0 \"\" \"\""
done >odd.conf
echo 'not a provider' >>odd.conf # libdat2 says so on standard output
mkdir -p far/odd
odd() { DAT_OVERRIDE=$PWD/odd.conf CDPATH=$PWD/far datum-compare --output odd --quick --rounds 2 --test latency,barrier --size 8:16 --peer none "$@"; }
check 'odd names' says '^small messages: ' odd --no-raw
check 'start-up' says_again '^start-up: '
check 'memory' says_again '^memory: '
check 'here and not elsewhere' test -s odd/report.html -a ! -e far/odd/report.html
check 'each is there' of odd/results.json '{"two words", "*"} <= {x["provider"] for x in r["sources"]} and len(r["sources"]) >= 4'
check 'HTML is none' grep -q '<th>datum over x/../&lt;b&gt;&amp;y</th>' odd/report.html
check 'code is none' test ! -e pwned
check 'one provider, named twice' odd --providers 'two words,two words'
check 'is one source' of odd/results.json '[x["name"] for x in r["sources"]] == ["datum over two words"]'
check 'which has raw figures' grep -q '^raw two words,raw_write,raw,us,8,' odd/results.csv
# A probe that breaks takes its own figures only, and says why.
fake() { # DIR: an installation with a datum-check of ours
    mkdir -p "$1/bin"
    cp "$DATUM_BUILD/bin/datum-compare" "$1/bin"
    ln -s "$DATUM_BUILD/share" "$1/share"
    ln -s "$DATUM_BUILD"/bin/{datum-info,datum-bench,mpiexec} "$1/bin"
    cat >"$1/bin/datum-check"
    chmod +x "$1/bin/datum-check"
}
fake partly <<'END_OF_CHECK'
#!/bin/sh
echo 'what somebody else prints'
echo '{"probes": {"latency": {"end": "ok", "why": "", "items": {"latency_8": {"result": "value", "value": 1.5}}},' \
    '"wakeup": {"end": "broken", "why": "nobody woke", "items": {}}}, "error": null}'
exit 1
END_OF_CHECK
check 'a probe that breaks' says 'raw datum-shm, wakeup: nobody woke' \
    partly/bin/datum-compare --output partly --quick --rounds 1 --test barrier --providers datum-shm --peer none
check 'the others count' grep -q '^raw datum-shm,raw_write,raw,us,8,1.5,' partly/results.csv
# One that another starts while it measures.
fake twice <<'END_OF_CHECK'
#!/bin/sh
datum-compare --output twice --quick --test barrier --providers datum-shm --no-raw --peer none >inner 2>&1
echo $? >inner.rc
exit 1
END_OF_CHECK
at_once() {
    twice/bin/datum-compare --output twice --quick --rounds 1 --test barrier --providers datum-shm --peer none >said 2>&1
    [ "$(cat inner.rc)" = 2 ] && grep -q 'another datum-compare writes to' inner && [ -s twice/results.json ]
}
check 'two at once' at_once
mkdir bin
printf '#!/bin/sh\necho "no compiler" >&2; exit 1\n' >bin/mpicc.without
printf '#!/bin/sh\nmpicc "$@"\n' >bin/mpicc.killed
printf '#!/bin/sh\nkill -9 $$\n' | tee bin/mpiexec.without >bin/mpiexec.killed
mkdir own
printf '#!/bin/sh\nexec mpicc "$@"\n' >own/mpicc
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v mpiexec)" >own/mpiexec
chmod +x bin/* own/*
peers() {
    PATH="$PWD/bin:$PATH" datum-compare --output peers --quick --rounds 2 --test barrier --providers datum-shm --no-raw \
        --peer without --peer killed --peer "mine=$PWD/own"
}
mkdir part
cp own/mpicc part
printf '#!/bin/sh\ncase "$*" in *"--test barrier"*) kill -9 $$ ;; esac\nexec "%s" "$@"\n' "$(command -v mpiexec)" >part/mpiexec
chmod +x part/*
check 'a test that fails' status 0 'mine, barrier: failed .status 137. and is left out' datum-compare --output part \
    --quick --rounds 2 --test latency,barrier --size 8:16 --providers datum-shm --no-raw --peer "mine=$PWD/part"
check 'the others count' of part/results.json '{x["test"] for x in r["results"] if x["source"] == "mine"} == {"latency", "start", "pss"}'
check 'peers that fail' status 0 'killed failed .status 137. and is left out' peers
check 'and the one that does not compile' says_again 'without is left out.*does not compile'
check 'and one that does not' of peers/results.json '[x["name"] for x in r["sources"]] == ["datum over datum-shm", "mine"]'
check 'which is compared' says_again '^collectives: fewer than 5 rounds'
check 'as JSON' sh -c 'datum-compare --output printed --quick --rounds 1 --test barrier --no-raw --peer none --json >printed.json &&
    cmp printed.json printed/results.json'
check 'the same' status 0 '^30 figures compared, 0 slower' datum-compare --diff 'a b' 'a b'
check 'the same, as JSON' sh -c 'datum-compare --diff "a b" "a b" --json >diff.json'
check 'which has the figures' of diff.json 'r["compared"] == 30 and r["worse"] == 0 and r["changes"] == []'
mkdir cut other
head -c -30 'a b/results.json' >cut/results.json
echo '{"program": "something else"}' >other/results.json
check 'a report that is cut off' status 2 'cut/results.json is cut off' datum-compare --diff 'a b' cut
check 'something else' status 2 'is not one of this datum-compare' datum-compare --diff 'a b' other
check '--diff and --output' status 2 'do not go together' datum-compare --output x --diff 'a b' 'a b'
if command -v mpicc.mpich >/dev/null 2>&1 && command -v mpiexec.mpich >/dev/null 2>&1; then
    check 'with a peer' says '^collectives: ' datum-compare --output peer --quick --test barrier --providers datum-shm --no-raw --peer mpich
    check 'it is there' grep -q '^mpich,barrier,coll,us,' peer/results.csv
    check 'who is first' grep -Eq '<th>collectives</th><td>(mpich|datum over datum-shm|no difference)' peer/report.html
fi
totals
