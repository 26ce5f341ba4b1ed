#!/bin/sh
# test: timeout=120
# The library exports what the table says, no more and no less, and a program that
# calls every function compiles, links and starts.
. "$TEST_LIB"
lib=$DATUM_BUILD/lib/libmpi.so.12
need nm binutils
cc=${CC:-gcc}
need "$cc" gcc
api=$TEST_SRC/src/api
gen() { awk -f "$api/tables.awk" -f "$api/gen.awk" -v make="$1" "$api/kinds.tbl" "$api/api.tbl"; }

gen names | sort -u >want
nm -D --defined-only "$lib" | awk '{ print $3 }' | grep -v -x -e _init -e _fini | sort -u >have
[ "$(wc -l <want)" -gt 400 ] || fail 'the table gives too few names'
check 'exports' diff want have

# MPI_X must be replaceable by a profiling library, PMPI_X must not.
nm -D --defined-only "$lib" | awk '$2 == "W" && $3 ~ /^PMPI/ || $2 == "T" && $3 ~ /^MPI_/' >wrong
check 'MPI_ weak, PMPI_ strong' sh -c '! grep . wrong'

gen calls >calls.c
check 'one call of each compiles and links' $cc -w -I"$DATUM_BUILD/gen" -I"$TEST_SRC/include" \
    -o calls calls.c -L"$DATUM_BUILD/lib" -lmpi
check 'and starts' ./calls

# Debian's programs and bindings must find what they need once it is there.
for f in /usr/bin/NPmpich2; do
    [ -x "$f" ] || continue
    nm -D --undefined-only "$f" | awk '$2 ~ /^MPI/ { print $2 }' | sort -u >needs
    check "symbols of $f" sh -c '! comm -23 needs have | grep .'
done
totals
