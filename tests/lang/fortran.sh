#!/bin/sh
# test: timeout=180
# Programs in Fortran by the distribution's library and modules on top of ours: mpif.h, "use mpi",
# "use mpi_f08".
. "$TEST_LIB"
need gfortran gfortran
[ -n "$(ls /usr/include/*/mpich/mpif.h 2>/dev/null)" ] || skip 'mpif.h is not there (package libmpich-dev)'
here=$TEST_SRC/tests/lang

runs() { mpiexec -n "$1" "./$2" >out 2>&1 && grep -q 'all well' out || { cat out; return 1; }; }

# A program, as it is and in the old form of one line of 72 columns in capitals.
check 'mpif.h compiles' mpifort -I"$here" -o mpifh "$here/mpifh.f90" "$here/callbacks.f90"
check 'use mpi compiles' mpif90 -I"$here" -o usempi "$here/usempi.f90" "$here/callbacks.f90"
check 'use mpi_f08 compiles' mpifort -o usef08 "$here/usef08.f90"
check 'more of use mpi_f08 compiles' mpifort -o f08more "$here/f08more.f90"
for n in 1 2; do check "f08more on $n ranks" runs $n f08more; done
check 'spawning by use mpi_f08 compiles' mpifort -o spawnf08 "$here/spawnf08.f90"
for n in 1 2; do check "spawnf08 on $n ranks" runs $n spawnf08; done
for n in 1 2 4; do
    for p in mpifh usempi usef08; do
        check "$p on $n ranks" runs $n $p
    done
done
check 'without mpiexec' env -u LD_LIBRARY_PATH ./usef08

cat >old.f <<'END'
      PROGRAM OLD
      INCLUDE 'mpif.h'
      INTEGER IERR, R, STATUS(MPI_STATUS_SIZE)
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, R, IERR)
      IF (R .EQ. 0) PRINT *, 'all well'
      CALL MPI_FINALIZE(IERR)
      END
END
check 'Fortran 77' mpif77 -o old old.f
check 'Fortran 77 runs' runs 2 old
for p in mpifh usef08; do
    check "$p has one MPI library, ours" sh -c \
        "ldd ./$p | sed -nE 's/.*libmpi(ch)?\\.so.* => (.*) \\(0x.*/\\2/p' |
            tr '\\n' '\\0' | xargs -0r readlink -f | sort -u >libs
         test \"\$(cat libs)\" = \"$(readlink -f "$DATUM_BUILD/lib/libmpi.so.12")\""
done
totals
