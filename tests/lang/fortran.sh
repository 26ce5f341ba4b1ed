#!/bin/sh
# test: timeout=180
# Programs in Fortran, by our modules and by those of the distribution on top of our library: mpif.h,
# "use mpi", "use mpi_f08".
. "$TEST_LIB"
need gfortran gfortran
[ -n "$(fortran_modules)" ] || skip 'no modules: not built, and no package libmpich-dev'
here=$TEST_SRC/tests/lang

runs() { mpiexec -n "$1" "./$2" >out 2>&1 && grep -q 'all well' out || { cat out; return 1; }; }

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

# REAL and DOUBLE PRECISION may be longer: MPI's times are not.
cat >wide.f90 <<'END'
program wide
    implicit none
    include 'mpif.h'
    integer ierr
    call MPI_INIT(ierr)
    if (kind(MPI_WTIME()) == 8 .and. MPI_WTIME() > 0 .and. MPI_WTICK() > 0 .and. MPI_WTICK() < 1) print *, 'all well'
    call MPI_FINALIZE(ierr)
end
END

for modules in $(fortran_modules); do
    export DATUM_MODULES=$modules
    # A program, as it is and in the old form of one line of 72 columns in capitals.
    check "$modules: mpif.h compiles" mpifort -I"$here" -o mpifh "$here/mpifh.f90" "$here/callbacks.f90"
    check "$modules: use mpi compiles" mpif90 -I"$here" -o usempi "$here/usempi.f90" "$here/callbacks.f90"
    check "$modules: use mpi_f08 compiles" mpifort -o usef08 "$here/usef08.f90"
    check "$modules: more of use mpi_f08 compiles" mpifort -o f08more "$here/f08more.f90"
    for n in 1 2; do check "$modules: f08more on $n ranks" runs $n f08more; done
    check "$modules: spawning by use mpi_f08 compiles" mpifort -o spawnf08 "$here/spawnf08.f90"
    for n in 1 2; do check "$modules: spawnf08 on $n ranks" runs $n spawnf08; done
    for n in 1 2 4; do
        for p in mpifh usempi usef08; do
            check "$modules: $p on $n ranks" runs $n $p
        done
    done
    check "$modules: without mpiexec" env -u LD_LIBRARY_PATH ./usef08

    check "$modules: Fortran 77" mpif77 -o old old.f
    check "$modules: Fortran 77 runs" runs 2 old
    check "$modules: long reals" mpifort -fdefault-real-8 -o wide wide.f90
    check "$modules: long reals, times" runs 1 wide
    for p in mpifh usef08; do
        check "$modules: $p has one MPI library, ours" sh -c \
            "ldd ./$p | sed -nE 's/.*libmpi(ch)?\\.so.* => (.*) \\(0x.*/\\2/p' |
                tr '\\n' '\\0' | xargs -0r readlink -f | sort -u >libs
             test \"\$(cat libs)\" = \"$(readlink -f "$DATUM_BUILD/lib/libmpi.so.12")\""
    done
    # What only ours have.
    [ $modules = own ] || continue
    check 'f08own compiles' mpifort -o f08own "$here/f08own.f90"
    check 'mpiown compiles' mpifort -o mpiown "$here/mpiown.f90"
    for n in 1 2 3; do check "f08own on $n ranks" runs $n f08own; done
    check 'each rank says once what is refused' eval '[ $(grep -c "warning: MPI_Fetch_and_op: this section" out) = 3 ]'
    for n in 1 2; do check "mpiown on $n ranks" runs $n mpiown; done
    check 'it does not need the distribution' sh -c '! ldd ./f08own | grep libmpich'
done
totals
