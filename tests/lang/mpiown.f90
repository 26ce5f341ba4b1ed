! What "use mpi" of our own has beyond that of the distribution, and functions whose arguments in Fortran are
! others than in C.
module mpi_functions
    use mpi
    implicit none
    integer :: n_queried = 0, n_freed = 0, n_cancelled = 0, n_file_errors = 0, seen_file = -1
contains
    subroutine query(extra, status, err)
        integer(MPI_ADDRESS_KIND) :: extra
        integer :: status(MPI_STATUS_SIZE), err

        n_queried = n_queried + 1
        call MPI_Status_set_elements(status, MPI_INTEGER, int(extra), err)
        call MPI_Status_set_cancelled(status, .false., err)
        status(MPI_TAG) = 13
    end subroutine

    subroutine free_it(extra, err)
        integer(MPI_ADDRESS_KIND) :: extra
        integer :: err

        n_freed = n_freed + 1
        err = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra == 41)
        extra = extra + 1
    end subroutine

    subroutine cancel(extra, complete, err)
        integer(MPI_ADDRESS_KIND) :: extra
        logical :: complete
        integer :: err

        n_cancelled = n_cancelled + 1
        err = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra == 41 .and. .not. complete)
    end subroutine

    subroutine on_file_error(file, code)
        integer :: file, code

        n_file_errors = n_file_errors + 1
        seen_file = file
        if (code == MPI_SUCCESS) n_file_errors = -1
    end subroutine

    ! A data representation: integers are the double in 8 bytes.
    subroutine extent_of_8(datatype, extent, extra, err)
        integer :: datatype, err
        integer(MPI_ADDRESS_KIND) :: extent, extra

        extent = 8
        err = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra == 17)
    end subroutine

    subroutine write_double(user, datatype, n, file, position, extra, err)
        integer :: user(*), datatype, n, err
        integer(8) :: file(*)
        integer(MPI_OFFSET_KIND) :: position
        integer(MPI_ADDRESS_KIND) :: extra

        file(1:n) = 2 * user(position + 1:position + n)
        err = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra == 17)
    end subroutine

    subroutine read_double(user, datatype, n, file, position, extra, err)
        integer :: user(*), datatype, n, err
        integer(8) :: file(*)
        integer(MPI_OFFSET_KIND) :: position
        integer(MPI_ADDRESS_KIND) :: extra

        user(position + 1:position + n) = int(file(1:n) / 2)
        err = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra == 17)
    end subroutine
end module

program mpiown
    use, intrinsic :: iso_c_binding
    use mpi
    use mpi_functions
    implicit none
    integer :: rank, size, err, fails = 0, n

    call MPI_Init(err)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
    call MPI_Comm_size(MPI_COMM_WORLD, size, err)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, err)
    call memory()
    call old_types()
    call ignored()
    call generalized()
    call files()
    call texts()
    call others()
    call MPI_Allreduce(fails, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, err)
    if (rank == 0 .and. n == 0) print *, 'all well'
    call PMPI_Finalize(err)
    if (fails > 0) call exit(1)
contains
    subroutine check(what, ok)
        character(*), intent(in) :: what
        logical, intent(in) :: ok

        if (ok) return
        fails = fails + 1
        print *, 'FAILED: ', what
    end subroutine

    subroutine memory()
        type(c_ptr) :: base
        integer(MPI_ADDRESS_KIND) :: place, bytes
        integer, pointer :: mine(:)
        integer :: win, unit, sizes(3), space(300)
        logical :: flag

        call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, base, err)
        call c_f_pointer(base, mine, [10])
        mine = 3
        call MPI_Get_address(mine(2), place, err)
        call check('alloc_mem', err == MPI_SUCCESS .and. &
                   place == MPI_Aint_add(transfer(base, place), 4_MPI_ADDRESS_KIND))
        call MPI_Free_mem(mine, err)
        call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, place, err)
        call check('by an integer', err == MPI_SUCCESS .and. place /= 0)
        call c_f_pointer(transfer(place, base), mine, [10])
        mine = 4
        call MPI_Free_mem(mine, err)
        call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, base, win, err)
        call MPI_Win_get_attr(win, MPI_WIN_BASE, place, flag, err)
        call check('win_allocate', flag .and. place == transfer(base, place))
        call MPI_Win_free(win, err)
        call MPI_Win_allocate_shared(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, place, win, err)
        call MPI_Win_shared_query(win, 0, bytes, unit, base, err)
        call check('shared', bytes == 40 .and. unit == 4 .and. place == transfer(base, place))
        call MPI_Win_free(win, err)
        call MPI_Sizeof(place, sizes(1), err)
        call MPI_Sizeof(space, sizes(2), err)
        call MPI_Sizeof((1d0, 2d0), sizes(3), err)
        call check('sizeof', all(sizes == [8, 4, 16]))
        call MPI_Buffer_attach(space, 1200, err)
        call MPI_Bsend(rank, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, err)
        call MPI_Buffer_detach(space, n, err)
        call check('buffer', n == 1200)
    end subroutine

    subroutine old_types()
        integer :: one, two, extent, lb, ub
        integer(MPI_ADDRESS_KIND) :: wide, wide_extent
        integer :: lens(2) = [1, 2], places(2) = [4, 16], types(2) = [MPI_INTEGER, MPI_REAL]

        call MPI_Type_struct(2, lens, places, types, one, err)
        call MPI_Type_extent(one, extent, err)
        call MPI_Type_lb(one, lb, err)
        call MPI_Type_ub(one, ub, err)
        call check('struct', extent == 20 .and. lb == 4 .and. ub == 24)
        call MPI_Type_hvector(3, 1, 40, one, two, err)
        call MPI_Type_get_extent(two, wide, wide_extent, err)
        call check('hvector', wide == 4 .and. wide_extent == 100)
        call MPI_Type_free(two, err)
        call MPI_Type_hindexed(2, lens, places, MPI_INTEGER, two, err)
        call MPI_Type_size(two, n, err)
        call check('hindexed', n == 12)
        call MPI_Type_free(one, err)
        call MPI_Type_free(two, err)
    end subroutine

    ! Programs for MPICH give numbers for arrays that are not significant.
    subroutine ignored()
        integer :: counts(64) = 1, displs(64), x(64), i, m

        call MPI_Comm_size(MPI_COMM_WORLD, m, err)
        displs = [(i, i = 0, 63)]
        x = rank
        call MPI_Alltoallv(MPI_IN_PLACE, 0, 0, MPI_DATATYPE_NULL, x, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, err)
        call check('alltoallv in place', all(x(1:m) == [(i, i = 0, m - 1)]))
        if (rank == 0) then
            call MPI_Gatherv(rank, 1, MPI_INTEGER, x, counts, displs, MPI_INTEGER, 0, MPI_COMM_WORLD, err)
        else
            call MPI_Gatherv(rank, 1, MPI_INTEGER, 0, 0, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, err)
        end if
        call check('gatherv', all(x(1:m) == [(i, i = 0, m - 1)]))
    end subroutine

    subroutine generalized()
        integer :: req, status(MPI_STATUS_SIZE)
        integer(MPI_ADDRESS_KIND), volatile :: extra
        logical :: flag

        extra = 41
        call MPI_Grequest_start(query, free_it, cancel, extra, req, err)
        call MPI_Test(req, flag, status, err)
        call MPI_Cancel(req, err)
        call check('cancelled', err == MPI_SUCCESS .and. .not. flag .and. n_cancelled == 1)
        call MPI_Grequest_complete(req, err)
        call MPI_Wait(req, status, err)
        call MPI_Get_count(status, MPI_INTEGER, n, err)
        call check('complete', n == 41 .and. status(MPI_TAG) == 13 .and. n_queried == 1 .and. n_freed == 1)
        ! The functions get the variable itself, as with MPICH.
        call check('state', extra == 42)
    end subroutine

    subroutine files()
        integer :: file, eh, x(4) = [1, 2, 3, 4], y(4), status(MPI_STATUS_SIZE)
        integer(8) :: z(4)
        integer(MPI_OFFSET_KIND) :: place
        character(12) :: name, rep

        name = 'mpiown.' // achar(48 + rank)
        call MPI_Register_datarep('double  ', read_double, write_double, extent_of_8, 17_MPI_ADDRESS_KIND, err)
        call check('registered', err == MPI_SUCCESS)
        call MPI_File_open(MPI_COMM_SELF, name, ior(MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, MPI_MODE_RDWR), &
                           MPI_INFO_NULL, file, err)
        call MPI_File_create_errhandler(on_file_error, eh, err)
        call MPI_File_set_errhandler(file, eh, err)
        call MPI_Errhandler_free(eh, err)
        call MPI_File_seek(file, -1_MPI_OFFSET_KIND, MPI_SEEK_SET, err)
        call check('handler of a file', n_file_errors == 1 .and. seen_file == file .and. err /= MPI_SUCCESS)
        call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'double', MPI_INFO_NULL, err)
        call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, x, 4, MPI_INTEGER, status, err)
        y = 0
        call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, y, 4, MPI_INTEGER, MPI_STATUS_IGNORE, err)
        call check('own representation', all(y == x))
        rep = 'zzzzzzzzzzzz'
        call MPI_File_get_view(file, place, eh, n, rep, err)
        call check('its name', rep == 'double' .and. eh == MPI_INTEGER)
        call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER8, MPI_INTEGER8, 'native', MPI_INFO_NULL, err)
        call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, z, 4, MPI_INTEGER8, MPI_STATUS_IGNORE, err)
        call check('as it is', all(z == [2, 4, 6, 8]))
        call MPI_File_close(file, err)
        call check('closed', file == MPI_FILE_NULL)
    end subroutine

    subroutine texts()
        integer :: info, len
        character(10) :: value
        logical :: flag

        call MPI_Info_create_env(info, err)
        call MPI_Info_free(info, err)
        call MPI_Info_create(info, err)
        call MPI_Info_set(info, ' key  ', ' some value', err)
        value = 'zzzzzzzzzz'
        call MPI_Info_get(info, 'key', 4, value, flag, err)
        call check('cut', flag .and. value(1:4) == 'some')
        len = 0
        call MPI_Info_get_string(info, 'key', len, value, flag, err)
        call check('length', flag .and. len == 10)
        call MPI_Info_get_string(info, 'key', len, value, flag, err)
        call check('all of it', flag .and. value == 'some value')
        call MPI_Info_free(info, err)
        call MPI_Comm_set_name(MPI_COMM_SELF, 'a long name of it', err)
        call MPI_Comm_get_name(MPI_COMM_SELF, value, len, err)
        call check('a name that is cut', value == 'a long nam' .and. len == 10)
    end subroutine

    subroutine others()
        integer :: a(4, 4), old(MPI_STATUS_SIZE), again(MPI_STATUS_SIZE), length
        type(MPI_Status) :: new

        a = rank
        if (rank == 0) a(2, :) = [1, 2, 3, 4]
        call PMPI_Bcast(a(2, :), 4, MPI_INTEGER, 0, MPI_COMM_WORLD, err)
        call check('a section', all(a(2, :) == [1, 2, 3, 4]) .and. a(1, 1) == rank .and. a(3, 4) == rank)
        call MPI_Sendrecv(a, 3, MPI_INTEGER, rank, 5, a(1, 4), 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, old, err)
        call check('truncated', err /= MPI_SUCCESS)
        call MPI_Sendrecv(a, 1, MPI_INTEGER, rank, 6, a(1, 4), 1, MPI_INTEGER, rank, 6, MPI_COMM_WORLD, old, err)
        call MPI_Status_get_tag(old, length, err)
        call check('a field', length == 6)
        call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0, err)
        call MPI_Bsend(a, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, err)
        call MPI_Recv(a(1, 4), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, again, err)
        call MPI_Buffer_detach(a, length, err)
        call check('an automatic buffer', err == MPI_SUCCESS .and. a(1, 4) == a(1, 1) .and. length == 0)
        call MPI_Status_f2f08(old, new, err)
        call MPI_Status_f082f(new, again, err)
        call check('status', new%MPI_TAG == 6 .and. new%MPI_SOURCE == rank .and. all(old == again))
        call check('times', MPI_Wtime() > 0 .and. PMPI_Wtick() < 1)
        call MPI_F_sync_reg(a)
    end subroutine
end program
