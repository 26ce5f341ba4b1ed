! Functions that the library calls, for the programs of mpif.h and "use mpi".
subroutine times_plus(a, b, n, dtype)
    implicit none
    integer :: n, dtype, a(n), b(n)

    b = a * b + a + b
    if (dtype == 0) print *, 'FAILED: no datatype'
end subroutine

subroutine on_error(comm, code)
    implicit none
    integer :: comm, code, n_handled, seen_comm, seen_code
    common /handled/ n_handled, seen_comm, seen_code

    n_handled = n_handled + 1
    seen_comm = comm
    seen_code = code
end subroutine

subroutine copy_attr(comm, keyval, extra, in, out, flag, err)
    implicit none
    include 'mpif.h'
    integer :: comm, keyval, err, n_copied, n_deleted
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    common /attrs/ n_copied, n_deleted

    n_copied = n_copied + 1
    out = in + 1
    flag = .true.
    err = MPI_SUCCESS
    if (extra /= 17) err = MPI_ERR_OTHER
end subroutine

subroutine delete_attr(comm, keyval, value, extra, err)
    implicit none
    include 'mpif.h'
    integer :: comm, keyval, err, n_copied, n_deleted
    integer(MPI_ADDRESS_KIND) :: extra, value
    common /attrs/ n_copied, n_deleted

    n_deleted = n_deleted + 1
    err = MPI_SUCCESS
    if (extra /= 17 .or. value < 1000) err = MPI_ERR_OTHER
end subroutine

! MPI-1's have integers of default size.
subroutine old_copy(comm, keyval, extra, in, out, flag, err)
    implicit none
    include 'mpif.h'
    integer :: comm, keyval, err, extra, in, out
    logical :: flag

    out = in * 2
    flag = .true.
    err = MPI_SUCCESS
end subroutine

subroutine old_delete(comm, keyval, value, extra, err)
    implicit none
    include 'mpif.h'
    integer :: comm, keyval, err, extra, value

    err = MPI_SUCCESS
    if (value /= -7 .and. value /= -14) err = MPI_ERR_OTHER
end subroutine
