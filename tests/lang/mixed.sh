#!/bin/sh
# test: timeout=120
# Objects that cross languages: handles, statuses, attributes, operations and error handlers of C
# used in Fortran, and the other way round. (Debian's MPICH fails in "copied by C": it keeps the
# address of a local variable as the value of a copied integer attribute.)
. "$TEST_LIB"
need gfortran gfortran
[ -n "$(fortran_modules)" ] || skip 'no modules: not built, and no package libmpich-dev'
here=$TEST_SRC/tests/lang

runs() { mpiexec -n "$1" "./$2" >out 2>&1 && grep -q 'all well' out || { cat out; return 1; }; }
check 'C half' mpicc -Wall -Wextra -Werror -c -o mixed.o "$here/mixed.c"
for modules in $(fortran_modules); do
    export DATUM_MODULES=$modules
    check "$modules: both" mpifort -o mixed "$here/mixed.f90" "$here/callbacks.f90" mixed.o
    for n in 1 2 3; do check "$modules: on $n ranks" runs $n mixed; done
done
totals
