#!/bin/sh
# test: timeout=120
# Files in Fortran: mpif.h, mpi and mpi_f08, by our modules and by those of the distribution.
. "$TEST_LIB"
need gfortran gfortran

old='s/FILE ::/integer ::/; s/STATUS$/integer :: stat(MPI_STATUS_SIZE)/; s/REQUEST ::/integer ::/'
new='s/FILE ::/type(MPI_File) ::/; s/STATUS$/type(MPI_Status) :: stat/; s/REQUEST ::/type(MPI_Request) ::/'
sed "s/USE_MPI/use mpi/; $old" "$TEST_SRC/tests/lang/files.f90" >usempi.f90
sed "s/USE_MPI/use mpi_f08/; $new" "$TEST_SRC/tests/lang/files.f90" >usef08.f90
sed "/USE_MPI/d; s/implicit none/&\n    include 'mpif.h'/; $old" "$TEST_SRC/tests/lang/files.f90" >mpifh.f90
runs() { mpiexec -n 2 "./$1" >out 2>&1 && grep -q 'all well' out || { cat out; return 1; }; }
[ -n "$(fortran_modules)" ] || skip 'no modules: not built, and no package libmpich-dev'
for modules in $(fortran_modules); do
    export DATUM_MODULES=$modules
    for way in mpifh usempi usef08; do
        # The distribution's module does not declare functions with choice buffers.
        mpifort -fallow-argument-mismatch -o $way $way.f90 >out 2>&1 || { cat out; fail "$way does not compile"; }
        check "$modules: $way" runs $way
    done
done
totals
