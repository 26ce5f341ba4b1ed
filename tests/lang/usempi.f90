program usempi
    use mpi
    implicit none
    include 'calls.inc'
end program
