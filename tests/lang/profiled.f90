! Three sends to nobody and a reduction, for a profiling library to count.
program profiled
    implicit none
    include 'mpif.h'
    integer :: err, x, total, i

    call MPI_INIT(err)
    x = 1
    do i = 1, 3
        call MPI_SEND(x, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, err)
    end do
    call MPI_ALLREDUCE(x, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, err)
    call MPI_FINALIZE(err)
end program
