! More of "use mpi_f08": callbacks of generalized requests, windows and attributes that fail, some requests of
! many, padded strings, weights, types by precision, external32, memory by pointer.
module more_functions
    use mpi_f08
    implicit none
    integer :: n_queried = 0, n_freed = 0, n_cancelled = 0, n_win_errors = 0, n_deleted = 0
    logical :: saw_complete = .true., is_failing = .false.
contains
    subroutine query(extra, status, err)
        integer(MPI_ADDRESS_KIND) :: extra
        type(MPI_Status) :: status
        integer :: err

        n_queried = n_queried + 1
        call MPI_Status_set_elements(status, MPI_INTEGER, int(extra))
        call MPI_Status_set_cancelled(status, .false.)
        status%MPI_SOURCE = 12
        status%MPI_TAG = 13
        err = MPI_SUCCESS
    end subroutine

    subroutine free_it(extra, err)
        integer(MPI_ADDRESS_KIND) :: extra
        integer :: err

        n_freed = n_freed + 1
        err = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra == 41)
    end subroutine

    subroutine cancel(extra, complete, err)
        integer(MPI_ADDRESS_KIND) :: extra
        logical :: complete
        integer :: err

        n_cancelled = n_cancelled + 1
        saw_complete = complete
        err = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra == 41)
    end subroutine

    subroutine on_win_error(win, code)
        type(MPI_Win) :: win
        integer :: code

        n_win_errors = n_win_errors + 1
        if (win == MPI_WIN_NULL .or. code == MPI_SUCCESS) n_win_errors = -1
    end subroutine

    subroutine copy_or_fail(comm, keyval, extra, in, out, flag, err)
        type(MPI_Comm) :: comm
        integer :: keyval, err
        integer(MPI_ADDRESS_KIND) :: extra, in, out
        logical :: flag

        out = in
        flag = .true.
        err = merge(MPI_ERR_OTHER, MPI_SUCCESS, is_failing)
    end subroutine

    subroutine delete_or_fail(comm, keyval, value, extra, err)
        type(MPI_Comm) :: comm
        integer :: keyval, err
        integer(MPI_ADDRESS_KIND) :: value, extra

        err = merge(MPI_ERR_OTHER, MPI_SUCCESS, is_failing)
        if (.not. is_failing) n_deleted = n_deleted + 1
    end subroutine

    ! Not commutative.
    subroutine thrice_plus(in, inout, n, dtype)
        use, intrinsic :: iso_c_binding
        type(c_ptr), value :: in, inout
        integer :: n
        type(MPI_Datatype) :: dtype
        integer, pointer :: a(:), b(:)

        call c_f_pointer(in, a, [n])
        call c_f_pointer(inout, b, [n])
        b = 3 * a + b
        if (dtype /= MPI_INTEGER) b = -999
    end subroutine
end module

program f08more
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use more_functions
    implicit none
    integer :: rank, size, n, k, fails = 0, to, from

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    to = mod(rank + 1, size)
    from = mod(rank + size - 1, size)
    call generalized()
    call some_of_many()
    call operations()
    call attributes()
    call strings()
    call windows()
    call types()
    call neighbours()
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

    subroutine generalized()
        type(MPI_Request) :: req, copy
        type(MPI_Status) :: status
        logical :: flag

        call MPI_Grequest_start(query, free_it, cancel, 41_MPI_ADDRESS_KIND, req)
        call MPI_Test(req, flag, status)
        call check('not complete', .not. flag .and. n_queried == 0)
        call MPI_Cancel(req)
        call check('cancelled before', n_cancelled == 1 .and. .not. saw_complete)
        call MPI_Grequest_complete(req)
        call MPI_Cancel(req)
        call check('cancelled after', n_cancelled == 2 .and. saw_complete)
        call MPI_Request_get_status(req, flag, status)
        call MPI_Get_count(status, MPI_INTEGER, n)
        call check('looked at', flag .and. n == 41 .and. status%MPI_TAG == 13 .and. n_freed == 0)
        call MPI_Wait(req, status)
        call MPI_Test_cancelled(status, flag)
        call check('over', n_freed == 1 .and. req == MPI_REQUEST_NULL .and. .not. flag .and. &
                   status%MPI_SOURCE == 12)
        call MPI_Grequest_start(query, free_it, cancel, 41_MPI_ADDRESS_KIND, req)
        copy = req
        call MPI_Request_free(req)
        call check('freed before its end', n_freed == 1 .and. req == MPI_REQUEST_NULL)
        call MPI_Grequest_complete(copy)
        call check('and at it', n_freed == 2)
    end subroutine

    subroutine some_of_many()
        type(MPI_Request) :: req(6)
        type(MPI_Status) :: status, statuses(6)
        integer, asynchronous :: x(6)
        integer :: y(2), found(6), i, err, class
        logical :: flag

        req = MPI_REQUEST_NULL
        call MPI_Irecv(x(3), 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, req(3))
        call MPI_Irecv(x(5), 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, req(5))
        call MPI_Testany(6, req, i, flag, status)
        call check('testany: none', .not. flag .and. i == MPI_UNDEFINED)
        y = 7
        call MPI_Send(y, 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF)
        call MPI_Waitany(6, req, i, status)
        call check('waitany', status%MPI_TAG == 5)
        call MPI_Send(y, 2, MPI_INTEGER, 0, 3, MPI_COMM_SELF)
        call MPI_Waitsome(6, req, n, found, statuses, err)
        call MPI_Error_class(err, class)
        call check('waitsome', n == 1 .and. class == MPI_ERR_IN_STATUS)
        call MPI_Error_class(statuses(1)%MPI_ERROR, class)
        call check('truncated', class == MPI_ERR_TRUNCATE)
        call MPI_Waitsome(6, req, n, found, statuses)
        call check('waitsome: none', n == MPI_UNDEFINED)
        call MPI_Testsome(6, req, n, found, MPI_STATUSES_IGNORE)
        call check('testsome: none', n == MPI_UNDEFINED)
        call MPI_Testany(6, req, i, flag, status)
        call check('empty status', flag .and. i == MPI_UNDEFINED .and. &
                   status%MPI_SOURCE == MPI_ANY_SOURCE .and. status%MPI_TAG == MPI_ANY_TAG)
    end subroutine

    subroutine operations()
        type(MPI_Op) :: op
        type(MPI_Request) :: req(2)
        integer, asynchronous :: a(5), b(5), c(5)
        integer :: want
        logical :: flag, all_true

        call MPI_Op_create(thrice_plus, .false., op)
        call MPI_Op_commutative(op, flag)
        call check('not commutative', .not. flag)
        a = rank + 1
        b = 5
        call MPI_Reduce_local(a, b, 5, MPI_INTEGER, op)
        call check('reduce_local', count(b /= 3 * (rank + 1) + 5) == 0)
        call MPI_Iallreduce(a, b, 5, MPI_INTEGER, op, MPI_COMM_WORLD, req(1))
        call MPI_Iscan(a, c, 5, MPI_INTEGER, op, MPI_COMM_WORLD, req(2))
        call MPI_Op_free(op)
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        ! not associative, either: of two ranks only one result is right
        want = merge(1, 5, size == 1)
        if (size <= 2) call check('iallreduce', count(b /= want) == 0)
        if (rank < 2) call check('iscan', count(c /= merge(1, 5, rank == 0)) == 0)
        flag = rank == 0
        call MPI_Allreduce(flag, all_true, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
        call check('logicals', all_true .eqv. size == 1)
    end subroutine

    subroutine attributes()
        type(MPI_Comm) :: comm, copy
        integer :: keyval, err
        integer(MPI_ADDRESS_KIND) :: value, extra = 0
        logical :: flag

        call MPI_Comm_create_keyval(copy_or_fail, delete_or_fail, keyval, extra)
        call MPI_Comm_dup(MPI_COMM_SELF, comm)
        call MPI_Comm_set_attr(comm, keyval, -2_MPI_ADDRESS_KIND ** 40)
        is_failing = .true.
        copy = MPI_COMM_NULL
        call MPI_Comm_dup(comm, copy, err)
        call check('not copied', err /= MPI_SUCCESS .and. copy == MPI_COMM_NULL)
        call MPI_Comm_delete_attr(comm, keyval, err)
        call MPI_Comm_get_attr(comm, keyval, value, flag)
        call check('not deleted', err /= MPI_SUCCESS .and. flag .and. &
                   value == -2_MPI_ADDRESS_KIND ** 40)
        is_failing = .false.
        call MPI_Comm_free(comm)
        call check('deleted', n_deleted == 1)
        call MPI_Comm_free_keyval(keyval)
        call check('no key', keyval == MPI_KEYVAL_INVALID)
    end subroutine

    subroutine strings()
        type(MPI_Info) :: info
        character(10) :: value
        character(MPI_MAX_ERROR_STRING) :: text
        integer :: len, code, class
        logical :: flag

        call MPI_Info_create(info)
        call MPI_Info_set(info, '  two words ', '  x y   ')
        call MPI_Info_get_valuelen(info, 'two words', len, flag)
        call check('length', flag .and. len == 3)
        value = 'zzzzzzzzzz'
        call MPI_Info_get(info, 'two words  ', 2, value, flag)
        call check('cut', flag .and. value(1:2) == 'x ')
        len = 3
        value = 'zzzzzzzzzz'
        call MPI_Info_get_string(info, 'two words', len, value, flag)
        call check('no room for a null', flag .and. value == 'x y' .and. len == 3)
        value = 'zzzzzzzzzz'
        call MPI_Info_get(info, 'none', 10, value, flag)
        call check('left alone', .not. flag .and. value == 'zzzzzzzzzz')
        call MPI_Info_free(info)
        call MPI_Add_error_class(class)
        call MPI_Add_error_code(class, code)
        call MPI_Add_error_string(code, 'my text   ')
        call MPI_Error_string(code, text, len)
        call check('text', len == 7 .and. text == 'my text')
    end subroutine

    subroutine windows()
        type(MPI_Win) :: win
        type(MPI_Errhandler) :: eh
        type(c_ptr) :: base
        integer, pointer :: mine(:), his(:)
        integer :: unit, err, class
        integer(MPI_ADDRESS_KIND) :: bytes
        integer, target :: space(200)
        integer :: x(4)

        call MPI_Win_allocate_shared(16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
        call c_f_pointer(base, mine, [4])
        mine = rank
        call MPI_Win_fence(0, win)
        call MPI_Win_shared_query(win, to, bytes, unit, base)
        call c_f_pointer(base, his, [4])
        call MPI_Win_fence(0, win)
        call check('shared', bytes == 16 .and. unit == 4 .and. his(1) == to .and. his(4) == to)
        call MPI_Win_create_errhandler(on_win_error, eh)
        call MPI_Win_set_errhandler(win, eh)
        call MPI_Errhandler_free(eh)
        call MPI_Put(x, 1, MPI_INTEGER, size + 4, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, err)
        call MPI_Error_class(err, class)
        call check('handler of a window', class == MPI_ERR_RANK .and. n_win_errors == 1)
        call MPI_Win_free(win)

        call MPI_Alloc_mem(16_MPI_ADDRESS_KIND, MPI_INFO_NULL, base)
        call c_f_pointer(base, mine, [4])
        mine = 3
        call MPI_Free_mem(mine)
        call MPI_Buffer_attach(space, 800)
        x = rank
        call MPI_Bsend(x(4:1:-1), 4, MPI_INTEGER, to, 3, MPI_COMM_WORLD)
        call MPI_Recv(x, 4, MPI_INTEGER, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call MPI_Buffer_detach(base, n)
        call check('buffer', x(1) == from .and. n == 800)
    end subroutine

    subroutine types()
        type(MPI_Datatype) :: one, two
        integer(c_int8_t) :: bytes(24)
        integer(MPI_ADDRESS_KIND) :: place
        complex :: z

        call MPI_Type_create_f90_real(15, 307, one)
        call MPI_Type_create_f90_real(15, 307, two)
        call MPI_Type_size(one, n)
        call check('by precision', one == two .and. n == 8)
        place = 0
        z = (1.5, -2)
        call MPI_Pack_external('external32', z, 1, MPI_COMPLEX, bytes, 24_MPI_ADDRESS_KIND, place)
        call MPI_Pack_external('external32', .true., 1, MPI_LOGICAL, bytes, 24_MPI_ADDRESS_KIND, place)
        call check('external32', place == 12 .and. &
                   count(bytes(1:12) /= int([63, -64, 0, 0, -64, 0, 0, 0, 0, 0, 0, 1], 1)) == 0)
    end subroutine

    subroutine neighbours()
        type(MPI_Comm) :: ring
        integer :: source(1), target(1), w(1), v(1)
        logical :: flag

        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [from], MPI_UNWEIGHTED, 1, [to], &
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring)
        call MPI_Dist_graph_neighbors_count(ring, n, k, flag)
        call check('no weights', n == 1 .and. k == 1 .and. .not. flag)
        call MPI_Comm_free(ring)
        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [from], [from + 5], 1, [to], &
                                            [rank + 5], MPI_INFO_NULL, .false., ring)
        call MPI_Dist_graph_neighbors(ring, 1, source, w, 1, target, v)
        call check('weights', source(1) == from .and. w(1) == from + 5 .and. v(1) == rank + 5)
        call MPI_Comm_free(ring)
        if (rank == 0) then
            call MPI_Dist_graph_create(MPI_COMM_WORLD, 0, source, source, source, &
                                       MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., ring)
        else
            call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [0], [7], MPI_INFO_NULL, &
                                       .false., ring)
        end if
        call MPI_Dist_graph_neighbors_count(ring, n, k, flag)
        call check('no edges of a rank', flag .and. n == merge(size - 1, 0, rank == 0))
        call MPI_Comm_free(ring)
    end subroutine
end program
