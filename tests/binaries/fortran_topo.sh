#!/bin/sh
# test: timeout=120
# MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY of both Fortran modules of the distribution's MPICH reach
# the library as what they are in C, and a grid's logical arguments go there and back.
. "$TEST_LIB"
need mpifort.mpich libmpich-dev
command -v gfortran >/dev/null || skip 'gfortran is not there'

# MODULE TYPE-OF-COMMUNICATORS
program() {
    cat <<END
program topo
  use $1
  implicit none
  $2 :: adjacent, anybody, grid
  integer :: rank, n, ierr, near(2), got(2), n_in, n_out, dims(1), coords(1)
  logical :: weighted, periods(1)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  near = (/ mod(rank + 1, n), mod(rank + n - 1, n) /)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, near, MPI_UNWEIGHTED, &
       2, near, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., adjacent, ierr)
  call MPI_Dist_graph_neighbors_count(adjacent, n_in, n_out, weighted, ierr)
  if (weighted .or. n_in /= 2 .or. n_out /= 2) stop 3
  got = -1
  call MPI_Dist_graph_neighbors(adjacent, 2, got, MPI_UNWEIGHTED, 2, near, MPI_UNWEIGHTED, ierr)
  if (any(got /= near)) stop 4
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, (/ rank /), (/ 2 /), near, MPI_UNWEIGHTED, &
       MPI_INFO_NULL, .false., anybody, ierr)
  call MPI_Dist_graph_neighbors_count(anybody, n_in, n_out, weighted, ierr)
  if (weighted .or. n_in /= 2 .or. n_out /= 2) stop 5
  call MPI_Comm_free(anybody, ierr)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, near, MPI_WEIGHTS_EMPTY, &
       0, near, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., anybody, ierr)
  call MPI_Dist_graph_neighbors_count(anybody, n_in, n_out, weighted, ierr)
  if (.not. weighted .or. n_in /= 0 .or. n_out /= 0) stop 6
  call MPI_Cart_create(MPI_COMM_WORLD, 1, (/ n /), (/ .true. /), .true., grid, ierr)
  periods = .false.
  call MPI_Cart_get(grid, 1, dims, periods, coords, ierr)
  if (dims(1) /= n .or. .not. periods(1) .or. coords(1) /= rank) stop 7
  call MPI_Finalize(ierr)
end program
END
}

for module in 'mpi_f08 type(MPI_Comm)' 'mpi integer'; do
    name=${module%% *}
    program $module >"$name.f90"
    mpifort.mpich -o "$name" "$name.f90" >log 2>&1 || { cat log; fail "$name.f90 does not compile"; }
    check "$name" mpiexec -n 3 "./$name"
done
totals
