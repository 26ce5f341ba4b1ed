#!/bin/sh
# test: timeout=500
# ScaLAPACK's own testers as Debian built them for MPICH, Fortran and C over BLACS, on 4 ranks: those of BLACS
# in C, of PBLAS, QR in single precision and of LU and eigenvalues in double complex; with TEST_FULL=yes
# (make check-scalapack) all of them.
# Left out, as what they find is their own: xsllt and xdllt never end, since the processes of a grid disagree on
# whether psporfs goes on (some are in psasum, others in psamax of pslacon; other MPI libraries likewise);
# xcheevr and xzheevr compare reals that have not been set, so that it is luck which of their tests fail.
. "$TEST_LIB"
# The distribution's OpenBLAS sums wrongly (scasum) with its kernels for processors that have bfloat16, whatever the
# MPI library; its older ones do not.
export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-Haswell}
place=$(ls -d /usr/lib/*/scalapack/mpich-tests 2>/dev/null | head -n 1)
[ -n "$place" ] || skip "ScaLAPACK's testers are not there (package scalapack-mpi-test)"
find /usr/share/scalapack -name '*.dat' -exec cp {} . \;
[ "${TEST_FULL:-}" = yes ] && limit=600 least=60 || limit=60 least=6

# Ended well, with tests that passed, and none that did not.
passes() {
    timeout "$limit" mpiexec -n 4 "$1" </dev/null >out 2>&1 || { echo "exit status $?"; tail -n 20 out; return 1; }
    grep -q 'PASSED\|tests completed and passed' out || { tail -n 20 out; return 1; }
    # Rows of PBLAS: name, total, passed, failed, skipped.
    if grep -E '(FAILED|FAILED .*EVR) *$|[1-9][0-9]* tests completed and failed|\*\*\*.*(ERROR|FAIL)' out |
        grep -vE 'TOTAL TESTS'; then
        return 1
    fi
    ! awk 'NF == 5 && $1 ~ /^P[SDCZ]/ && $2 ~ /^[0-9]+$/ && $4 + 0 > 0' out | grep .
}

# BLACS: 22 tables without a failure, 6 tests more, and MPI_Abort as the last one. The tester skips that of repeatable
# sums when its messages happen to come in the same order each time, so that there is nothing to tell apart.
blacs_passes() {
    if timeout 200 mpiexec -n 4 "$1" </dev/null >out 2>&1; then
        echo 'BLACS_ABORT did not end the job'
        return 1
    fi
    n_tables=$(grep -c 'TESTS;.* 0 FAILED\.' out)
    n_others=$(grep -cE '^ PASSED |^ SKIPPED REPEATABLE SUM' out)
    [ "$n_tables $n_others" = '22 6' ] && ! grep -q ' FAILED  \|[1-9][0-9]* FAILED' out &&
        grep -q 'MPI_Abort(.*) was called' out && return
    echo "$n_tables tables, $n_others tests"
    tail -n 20 out
    return 1
}
n=0
for f in "$place"/x[sdcz]* "$place"/PBLAS/[sdcz]*tst; do
    [ -x "$f" ] || continue
    case ${f##*/} in
    x[sd]llt | *heevr) continue ;;
    spb?tst | xzlu | xsqr | xznep) ;;
    *) [ "${TEST_FULL:-}" = yes ] || continue ;;
    esac
    check "${f##*/}" passes "$f"
    n=$((n + 1))
done
[ $n -ge $least ] || fail_one "only $n testers found in $place"
for f in xCbtest xFbtest; do
    [ $f = xCbtest ] || [ "${TEST_FULL:-}" = yes ] || continue
    check "$f" blacs_passes "$place/$f"
done
totals
