! Files in Fortran: a handle is an integer, or a type of mpi_f08. files.sh runs it for all modules.
program files
    USE_MPI
    implicit none
    FILE :: fh
    STATUS
    REQUEST :: req
    integer :: ierr, rank, n, x(10), y(10), i, amode
    integer(kind=MPI_OFFSET_KIND) :: off, length
    integer(kind=MPI_ADDRESS_KIND) :: extent
    logical :: flag, bad

    bad = .false.
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    amode = MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE
    call MPI_File_open(MPI_COMM_WORLD, 'fort.dat', amode, MPI_INFO_NULL, fh, ierr)
    bad = bad .or. ierr /= MPI_SUCCESS
    x = [(rank*100 + i, i=1, 10)]
    off = rank*40
    call MPI_File_set_view(fh, off, MPI_INTEGER, MPI_INTEGER, 'external32', MPI_INFO_NULL, ierr)
    bad = bad .or. ierr /= MPI_SUCCESS
    call MPI_File_write_all(fh, x, 10, MPI_INTEGER, stat, ierr)
    call MPI_Get_count(stat, MPI_INTEGER, n, ierr)
    bad = bad .or. n /= 10
    off = 0
    call MPI_File_iread_at(fh, off, y, 10, MPI_INTEGER, req, ierr)
    call MPI_Wait(req, stat, ierr)
    bad = bad .or. any(x /= y)
    call MPI_File_get_type_extent(fh, MPI_INTEGER, extent, ierr)
    bad = bad .or. extent /= 4
    call MPI_File_get_atomicity(fh, flag, ierr)
    bad = bad .or. flag
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_File_get_size(fh, length, ierr)
    bad = bad .or. length /= 80
    off = -1
    call MPI_File_seek(fh, off, MPI_SEEK_SET, ierr)
    bad = bad .or. ierr == MPI_SUCCESS
    call MPI_File_close(fh, ierr)
    bad = bad .or. fh /= MPI_FILE_NULL
    if (rank == 0 .and. .not. bad) print *, 'all well'
    call MPI_Finalize(ierr)
end program
