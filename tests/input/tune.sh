#!/bin/sh
# test: timeout=200
# datum-tune in its quick form: the file it writes, that the library takes it; wrong options.
. "$TEST_LIB"

check 'a quick run' timeout 120 datum-tune --quick --ranks "2 3" --sizes 8:4096 \
    --collectives bcast,allgather,alltoallv --output my.coll
check 'the file says when and where' grep -q "^# Datum [0-9].* 20[0-9][0-9]-.* host .* provider datum" my.coll
check 'values and spread' grep -Eq '^# 8 bytes: .*binomial [0-9.]+ \[[0-9.]+ [0-9.]+\], scatter [0-9.]+' my.coll
check 'rows' grep -Eq '^bcast (shm|binomial|scatter) ranks=2 .*one-node$' my.coll
check 'rows of the other number of ranks' grep -Eq '^alltoallv (linear|pairwise) ranks=3-5 one-node$' my.coll
check 'no row of an algorithm that needs 2^n ranks' sh -c '! grep "^allgather doubling ranks=3" my.coll'
takes() {
    DATUM_EXPLAIN=1 DATUM_COLL_FILE=my.coll timeout 20 mpiexec -n 3 datum-bench-coll -c bcast,alltoallv \
        -s 8:8 -t 1 >out 2>&1 && grep -Eq "bcast of 8 bytes, 3 ranks: [a-z]+ \(my.coll:[0-9]+\)" out &&
        grep -Eq "alltoallv of 0 bytes, 3 ranks: [a-z]+ \(my.coll:[0-9]+\)" out
}
check 'the library takes it' takes
check 'to standard output' sh -c 'datum-tune --quick --ranks 2 --collectives barrier --output - |
    grep -q "^barrier [a-z]* ranks=2-3 one-node"'

check_fails 'unknown option' 'unknown option "--fast"' datum-tune --fast
check_fails 'no value' '--ranks needs a value' datum-tune --ranks
check_fails 'wrong ranks' 'wants numbers from 2, not "1"' datum-tune --ranks 1
check_fails 'wrong sizes' '--sizes wants MIN:MAX' datum-tune --sizes 8
check_fails 'wrong rounds' '--rounds wants a number' datum-tune --rounds none
check_fails 'unknown collective' '"bcats" is no collective.*bcast' datum-tune --collectives bcats
check_fails 'no choice' '"gatherv" is no collective with several' datum-tune --collectives gatherv
check_fails 'no place to write to' 'cannot write /no/such' datum-tune --output /no/such/file
check_fails 'a job that does not start' 'a job of 2 ranks does not run' \
    env DATUM_PROVIDER=none-such datum-tune --ranks 2 --output x.coll
check_fails 'unknown collective of the bench' 'no collective is called "x"; coll -l' datum-bench-coll -c x
totals
