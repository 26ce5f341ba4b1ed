#!/bin/sh
# test: timeout=180 san=no
# bench/reproduce/run: a small experiment with everything in it, that a claim can fail, what does not run, what a load
# withholds, wrong lines; the papers' own can be read, and one of them counts what it should.
. "$TEST_LIB"
need python3 python3-minimal
run=$TEST_SRC/bench/reproduce/run

cat >mine <<'END'
# a comment
paper mine
cite Somebody: Something, 2004
experiment one
title First
where 4.2; figure 1
claim something
provider modelled
model latency=10us bandwidth=100000000
model far latency=40us bandwidth=100000000
test latency 8:16
figure raw 10+100
series ring EAGER=rdma
series send EAGER=sendrecv
series far MODEL=far
count 100 8 RDMA writes, sends
check ring raw 8:16 ~1 the latency of the network
check far ring 8:16 4 four times as far
check ring send 8:16 1000 it is a thousand times slower
because nobody has said so
check ring@16 ring@8 - ~1 at two places
tally ring | RDMA writes | 1 | a write
tally send | sends | 2 | two sends
follows how long the way is
unasked much | the weight of it | there are no scales

experiment two
title Second
where words
claim a word
provider datum-shm
test barrier 0:0
ranks 2 3
series messages COLL_SHM=no
check messages@3 messages@2 - >1 three take longer than two

experiment three
title Third
where words
claim another word
unasked 2 | something else | it is not here

experiment absent
title Fourth
where words
claim another word
provider nothing
test latency 8:8
series a
check a a 8:8 ~1 itself
END
check 'all' "$run" -q -n 2 -f mine -o out
check 'the word' grep -q '^## one: First (modelled)' out/report.md
check 'the paper' grep -q '^## Somebody: Something, 2004$' out/report.md
check 'the model' grep -q '^- model far: `latency=40us bandwidth=100000000`' out/report.md
check 'the table' grep -Eq '^\| 8 \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \|$' out/report.md
least() { # a model's latency is the least that can be, and nothing but some us are added
    awk -F, -v n="$1" '$1 == "one" && $2 == n && $3 == 8 { found++; bad += $5 < 10 || $5 > 11 } END { exit !(found == 1 && !bad) }' out/results.csv
}
check 'messages take the latency' least ring
check 'and by the other way' least send
check 'the network itself' grep -q '^one,raw,8,1,10.08,10.08,,us$' out/results.csv
check 'what it follows from' grep -q '^- it follows from how long the way is$' out/report.md
check 'counted: ring' grep -Eq '^- ring: (0\.9|1\.0)[0-9] RDMA writes' out/report.md
check 'counted: send' grep -Eq '^- send: (0\.9|1\.0)[0-9] sends' out/report.md
row() { # PATTERN: a line of the table of verdicts
    check "$1" grep -Eq "^\\| \`one\` \\| 4.2; figure 1 \\| $1 \\|\$" out/report.md
}
row 'the latency of the network: ring / raw, 8:16 \| about 1 \| [0-9.]+( \[.*\])? \| virtual time, .* \| \*\*holds\*\*'
row 'four times as far: far / ring, 8:16 \| 4 \| (3\.[89]|4\.0).* \| \*\*holds\*\*: (9[5-9]|10[0-2])% of the claimed effect'
row 'it is a thousand .* \| 1000 \| .* \| \*\*does not hold\*\*: -?0% of the claimed effect; nobody has said so'
row 'at two places: ring at 16 / ring at 8 \| about 1 \| 1\.0[01] \| .*'
row 'a write: ring, RDMA writes \| 1 \| (0\.99|1\.0[0-5]) \| counted for a message, modelled.* \| \*\*holds\*\*'
row 'two sends: send, sends \| 2 \| (0\.99|1\.0[0-5]) \| .* \| \*\*does not hold\*\*'
row 'the weight of it \| much \|  \|  \| no verdict: there are no scales'
check 'not here' grep -q '^| `three` .* | no verdict: it is not here |$' out/report.md
check 'nor a provider' grep -q '^| `absent` .* | no verdict: no nothing in the dat.conf |$' out/report.md
check 'rounds by turns' test "$(grep -c '^two,messages,3,' out/results.csv)" = 2
check 'its method' grep -q '| measured, datum-shm, 2 rounds |' out/report.md
check 'for programs' grep -Eq '^mine,one,4.2; figure 1,"?four times as far: .*,4,[0-9.]+,[0-9.]+,[0-9.]+,.*,holds,' out/verdicts.csv
if command -v gnuplot >/dev/null 2>&1; then
    check 'figures' grep -q '<svg' out/one.svg out/two.svg
    check 'ours and claimed' sh -c 'grep -q ">ours<" out/one.svg && grep -q ">claimed<" out/one.svg'
fi
check 'verdicts first' test "$(grep -n -m 1 '^| `one` .*\*\*holds\*\*' out/report.md | cut -d : -f 1)" -lt "$(grep -n '^## one: First' out/report.md | cut -d : -f 1)"
# Busy now, or not: then times have no verdict, and none is saved. What is modelled has both.
saved() {
    "$run" -q -f mine -o kept -S kept.md one two || return 1
    grep -q '^| command | `bench/reproduce/run -q -f mine -o kept one two` |$' kept.md || return 1
    grep -q '^| `one` .*four times as far.*| \*\*holds\*\*' kept.md || return 1
    if grep -q '^| `two` .* | no verdict: load' kept.md; then
        grep -q '^| `two` .* | more |  | measured' kept.md
    else
        grep -Eq '^\| `two` .* \| more \| [0-9]' kept.md
    fi
}
check 'saved' saved
cat >bars <<'END'
paper mine
experiment bars
title Layers
where nowhere
claim nothing
provider datum-shm
program layers 8:16
plots stacked
check mpi dat 8:16 >=0.5 MPI costs something
extra mpi dat 8:16 <=100 and not too much

experiment flow
title Stream
where nowhere
claim nothing
provider datum-tcp
program stream 64k:64k
check mpi raw 64k:64k >=0.01 MPI moves something

experiment types
title Types
where nowhere
claim nothing
provider datum-shm
program engine 8:16
extra type bytes 8:16 <=1000 a type costs something
END
check 'programs of the bench' says '^bars: (holds|no verdict: load.*) \(MPI costs something: mpi / dat' "$run" -q -n 2 -f bars -o bars.out
check 'one round is no verdict' says '^bars: no verdict: (one round has no interval|load.*) \(MPI costs' "$run" -q -n 1 -f bars -o bars.one
check 'their series' grep -Fqx '| | dat | adapter | channel | mpi |' bars.out/report.md
check 'and units' grep -Eq '^flow,mpi,65536,1,[0-9.e+]+,[0-9.e+]+,,MB/s$' bars.out/results.csv
check 'types' grep -Eq '^types,vector,16,1,' bars.out/results.csv
if command -v gnuplot >/dev/null 2>&1; then
    check 'bars' test "$(grep -c "fill = 'rgb(" bars.out/bars.svg)" -ge 8
fi
check 'wrong rounds' status 2 '-n wants a number' "$run" -n many
check 'wrong option' status 2 'option -z' "$run" -z
sed 's/EAGER=sendrecv/EAGER=nothing/' mine >series
check_fails 'a series that does not run' 'reproduce: .*report.md' "$run" -q -f series -o out one
check 'is said' grep -q '^- send: not run: .*DATUM_EAGER' out/report.md
check 'and has no verdict' grep -Eq '^\| `one` .*ring / send.*no verdict: send: not run' out/report.md
wrong() { # PATTERN EDIT
    sed "$2" mine >bad
    check "$2" status 2 "$1" "$run" -q -f bad -o out one two
}
wrong 'bad:5: what is "tilte"' 's/^title First/tilte First/'
wrong 'experiment one: it lacks its where' '0,/^where/{/^where/d}'
wrong 'experiment two: it lacks its provider' '/^provider datum-shm/d'
wrong 'experiment two: it lacks a test' '/^test barrier/d'
wrong 'experiment three: it asks nothing' '/^unasked 2/d'
wrong 'no model "far" for far' '/^model far/d'
wrong 'there is no series "far"' '/^series far/d'
wrong '"sends" of send is not counted' 's/^\(count.*\), sends/\1/'
wrong 'what is "lots"' 's/ 1000 it/ lots it/'
wrong '1.01 is too near to 1 for an effect: write ~1.01' 's/ 1000 it/ 1.01 it/'
wrong 'either both have a place' 's/ring@16 ring@8/ring@16 ring/'
wrong 'what range is "16:8"' 's/^test latency 8:16/test latency 16:8/'
wrong 'what size is "8kb"' 's/^test latency 8:16/test latency 8:8kb/'
wrong 'wants 3 parts with \| between them' 's/^unasked much |/unasked much/'
wrong 'a second line title' 's/^where 4.2.*/title again/'
wrong 'a program takes the machine' 's/^test latency.*/program layers 8:16/'
wrong 'two experiments "one"' 's/^experiment two/experiment one/'
wrong '"cite" before any experiment of a paper' '/^paper/d'
check 'before any has run' sh -c '! grep "^one: " said'
check 'no such experiment' status 2 'there is no experiment "four"; there are: one two three' "$run" -f mine four
check 'no such file' status 2 'cannot read' "$run" -f nothing
mkdir empty
check 'none of them' status 2 'no experiment in empty' "$run" -f empty
check 'a directory of them' sh -c "mkdir both && cp mine both/a && '$run' -f both -l | grep -q '^mine *one '"
interrupted() {
    cp out/report.md before
    "$run" -f mine -o out one >/dev/null 2>&1 &
    until ls -d "${TMPDIR:-/tmp}"/reproduce.* >/dev/null 2>&1; do kill -0 $! || return 1; done # it has begun
    kill $!
    wait $!
    [ $? = 130 ] && cmp before out/report.md
}
check 'stopped: the old report is there' interrupted
check 'the papers, all five' test "$("$run" -l | cut -d ' ' -f 1 | sort -u | paste -sd ' ')" = 'chai chemnitz liu narravula yu'
check 'basic against piggyback' "$run" -q -o out piggyback
check 'three writes a message' grep -Eq '^\| `piggyback` .*\| 3 \| (2\.9|3\.0)[0-9] \| counted.*\*\*holds\*\*' out/report.md
check 'one' grep -Eq '^\| `piggyback` .*\| 1 \| (0\.9|1\.0)[0-9] \| counted.*\*\*holds\*\*' out/report.md
totals
