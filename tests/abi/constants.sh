#!/bin/sh
# test: timeout=60
# One program, compiled with Debian's mpi.h and with ours: every constant, size and offset
# must come out the same.
. "$TEST_LIB"
theirs=$(ls /usr/include/*/mpich/mpi.h 2>/dev/null | head -n 1)
[ -n "$theirs" ] || skip "MPICH's mpi.h is not there (package libmpich-dev)"
theirs=${theirs%/mpi.h}
cc=${CC:-gcc}
need "$cc" gcc

# Names of constants in a header: macros with a value, and enumerators.
names_in() {
    cat "$@" | sed -n \
        -e 's/^ *# *define  *\(MPIX\{0,1\}_[A-Za-z0-9_]*\)  *[^ ].*/\1/p' \
        -e 's/^ *# *define  *\(MPIR_ERRORS_[A-Z_]*\)  *[^ ].*/\1/p' \
        -e 's/^ *# *define  *\(MPICH_\(NAME\|VERSION\|NUMVERSION\|ERR_[A-Z_]*\|HAS_C2F\|RELEASE_[A-Z_]*\)\)  *[^ ].*/\1/p' \
        -e 's/^ *\(typedef enum [A-Za-z_]* { *\)\{0,1\}\(MPIX\{0,1\}_[A-Z0-9_]*\) *[=,].*/\2/p' \
        -e 's/^ *\(MPI_T_[A-Z0-9_]*\) *$/\1/p' |
        sed -e '/_DUP_FN$/d' -e '/_H$/d' | sort -u
}
# One per line, also from "{ A = 1, B = 2 }".
split_enums() { sed -e '/enum/s/[{,]/,\n/g' "$@"; }

split_enums "$theirs/mpi.h" "$theirs/mpio.h" >theirs.split
split_enums "$TEST_SRC/include/mpi.h" >ours.split
names_in theirs.split | grep -v '^MPI_SUBVERSION$' >theirs.names # we have MPI-4.1
names_in ours.split >ours.names
n=$(wc -l <theirs.names)
[ "$n" -gt 350 ] || fail "only $n constants found in $theirs/mpi.h: the search is broken"
types=$(cat "$theirs/mpi.h" | sed -n \
    -e 's/^typedef .*[ *(]\(MPI_[A-Z][A-Za-z0-9_]*\));*.*/\1/p' \
    -e 's/^typedef [^()]*[ *]\(MPI_[A-Z][A-Za-z0-9_]*\);.*/\1/p' \
    -e 's/^} *\(MPI_[A-Za-z0-9_]*\);.*/\1/p' | sort -u | grep -v '_function\(_c\)*$' | grep -v '_fn$')
[ "$(echo "$types" | wc -l)" -gt 18 ] || fail "types not found: $types"

{
    cat <<'END'
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <mpi.h>
static void show(const char *name, int is_text, intptr_t value)
{
    if (is_text)
        printf("%s \"%s\"\n", name, (const char *)value);
    else
        printf("%s 0x%llx\n", name, (unsigned long long)value);
}
#define SHOW(c) show(#c, _Generic((c), char *: 1, default: 0), (intptr_t)(c))
#define SIZE(t) printf("sizeof %s %zu align %zu\n", #t, sizeof(t), _Alignof(t))
#define SIGN(t) printf("signed %s %d\n", #t, (t)-1 < (t)0)
#define PLACE(t, m) printf("offsetof %s %s %zu size %zu\n", #t, #m, offsetof(t, m), sizeof(((t *)0)->m))
int main(void)
{
END
    sed 's/.*/    SHOW(&);/' theirs.names
    for t in $types; do echo "    SIZE($t);"; done
    for t in Aint Offset Count Fint Comm Datatype Group Op Request Win Info Errhandler Message; do
        echo "    SIGN(MPI_$t);"
    done
    for m in count_lo count_hi_and_cancelled MPI_SOURCE MPI_TAG MPI_ERROR; do
        echo "    PLACE(MPI_Status, $m);"
        echo "    PLACE(MPI_F08_status, $m);"
    done
    echo '    return 0;'
    echo '}'
} >probe.c

$cc -w -I"$theirs" -o probe.theirs probe.c >cc.out 2>&1 ||
    { head -n 20 cc.out; fail "the probe does not compile with Debian's mpi.h"; }
$cc -w "-I$DATUM_BUILD/gen" "-I$TEST_SRC/include" -o probe.ours probe.c >cc.out 2>&1 ||
    { grep error cc.out | head -n 30; fail 'the probe does not compile with our mpi.h: constants are missing'; }
./probe.theirs >theirs.out || fail 'the probe does not run'
./probe.ours >ours.out || fail 'the probe does not run'
[ "$(wc -l <theirs.out)" -gt 400 ] || fail 'the probe says too little'

check 'values, sizes and offsets' diff theirs.out ours.out
# What we define beyond MPICH 4.0 needs a reason to be here: these are of MPI-4.1.
printf '%s\n' MPI_BUFFER_AUTOMATIC MPI_COMBINER_VALUE_INDEX MPI_COMM_TYPE_RESOURCE_GUIDED MPI_ERR_ERRHANDLER MPI_SUBVERSION \
    MPI_T_ERR_NOT_ACCESSIBLE | sort - theirs.names >known.names
check 'no constants of our own' sh -c '! comm -13 known.names ours.names | grep .'
# The comparison itself notices a difference.
sed 's/0x4c000405/0x4c000406/' ours.out >wrong.out
check_fails 'a wrong value is seen' 'MPI_INT ' diff theirs.out wrong.out
echo "$(wc -l <theirs.out) values compared"
totals
