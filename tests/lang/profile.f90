! A profiling library in Fortran.
subroutine MPI_SEND(buf, count, datatype, dest, tag, comm, err)
    implicit none
    integer :: buf(*), count, datatype, dest, tag, comm, err, n_sends
    common /sends/ n_sends

    n_sends = n_sends + 1
    call PMPI_SEND(buf, count, datatype, dest, tag, comm, err)
end subroutine

subroutine MPI_FINALIZE(err)
    implicit none
    include 'mpif.h'
    integer :: err, rank, n_sends
    common /sends/ n_sends

    call PMPI_COMM_RANK(MPI_COMM_WORLD, rank, err)
    if (rank == 0) print '(a,i0,a)', 'profile: ', n_sends, ' sends'
    call PMPI_FINALIZE(err)
end subroutine
