! The calls of "use mpi_f08": types for handles, optional error codes, callbacks with interfaces.
module functions
    use mpi_f08
    implicit none
    integer :: n_copied = 0, n_deleted = 0, n_handled = 0, seen_code = 0
    type(MPI_Comm) :: seen_comm
contains
    subroutine times_plus(in, inout, n, dtype)
        use, intrinsic :: iso_c_binding
        type(c_ptr), value :: in, inout
        integer :: n
        type(MPI_Datatype) :: dtype
        integer, pointer :: a(:), b(:)

        call c_f_pointer(in, a, [n])
        call c_f_pointer(inout, b, [n])
        b = a * b + a + b
        if (dtype /= MPI_INTEGER) b = -1
    end subroutine

    subroutine on_error(comm, code)
        type(MPI_Comm) :: comm
        integer :: code

        n_handled = n_handled + 1
        seen_comm = comm
        seen_code = code
    end subroutine

    subroutine copy_attr(comm, keyval, extra, in, out, flag, err)
        type(MPI_Comm) :: comm
        integer :: keyval, err
        integer(MPI_ADDRESS_KIND) :: extra, in, out
        logical :: flag

        n_copied = n_copied + 1
        out = in + 1
        flag = .true.
        err = MPI_SUCCESS
    end subroutine

    subroutine delete_attr(comm, keyval, value, extra, err)
        type(MPI_Comm) :: comm
        integer :: keyval, err
        integer(MPI_ADDRESS_KIND) :: value, extra

        n_deleted = n_deleted + 1
        err = MPI_SUCCESS
    end subroutine
end module

program usef08
    use mpi_f08
    use functions
    implicit none
    integer :: rank, size, err, n, len, class, keyval, to, from, fails = 0, k
    integer, asynchronous :: buf(4), all(8)
    integer, target :: mem(4)
    integer :: f_status(MPI_STATUS_SIZE)
    integer(MPI_ADDRESS_KIND) :: aval, extra
    logical :: flag
    type(MPI_Status) :: status, statuses(2)
    type(MPI_Request) :: req(2)
    type(MPI_Comm) :: comm, got
    type(MPI_Datatype) :: dtype
    type(MPI_Op) :: op
    type(MPI_Errhandler) :: eh, eh2
    type(MPI_Info) :: info
    type(MPI_Win) :: win
    character(MPI_MAX_ERROR_STRING) :: text
    character(MPI_MAX_INFO_VAL) :: val

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    to = mod(rank + 1, size)
    from = mod(rank + size - 1, size)
    buf = rank
    call MPI_Sendrecv(buf, 4, MPI_INTEGER, to, 5, all, 8, MPI_INTEGER, from, 5, MPI_COMM_WORLD, &
                      status, err)
    call check('sendrecv', err == MPI_SUCCESS .and. all(4) == from)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check('status', status%MPI_SOURCE == from .and. status%MPI_TAG == 5 .and. n == 4)
    call MPI_Status_f082f(status, f_status)
    call check('status to mpif.h', f_status(MPI_SOURCE) == from .and. f_status(MPI_TAG) == 5)
    call MPI_Status_f2f08(f_status, statuses(1))
    call MPI_Get_count(statuses(1), MPI_INTEGER, n)
    call check('and back', statuses(1)%MPI_SOURCE == from .and. n == 4)
    call MPI_Sendrecv(buf, 4, MPI_INTEGER, to, 5, all, 8, MPI_INTEGER, MPI_ANY_SOURCE, &
                      MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, err)
    call check('no status', err == MPI_SUCCESS)
    call MPI_Irecv(all, 4, MPI_INTEGER, from, 6, MPI_COMM_WORLD, req(1))
    call MPI_Isend(buf, 4, MPI_INTEGER, to, 6, MPI_COMM_WORLD, req(2))
    call MPI_Waitall(2, req, statuses)
    call check('waitall', req(1) == MPI_REQUEST_NULL .and. statuses(1)%MPI_SOURCE == from)
    call MPI_Irecv(all, 4, MPI_INTEGER, from, 6, MPI_COMM_WORLD, req(1))
    call MPI_Isend(buf, 4, MPI_INTEGER, to, 6, MPI_COMM_WORLD, req(2))
    call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, err)
    call check('no statuses', err == MPI_SUCCESS)

    call MPI_Get_address(mem, aval)
    call MPI_Type_create_hindexed(1, [4], [aval], MPI_INTEGER, dtype)
    call MPI_Type_commit(dtype)
    call MPI_Sendrecv(buf, 4, MPI_INTEGER, to, 7, MPI_BOTTOM, 1, dtype, from, 7, MPI_COMM_WORLD, &
                      status)
    call check('bottom', mem(1) == from .and. mem(4) == from)
    call MPI_Type_free(dtype)
    buf = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, buf, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('in place', buf(1) == size * (size + 1) / 2)

    call MPI_Op_create(times_plus, .true., op)
    buf = rank + 1
    call MPI_Allreduce(buf, mem, 4, MPI_INTEGER, op, MPI_COMM_WORLD)
    n = product([(k, k = 2, size + 1)])
    call check('own operation', mem(1) == n - 1 .and. mem(4) == n - 1)
    call MPI_Op_free(op)

    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    extra = 17
    call MPI_Comm_create_keyval(copy_attr, delete_attr, keyval, extra)
    aval = -5
    call MPI_Comm_set_attr(comm, keyval, aval)
    call MPI_Comm_dup(comm, got)
    call MPI_Comm_get_attr(got, keyval, aval, flag)
    call check('attribute', flag .and. aval == -4 .and. n_copied == 1)
    call MPI_Comm_free(got)
    call MPI_Comm_delete_attr(comm, keyval)
    call check('deleted', n_deleted == 2)
    call MPI_Comm_free_keyval(keyval)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra)
    aval = 99
    call MPI_Comm_set_attr(comm, keyval, aval)
    call MPI_Comm_dup(comm, got)
    call MPI_Comm_get_attr(got, keyval, aval, flag)
    call check('MPI_COMM_DUP_FN', flag .and. aval == 99)
    call MPI_Comm_free(got)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, aval, flag)
    call check('MPI_TAG_UB', flag .and. aval >= 32767)

    call MPI_Win_create(mem, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, aval, flag)
    call check('MPI_WIN_SIZE', flag .and. aval == 16)
    call MPI_Win_free(win)

    call MPI_Comm_create_errhandler(on_error, eh)
    call MPI_Comm_set_errhandler(comm, eh)
    call MPI_Send(buf, 1, MPI_INTEGER, 5, 0, comm, err)
    call MPI_Error_class(err, class)
    call check('handler', n_handled == 1 .and. seen_comm == comm .and. class == MPI_ERR_RANK)
    call MPI_Comm_get_errhandler(comm, eh2)
    call check('the same', eh == eh2)
    call MPI_Error_string(err, text, len)
    call check('text', index(text(1:len), 'rank') > 0)
    call MPI_Errhandler_free(eh)
    call MPI_Errhandler_free(eh2)

    call MPI_Info_create(info)
    call MPI_Info_set(info, ' a key ', ' a value ')
    call MPI_Info_get(info, 'a key', MPI_MAX_INFO_VAL, val, flag)
    call check('info', flag .and. val == 'a value')
    call MPI_Info_free(info)
    call check('freed', info == MPI_INFO_NULL)
    call MPI_Comm_free(comm)
    if (MPI_SUBARRAYS_SUPPORTED) call sections()

    call MPI_Allreduce(fails, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0 .and. n == 0) print *, 'all well'
    call MPI_Finalize()
    if (fails > 0) call exit(1)
contains
    subroutine check(what, ok)
        character(*), intent(in) :: what
        logical, intent(in) :: ok

        if (ok) return
        fails = fails + 1
        print *, 'FAILED: ', what
    end subroutine

    ! Parts of arrays, which the bindings describe by datatypes of ours.
    subroutine sections()
        integer, asynchronous :: a(10, 10), b(10, 10), c(4, 5, 6), d(4, 5, 6)
        integer :: i, j

        a = reshape([(rank * 1000 + k, k=1, 100)], [10, 10])
        b = -1
        call MPI_Sendrecv(a(3, :), 10, MPI_INTEGER, to, 1, b(:, 2), 10, MPI_INTEGER, from, 1, &
                          MPI_COMM_WORLD, status)
        call MPI_Get_count(status, MPI_INTEGER, n)
        call check('row to column', n == 10 .and. count(b /= -1) == 10 .and. &
                   all_are(b(:, 2), [(from * 1000 + 10 * k + 3, k=0, 9)]))

        b = -1
        call MPI_Irecv(b(7, 1:9:2), 5, MPI_INTEGER, from, 2, MPI_COMM_WORLD, req(1))
        call MPI_Isend(a(10:2:-2, 4), 5, MPI_INTEGER, to, 2, MPI_COMM_WORLD, req(2))
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        call check('backwards', count(b /= -1) == 5 .and. &
                   all_are(b(7, 1:9:2), [(from * 1000 + 30 + k, k=10, 2, -2)]))

        c = reshape([(rank * 1000 + k, k=1, 120)], [4, 5, 6])
        d = 0
        call MPI_Irecv(d(2:3, 1:5:2, 2:6:4), 12, MPI_INTEGER, from, 3, MPI_COMM_WORLD, req(1))
        call MPI_Isend(c(1:4:3, 2:4, 1:2), 12, MPI_INTEGER, to, 3, MPI_COMM_WORLD, req(2))
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        call check('three dimensions', count(d /= 0) == 12 .and. &
                   all_are([d(2:3, 1:5:2, 2:6:4)], &
                           [(((from * 1000 + i + 4 * (j - 1) + 20 * (k - 1), i=1, 4, 3), j=2, 4), &
                             k=1, 2)]))

        b = -1
        if (rank == 0) b(4, :) = [(k, k=1, 10)]
        call MPI_Bcast(b(4, :), 10, MPI_INTEGER, 0, MPI_COMM_WORLD)
        call check('bcast of a row', all_are(b(4, :), [(k, k=1, 10)]) .and. count(b /= -1) == 10)
    end subroutine

    logical function all_are(got, want)
        integer, intent(in) :: got(:), want(:)

        all_are = size_of(got) == size_of(want)
        if (all_are) all_are = count(got /= want) == 0
    end function

    integer function size_of(x) ! "size" is a variable of the program
        integer, intent(in) :: x(:)

        size_of = ubound(x, 1)
    end function
end program
