#!/bin/sh
# test: timeout=400
# Every algorithm that the library has, forced in turn, on up to 17 ranks against the model of
# coll_random: the first of all collectives, then the second, ... One rank with the first; beyond 9
# ranks, where only the depth of the trees is new, a number beside a power of two. TEST_FULL=yes: all
# numbers, more cases.
. "$TEST_LIB"

prog=$DATUM_BUILD/tests/mp/coll_random
[ -x "$prog" ] || skip "$prog is not built"
datum-info --coll-algorithms >algs || fail "datum-info --coll-algorithms"
grep -q '^bcast binomial' algs || fail "the list has no bcast binomial: $(head -3 algs)"
most=$(awk '{ n[$1]++; if (n[$1] > most) most = n[$1] } END { print most }' algs)
batches=3 ranks='1 2 3 4 5 6 7 8 9 17'
[ "${TEST_FULL:-no}" = no ] || batches=40 ranks=$(seq 17)

for k in $(seq "$most"); do
    # The collectives that have less take their last one again.
    DATUM_COLL=$(awk -v k="$k" '{ n[$1]++; if (n[$1] <= k) pick[$1] = $2 }
        END { for (c in pick) printf "%s=%s,", c, pick[c] }' algs)
    export DATUM_COLL
    for n in $ranks; do
        [ "$n" != 1 ] || [ "$k" = 1 ] || [ "${TEST_FULL:-no}" != no ] || continue
        check "$n ranks, $DATUM_COLL" timeout $((60 * ${TEST_FACTOR:-1})) mpiexec -n "$n" "$prog" "$((1000 * k + n))" $batches
    done
done
totals
