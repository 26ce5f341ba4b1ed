! A program that uses mpi_f08: sends of a scalar, of a section and of a part of an array of assumed size.
program profiled
    use mpi_f08
    implicit none
    integer :: rank, total, i, got(3), values(3, 4)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    values = reshape([(i, i=1, 12)], [3, 4])
    if (rank == 0) then
        call MPI_Send(rank, 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD)
        call MPI_Send(values(2, 1:3), 3, MPI_INTEGER, 1, 2, MPI_COMM_WORLD)
        call send_some(values, 3)
    else if (rank == 1) then
        got = 7
        call MPI_Recv(got, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        if (any(got /= [0, 7, 7])) call MPI_Abort(MPI_COMM_WORLD, 1)
        call MPI_Recv(got, 3, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        if (any(got /= [2, 5, 8])) call MPI_Abort(MPI_COMM_WORLD, 2)
        call MPI_Recv(got, 3, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        if (any(got /= [1, 2, 3])) call MPI_Abort(MPI_COMM_WORLD, 3)
    end if
    total = 5
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (total /= 10) call MPI_Abort(MPI_COMM_WORLD, 4)
    call MPI_Finalize()
contains
    subroutine send_some(array, n)
        integer, intent(in) :: array(*), n

        call MPI_Send(array(1:n), n, MPI_INTEGER, 1, 3, MPI_COMM_WORLD)
    end subroutine
end program
