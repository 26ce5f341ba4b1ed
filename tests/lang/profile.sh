#!/bin/sh
# test: timeout=120
# Profiling: a function of the program or of a library in front of ours replaces MPI_X for programs
# of each language, and finds the real one as PMPI_X.
. "$TEST_LIB"
here=$TEST_SRC/tests/lang

says() { # WANT COMMAND...
    want=$1
    shift
    "$@" >out 2>&1 && grep -qx "$want" out || { cat out; return 1; }
}
check 'C library' mpicc -shared -fPIC -o libprofile.so "$here/profile.c"
check 'C' mpicc -o c "$here/profiled.c" "$here/profile.c"
check 'C runs' says 'profile: 3 sends, 1 reductions' mpiexec -n 2 ./c
check 'C, not linked' mpicc -o plain "$here/profiled.c"
check 'preloaded' says 'profile: 3 sends, 1 reductions' \
    mpiexec -n 2 env LD_PRELOAD="$PWD/libprofile.so" ./plain
# Two in a row, which the library's own work must not call; and out of an archive.
twice() { # CALLS COMMAND...
    want=$1
    shift
    "$@" >out 2>&1 && test "$(grep -cx "chained: $want calls, 0 inner" out)" = 2 || { cat out; return 1; }
}
for i in 1 2; do
    check "library $i of a row" mpicc -D_GNU_SOURCE -shared -fPIC -o libchained$i.so "$here/chained.c"
done
check 'two' twice 7 mpiexec -n 2 env LD_PRELOAD="$PWD/libchained1.so $PWD/libchained2.so" ./plain
check 'two over a third' says 'profile: 3 sends, 1 reductions' mpiexec -n 2 env \
    LD_PRELOAD="$PWD/libchained1.so $PWD/libchained2.so $PWD/libprofile.so" ./plain
check 'archive' sh -c "mpicc -c -o profile.o '$here/profile.c' && ar rc libprofile.a profile.o &&
    mpicc -o static '$here/profiled.c' ./libprofile.a"
check 'archive runs' says 'profile: 3 sends, 1 reductions' mpiexec -n 2 ./static
check 'alone' sh -c '! mpiexec -n 2 ./plain | grep .'
if ! command -v gfortran >/dev/null || [ -z "$(fortran_modules)" ]; then
    skip_one 'Fortran: gfortran or modules are not there (packages gfortran, libmpich-dev)'
    totals
fi
for modules in $(fortran_modules); do
    export DATUM_MODULES=$modules
    check "$modules: Fortran" mpifort -o f "$here/profiled.f90"
    check "$modules: C under Fortran" says 'profile: 3 sends, 1 reductions' \
        mpiexec -n 2 env LD_PRELOAD="$PWD/libprofile.so" ./f
    check "$modules: two under Fortran" twice 6 mpiexec -n 2 env \
        LD_PRELOAD="$PWD/libchained1.so $PWD/libchained2.so" ./f
    check "$modules: in Fortran" mpifort -o ff "$here/profiled.f90" "$here/profile.f90"
    check "$modules: in Fortran runs" says 'profile: 3 sends' mpiexec -n 2 ./ff
    # Ours call MPI_X of C for mpi_f08, too.
    [ $modules = own ] || continue
    sed "s/implicit none/use mpi_f08/; /mpif.h/d" "$here/profiled.f90" >f08.f90
    check 'mpi_f08' mpifort -o f08 f08.f90
    check 'C under mpi_f08' says 'profile: 3 sends, 1 reductions' \
        mpiexec -n 2 env LD_PRELOAD="$PWD/libprofile.so" ./f08
    # The module's procedures have the standard's names, with gfortran's descriptors.
    check 'a program of mpi_f08' mpifort -o p08 "$here/profiled_f08.f90"
    check 'it runs' mpiexec -n 2 ./p08
    f08='profile: 3 sends of 7, reductions 1'
    check 'in Fortran for mpi_f08' mpifort -o pf08 "$here/profiled_f08.f90" "$here/profile_f08.f90"
    check 'in Fortran for mpi_f08 runs' says "$f08" mpiexec -n 2 ./pf08
    check 'its library' mpifort -shared -fPIC -o libprofile_f08.so "$here/profile_f08.f90"
    check 'its library runs' says "$f08" mpiexec -n 2 env LD_PRELOAD="$PWD/libprofile_f08.so" ./p08
    check 'beside that in C' says 'profile: 3 sends, 1 reductions' mpiexec -n 2 env \
        LD_PRELOAD="$PWD/libprofile_f08.so $PWD/libprofile.so" ./p08
    check 'both are heard' grep -qx "$f08" out
done
totals
