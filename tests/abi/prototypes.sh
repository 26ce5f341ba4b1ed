#!/bin/sh
# test: timeout=60
# Our prototypes after Debian's mpi.h: a type that differs is an error of the compiler.
. "$TEST_LIB"
theirs=$(ls /usr/include/*/mpich/mpi.h 2>/dev/null | head -n 1)
[ -n "$theirs" ] || skip "MPICH's mpi.h is not there (package libmpich-dev)"
theirs=${theirs%/mpi.h}
cc=${CC:-gcc}
need "$cc" gcc
proto=$DATUM_BUILD/gen/mpi_proto.h

agree() {
    printf '#include <mpi.h>\n#include "%s"\n' "$1" >agree.c
    $cc -w -I"$theirs" -c -o agree.o agree.c
}
check 'prototypes' agree "$proto"

# The comparison itself notices a difference.
sed 's/\(MPI_Send(const void \*buf, \)int count/\1long count/' "$proto" >wrong.h
check_fails 'a wrong prototype is seen' 'conflicting types for .MPI_Send' agree "$PWD/wrong.h"

# A function that MPICH 4.0 does not have would not have been compared: only those of MPI-4.1 are not.
sed -n 's/^\(MPI_[A-Za-z_0-9]*\) *| *[a-z0-9]* *| *4\.1 .*/\1 \1_c/p' "$TEST_SRC/src/api/api.tbl" | tr ' ' '\n' >latest
echo MPI_Status_set_elements_c >>latest
sed 's/^/P/' latest | cat - latest >latest.names
cat "$theirs/mpi_proto.h" "$theirs/mpio.h" | tr -c 'A-Za-z0-9_' '\n' | sort -u >theirs.names
sed -n 's/^[A-Za-z_]* \(P*MPI_[A-Za-z0-9_]*\)(.*/\1/p' "$proto" | sort -u >ours.names
[ "$(wc -l <ours.names)" -gt 400 ] || fail_one 'prototypes not found in mpi_proto.h'
check 'functions that MPICH has' sh -c '! comm -23 ours.names theirs.names | grep -vxFf latest.names'

# The header alone, in C and C++.
printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) + PMPI_Finalize(); }\n' >alone.c
check 'C' $cc -std=c99 -pedantic -Wall -Wextra -Werror -I"$DATUM_BUILD/gen" -I"$TEST_SRC/include" -c alone.c
if command -v g++ >/dev/null 2>&1; then
    cp alone.c alone.cc
    check 'C++' g++ -Wall -Wextra -Werror -I"$DATUM_BUILD/gen" -I"$TEST_SRC/include" -c alone.cc
else
    skip_one 'C++: g++ is not there (package g++)'
fi
totals
