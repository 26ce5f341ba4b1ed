#!/bin/bash
# test: timeout=400
# Few files may be open (ulimit -n): Hydra, which has some for each rank, raises its own limit, and
# ranks theirs when they may; a job that is short of them ends with a message that names the limit.
. "$TEST_LIB"

cat >prog.c <<'EOF'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < size; i++)
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + i) % size, 0, &sum, 1, MPI_INT,
                     (rank + size - i) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return sum != (rank + 1) % size;
}
EOF
mpicc -o prog prog.c || fail 'mpicc does not build a program'

# The ranks see the limit that the user has set, not Hydra's.
(ulimit -S -n 200 && timeout 60 mpiexec -n 64 sh -c 'ulimit -S -n') >out 2>err ||
    { cat err; fail '64 processes with 200 descriptors do not start'; }
[ "$(sort -u out)" = 200 ] && [ "$(wc -l <out)" = 64 ] || { cat out; fail 'the ranks have another limit'; }
pass_one

# Nor Hydra's files.
timeout 60 mpiexec -n 32 sh -c 'ls /proc/$$/fd | wc -l' >out 2>err || fail '32 processes do not start'
[ "$(sort -n out | tail -n 1)" -lt 40 ] || { cat out; fail 'later ranks inherit the files of earlier ones'; }
pass_one

for provider in datum-shm datum-tcp; do
    worked=no refused=no
    (ulimit -S -n 120 && DATUM_PROVIDER=$provider timeout -k 5 100 mpiexec -n 40 ./prog) >out 2>&1 ||
        { cat out; fail "$provider: 40 processes with 120 descriptors, more if they want"; }
    pass_one
    for n in 7 9 11 12 14 17 20 22 24 27 30 36 40 48 56 64 80; do
        DATUM_TIMEOUT=5s DATUM_PROVIDER=$provider timeout -k 5 60 mpiexec -n 8 \
            sh -c "ulimit -n $n; exec ./prog" >out 2>&1
        status=$?
        if [ $status = 0 ]; then
            worked=yes
        elif [ $status -ge 124 ] && [ $status != 255 ]; then
            cat out
            fail "$provider with $n descriptors: status $status"
        elif grep -q 'ulimit -n' out; then
            refused=yes
        else
            cat out
            fail "$provider with $n descriptors: the message does not name the limit"
        fi
        pass_one
    done
    [ $worked$refused = yesyes ] || fail "$provider: worked: $worked, refused: $refused"
done
totals
