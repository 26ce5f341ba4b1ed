#!/bin/sh
# test: timeout=30
# How far the library is from Debian's libmpich.so.12: lists what that exports and ours does not.
# Information only; it fails when it cannot count.
. "$TEST_LIB"
need nm binutils
theirs=$(ls /usr/lib/*/libmpich.so.12 2>/dev/null | head -n 1)
[ -n "$theirs" ] || skip 'libmpich.so.12 is not there (package libmpich12)'
exports() { nm -D --defined-only "$1" | awk '{ print $3 }' | grep -E '^(MPI|MPIX|MPII)_' | sort -u; }
exports "$theirs" >theirs
exports "$DATUM_BUILD/lib/libmpi.so.12" >ours
[ "$(wc -l <theirs)" -gt 400 ] || fail "no symbols found in $theirs"
comm -23 theirs ours
echo "$(comm -12 theirs ours | wc -l) of $(wc -l <theirs) MPI symbols of $theirs are exported"
