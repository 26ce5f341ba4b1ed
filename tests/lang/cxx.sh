#!/bin/sh
# test: timeout=120
# C++: with the C interface alone, and with the distribution's bindings on top of our library.
. "$TEST_LIB"
need g++ g++
here=$TEST_SRC/tests/lang

runs() { mpiexec -n "$1" "./$2" >out 2>&1 && grep -q 'all well' out || { cat out; return 1; }; }

cat >plain.cc <<'END'
#include <mpi.h>
#include <cstdio>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        std::puts("all well");
    return MPI_Finalize();
}
END
check 'C in C++' mpicxx -DMPICH_SKIP_MPICXX -Wall -Wextra -Werror -o plain plain.cc
check 'C in C++ runs' runs 2 plain
check 'it does not need the bindings' sh -c '! readelf -d plain | grep libmpichcxx'

# What the bindings need must be there first.
cxx=$(ls /usr/lib/*/libmpichcxx.so.12 2>/dev/null | head -n 1)
if [ -z "$cxx" ]; then
    skip_one 'libmpichcxx.so.12 is not there (package libmpich12)'
    totals
fi
nm -D --defined-only "$DATUM_BUILD/lib/libmpi.so.12" | awk '{ print $3 }' | sort -u >have
nm -D --undefined-only "$cxx" | awk '$2 ~ /^MPI/ { print $2 }' | sort -u | comm -23 - have >lacks
if [ -s lacks ]; then
    skip_one "the bindings: not in our library yet: $(wc -l <lacks) functions, as $(head -n 1 lacks)"
    totals
fi
check 'bindings compile' mpicxx -o cxx "$here/cxx.cc"
for n in 1 2 3; do check "bindings on $n ranks" runs $n cxx; done
check 'spawning by the bindings compiles' mpicxx -o spawn "$here/spawn.cc"
for n in 1 2; do check "spawning by the bindings on $n ranks" runs $n spawn; done
check 'without mpiexec' env -u LD_LIBRARY_PATH ./cxx
totals
