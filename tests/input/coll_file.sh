#!/bin/sh
# test: timeout=120
# The file of DATUM_COLL_FILE: what it may say, who wins, what is refused and how.
. "$TEST_LIB"
export DATUM_COLL_SHM=no # by messages all calls of a communicator are alike

cat >prog.c <<'EOF'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int buf[3000] = {0}, out[3000], rank, size, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 10; n <= 3000; n *= 300) {
        for (int i = 0; i < n; i++)
            buf[i] = i + rank;
        MPI_Allreduce(buf, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            bad += out[i] != size * i + size * (size - 1) / 2;
        MPI_Bcast(buf, n, MPI_INT, size - 1, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            bad += buf[i] != i + size - 1;
    }
    MPI_Finalize();
    return bad != 0;
}
EOF
mpicc -o prog prog.c || fail "prog.c does not compile"

# job N FILE: an explained run; takes N WORDS: did this row and algorithm come?
job() {
    DATUM_EXPLAIN=1 DATUM_COLL_FILE=$2 timeout 20 mpiexec -n "$1" ./prog >out 2>&1
}
takes() { # PATTERN
    grep -Eq "$1" out || { cat out; return 1; }
}

datum-info --coll-table >own.coll
# 4 ranks on fewer cores take another one.
long=binomial
[ "$(nproc)" -ge 4 ] || long=linear
check 'the table of datum-info is a file' job 4 own.coll
check 'and is taken' takes 'allreduce of 40 bytes, 4 ranks: doubling \(own.coll:[0-9]+\)'
check 'without a file' job 4 ''
check 'the built-in table' takes 'allreduce of 40 bytes, 4 ranks: doubling \(built in\)'

cat >mine.coll <<'EOF'
# a comment, and an empty line

format 1
	allreduce  halving bytes=1k-   ranks=2-8 # why
bcast scatter ranks=3
bcast scatter several-nodes
bcast binomial bytes=40 one-node pow2
EOF
check 'rows' job 4 mine.coll
check 'bytes above' takes 'allreduce of 12000 bytes, 4 ranks: halving \(mine.coll:4\)'
check 'bytes below fall through' takes 'allreduce of 40 bytes, 4 ranks: doubling \(built in\)'
check 'exact bytes, one node, 2^n ranks' takes 'bcast of 40 bytes, 4 ranks: binomial \(mine.coll:7\)'
check 'other bytes fall through' takes "bcast of 12000 bytes, 4 ranks: $long \\(built in\\)"
check 'exact ranks' job 3 mine.coll
check 'exact ranks are taken' takes 'bcast of 40 bytes, 3 ranks: scatter \(mine.coll:5\)'
echo 'allgather doubling' >needs.coll
check 'a row that cannot do the job' job 3 needs.coll
check 'falls through' sh -c '! grep -q "needs.coll:1" out'

printf 'format 1\nallreduce tree oversubscribed\n' >over.coll
first=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
on_one() {
    DATUM_EXPLAIN=1 DATUM_COLL_FILE=over.coll timeout 20 taskset -c "$first" mpiexec -n 2 ./prog >out 2>&1
}
check 'two ranks on one core' on_one
check 'oversubscribed' takes 'allreduce of 40 bytes, 2 ranks: tree \(over.coll:2\)'
if [ "$(nproc)" -ge 2 ]; then
    check 'a core for each' job 2 over.coll
    check 'falls through, too' sh -c '! grep -q "over.coll:2" out'
fi

both() {
    DATUM_EXPLAIN=1 DATUM_COLL=bcast=binomial,bcast=scatter DATUM_COLL_FILE=mine.coll \
        timeout 20 mpiexec -n 4 ./prog >out 2>&1
}
check 'DATUM_COLL and a file' both
check 'DATUM_COLL wins' takes 'bcast of 40 bytes, 4 ranks: scatter \(DATUM_COLL\)'
check 'the file stays for the rest' takes 'halving \(mine.coll:4\)'

bad() { # PATTERN LINE
    printf 'format 1\n%s\n' "$2" >bad.coll
    check_fails "$2" "bad.coll:2: $1" job 2 bad.coll
}
# check_fails looks at the output of its command
job() {
    DATUM_COLL_FILE=$2 timeout 20 mpiexec -n "$1" ./prog
}
bad 'there is no collective "bcats"; there are: barrier bcast gather' 'bcats binomial'
bad 'there is no bcast "fast"; there are: shm nodes binomial scatter linear' 'bcast fast'
bad 'there is no bcast ""' 'bcast'
bad 'what is "rank=3"\? A row may have ranks= bytes= commutes pow2' 'bcast binomial rank=3'
bad 'ranks=8-2: the first number is the larger one' 'bcast binomial ranks=8-2'
bad 'ranks=a-2 is no range' 'bcast binomial ranks=a-2'
bad 'bytes=1x is no range' 'bcast binomial bytes=1x'
bad 'bytes=- is no range' 'bcast binomial bytes=-'
bad 'bytes= is no range' 'bcast binomial bytes='
bad 'bytes=1-2-3 is no range' 'bcast binomial bytes=1-2-3'
bad 'the format "2" is not known here' 'format 2'
check_fails 'no such file' 'cannot open /no/such: No such file' job 2 /no/such
check_fails 'a directory' 'cannot read .*directory' job 2 /tmp

differ() {
    timeout 20 mpiexec -n 1 -env DATUM_COLL_FILE mine.coll ./prog : -n 1 ./prog
}
check_fails 'ranks that differ' 'choose different algorithms of collectives' differ
cp mine.coll other.coll && echo '# another comment' >>other.coll
same() {
    timeout 20 mpiexec -n 1 -env DATUM_COLL_FILE mine.coll ./prog : \
        -n 1 -env DATUM_COLL_FILE other.coll ./prog
}
check 'the same rows in two files' same
totals
