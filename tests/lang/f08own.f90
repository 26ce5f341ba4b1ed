! What "use mpi_f08" of our own has beyond that of the distribution, and what is easily wrong in it: large
! counts, sections of arrays, memory by pointers, callbacks, the index of a request, sizes of variables.
module own_functions
    use, intrinsic :: iso_c_binding
    use mpi_f08
    implicit none
    integer :: n_file_errors = 0
    type(MPI_File) :: seen_file
contains
    subroutine add_large(in, inout, n, dtype)
        type(c_ptr), value :: in, inout
        integer(MPI_COUNT_KIND) :: n
        type(MPI_Datatype) :: dtype
        integer, pointer :: a(:), b(:)

        call c_f_pointer(in, a, [n])
        call c_f_pointer(inout, b, [n])
        b = a + b
        if (dtype /= MPI_INTEGER) b = -1
    end subroutine

    subroutine on_file_error(file, code)
        type(MPI_File) :: file
        integer :: code

        n_file_errors = n_file_errors + 1
        seen_file = file
        if (code == MPI_SUCCESS) n_file_errors = -1
    end subroutine
end module

program f08own
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use own_functions
    implicit none
    integer :: rank, size, to, from, fails = 0, n, k, provided
    type(MPI_Status) :: status

    call MPI_Init_thread(MPI_THREAD_SINGLE, provided)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    to = mod(rank + 1, size)
    from = mod(rank + size - 1, size)
    call large_counts()
    call sections()
    call held_sections()
    call taken_apart()
    call partitions()
    call refused_sections()
    call memory()
    call requests()
    call files()
    call small_things()
    call buffers()
    call looks()
    call spawn_nothing()
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

    subroutine large_counts()
        integer, asynchronous :: a(6), b(6)
        integer(MPI_COUNT_KIND) :: four = 4, bytes, lens(2), places(2), nums(4)
        integer(MPI_COUNT_KIND) :: counts(size)
        integer(MPI_ADDRESS_KIND) :: displs(size), lb, extent
        integer :: combiner, all(4 * size)
        type(MPI_Datatype) :: dtype
        type(MPI_Op) :: op
        type(MPI_Request) :: req(2)

        a = rank
        call MPI_Sendrecv(a, four, MPI_INTEGER, to, 1, b, 6_MPI_COUNT_KIND, MPI_INTEGER, from, 1, &
                          MPI_COMM_WORLD, status)
        call MPI_Get_count(status, MPI_INTEGER, bytes)
        call check('large sendrecv', bytes == 4 .and. b(1) == from .and. b(4) == from)
        call MPI_Irecv(b, four, MPI_INTEGER, from, 2, MPI_COMM_WORLD, req(1))
        call MPI_Isend(a, four, MPI_INTEGER, to, 2, MPI_COMM_WORLD, req(2))
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        lens = [2_MPI_COUNT_KIND, 1_MPI_COUNT_KIND]
        places = [0_MPI_COUNT_KIND, 12_MPI_COUNT_KIND]
        call MPI_Type_create_hindexed(2_MPI_COUNT_KIND, lens, places, MPI_INTEGER, dtype)
        call MPI_Type_commit(dtype)
        call MPI_Type_size(dtype, bytes)
        call MPI_Type_get_extent(dtype, lb, extent)
        call check('large type', bytes == 12 .and. lb == 0 .and. extent == 16)
        call MPI_Type_get_envelope(dtype, nums(1), nums(2), nums(3), nums(4), combiner)
        call check('its envelope', combiner == MPI_COMBINER_HINDEXED .and. sum(nums) >= 6)
        call MPI_Type_free(dtype)
        counts = 4
        displs = [(4 * k, k=0, size - 1)]
        call MPI_Allgatherv(a, four, MPI_INTEGER, all, counts, displs, MPI_INTEGER, MPI_COMM_WORLD)
        call check('large allgatherv', all(1) == 0 .and. all(4 * size) == size - 1)
        call MPI_Op_create_c(add_large, .true., op)
        call MPI_Allreduce(a, b, four, MPI_INTEGER, op, MPI_COMM_WORLD)
        call check('large operation', b(1) == size * (size - 1) / 2 .and. b(4) == b(1))
        call MPI_Op_free(op)
    end subroutine

    ! Of nonblocking calls the library describes them; it copies those of the others.
    subroutine sections()
        integer, asynchronous :: a(8, 8), b(8, 8)
        complex, asynchronous :: z(10)
        real, asynchronous :: x(5, 5)
        type(MPI_Request) :: req(2)
        type(MPI_Win) :: win
        type(MPI_Datatype) :: two
        integer :: all(4, size), window(64)

        a = reshape([(100 * rank + k, k=1, 64)], [8, 8])
        b = -1
        call MPI_Irecv(b(2:8:2, 8:1:-1), 30, MPI_INTEGER, from, 3, MPI_COMM_WORLD, req(1))
        call MPI_Isend(a(8:1:-2, 1:8), 30, MPI_INTEGER, to, 3, MPI_COMM_WORLD, req(2))
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        call check('a part of a section', count(b /= -1) == 30 .and. b(2, 8) == 100 * from + 8 .and. &
                   b(8, 8) == 100 * from + 2 .and. b(4, 1) == 100 * from + 56 + 6 .and. b(6, 1) == -1)
        ! a type without holes, larger and smaller than an element
        call MPI_Type_contiguous(2, MPI_INTEGER, two)
        call MPI_Type_commit(two)
        b = -1
        call MPI_Irecv(b(3, 1:8), 4, two, from, 4, MPI_COMM_WORLD, req(1))
        call MPI_Isend(a(:, 2), 4, two, to, 4, MPI_COMM_WORLD, req(2))
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        call check('pairs', count(b /= -1) == 8 .and. b(3, 8) == 100 * from + 16)
        call MPI_Type_free(two)
        z = [(cmplx(k, rank), k=1, 10)]
        x = -1
        call MPI_Irecv(x(2:4:2, 1:5), 10, MPI_REAL, from, 5, MPI_COMM_WORLD, req(1))
        call MPI_Isend(z(1:9:2), 10, MPI_REAL, to, 5, MPI_COMM_WORLD, req(2))
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        call check('parts of elements', x(2, 1) == 1 .and. x(4, 1) == from .and. x(2, 5) == 9 .and. &
                   x(3, 3) == -1)

        all = -1
        call MPI_Allgather(a(1, 1:8:2), 4, MPI_INTEGER, all(4:1:-1, :), 4, MPI_INTEGER, MPI_COMM_WORLD)
        call check('allgather', all(4, 1) == 1 .and. all(1, size) == 100 * (size - 1) + 49)
        b = a
        call MPI_Allreduce(MPI_IN_PLACE, b(:, 1:8:7), 16, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
        call check('in place', b(1, 1) == size + 100 * size * (size - 1) / 2 .and. b(1, 2) == a(1, 2))

        window = 0
        call MPI_Win_create(window, 256_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
        call MPI_Win_fence(0, win)
        call MPI_Put(a(2, :), 8, MPI_INTEGER, to, 8_MPI_ADDRESS_KIND, 8, MPI_INTEGER, win)
        call MPI_Accumulate(a(:, 1:2), 8, MPI_INTEGER, to, 32_MPI_ADDRESS_KIND, 8, MPI_INTEGER, MPI_SUM, win)
        call MPI_Win_fence(0, win)
        call MPI_Accumulate(a(1, 1:8), 8, MPI_INTEGER, to, 32_MPI_ADDRESS_KIND, 8, MPI_INTEGER, MPI_SUM, win)
        call MPI_Win_fence(0, win)
        call check('put', window(9) == 100 * from + 2 .and. window(16) == 100 * from + 58 .and. window(8) == 0)
        call check('accumulate', window(33) == 200 * from + 2 .and. window(40) == 200 * from + 65)
        call MPI_Win_free(win)
    end subroutine

    ! Collectives that go on after their return have copies; only what they change comes back.
    subroutine held_sections()
        integer, asynchronous :: a(8, 8), b(8), got(4, size), sums(4)
        type(MPI_Request) :: req
        integer :: k, err, counts(size), displs(size)

        a = reshape([(100 * rank + k, k=1, 64)], [8, 8])
        got = -1
        call MPI_Iallgather(a(1, 1:8:2), 4, MPI_INTEGER, got(4:1:-1, :), 4, MPI_INTEGER, MPI_COMM_WORLD, req)
        call MPI_Wait(req, status)
        call check('iallgather', got(4, 1) == 1 .and. got(1, size) == 100 * (size - 1) + 49)
        ! the last element is not the operation's
        b = [(k, k=1, 8)]
        call MPI_Iscatter(a(:, 3), 1, MPI_INTEGER, b(1:8:2), 1, MPI_INTEGER, 0, MPI_COMM_WORLD, req)
        b(7) = 77
        call MPI_Wait(req, status)
        call check('iscatter', b(1) == 17 + rank .and. all(b(2:6) == [2, 3, 4, 5, 6]) .and. b(7) == 77)
        counts = 1
        displs = [(size - 1 - k, k=0, size - 1)]
        got = -1
        call MPI_Iallgatherv(rank, 1, MPI_INTEGER, got(2, :), counts, displs, MPI_INTEGER, MPI_COMM_WORLD, req)
        call MPI_Wait(req, status)
        call check('iallgatherv', got(2, 1) == size - 1 .and. got(2, size) == 0 .and. got(1, 1) == -1)
        sums = 0
        call MPI_Allreduce_init(a(1, 1:4), sums(4:1:-1), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
        do k = 1, 3
            a(1, 1) = k
            a(1, 4) = rank
            call MPI_Start(req)
            call MPI_Wait(req, status)
            call check('persistent', sums(4) == k * size .and. sums(1) == size * (size - 1) / 2)
            sums = 0
        end do
        call MPI_Request_free(req)
        ! without messages a request is complete at once
        call MPI_Iallreduce(MPI_IN_PLACE, a(2, 1:8:3), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, req)
        call MPI_Wait(req, status)
        call check('with itself', a(2, 7) == 100 * rank + 50)
        call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
        call MPI_Iallgather(a(1, 1:2), -1, MPI_INTEGER, b, 1, MPI_INTEGER, MPI_COMM_SELF, req, err)
        call check('a call that fails', err /= MPI_SUCCESS)
    end subroutine

    ! Datatypes that do not fill whole elements of the array, in any order, or with holes.
    subroutine taken_apart()
        integer, asynchronous :: a(8, 8), b(8), window(8)
        double precision, asynchronous :: d(4)
        type(MPI_Request) :: req(2)
        type(MPI_Datatype) :: holes, swapped
        type(MPI_Win) :: win
        integer :: k

        a = reshape([(k, k=1, 64)], [8, 8])
        call MPI_Type_vector(2, 1, 2, MPI_INTEGER, holes)
        call MPI_Type_commit(holes)
        call MPI_Type_indexed(2, [1, 1], [1, 0], MPI_INTEGER, swapped)
        call MPI_Type_commit(swapped)
        b = 0
        call MPI_Irecv(b(8:1:-1), 2, holes, 0, 1, MPI_COMM_SELF, req(1))
        call MPI_Isend(a(1, :), 2, swapped, 0, 1, MPI_COMM_SELF, req(2))
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        call check('with holes, in another order', all(b == [0, 0, 17, 0, 25, 1, 0, 9]))
        ! numbers of 8 bytes in elements of 4
        d = [1d0, 2d0, 3d0, 4d0]
        a = 0
        call MPI_Irecv(a(2, :), 3, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, req(1))
        call MPI_Isend(d(1:4:1), 3, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, req(2))
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        call check('across elements', transfer(a(2, 5:6), 0d0) == 3 .and. a(2, 7) == 0 .and. all(a(1, :) == 0))
        window = 1
        a(3, :) = [(k, k=1, 8)]
        call MPI_Win_create(window, 32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
        call MPI_Win_fence(0, win)
        call MPI_Accumulate(a(3, :), 2, swapped, to, 0_MPI_ADDRESS_KIND, 4, MPI_INTEGER, MPI_SUM, win)
        call MPI_Put(a(3, :), 1, holes, to, 4_MPI_ADDRESS_KIND, 2, MPI_INTEGER, win)
        call MPI_Win_fence(0, win)
        call check('one-sided', all(window == [3, 2, 5, 4, 1, 3, 1, 1]))
        call MPI_Win_free(win)
        call MPI_Type_free(holes)
        call MPI_Type_free(swapped)
    end subroutine

    ! A column is a partition.
    subroutine partitions()
        integer, asynchronous :: a(8, 8), b(8, 8)
        type(MPI_Request) :: req(2)
        integer :: k

        a = reshape([(100 * rank + k, k=1, 64)], [8, 8])
        b = -1
        call MPI_Precv_init(b(1:8:2, 8:1:-1), 4, 8_MPI_COUNT_KIND, MPI_INTEGER, from, 1, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, req(1))
        call MPI_Psend_init(a(2:8:2, :), 8, 4_MPI_COUNT_KIND, MPI_INTEGER, to, 1, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, req(2))
        call MPI_Startall(2, req)
        call MPI_Pready_range(0, 7, req(2))
        call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
        call check('partitions', b(1, 8) == 100 * from + 2 .and. b(7, 1) == 100 * from + 64 .and. b(2, 1) == -1)
        call MPI_Request_free(req(1))
        call MPI_Request_free(req(2))
    end subroutine

    subroutine refused_sections()
        integer, asynchronous :: a(8, 8), b(8)
        type(MPI_Request) :: req
        type(MPI_Win) :: win
        integer :: err
        integer(MPI_ADDRESS_KIND) :: four = 4

        a = 1
        call MPI_Win_create(a(1, :), 32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, win, err)
        call check_refused(err, 'MPI_Win_create', 'contiguous')
        call MPI_Isend(a(1, :), 9, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_SELF, req, err)
        call check_refused(err, 'MPI_Isend', 'fewer bytes')
        call MPI_Psend_init(a(1:6:2, :), 4, 4_MPI_COUNT_KIND, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_SELF, &
                            MPI_INFO_NULL, req, err)
        call check_refused(err, 'MPI_Psend_init', 'alike')
        call MPI_Win_create(b, 4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, win)
        call MPI_Win_fence(0, win)
        call MPI_Fetch_and_op(a(1, :), a(2, :), MPI_INTEGER, 0, four - 4, MPI_REPLACE, win, err)
        call check('the first element', err == MPI_SUCCESS)
        call MPI_Fetch_and_op(a(1, :), a(2, :), MPI_DOUBLE_PRECISION, 0, four - 4, MPI_REPLACE, win, err)
        call check_refused(err, 'MPI_Fetch_and_op', 'longer')
        call MPI_Win_fence(0, win)
        call check('its result', b(1) == 1)
        call MPI_Win_free(win)
    end subroutine

    subroutine check_refused(err, function, why)
        integer, intent(in) :: err
        character(*), intent(in) :: function, why
        character(MPI_MAX_ERROR_STRING) :: text
        integer :: class, len

        call MPI_Error_class(err, class)
        call MPI_Error_string(err, text, len)
        call check(function // ' refuses', class == MPI_ERR_BUFFER .and. index(text(1:len), function) > 0 .and. &
                   index(text(1:len), why) > 0)
    end subroutine

    subroutine memory()
        type(c_ptr) :: base
        type(MPI_Win) :: win
        integer, pointer :: mine(:)
        integer, target :: space(300)
        integer :: x = 5, unit, sizes(6)
        integer(MPI_ADDRESS_KIND) :: bytes, place, unit_c
        integer(MPI_COUNT_KIND) :: n_bytes
        real(8) :: d(3)
        character(7) :: word

        call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
        call c_f_pointer(base, mine, [10])
        mine = rank
        call MPI_Win_fence(0, win)
        call MPI_Put(x, 1, MPI_INTEGER, to, 9_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
        call MPI_Win_fence(0, win)
        call MPI_F_sync_reg(mine)
        call check('win_allocate', mine(10) == 5 .and. mine(9) == rank)
        call MPI_Win_free(win)
        call MPI_Win_allocate_shared(40_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND, MPI_INFO_NULL, &
                                     MPI_COMM_SELF, base, win)
        call MPI_Win_shared_query(win, 0, bytes, unit, base)
        call MPI_Win_shared_query(win, 0, bytes, unit_c, base)
        call check('large disp_unit', bytes == 40 .and. unit == 4 .and. unit_c == 4)
        call MPI_Win_free(win)
        call MPI_Buffer_attach(space, 1200_MPI_COUNT_KIND)
        call MPI_Buffer_detach(base, n_bytes)
        call check('buffer', n_bytes == 1200 .and. c_associated(base, c_loc(space)))
        call MPI_Get_address(space(3), place)
        call MPI_Get_address(space, bytes)
        call check('addresses', MPI_Aint_diff(place, bytes) == 8 .and. MPI_Aint_add(bytes, 8_MPI_ADDRESS_KIND) == place)
        call MPI_Sizeof(d, sizes(1))
        call MPI_Sizeof(x, sizes(2))
        call MPI_Sizeof((1.0, 2.0), sizes(3))
        call MPI_Sizeof(word, sizes(4))
        call MPI_Sizeof(d(1:3:2), sizes(5))
        call MPI_Sizeof(.true._1, sizes(6))
        call check('sizeof', all(sizes == [8, 4, 8, 7, 8, 1]))
    end subroutine

    subroutine requests()
        type(MPI_Request) :: req(3)
        integer, asynchronous :: x(3)
        integer :: i, found(3)
        logical :: flag

        req = MPI_REQUEST_NULL
        call MPI_Irecv(x(3), 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, req(3))
        call MPI_Send(rank, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF)
        call MPI_Waitany(3, req, i, MPI_STATUS_IGNORE)
        call check('waitany counts from 1', i == 3 .and. req(3) == MPI_REQUEST_NULL)
        call MPI_Irecv(x(2), 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, req(2))
        call MPI_Send(rank, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF)
        call MPI_Waitsome(3, req, n, found, MPI_STATUSES_IGNORE)
        call check('waitsome, too', n == 1 .and. found(1) == 2)
        call MPI_Testany(3, req, i, flag, MPI_STATUS_IGNORE)
        call check('none', flag .and. i == MPI_UNDEFINED)
        call check('other requests', .not. (req(1) /= MPI_REQUEST_NULL) .and. &
                   MPI_COMM_WORLD /= MPI_COMM_SELF)
    end subroutine

    subroutine files()
        type(MPI_File) :: file
        type(MPI_Errhandler) :: eh
        integer, asynchronous :: x(4) = [1, 2, 3, 4], y(8)
        type(MPI_Request) :: req

        call MPI_File_open(MPI_COMM_SELF, 'f08own.' // achar(48 + rank) // '  ', &
                           ior(MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, MPI_MODE_RDWR), MPI_INFO_NULL, file)
        call MPI_File_create_errhandler(on_file_error, eh)
        call MPI_File_set_errhandler(file, eh)
        call MPI_Errhandler_free(eh)
        call MPI_File_seek(file, -1_MPI_OFFSET_KIND, MPI_SEEK_SET)
        call check('handler of a file', n_file_errors == 1 .and. seen_file == file)
        call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, x(4:1:-1), 4, MPI_INTEGER, status)
        y = 0
        call MPI_File_iread_at(file, 0_MPI_OFFSET_KIND, y(1:8:2), 4, MPI_INTEGER, req)
        call MPI_Wait(req, status)
        call MPI_Get_count(status, MPI_INTEGER, n)
        call check('file', n == 4 .and. all(y == [4, 0, 3, 0, 2, 0, 1, 0]))
        call MPI_File_close(file)
        call check('closed', file == MPI_FILE_NULL)
    end subroutine

    ! What the root's arguments say is not looked at elsewhere: no blank text ends the others' array, there is none.
    subroutine spawn_nothing()
        character(len=8), pointer, contiguous :: nowhere(:)
        type(MPI_Comm) :: inter
        integer :: codes(1)

        call c_f_pointer(transfer(8_c_intptr_t, c_null_ptr), nowhere, [1])
        if (rank == size - 1) then
            call MPI_Comm_spawn('none', MPI_ARGV_NULL, 0, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, inter, codes)
        else
            call MPI_Comm_spawn('none', nowhere, 0, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, inter, codes)
        end if
        call check('nothing is spawned', inter == MPI_COMM_NULL)
    end subroutine

    subroutine small_things()
        character(MPI_MAX_LIBRARY_VERSION_STRING) :: text
        character(12) :: key
        type(MPI_Info) :: info
        type(MPI_Session) :: session
        type(MPI_Group) :: group
        integer :: len, v, s, numbers(3)
        double precision :: t

        t = MPI_Wtime()
        call check('time', t > 0 .and. MPI_Wtime() >= t .and. MPI_Wtick() < 1)
        call MPI_Get_version(v, s)
        call check('version', v == MPI_VERSION .and. s == MPI_SUBVERSION)
        call MPI_Get_library_version(text, len)
        call check('library', index(text(1:len), 'atum') > 0 .and. text(len + 1:) == ' ')
        call MPI_Info_create(info)
        call MPI_Info_set(info, 'k', 'v')
        key = 'zzzzzzzzzzzz'
        call MPI_Info_get_nthkey(info, 0, key)
        call check('key', key == 'k')
        call MPI_Info_free(info)
        call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
        len = 0
        call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, len, text)
        call check('length of a set', len == 11)
        call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, len, text)
        call check('name of a set', text(1:len) == 'mpi://WORLD' .and. text(len + 1:) == ' ')
        call MPI_Group_from_session_pset(session, 'mpi://SELF', group)
        call MPI_Group_size(group, len)
        call check('group', len == 1)
        call MPI_Group_free(group)
        call MPI_Session_finalize(session)
        call MPI_Comm_group(MPI_COMM_WORLD, group)
        call MPI_Group_translate_ranks(group, 2, [0, size - 1], group, numbers)
        call check('ranks', numbers(1) == 0 .and. numbers(2) == size - 1)
        call MPI_Group_free(group)
        call check('no group', group == MPI_GROUP_NULL)
        call MPI_Pcontrol(1)
    end subroutine

    ! Buffers for buffered sends of the process, a communicator and a session; automatic ones.
    subroutine buffers()
        integer, target, asynchronous :: room(MPI_BSEND_OVERHEAD)
        integer :: value, got, length
        integer(MPI_COUNT_KIND) :: long
        type(MPI_Session) :: session
        type(MPI_Request) :: request
        type(c_ptr) :: was

        call MPI_Comm_attach_buffer(MPI_COMM_SELF, room, 4 * MPI_BSEND_OVERHEAD)
        value = 17
        call MPI_Bsend(value, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF)
        call MPI_Recv(got, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, status)
        call MPI_Comm_flush_buffer(MPI_COMM_SELF)
        call MPI_Comm_detach_buffer(MPI_COMM_SELF, was, length)
        call check('of a communicator', got == 17 .and. c_associated(was, c_loc(room)) .and. &
            length == 4 * MPI_BSEND_OVERHEAD)
        call MPI_Comm_attach_buffer(MPI_COMM_SELF, MPI_BUFFER_AUTOMATIC, 0_MPI_COUNT_KIND)
        value = 18
        call MPI_Bsend(value, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF)
        call MPI_Recv(got, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, status)
        call MPI_Comm_iflush_buffer(MPI_COMM_SELF, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_Comm_detach_buffer(MPI_COMM_SELF, was, long)
        call check('automatic', got == 18 .and. c_associated(was, c_loc(MPI_BUFFER_AUTOMATIC)) .and. long == 0)
        call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
        call MPI_Buffer_flush()
        call MPI_Buffer_detach(was, length)
        call check('of the process', c_associated(was, c_loc(MPI_BUFFER_AUTOMATIC)))
        call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
        call MPI_Session_attach_buffer(session, room, 4 * MPI_BSEND_OVERHEAD)
        call MPI_Session_flush_buffer(session)
        call MPI_Session_detach_buffer(session, was, length)
        call check('of a session', c_associated(was, c_loc(room)))
        call MPI_Session_finalize(session)
    end subroutine

    subroutine looks()
        type(MPI_Request) :: requests(2)
        type(MPI_Status) :: each(2)
        type(MPI_Datatype) :: pair
        type(MPI_Info) :: info
        integer :: value, got, index, indices(2), field
        logical :: flag

        value = 5
        requests(1) = MPI_REQUEST_NULL
        call MPI_Irecv(got, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF, requests(2))
        call MPI_Request_get_status_all(2, requests, flag, each)
        call check('not all', .not. flag)
        call MPI_Send(value, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF)
        call MPI_Request_get_status_any(2, requests, index, flag, status)
        call check('any', flag .and. index == 2 .and. status%MPI_TAG == 4)
        call MPI_Request_get_status_some(2, requests, index, indices, each)
        call check('some', index == 1 .and. indices(1) == 2)
        call MPI_Request_get_status_all(2, requests, flag, MPI_STATUSES_IGNORE)
        call check('all', flag)
        call MPI_Wait(requests(2), status)
        call MPI_Status_get_tag(status, field)
        call check('tag', field == 4)
        call MPI_Status_set_error(status, err=MPI_ERR_IO)
        call MPI_Status_get_error(status, err=field)
        call MPI_Status_set_source(status, 9)
        call check('error and source', field == MPI_ERR_IO .and. status%MPI_SOURCE == 9)
        call MPI_Type_get_value_index(MPI_REAL, MPI_REAL, pair)
        call check('pair', pair == MPI_2REAL)
        call MPI_Type_get_value_index(MPI_REAL, MPI_COMPLEX, pair)
        call check('no pair', pair == MPI_DATATYPE_NULL)
        call MPI_Get_hw_resource_info(info)
        call MPI_Info_free(info)
    end subroutine
end program
