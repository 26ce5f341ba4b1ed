! MPI_Comm_spawn and MPI_Comm_spawn_multiple from "use mpi_f08", with argument arrays in which blanks
! pad at both ends and blank strings end; MPI_ARGV_NULL, MPI_ARGVS_NULL, MPI_ERRCODES_IGNORE; ports.
program spawnf08
    use mpi_f08
    implicit none
    type(MPI_Comm) :: parent, inter
    character(len=200) :: self, arg
    character(len=20) :: args(4) = [character(len=20) :: "one", "two words", "three", " "]
    character(len=20) :: both(2, 3)
    character(len=200) :: commands(2)
    character(len=MPI_MAX_PORT_NAME) :: port
    integer :: codes(3), n, rank, total, counts(2) = [1, 2]
    integer :: n_wrong = 0

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_get_parent(parent)
    call get_command_argument(0, self)
    if (parent /= MPI_COMM_NULL) then
        call get_command_argument(1, arg)
        select case (arg)
        case ("one")
            call must(command_argument_count() == 3)
            call get_command_argument(2, arg)
            call must(arg == "two words")
            call get_command_argument(3, arg)
            call must(arg == "three")
        case ("multi")
            call must(command_argument_count() == 2)
        case default
            call must(command_argument_count() == 0)
        end select
        call MPI_Reduce(n_wrong, total, 1, MPI_INTEGER, MPI_SUM, 0, parent)
        call MPI_Comm_disconnect(parent)
        call MPI_Comm_get_parent(parent)
        call must(parent == MPI_COMM_NULL)
    else
        codes = -1
        ! Our modules take blanks off both ends, those of the distribution off the right one.
        call get_environment_variable("DATUM_MODULES", arg)
        if (arg == "own") then
            args(3) = "   three"
            self = "  " // self
        end if
        call MPI_Comm_spawn(self, args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, codes)
        call must(all(codes(1:2) == MPI_SUCCESS) .and. codes(3) == -1)
        call hear(2)
        call MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, &
                            MPI_ERRCODES_IGNORE)
        call hear(1)
        commands = self
        both(1, :) = [character(len=20) :: "multi", "x", " "]
        both(2, :) = [character(len=20) :: "multi", "y", " "]
        call MPI_Comm_spawn_multiple(2, commands, both, counts, [MPI_INFO_NULL, MPI_INFO_NULL], &
                                     0, MPI_COMM_WORLD, inter, codes)
        call must(all(codes == MPI_SUCCESS))
        call hear(3)
        call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, &
                                     [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_WORLD, inter, &
                                     MPI_ERRCODES_IGNORE)
        call hear(3)
        if (rank == 0) then
            call MPI_Open_port(MPI_INFO_NULL, port)
            call must(index(trim(port), " ") == 0 .and. len_trim(port) > 0)
            call MPI_Close_port(port)
        end if
        if (rank == 0 .and. n_wrong == 0) print *, "all well"
    end if
    call MPI_Finalize()
contains
    subroutine must(ok)
        logical, intent(in) :: ok

        if (.not. ok) n_wrong = n_wrong + 1
    end subroutine

    ! How many children there are, and what they have found wrong.
    subroutine hear(n_wanted)
        integer, intent(in) :: n_wanted
        integer :: wrong, root

        call MPI_Comm_remote_size(inter, n)
        call must(n == n_wanted)
        root = merge(MPI_ROOT, MPI_PROC_NULL, rank == 0)
        wrong = 0
        call MPI_Reduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, root, inter)
        call must(wrong == 0)
        call MPI_Comm_disconnect(inter)
    end subroutine
end program
