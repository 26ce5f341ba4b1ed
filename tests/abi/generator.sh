#!/bin/sh
# test: timeout=60
# Every awk makes the same bytes of the API table, and mistakes in it are refused with their place.
. "$TEST_LIB"
api=$TEST_SRC/src/api
fortran=$TEST_SRC/src/fortran
all() {
    for make in proto map names calls; do
        "$@" -f "$api/tables.awk" -f "$api/gen.awk" -v make=$make "$api/kinds.tbl" "$api/api.tbl" || return 1
    done
    for make in mpif types mpi f08; do
        "$@" -f "$fortran/constants.awk" -f "$api/tables.awk" -f "$fortran/common.awk" -f "$fortran/modules.awk" \
            -v make=$make "$TEST_SRC/include/mpi.h" "$api/kinds.tbl" "$api/api.tbl" || return 1
    done
    for chapter in $(sed -n 's/^@chapter *\([a-z0-9]*\).*/\1/p' "$api/api.tbl"); do
        "$@" -f "$api/tables.awk" -f "$api/gen.awk" -v make=source -v chapter="$chapter" "$api/kinds.tbl" "$api/api.tbl" ||
            return 1
        "$@" -f "$api/tables.awk" -f "$fortran/common.awk" -f "$fortran/c.awk" -v bound="$chapter" \
            "$api/kinds.tbl" "$api/api.tbl" || return 1
    done
}
all awk >want || fail 'the generator does not run'
[ "$(wc -l <want)" -gt 25000 ] || fail 'the generator makes too little'
n=0
for awk in mawk gawk 'gawk --posix' 'busybox awk' original-awk nawk; do
    command -v ${awk%% *} >/dev/null 2>&1 || continue
    all $awk >have 2>&1
    check "$awk" cmp want have
    n=$((n + 1))
done
[ $n -gt 0 ] || fail_one 'no awk is known by its own name'

# refuse NAME PATTERN ROW: the row in place of the table's last
refuse() {
    { sed '/^@/!d' "$api/api.tbl"; echo "$3"; } >bad.tbl
    check_fails "$1" "$2" awk -f "$api/tables.awk" -f "$api/gen.awk" -v make=proto "$api/kinds.tbl" bad.tbl
}
refuse 'unknown kind' 'bad.tbl:[0-9]*: unknown kind cuont' \
    'MPI_Send | pt2pt | 1.0 | count:cuont comm:comm | comm |'
refuse 'unknown chapter' 'unknown chapter p2p' 'MPI_Send | p2p | 1.0 | comm:comm | comm |'
refuse 'too few fields' 'has 5 fields' 'MPI_Send | pt2pt | 1.0 | comm:comm | comm'
refuse 'unknown error object' 'error object win' 'MPI_Send | pt2pt | 1.0 | comm:comm | win |'
refuse 'unknown condition' 'unknown condition rot' 'MPI_Send | pt2pt | 1.0 | comm:comm:rot | comm |'
refuse 'no prefix' 'Send does not begin with MPI_' 'Send | pt2pt | 1.0 | comm:comm | comm |'
refuse 'one form' 'forms= of MPI_Send wants two names' 'MPI_Send | pt2pt | 1.0 | comm:comm | comm | forms=MPI_Isend'
totals
