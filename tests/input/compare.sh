#!/bin/bash
# test: timeout=240 san=no
# datum-compare: its errors, a small report with everything in it, and comparing two.
. "$TEST_LIB"

says_again() { grep -q "$1" said; }

check 'help' status 0 '--diff OLD NEW' datum-compare --help
check 'no place' status 2 'where to' datum-compare
check 'wrong option' status 2 'unknown argument "--outputs"' datum-compare --outputs x
check 'no value' status 2 '--peer needs a value' datum-compare --output x --peer
check 'no such peer' status 2 'no mpicc.nothing' datum-compare --output x --peer nothing
check 'no such provider' status 2 'provider nothing cannot' datum-compare --output x --providers nothing
check 'wrong ranks' status 2 'wants a number' datum-compare --output x --ranks two
check 'wrong test' status 2 'no test "latent"' datum-compare --output x --test latent --no-raw
check 'no report to compare' status 2 'no results.csv' datum-compare --diff x y
check 'nothing is left behind' test ! -e x/results.csv
check 'wrong limit' status 2 'wants seconds' datum-compare --output x --limit soon
: >file
check 'no directory there' status 2 'file/x cannot be made' datum-compare --output file/x
check 'too slow' status 2 'over datum-shm needs more than 1 s .*left out' \
    datum-compare --output slow1 --limit 1 --providers datum-shm --no-raw
check 'and then there is nothing' says_again 'nothing could be measured'
mkdir full
ln -s /dev/full full/results.csv
check 'limit out of range' status 2 'wants seconds' datum-compare --output x --limit 99999999999999999999
check 'help that cannot be written' status 1 '' sh -c 'datum-compare --help >/dev/full'
check 'no room' status 2 'full/results.csv cannot be written: .* are free' \
    datum-compare --output full --quick --test barrier --providers datum-shm --no-raw
check 'no directory for files in between' status 2 '/no/such .TMPDIR. cannot' \
    env TMPDIR=/no/such datum-compare --output x --quick --test barrier --providers datum-shm --no-raw
check 'no half report' test ! -e full/report.html
interrupted() {
    datum-compare --output stopped --providers datum-shm --no-raw >said 2>&1 &
    sleep 2
    kill $!
    wait $!
    [ $? = 130 ] && grep -q 'stopped; there is no report' said && [ ! -e stopped/report.html ]
}
check 'stopped in the middle' interrupted
killed() {
    datum-compare --output killed --providers datum-shm --no-raw >said 2>&1 &
    sleep 2
    kill -9 $!
    wait $!
    for ((i = 0; i < 50; i++)); do
        pgrep -f "json $TMPDIR.*/datum over datum-shm.json" >/dev/null || break
        sleep 0.1
    done
    rm -rf "$TMPDIR"/tmp.* # nobody is left who could
    ((i < 50))
}
command -v setpriv >/dev/null 2>&1 && check 'killed in the middle' killed

check 'a report' datum-compare --output 'a b' --quick --test latency,barrier --size 8:32 --providers datum-shm
check 'json' python3 -m json.tool 'a b/datum over datum-shm.json'
check 'raw' test -s 'a b/raw datum-shm.json'
check 'csv' test "$(grep -c '^datum over datum-shm,latency,us,' 'a b/results.csv')" = 3
check 'csv, processor time' grep -Eq '^datum over datum-shm,latency,us,8,.*,[0-9.e-]+$' 'a b/results.csv'
check 'csv, raw' test "$(grep -Ec '^raw datum-shm,raw_(write|write_bw|read_bw|registration|wakeup|send),' 'a b/results.csv')" = 24
check 'page' grep -q '<h3>latency, us</h3>' 'a b/report.html'
check 'page, what MPI adds' grep -q '<td>MPI message over a DAT write, us</td><td>8</td>' 'a b/report.html'
check 'page, one source' grep -q 'nothing to compare' 'a b/report.html'
check 'page, machine' grep -q '<tr><th>cores</th><td>[0-9]' 'a b/report.html'
check 'page ends' grep -q '</body></html>' 'a b/report.html'
if command -v gnuplot >/dev/null 2>&1; then
    check 'curves' grep -q '<svg' 'a b/report.html'
fi
check 'nothing from outside' sh -c '! grep -E "(src|href)=.?http" "a b/report.html"'

# Names that are a path, a separator, HTML, or code for gnuplot or the shell; a CDPATH; a gnuplot that does not work.
lib=$DATUM_BUILD/lib/libdatum_dapl_shm.so
names=("x/../<b>&y" "',system('touch $PWD/pwned'),'\$(touch $PWD/pwned)" 'two words' '*')
for n in "${names[@]}"; do
    echo "\"$n\" u2.0 nonthreadsafe default \"$lib\" datum.1.0 \"\" \"\""
done >odd.conf
echo 'not a provider' >>odd.conf # libdat2 says so on standard output
mkdir -p far/odd broken
printf '#!/bin/sh\necho no display >&2; exit 1\n' >broken/gnuplot
chmod +x broken/gnuplot
odd() { DAT_OVERRIDE=$PWD/odd.conf CDPATH=$PWD/far datum-compare --output odd --quick --test latency,barrier --size 8:16 "$@"; }
check 'all of them can be listed' test "$(DAT_OVERRIDE=$PWD/odd.conf datum-info --usable | grep -cxF -e "usable ${names[0]}" -e "usable ${names[2]}")" = 2
check 'odd names' odd --no-raw
check 'here and not elsewhere' test -s odd/report.html -a ! -e far/odd/report.html
check 'each is there' test "$(grep -Ec '^datum over .*,barrier,us,' odd/results.csv)" -ge 4
check 'and nothing else' sh -c '! grep "<li>.*ERR" odd/report.html'
check 'a separator is none' test "$(awk -F, 'NF != 13' odd/results.csv | wc -l)" = 0
check 'a path is none' test -s 'odd/datum over x_..__b__y.json'
check 'HTML is none' grep -q '<li>x_..__b__y stands for the provider <b>x/../&lt;b&gt;&amp;y</b></li>' odd/report.html
check 'code is none' test ! -e pwned
check 'what measures' grep -q '<p>.*half a round trip of MPI_Send' odd/report.html
check 'raw figures, once each' env PATH="$PWD/broken:$PATH" bash -c "$(declare -f odd); odd --providers 'two words,two words'" 2>said
check 'one source' test "$(grep -c ,barrier, odd/results.csv)" = 1
check 'which has raw figures' grep -q '^raw two words,raw_write,us,8,' odd/results.csv
check 'those of before are gone' test ! -e 'odd/datum over x_..__b__y.json'
check 'gnuplot that does not work' grep -q 'gnuplot draws no SVG: no display' odd/report.html
check 'and no empty figure' sh -c '! grep -q "<figure>" odd/report.html'
check 'again, without raw figures' odd --no-raw --providers '*'
check 'old ones are not taken for new' sh -c '! grep "^raw" odd/results.csv'
# A probe that breaks takes its own figures only, and says why.
mkdir -p partly/bin
cp "$DATUM_BUILD/bin/datum-compare" partly/bin
ln -s "$DATUM_BUILD"/bin/{datum-info,datum-bench,mpiexec} partly/bin
cat >partly/bin/datum-check <<'END'
#!/bin/sh
echo '{"probes": {"latency": {"end": "ok", "why": "", "items": {"latency_8": {"result": "value", "value": 1.5}}},' \
    '"wakeup": {"end": "broken", "why": "nobody woke", "items": {}}}, "error": null}'
exit 1
END
chmod +x partly/bin/datum-check
check 'a probe that breaks' says 'raw datum-shm, wakeup: "nobody woke"' \
    partly/bin/datum-compare --output partly --quick --test barrier --providers datum-shm
check 'the others count' grep -q '^raw datum-shm,raw_write,us,8,1.5,' partly/results.csv
# One that another starts while it measures.
mkdir -p twice/bin
cp "$DATUM_BUILD/bin/datum-compare" twice/bin
ln -s "$DATUM_BUILD"/bin/{datum-info,datum-bench,mpiexec} twice/bin
cat >twice/bin/datum-check <<'END'
#!/bin/sh
datum-compare --output twice --quick --test barrier --providers datum-shm --no-raw >inner 2>&1
echo $? >inner.rc
exit 1
END
chmod +x twice/bin/datum-check
at_once() {
    twice/bin/datum-compare --output twice --quick --test barrier --providers datum-shm >said 2>&1
    [ "$(cat inner.rc)" = 2 ] && grep -q 'another datum-compare writes to' inner &&
        grep -q '^datum over .*,barrier,us,' twice/results.csv
}
command -v flock >/dev/null 2>&1 && check 'two at once' at_once
mkdir bin
printf '#!/bin/sh\necho "no compiler" >&2; exit 1\n' >bin/mpicc.without
printf '#!/bin/sh\nmpicc "$@"\n' >bin/mpicc.killed
printf '#!/bin/sh\nkill -9 $$\n' | tee bin/mpiexec.without >bin/mpiexec.killed
chmod +x bin/*
check 'peers that fail' status 0 'killed failed .status 137. and is left out' env PATH="$PWD/bin:$PATH" \
    datum-compare --output peers --quick --test barrier --providers datum-shm --no-raw --peer without --peer killed
check 'and the one that does not compile' says_again 'without is left out.*does not compile'
check 'the same' status 0 '^28 figures compared, 0 slower' datum-compare --diff 'a b' 'a b'
mkdir slow none other
echo source,test >none/results.csv
cp 'a b/results.csv' other
sed 's/^host .*/host elsewhere, 96 cores/' 'a b/how.txt' >other/how.txt
awk -F, -v OFS=, 'NR > 1 && $2 == "latency" { for (i = 5; i <= 9; i++) $i *= 1000000 } { print }' \
    'a b/results.csv' >slow/results.csv
check 'nothing in common' status 2 'no figure in common' datum-compare --diff 'a b' none
check 'another host' says 'not measured alike: .*"host elsewhere' datum-compare --diff 'a b' other
sed 's/^processor .*/processor of another kind/' 'a b/how.txt' >other/how.txt
check 'another processor' says 'not measured alike: .*"processor of another' datum-compare --diff 'a b' other
head -c -30 'a b/results.csv' >other/results.csv
check 'a table that is cut off' says '1 lines of the new one cannot be read' datum-compare --diff 'a b' other
check 'and its last line is not compared' says_again '^27 figures compared'
echo '<html>' >other/results.csv
check 'something else' status 2 'is not one of datum-compare' datum-compare --diff 'a b' other
mkdir hidden shown
head -n 1 'a b/results.csv' | tee hidden/results.csv >shown/results.csv
echo x,overlap,%,8,0,0,0,0,0,10,1,0,1 >>hidden/results.csv
echo x,overlap,%,8,90,80,95,85,95,10,1,0,1 >>shown/results.csv
check 'from nothing' says '^better .* \+90$' datum-compare --diff hidden shown
check 'to nothing' status 1 '^worse .* -90$' datum-compare --diff shown hidden
check 'slower' status 1 '^slower +datum over datum-shm +latency +8 ' datum-compare --diff 'a b' slow
check 'faster' status 0 '^faster +datum over datum-shm +latency +8 ' datum-compare --diff slow 'a b'
if command -v mpicc.mpich >/dev/null 2>&1 && command -v mpiexec.mpich >/dev/null 2>&1; then
    check 'with a peer' datum-compare --output peer --quick --test barrier --providers datum-shm --no-raw --peer mpich
    check 'it is there' grep -q '^mpich,barrier,us,' peer/results.csv
    check 'who is first' grep -Eq '<td>barrier</td><td>-</td><td>(mpich|datum over datum-shm|no clear one)</td>' peer/report.html
fi
totals
