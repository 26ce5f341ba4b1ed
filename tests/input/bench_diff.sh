#!/bin/sh
# test: timeout=240 san=no
# bench-diff: its errors, a build beside itself, what it keeps. What it says of figures: report.sh.
. "$TEST_LIB"
need python3 python3
diff_() { "$TEST_SRC/scripts/bench-diff" "$@"; }
least() { diff_ --rounds 2 --test barrier,latency --size 8:64 --time 0.002 "$@"; }

check 'help' status 0 '^Usage: bench-diff' diff_ --help
check 'one build' status 2 'OLD NEW' diff_ "$DATUM_BUILD"
check 'wrong option' status 2 'unknown option "--round"' diff_ --round 3 x y
check 'wrong number' status 2 '--rounds wants a number, not "many"' diff_ --rounds many x y
check 'neither a directory nor a commit' status 2 'no-such is neither a directory nor a commit' diff_ no-such "$DATUM_BUILD"
mkdir empty
check 'a directory that is no build' status 2 'empty has no bin/datum-bench' diff_ empty "$DATUM_BUILD"
beside() {
    least --all "$DATUM_BUILD" "$DATUM_BUILD" >said 2>&1
    [ $? -le 1 ] && grep -Eq '^(same|faster|slower) +latency 8 B ' said && grep -Eq '^[0-9]+ faster, [0-9]+ slower, [0-9]+ without' said
}
check 'a build beside itself' beside
check 'few rounds show nothing' grep -q 'fewer than 8 rounds show no change' said
check 'as JSON' sh -c '"$TEST_SRC/scripts/bench-diff" --rounds 2 --test barrier --time 0.002 --json "$DATUM_BUILD" "$DATUM_BUILD" >out.json
    [ $? -le 1 ] && python3 -c "import json; r = json.load(open(\"out.json\")); assert [x[\"test\"] for x in r[\"rows\"]] == [\"barrier\"] and r[\"rounds\"] == 2"'
check 'a test that there is not' status 2 'no test "latent"' diff_ --rounds 1 --test latent "$DATUM_BUILD" "$DATUM_BUILD"

# What is kept goes to the sources' bench/results: to those of a copy.
mkdir -p copy/bench
cp -r "$TEST_SRC/scripts" copy
check 'nothing is kept' says 'nothing is kept yet' copy/scripts/bench-diff --history
keeps() {
    copy/scripts/bench-diff --rounds 1 --test barrier --time 0.002 --save "$DATUM_BUILD" "$DATUM_BUILD" >said 2>&1
    [ $? -le 1 ] && grep -q 'kept in .*/copy/bench/results/history/.*json' said
}
check 'one is kept' keeps
check 'and listed' says "UTC  $DATUM_BUILD -> $DATUM_BUILD  0 faster, 0 slower, 1 without" copy/scripts/bench-diff --history
totals
