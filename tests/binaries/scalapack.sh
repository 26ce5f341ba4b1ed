#!/bin/sh
# test: timeout=400
# ScaLAPACK's own testers as Debian built them for MPICH, Fortran and C over BLACS, on 4 ranks: single
# precision and double complex. Left out: xsllt and xdllt, which never end (on other MPI libraries
# neither), x*heevr, which compare reals that they have not set (a NaN that free() leaves on the
# stack is a failure), and the testers of BLACS, which end by MPI_Abort.
. "$TEST_LIB"
place=$(ls -d /usr/lib/*/scalapack/mpich-tests 2>/dev/null | head -n 1)
[ -n "$place" ] || skip "ScaLAPACK's testers are not there (package scalapack-mpi-test)"
find /usr/share/scalapack -name '*.dat' -exec cp {} . \;

# Ended well, with tests that passed, and none that did not.
passes() {
    timeout 60 mpiexec -n 4 "$1" </dev/null >out 2>&1 || { echo "exit status $?"; tail -n 20 out; return 1; }
    grep -q 'PASSED\|tests completed and passed' out || { tail -n 20 out; return 1; }
    # Rows of PBLAS: name, total, passed, failed, skipped.
    if grep -E '(FAILED|FAILED .*EVR) *$|[1-9][0-9]* tests completed and failed|\*\*\*.*(ERROR|FAIL)' out |
        grep -vE 'TOTAL TESTS'; then
        return 1
    fi
    ! awk 'NF == 5 && $1 ~ /^P[SZ]/ && $2 ~ /^[0-9]+$/ && $4 + 0 > 0' out | grep .
}
n=0
for f in "$place"/xs* "$place"/xz* "$place"/PBLAS/[sz]*tst; do
    [ -x "$f" ] || continue
    case ${f##*/} in
    xsllt | *heevr) continue ;;
    esac
    check "${f##*/}" passes "$f"
    n=$((n + 1))
done
[ $n -gt 30 ] || fail_one "only $n testers found in $place"
totals
