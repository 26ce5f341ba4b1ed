#!/bin/sh
# test: timeout=120 san=no
# bench/reproduce/run: a small experiment with everything in it, that a claim can fail, what does not run, wrong lines; the
# experiments that are there can be read, and one of them counts what it should.
. "$TEST_LIB"
run=$TEST_SRC/bench/reproduce/run

cat >mine <<'END'
# a comment
experiment one
title First
paper a paper
claim something
shape us
at short
claimed ring 7.5
claimed send 15-30
provider modelled
model latency=10us bandwidth=100m
test latency 8:16
figure raw 10
follows how long the way is
series ring EAGER=rdma
series send EAGER=sendrecv
count 100 8 RDMA writes, sends
check ring send 8:16 0.01-100 it is somewhere
check ring send 8:16 1000- it is a thousand times slower
check send ring 8:16 0.01- by other ways
check ring none 8:16 - nobody knows

experiment two
title Second
paper a paper
claim a word
shape only time, two ranks 1
at 2 4
claimed messages 1 more
provider datum-shm
test barrier 0:0
ranks 2 3
series messages COLL_SHM=no
unasked nobody knows
END
check 'both' "$run" -q -f mine -o out
check 'the word' grep -q '^## First (modelled)' out/report.md
check 'the model' grep -q 'over a \*\*modelled\*\* network, `latency=10us bandwidth=100m`' out/report.md
check 'the table' grep -Eq '^\| 8 \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \|$' out/report.md
least() { # a model's latency is the least that can be
    awk -F, -v n="$1" '$1 == "one" && $2 == n && $3 == 8 { found++; bad += $4 < 10 } END { exit !(found == 1 && !bad) }' out/results.csv
}
check 'messages take the latency' least ring
check 'and by the other way' least send
check 'nor more than it and a us' awk -F, '$1 == "one" && $2 == "ring" && $3 == 8 { ok = $4 < 11 } END { exit !ok }' out/results.csv
check 'the network itself' grep -q '^one,raw,8,10,10,10,10,,us$' out/results.csv
check 'what it follows from' grep -q '^- what that follows from: how long the way is$' out/report.md
check 'counted: ring' grep -Eq '^- ring: (0\.9|1\.0)[0-9] RDMA writes' out/report.md
check 'counted: send' grep -Eq '^- send: (0\.9|1\.0)[0-9] sends' out/report.md
check 'holds' grep -q '^- \*\*holds\*\*: it is somewhere (ring / send = ' out/report.md
check 'a row of the table' grep -Eq '^\| `one` \| it is somewhere: ring / send, 8:16 bytes \| 0.01 to 100 \| .* \| [0-9.]+ \| \*\*holds\*\* \|$' out/report.md
check 'what was claimed of send / ring' grep -Eq '^\| `one` .*: send / ring, .* \| 2 to 4 \| [0-9.]+ \|' out/report.md
check 'why there is no check' grep -qF '| `two` | nobody knows | | | | no verdict |' out/report.md
check 'the claim' grep -A 4 '^Claimed, us:$' out/report.md
check 'its figures' grep -qF '| short | 7.5 | 15 to 30 |' out/report.md
check 'the claim in words' grep -qF 'Claimed, the shape only; time, two ranks 1:' out/report.md
check 'does not hold' grep -q '^- \*\*does not hold\*\*: it is a thousand' out/report.md
check 'cannot be told' grep -q '^- cannot be told: nobody knows' out/report.md
check 'by ranks' grep -Eq '^\| 3 \| [0-9.]+ \|$' out/report.md
check 'no model' grep -q '^## Second$' out/report.md
if command -v gnuplot >/dev/null 2>&1; then
    check 'figures' grep -q '<svg' out/one.svg out/two.svg
    check 'the claim beside' grep -q '>claimed:<' out/one.svg
    check 'its figures, drawn' test "$(grep -Ec '>(7\.5|15 to 30)<' out/one.svg)" = 2
    check 'the shape only' grep -q '>claimed, shape only:<' out/two.svg
fi
check 'verdicts first' test "$(grep -n -m 1 '^| `one` .*\*\*holds\*\*' out/report.md | cut -d : -f 1)" -lt "$(grep -n '^## First' out/report.md | cut -d : -f 1)"
cat >bars <<'END'
experiment bars
title Layers
paper a paper
claim nothing
shape none there was nothing
provider datum-shm
program layers 8:16
plots stacked
check mpi dat 8:16 0.5- MPI costs something
END
check 'a program of the bench' says '^bars: (holds|does not hold): MPI costs something \(mpi / dat' "$run" -q -f bars -o bars.out
check 'its series' grep -Eq '^\| bytes \| dat \| adapter \| channel \| mpi \|$' bars.out/report.md
if command -v gnuplot >/dev/null 2>&1; then
    check 'bars' test "$(grep -c "fill = 'rgb(" bars.out/bars.svg)" -ge 8
fi
check 'rounds' says '2 rounds, quick' sh -c "'$run' -q -n 2 -f mine -o rounds two && cat rounds/report.md"
check 'wrong rounds' status 2 '-n wants a number' "$run" -n many
sed 's/EAGER=sendrecv/EAGER=nothing/' mine >series
check_fails 'a series that does not run' 'reproduce: .*report.md' "$run" -q -f series -o out one
check 'is said' grep -q '^- send: not run: .*DATUM_EAGER' out/report.md
wrong() { # PATTERN EDIT
    sed "$2" mine >bad
    check "$2" status 2 "$1" "$run" -q -f bad -o out one two
}
wrong 'what is "tilte"' 's/^title/tilte/'
wrong 'lacks its provider' '/^provider/d'
wrong 'lacks its provider or test' '/^test/d'
wrong 'one: it lacks the shape' '/^shape us/d'
wrong 'one: "raw" takes the machine' 's/^figure.*/raw write/'
wrong 'one: nothing is claimed' '/^claimed/d'
wrong 'claimed ring wants a value for each of the 2 places' 's/^at short/at short long/'
wrong 'claimed send: what is "many"' 's/ 15-30/ many/'
wrong '"less" is for "shape only"' 's/ 15-30/ less/'
wrong 'shape none, and yet' 's/^shape us/shape none but/'
wrong 'two: claimed messages: "more" is for' 's/^shape only/shape/'
check 'before any has run' sh -c '! grep "^one: " said'
check 'no such experiment' status 2 'there is no experiment "three"; there are: one two' "$run" -f mine three
check 'no such file' status 2 'cannot read' "$run" -f nothing
check 'a directory of experiments' status 2 'cannot read' "$run" -f /tmp
check 'none of them' status 2 'no experiment in /dev/null|cannot read /dev/null' "$run" -f /dev/null
mkdir -p far/here
check 'a CDPATH' env CDPATH="$PWD/far" "$run" -q -f mine -o here two
check 'leads nowhere else' test -s here/report.md -a ! -e far/here/report.md
interrupted() {
    cp here/report.md before
    "$run" -f mine -o here one >/dev/null 2>&1 &
    sleep 1
    kill $!
    wait $!
    [ $? = 130 ] && cmp before here/report.md
}
check 'stopped: the old report is there' interrupted
check 'those that are there, each with its claim' says '^chunk +.*modelled' "$run" -l
check 'basic against piggyback' "$run" -q -o out piggyback
check 'three writes a message, and tails' grep -Eq '^- basic: [23]\.[0-9]+ RDMA writes' out/report.md
check 'one' grep -Eq '^- piggyback: (0\.9|1\.0)[0-9] RDMA writes' out/report.md
totals
