#!/bin/sh
# test: timeout=180
# Debian's HDF5, built for MPICH, on our library: all ranks write and read back datasets of one file,
# contiguous, chunked and compressed, by rows and by columns, independent and collective, and such as
# grow, also over the exchange of data; one rank alone and h5dump see the same.
. "$TEST_LIB"
need cc gcc
libs=/usr/lib/$(uname -m)-linux-gnu/hdf5/mpich
[ -e "$libs/libhdf5.so" ] || skip 'libhdf5-mpich-dev is not installed'
mpicc -O1 -I/usr/include/hdf5/mpich "$TEST_SRC/tests/binaries/hdf5.c" -L"$libs" -lhdf5 -o prog ||
    fail 'the program does not compile'

for provider in shm tcp; do
    for n in 1 2 4; do
        check "$n ranks over datum-$provider" \
            env DATUM_PROVIDER=datum-$provider mpiexec -n $n ./prog x.h5
        cp check.out said
        check "$n ranks: no error" grep -qx '0 errors' said
    done
    check 'exchange of data' env DATUM_PROVIDER=datum-$provider mpiexec -n 3 ./prog x.h5 enable
    cp check.out said
    check 'exchange of data: no error' grep -qx '0 errors' said
done
if command -v h5dump >/dev/null; then
    check 'h5dump reads it' h5dump -d '/chunked columns collective' -s 71,179 -c 1,1 x.h5
    cp check.out said
    check 'the last value' grep -q 71186 said
    check 'h5dump reads what grew and is compressed' \
        h5dump -p -d '/deflated extended chunked rows collective' -s 71,179 -c 1,1 x.h5
    cp check.out said
    check 'it is compressed' grep -q 'COMPRESSION DEFLATE' said
    check 'its last value' grep -q 71186 said
fi
rm -f x.h5
totals
