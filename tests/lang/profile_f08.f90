! A profiling library for programs that use mpi_f08: procedures of the standard's names (MPI-4.0 section 19.1.5), with
! buffers and without.
module counts
    implicit none
    integer :: n_sends = 0, n_reductions = 0, n_elements = 0
end module

subroutine MPI_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror)
    use mpi_f08, only: MPI_Datatype, MPI_Comm, PMPI_Send
    use counts
    implicit none
    type(*), dimension(..), intent(in) :: buf
    integer, intent(in) :: count, dest, tag
    type(MPI_Datatype), intent(in) :: datatype
    type(MPI_Comm), intent(in) :: comm
    integer, optional, intent(out) :: ierror

    n_sends = n_sends + 1
    n_elements = n_elements + size(buf)
    call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine

subroutine MPI_Allreduce_f08ts(sendbuf, recvbuf, count, datatype, op, comm, ierror)
    use mpi_f08, only: MPI_Datatype, MPI_Op, MPI_Comm, PMPI_Allreduce
    use counts
    implicit none
    type(*), dimension(..), intent(in) :: sendbuf
    type(*), dimension(..) :: recvbuf
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: datatype
    type(MPI_Op), intent(in) :: op
    type(MPI_Comm), intent(in) :: comm
    integer, optional, intent(out) :: ierror

    n_reductions = n_reductions + 1
    call PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierror)
end subroutine

subroutine MPI_Finalize_f08(ierror)
    use mpi_f08, only: MPI_COMM_WORLD, PMPI_Comm_rank, PMPI_Finalize
    use counts
    implicit none
    integer, optional, intent(out) :: ierror
    integer :: rank

    call PMPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank == 0) print '(3(a,i0))', 'profile: ', n_sends, ' sends of ', n_elements, ', reductions ', n_reductions
    call PMPI_Finalize(ierror)
end subroutine
