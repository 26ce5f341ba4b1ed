! Fortran's half of mixed.c: objects made here, looked at there, and the other way round.
module there
    use, intrinsic :: iso_c_binding
    implicit none
    interface
        integer(c_int) function c_look(comm, dtype, group, op, info, eh, win, key, status) bind(c)
            import :: c_int
            integer(c_int), value :: comm, dtype, group, op, info, eh, win, key
            integer(c_int) :: status(*)
        end function
        integer(c_int) function c_no_status(ignore, ignore_all) bind(c)
            import :: c_int
            integer(c_int) :: ignore(*), ignore_all(*)
        end function
        integer(c_int) function c_key() bind(c)
            import :: c_int
        end function
        integer(c_int) function c_attributes(comm, key) bind(c)
            import :: c_int
            integer(c_int), value :: comm, key
        end function
        integer(c_int) function c_old_attribute(comm, key, value) bind(c)
            import :: c_int
            integer(c_int), value :: comm, key, value
        end function
        integer(c_int) function c_ops_and_handlers(comm, op, eh) bind(c)
            import :: c_int
            integer(c_int), value :: comm, op, eh
        end function
        subroutine c_make(op, eh) bind(c)
            import :: c_int
            integer(c_int) :: op, eh
        end subroutine
    end interface
end module

program mixed
    use mpi
    use there
    implicit none
    integer :: err, rank, size, n, comm, dup, dtype, group, op, info, eh, win, key, fails, old, ival
    integer :: status(MPI_STATUS_SIZE), mem(4), x, y, got, n_handled, seen_comm, seen_code
    integer(MPI_ADDRESS_KIND) :: aval, wsize, extra
    logical :: flag
    common /handled/ n_handled, seen_comm, seen_code
    external :: times_plus, on_error

    fails = 0
    n_handled = 0
    call MPI_INIT(err)
    call MPI_COMM_RANK(MPI_COMM_WORLD, rank, err)
    call MPI_COMM_SIZE(MPI_COMM_WORLD, size, err)
    call MPI_COMM_DUP(MPI_COMM_WORLD, comm, err)
    call MPI_COMM_SET_NAME(comm, 'made in Fortran', err)

    ! every kind of handle, and a status
    call MPI_TYPE_CONTIGUOUS(3, MPI_INTEGER, dtype, err)
    call MPI_TYPE_COMMIT(dtype, err)
    call MPI_COMM_GROUP(comm, group, err)
    call MPI_OP_CREATE(times_plus, .true., op, err)
    call MPI_INFO_CREATE(info, err)
    call MPI_INFO_SET(info, 'language', 'Fortran', err)
    call MPI_COMM_CREATE_ERRHANDLER(on_error, eh, err)
    wsize = 16
    call MPI_WIN_CREATE(mem, wsize, 4, MPI_INFO_NULL, comm, win, err)
    call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra, err)
    aval = -2_MPI_ADDRESS_KIND ** 33
    call MPI_COMM_SET_ATTR(comm, key, aval, err)
    x = 4711
    call MPI_SENDRECV(x, 1, MPI_INTEGER, mod(rank + 1, size), 9, y, 1, MPI_INTEGER, &
                      mod(rank + size - 1, size), 9, comm, status, err)
    fails = fails + c_look(comm, dtype, group, op, info, eh, win, key, status)
    call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN, err)
    call MPI_COMM_SET_ERRHANDLER(MPI_COMM_SELF, MPI_ERRORS_RETURN, err)
    fails = fails + c_no_status(MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE)

    ! an attribute of C's: a pointer, here its address; and of Fortran's, in a dup by C's function
    key = c_key()
    fails = fails + c_attributes(comm, key)
    call MPI_COMM_GET_ATTR(comm, key, aval, flag, err)
    call check('pointer as address', flag .and. aval == 4096)
    aval = 12345678901_MPI_ADDRESS_KIND
    call MPI_COMM_SET_ATTR(comm, key, aval, err)
    call MPI_COMM_DUP(comm, dup, err)
    call MPI_COMM_GET_ATTR(dup, key, aval, flag, err)
    call check('copied by C', flag .and. aval == 12345678901_MPI_ADDRESS_KIND)
    call MPI_COMM_FREE(dup, err)
    call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, old, ival, err)
    call MPI_ATTR_PUT(comm, old, -17, err)
    fails = fails + c_old_attribute(comm, old, -17)
    call MPI_COMM_DUP(comm, dup, err)
    fails = fails + c_old_attribute(dup, old, -17)
    call MPI_COMM_FREE(dup, err)

    ! Fortran's operation and handler used in C; C's used here
    fails = fails + c_ops_and_handlers(comm, op, eh)
    call check('handler called from C', n_handled == 1 .and. seen_comm == comm)
    call MPI_OP_FREE(op, err)
    call MPI_ERRHANDLER_FREE(eh, err)
    call c_make(op, eh)
    x = rank + 1
    call MPI_ALLREDUCE(x, y, 1, MPI_INTEGER, op, comm, err)
    call check('operation of C', y == size * (size + 1) / 2 + 1000 * (size - 1))
    call MPI_COMM_SET_ERRHANDLER(comm, eh, err)
    call MPI_SEND(x, 1, MPI_INTEGER, size, 0, comm, err)
    call MPI_ERROR_CLASS(err, got, n)
    call check('handler of C', got == MPI_ERR_RANK)

    call MPI_OP_FREE(op, err)
    call MPI_ERRHANDLER_FREE(eh, err)
    call MPI_WIN_FREE(win, err)
    call MPI_INFO_FREE(info, err)
    call MPI_GROUP_FREE(group, err)
    call MPI_TYPE_FREE(dtype, err)
    call MPI_COMM_FREE(comm, err)
    call MPI_ALLREDUCE(fails, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, err)
    if (rank == 0 .and. n == 0) print *, 'all well'
    call MPI_FINALIZE(err)
    if (fails > 0) call exit(1)
contains
    subroutine check(what, ok)
        character(*), intent(in) :: what
        logical, intent(in) :: ok

        if (ok) return
        fails = fails + 1
        print *, 'FAILED: ', what
    end subroutine
end program
