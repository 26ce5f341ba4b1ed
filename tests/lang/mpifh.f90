program mpifh
    implicit none
    include 'mpif.h'
    include 'calls.inc'
end program
