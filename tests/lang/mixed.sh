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

# A library that was compiled with the distribution's modules, in a program of ours: its constants that are
# addresses are the same ones.
[ "$(fortran_modules | wc -l)" = 2 ] || totals
cat >part.f90 <<'END'
subroutine PART(right)
    use MODULE
    implicit none
    logical :: right
    logical :: is_weighted
    integer :: x, y, err, size
    COMM :: graph

    call MPI_Comm_size(MPI_COMM_WORLD, size, err)
    x = 1
    call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, err)
    y = 0
    call MPI_Sendrecv(x, 1, MPI_INTEGER, 0, 1, y, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, err)
    right = x == size .and. y == size
    call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, [0], MPI_UNWEIGHTED, 1, [0], MPI_UNWEIGHTED, MPI_INFO_NULL, &
        .false., graph, err)
    call MPI_Dist_graph_neighbors_count(graph, x, y, is_weighted, err)
    right = right .and. x == 1 .and. y == 1 .and. .not. is_weighted
    call MPI_Comm_free(graph, err)
end subroutine
END
cat >whole.f90 <<'END'
program whole
    use mpi_f08
    implicit none
    logical :: right(3)
    integer :: x(4, 2) = 1
    type(MPI_Status) :: status

    call MPI_Init()
    call part_mpi(right(1))
    call part_f08(right(2))
    call MPI_Sendrecv(x(1, :), 2, MPI_INTEGER, 0, 1, x(3, :), 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, status)
    call MPI_Allreduce(MPI_IN_PLACE, x(2, :), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF)
    right(3) = status%MPI_TAG == 1 .and. all(x == 1)
    if (all(right)) print *, 'all well'
    if (.not. all(right)) print *, 'FAILED: ', right
    call MPI_Finalize()
end program
END
sed 's/PART/part_mpi/; s/MODULE/mpi/; s/COMM ::/integer ::/' part.f90 >part_mpi.f90
sed 's/PART/part_f08/; s/MODULE/mpi_f08/; s/COMM ::/type(MPI_Comm) ::/' part.f90 >part_f08.f90
check 'the library' mpifort -modules=mpich -shared -fPIC -o libpart.so part_mpi.f90 part_f08.f90
check 'the program' mpifort -modules=own -o whole whole.f90 ./libpart.so
for n in 1 2; do check "the program on $n ranks" runs $n whole; done
totals
