#!/bin/sh
# test: timeout=60
# mpicxx and mpifort: their options, and what they say when something is not there. mpicc has a test
# of its own.
. "$TEST_LIB"
shows() { # WANT COMMAND...
    want=$1
    shift
    "$@" >shown && grep -qe "$want" shown
}
check 'mpicxx' shows '^g++ .* -lmpi$' mpicxx -show a.cc
if [ -n "$(ls /usr/lib/*/libmpichcxx.so 2>/dev/null)" ]; then
    check "mpicxx: the bindings as CMake's FindMPI sees them" \
        shows ' -I/[^ ]*/mpich .* /[^ ]*/libmpichcxx\.so ' mpicxx -show a.cc
fi
check 'mpic++' shows '^g++ .* -lmpi$' mpic++ -show a.cc
check 'mpicxx -c does not link' sh -c '! mpicxx -show -c a.cc | grep lmpi'
check '-cxx=' shows '^my-c++ ' mpicxx -show -cxx=my-c++ a.cc
check 'DATUM_CXX' shows '^my-c++ ' env DATUM_CXX=my-c++ mpicxx -show a.cc
check 'DATUM_CXX before MPICH_CXX' shows '^y ' env MPICH_CXX=x DATUM_CXX=y mpicxx -show a.cc
check_fails 'no such compiler' 'no-such-c++.*is not there.*install g' mpicxx -cxx=no-such-c++ a.cc
check_fails 'empty -cxx=' 'needs the name' mpicxx -cxx= a.cc
check_fails 'nothing to do' 'no input files' mpicxx
check 'mpicxx -help' shows 'Calls the C++ compiler' mpicxx -help
check 'mpifort -help' shows 'Calls the Fortran compiler' mpifort -help

check_fails 'whose modules' 'are own or mpich, not "yours"' mpifort -modules=yours -show a.f90
if [ -e "$DATUM_BUILD/lib/libdatum_mpifort.so.0" ]; then
    for f in mpifort mpif77 mpif90; do
        check "$f: our modules" shows '^gfortran .*/gen/fortran .* -ldatum_mpifort .* -lmpi$' $f -show a.f90
    done
else
    check_fails 'no modules of ours' 'configure --enable-fortran' mpifort -modules=own -show a.f90
fi
if [ -z "$(ls /usr/include/*/mpich/mpif.h 2>/dev/null)" ]; then
    check_fails 'no modules' 'apt-get install libmpich-dev' mpifort -modules=mpich -show a.f90
    totals
fi
for f in mpifort mpif77 mpif90; do
    check "$f: MPICH's modules" shows '^gfortran .*/mpich .* -lmpi$' $f -modules=mpich -show a.f90
done
check "mpifort: the bindings as CMake's FindMPI sees them" \
    shows ' -I/[^ ]*/mpich .* /[^ ]*/libmpichfort\.so ' env DATUM_MODULES=mpich mpifort -show a.f90
check '-fc=' shows '^my-f ' mpifort -show -fc=my-f a.f90
check '-f90=' shows '^my-f ' mpif90 -show -f90=my-f a.f90
check 'DATUM_FC' shows '^my-f ' env DATUM_FC=my-f mpifort -show a.f90
check_fails 'no such compiler' 'no-such-f.*is not there.*install gfortran' mpifort -fc=no-such-f a.f90
totals
