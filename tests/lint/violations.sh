#!/bin/sh
# test: timeout=400 tier=full
# Every rule of the lint refuses what it should: a copy of the tree is accepted, and
# after each single violation it is refused, with the file and what to do.
. "$TEST_LIB"

mkdir tree
(cd "$TEST_SRC" && tar cf - --exclude=./build --exclude=./.git --exclude='./build-*' .) | tar xf - -C tree
cd tree || exit 1

lint() { scripts/check-layers . && scripts/lint-text .; }
check 'the copy as it is' lint

# violate NAME FILE PATTERN TEXT: append TEXT to FILE and see it refused with PATTERN.
violate() {
    is_new=no
    [ -f "$2" ] || { is_new=yes; mkdir -p "$(dirname "$2")"; : >"$2"; }
    cp "$2" ../saved
    printf '%s\n' "$4" >>"$2"
    check_fails "$1" "^$2:[0-9]*:.*$3" lint
    if [ $is_new = yes ]; then rm -f "$2"; else cp ../saved "$2"; fi
}

violate 'include upwards' src/util/err.c 'may not include layer core' '#include "mpi/core/core.h"'
violate 'include sideways' src/pmi/pmi.h 'may not include layer channel' '#include "channel/channel.h"'
violate 'channel includes MPI' src/channel/channel.h 'knows nothing of MPI' '#include "mpi.h"'
violate 'DAT above dapl_adapt' src/channel/channel.h 'may not include DAT' '#include <dat2/udat.h>'
violate 'DAT in util' src/util/err.c 'may not include DAT' '#include <dat2/udat.h>'
violate 'private header' src/channel/channel.h 'is private' '#include "dapl_adapt/conn.h"'
violate 'include by ..' src/channel/channel.h 'from src/' '#include "../util/err.h"'
violate 'unrooted include' src/util/err.c 'from src/' '#include "err.h"'
violate 'unknown folder' src/newlayer/x.c 'is in no layer' 'static int x;'
violate 'MPI test with inside' tests/mp/x.c 'may not include layer util' '#include "util/err.h"'
violate 'provider sees adapt' src/providers/common/obj.h 'may not include layer dapl_adapt' \
    '#include "dapl_adapt/dapl_adapt.h"'

violate '// comment' src/util/err.c '\[comment\]' 'static int x; // no'
violate 'getenv' src/util/err.c '\[getenv\]' 'static char *x(void) { return getenv("X"); }'
violate 'printf' src/util/err.c '\[printf\]' 'static void x(void) { printf("x"); }'
violate 'fprintf' src/channel/x.c '\[printf\]' 'static void x(void) { fprintf(stderr, "x"); }'
violate 'provider named' src/channel/x.c '\[provider\]' 'static const char *x = "datum-shm";'
violate 'OFED named' src/dapl_adapt/x.c '\[provider\]' 'static const char *x = "ofa-v2-ib0";'
violate '#ifdef' src/util/err.c '\[if\]' '#ifdef X'
violate '#if' src/channel/x.c '\[if\]' '#  if X'
violate '#elif' src/util/err.c '\[if\]' '#elif X'
violate 'guard' src/util/x.h '\[guard\]' '#ifndef UTIL_X_H'
violate 'note to do' src/util/err.c '\[todo\]' "/* TO""DO */"
violate 'MPI call inside' src/channel/x.c '\[mpi-call\]' 'static void x(void) { MPI_Barrier(0); }'

# No false alarms: the same words where they are allowed.
accept() {
    printf '%s\n' "$3" >"$2"
    check "$1" lint
    rm -f "$2"
}
accept 'in a comment' src/util/x.c '/* unlike getenv("X") or http://x, printf("") */'
accept 'in a string' src/util/x.c 'static const char *x = "// getenv() /* printf(";'
accept 'snprintf' src/util/x.c 'static void x(char *p) { snprintf(p, 1, "x"); }'
accept 'a guard' src/util/x.h '#ifndef DM_UTIL_X_H'
accept 'DAT in a provider' src/providers/common/x.c '#include <dat2/udat.h>'
accept 'downwards' src/channel/x.c '#include "dapl_adapt/dapl_adapt.h"'

# What objects show.
mkdir obj
compile() {
    mkdir -p "$(dirname "obj/$1")"
    printf '%s\n' "$2" | ${CC:-gcc} -c -x c -o "obj/$1" -
}
check_object() {
    compile "$2" "$4"
    check_fails "$1" "$3" scripts/check-symbols obj
    rm -f "obj/$2"
}
compile util/good.o 'int dm_util_x(void) { return 0; } static int x = 1; int *dm_util_y(void) { return &x; }'
compile util/good_state.o 'struct { int a; } dm_util_state;'
compile mpi/core/good.o 'struct { int a; } dm_world;'
check 'good objects' scripts/check-symbols obj
check_object 'a foreign prefix' util/x.o 'src/util/x.c: shows util_x' 'int util_x(void) { return 0; }'
check_object 'a global variable' util/x.o 'global variable dm_util_v' 'int dm_util_v = 1;'
check_object 'two of them' util/x.o 'a second global variable of its folder' 'struct { int a; } dm_x_state;'
check_object 'a variable of another folder' util/x.o 'belongs to src/mpi/core' 'int dm_handles;'
check_object 'an MPI call' mpi/x.o 'calls MPI_Barrier' 'int MPI_Barrier(int); int dm_x(void) { return MPI_Barrier(0); }'
check_object 'an MPI name' mpi/x.o 'defines MPI_X' 'int MPI_X(void) { return 0; }'

# The same in the objects of dapl_adapt: no call upwards.
mkdir -p src/dapl_adapt/provider src/dapl_adapt/conn
arrow() { # FILE TEXT
    printf '%s\n' "$2" >"src/dapl_adapt/$1.c"
    compile "dapl_adapt/$1.o" "$2"
}
if command -v python3 >/dev/null 2>&1; then
    arrow conn/x 'int dm_provider_x(void); int dm_conn_x(void) { return dm_provider_x(); }'
    arrow provider/x 'int dm_provider_x(void) { return 0; }'
    check 'a call downwards' scripts/call-arrows obj
    arrow provider/x 'int dm_conn_x(void); int dm_provider_x(void) { return dm_conn_x(); }'
    check_fails 'a call upwards' 'upwards: src/dapl_adapt/provider/x.c -> src/dapl_adapt/conn/x.c' scripts/call-arrows obj
    arrow provider/x 'int dm_provider_y(void); int dm_provider_x(void) { return dm_provider_y(); }'
    arrow provider/y 'int dm_provider_x(void); int dm_provider_y(void) { return dm_provider_x(); }'
    check_fails 'a circle' 'circle: src/dapl_adapt/provider/x.c src/dapl_adapt/provider/y.c' scripts/call-arrows obj
    rm -f src/dapl_adapt/*/[xy].c obj/dapl_adapt/*/[xy].o
fi

# How it reads. What the tree itself does with these rules tree.sh says.
refuse() { # NAME PATTERN RULE FILE TEXT
    [ ! -f "$4" ] || cp "$4" ../saved
    printf '%s\n' "$5" >>"$4"
    check_fails "$1" "$2" scripts/lint "$3"
    if [ -f ../saved ]; then mv ../saved "$4"; else rm -f "$4"; fi
}
rm -f ../saved
refuse 'a word of ours' '^src/util/err.c:[0-9]*: .err''ands. the field says' words src/util/err.c 'static int n_err''ands;'
refuse 'a word in a page' '^docs/TOOLS.md:[0-9]*: .err''and. the field says' words docs/TOOLS.md 'An err''and.'
text='static int doubled_here(void)
{
    return 0;
}'
echo "$text" >src/util/y.c
refuse 'a name of two functions' '^doubled_here: src/util/x.c src/util/y.c' statics src/util/x.c "$text"
rm src/util/y.c
refuse 'a big struct' '^src/util/x.h:1: ?struct dm_x : 31 members' structs src/util/x.h \
    "struct dm_x { $(seq -f 'int m%g;' -s ' ' 31) };"
refuse 'a long header' '^src/util/x.h: 251 lines' lengths src/util/x.h "$(seq -f 'extern int dm_x%g;' 251)"
if command -v python3 >/dev/null 2>&1; then
    for pair in 'shm ofi' 'tcp ofi' 'tcp shm'; do
        a=src/providers/${pair% *}/x.c b=src/providers/${pair#* }/x.c
        seq -f 'int dm_x%g = 1;' 160 >"$b"
        refuse "copies, $pair" "160 $a ~ $b" equal "$a" "$(seq -f 'int dm_x%g = 1;' 160)"
        rm "$b"
    done
fi
refuse 'print with a comparison' '^bench/y.awk:[0-9]*: .awk. print with > writes a file' awk bench/y.awk \
    "{ print \$1 ${more:=>} \$2 ? \"more\" : \"less\" }"
accept_awk() {
    echo '{ print ($1 > $2 ? "more" : "less"); print $1 ? 1 : 2 >"file"; printf "%s > ?", $1 }' >bench/x.awk
    scripts/lint awk
}
check 'comparisons in parentheses' accept_awk
rm bench/x.awk

# A page that names a function that is gone.
if [ -f docs/PATHS.md ]; then
    check 'docs/PATHS.md as it is' scripts/check-paths .
    cp docs/PATHS.md ../paths
    # shellcheck disable=SC2016
    echo 'then `dm_nowhere_to_be_found()` is called' >>docs/PATHS.md
    check_fails 'a function that is gone' 'dm_nowhere_to_be_found' scripts/check-paths .
    calls() { cp ../paths docs/PATHS.md; printf '```calls\n%s\n```\n' "$1" >>docs/PATHS.md; }
    calls 'dm_chan_progress  src/channel/progress.c
  dm_chan_rank  src/channel/start.c'
    check_fails 'a call that is not made' 'the body of dm_chan_progress does not name dm_chan_rank' scripts/check-paths .
    calls 'dm_chan_progress -> dm_chan_rank  src/channel/progress.c'
    check_fails 'a function of another file' 'dm_chan_rank is not defined in src/channel/progress.c' scripts/check-paths .
    calls 'dm_chan_progress  src/channel/progress.c
  * dm_chan_rank  src/channel/start.c'
    check_fails 'a pointer that is none' 'no pointer leads to it' scripts/check-paths .
    calls 'dm_chan_progress  src/channel/progress.c
      dm_chan_rank  src/channel/start.c'
    check_fails 'a line below nothing' 'not a line of calls' scripts/check-paths .
    cp ../paths docs/PATHS.md
fi

# Pages.
if [ -d docs ]; then
    check 'the pages as they are' scripts/lint-docs .
    # page NAME PATTERN TEXT: append TEXT to docs/TOOLS.md and see it refused with PATTERN.
    page() {
        cp docs/TOOLS.md ../saved
        printf '\n%s\n' "$3" >>docs/TOOLS.md
        check_fails "$1" "^docs/TOOLS.md:[0-9]*: \[docs\] .*$2" scripts/lint-docs .
        cp ../saved docs/TOOLS.md
    }
    page 'a wide page' 'columns; 110 are enough' "$(printf '%0111d' 0)"
    page 'a long page' 'lines; 250 are enough' "$(seq -f '- Line %g.' 250)"
    page 'long sentences' 'words in a sentence' "$(seq -s ' ' 4000 | fold -s -w 100)"
    page 'a page that is not there' 'docs/NOWHERE[.]md is not there' 'See docs/NOWHERE''.md.'
    for name in A B C D E F G H I J K L M; do echo '# One more' >docs/MORE_$name.txt; done
    check_fails 'too many pages' '^docs:1: \[docs\] [0-9]* pages; 13 are enough' scripts/lint-docs .
    rm -f docs/MORE_?.txt
fi

# Whole-file rules.
if command -v clang-format >/dev/null 2>&1; then
    printf 'int  x( void ){return 0 ;}\n' >src/util/x.c
    check_fails 'formatting' 'src/util/x.c.*not formatted' scripts/lint format
    rm -f src/util/x.c
fi
printf '#ifndef DM_UTIL_X_H\n#define DM_UTIL_X_H\nsize_t dm_util_x(void);\n#endif\n' >src/util/x.h
check_fails 'a header that needs another' 'src/util/x.h: does not compile alone' \
    scripts/check-headers "$DATUM_BUILD" .
rm -f src/util/x.h
if command -v cppcheck >/dev/null 2>&1; then
    printf 'int dm_x(void);\nint dm_x(void)\n{\n    int a[2] = {0, 0};\n    return a[2];\n}\n' >src/util/x.c
    check_fails 'cppcheck' 'src/util/x.c:5: error' scripts/lint -b "$DATUM_BUILD" -d ../work cppcheck
    rm -f src/util/x.c
fi
# Warnings are errors, with both compilers.
for cc in gcc clang; do
    command -v $cc >/dev/null 2>&1 || continue
    mkdir b-$cc
    (cd b-$cc && ../configure --enable-werror CC=$cc CFLAGS=-O0) >/dev/null
    check "$cc: no warning" make -C b-$cc obj/util/err.o
    cp src/util/err.c ../saved
    echo 'static int unused_here;' >>src/util/err.c
    check_fails "$cc: a warning" 'err.c.*unused_here' make -C b-$cc obj/util/err.o
    cp ../saved src/util/err.c
done
totals
