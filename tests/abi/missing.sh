#!/bin/sh
# test: timeout=60
# What Debian's libmpich.so.12 exports and what its Fortran and C++ libraries import must be exported
# by ours. Names that are MPICH's own business are told by a pattern.
. "$TEST_LIB"
need nm binutils
theirs=$(ls /usr/lib/*/libmpich.so.12 2>/dev/null | head -n 1)
[ -n "$theirs" ] || skip 'libmpich.so.12 is not there (package libmpich12)'
dir=${theirs%/*}
api=$TEST_SRC/src/api

exports() { nm -D --defined-only "$1" | awk '{ print $3 }' | sed 's/@.*//' | grep -E '^P?MPI[XI]?_'; }
imports() { nm -D --undefined-only "$1" | awk '{ print $2 }' | sed 's/@.*//' | grep -E '^P?MPI[A-Z]*_'; }

# The texts that mpichversion prints.
private='^MPII_Version_'
{
    exports "$theirs"
    for f in "$dir/libmpichfort.so.12" "$dir/libmpichcxx.so.12"; do
        [ ! -e "$f" ] || imports "$f"
    done
} | grep -vE "$private" | sort -u >want
nm -D --defined-only "$DATUM_BUILD/lib/libmpi.so.12" | awk '{ print $3 }' | sort -u >have
[ "$(wc -l <want)" -gt 900 ] || fail "only $(wc -l <want) symbols found in $theirs"

comm -23 want have >missing
check 'nothing is missing' sh -c '! grep . missing'

# What is there in name only is told by the table.
awk -f "$api/tables.awk" -f "$api/gen.awk" -v make=unsupported "$api/kinds.tbl" "$api/api.tbl" | sort >unsupported
check 'what is not supported is exported' sh -c '! comm -23 unsupported have | grep .'
sed -n '/^## What is not supported/,/^## [^W]/p' "$TEST_SRC/docs/TROUBLESHOOTING.md" | tr -c 'A-Za-z_' '\n' |
    grep '^MPI' | sort -u >told
sed 's/MPI_File_.*/MPI_File_/; s/_c$//' unsupported | sort -u >short
check 'docs/TROUBLESHOOTING.md tells all of it' sh -c '! comm -23 short told | grep .'

echo "$(comm -12 want have | wc -l) of $(wc -l <want) names are exported;" \
    "$(wc -l <unsupported) functions are not supported yet"
totals
