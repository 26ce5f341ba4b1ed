#!/bin/sh
# test: timeout=240
# What comes with an installation: a pkg-config file, a CMake package, an environment module, completion, man
# pages, pages that messages name, the static library; and "make dist".
. "$TEST_LIB"
unset DAT_OVERRIDE LD_LIBRARY_PATH MAKEFLAGS MAKELEVEL
PATH=$(echo "$PATH" | sed "s|^$DATUM_BUILD/bin:||")
version=$("$TEST_SRC/configure" --version | sed 's/datum //')
# Each in a place of its own, below DESTDIR.
check 'install' make -C "$DATUM_BUILD" --no-print-directory install "DESTDIR=$PWD/stage" 'prefix=/opt/x' \
    'libdir=${prefix}/lib/deep' sysconfdir=/conf 'includedir=${prefix}/inc' bindir=/b mandir=/m docdir=/d datadir=/s
for f in b/mpicc conf/dat.conf opt/x/inc/mpi.h opt/x/lib/deep/cmake/Datum/DatumConfig.cmake m/man7/datum-settings.7 \
    d/TUNING.md s/datum-bench/bench.c; do
    check "$f" test -s "stage/$f"
done
check 'nothing elsewhere' test "$(ls stage)" = 'b
conf
d
m
opt
s'
check 'nothing names the stage' sh -c '! grep -rlI "$1" stage' - "$PWD/stage"
check 'names below a prefix' grep -qx 'includedir=${prefix}/inc' stage/opt/x/lib/deep/pkgconfig/datum.pc
check 'ways between them' grep -q '"${_datum_libdir}/../../inc"' stage/opt/x/lib/deep/cmake/Datum/DatumConfig.cmake
check 'the compiler knows them' grep -q "^libdir='/opt/x/lib/deep'" stage/b/mpicc
cat >hello.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf("hello\n");
    return MPI_Finalize();
}
END

# An installation that is where it says.
place=$PWD/x
set -- "prefix=$place"
check 'install in another directory' make -C "$DATUM_BUILD" --no-print-directory install "$@"
check 'mpicc' sh -c '"$1/bin/mpicc" -o hello hello.c && ./hello' - "$place"
check 'mpiexec' says hello "$place/bin/mpiexec" -n 2 ./hello

if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH="$place/lib/pkgconfig"
    check 'pkg-config' sh -c 'gcc -o hello2 hello.c $(pkg-config --cflags --libs datum) && ./hello2'
    check 'its version' test "$(pkg-config --modversion datum)" = "$version"
    check 'its prefix can be moved' sh -c 'pkg-config --define-variable=prefix=/else --libs datum | grep /else/lib'
else
    skip_one 'pkg-config is not there (package pkg-config)'
fi
if command -v cmake >/dev/null; then
    mkdir cm
    cat >cm/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(hello C)
find_package(Datum 0.1 REQUIRED)
add_executable(hello ../hello.c)
target_link_libraries(hello Datum::mpi)
find_package(MPI REQUIRED COMPONENTS C)
message(STATUS "MPI: ${MPI_C_COMPILER} ${MPIEXEC_EXECUTABLE}")
END
    check 'CMake' says "MPI: $place/bin/mpicc $place/bin/mpiexec" cmake -S cm -B cm/b -DCMAKE_PREFIX_PATH="$place"
    check 'its program' sh -c 'cmake --build cm/b && cm/b/hello'
    sed -i 's/Datum 0.1 /Datum 99 /' cm/CMakeLists.txt
    check_fails 'a version that is not there' 'version' cmake -S cm -B cm/b2 -DCMAKE_PREFIX_PATH="$place"
    rm -rf cm
else
    skip_one 'cmake is not there (package cmake)'
fi

# Environment Modules' file is a program in Tcl.
module=$place/share/modulefiles/datum/$version
check 'the module' sh -c 'head -n 1 "$1" | grep "^#%Module"' - "$module"
if command -v tclsh >/dev/null; then
    cat >module.tcl <<'END'
foreach name {module-whatis conflict} { proc $name args {} }
proc prepend-path {name value} { puts "$name $value" }
proc setenv {name value} { puts "$name $value" }
source [lindex $argv 0]
ModulesHelp
END
    check 'the module runs' says "^PATH $place/bin" tclsh module.tcl "$module"
    check 'its libraries' grep -q "^LD_LIBRARY_PATH $place/lib" said
else
    skip_one 'tclsh is not there (package tcl)'
fi

# Completion without bash-completion: the file stands alone.
cat >complete.sh <<'END'
set -u
. "$1/share/bash-completion/completions/datum-info"
PATH=$1/bin:$PATH
try() { # WANTED COMMAND CURRENT BEFORE
    _datum "$2" "$3" "$4"
    [[ " ${COMPREPLY[*]} " == *" $1 "* ]] || { echo "$2 $4 $3: no $1 in: ${COMPREPLY[*]}"; exit 1; }
}
try --providers datum-info --pro datum-info
try -hosts mpiexec -h mpiexec
try -bind-to mpiexec - mpiexec
try DATUM_PROVIDER mpiexec DATUM_P -genv
try datum-shm datum-check datum- datum-check
try latency datum-check la --only
try -show mpicc -s mpicc
# Programs and files: each once, a name with blanks as one, for readline to quote.
compopt() { asked=$*; }
only() { # WANTED COMMAND CURRENT BEFORE
    asked=
    _datum "$2" "$3" "$4"
    [ "$asked" = '-o filenames' ] || { echo "$2 $4 $3: not quoted"; exit 1; }
    [ "${#COMPREPLY[@]}" = 1 ] && [ "${COMPREPLY[0]}" = "$1" ] || { echo "$2 $4 $3: not only $1: ${COMPREPLY[*]}"; exit 1; }
}
mkdir -p one two words
for file in one/dm_prog two/dm_prog 'words/hel lo'; do
    printf '#!/bin/sh\n' >"$file"
    chmod +x "$file"
done
PATH=$PWD/one:$PWD/two:$PATH
only dm_prog mpiexec dm_pro mpiexec
only 'words/hel lo' mpiexec words/hel mpiexec
only 'words/hel lo' mpiexec 'words/hel\ l' mpiexec
only 'words/hel lo' mpiexec '"words/hel l' mpiexec
only 'words/hel lo' mpiexec words/h -f
only words mpiexec wor -wdir
only 'words/hel lo' mpicc words/ mpicc
complete -p mpiexec | grep -q _datum
END
check 'completion' bash complete.sh "$place"
check 'for each program' sh -c 'for f in "$1"/bin/*; do test -e "$1/share/bash-completion/completions/${f##*/}" || exit 1; done' - "$place"

# A man page for each program, without a warning; settings and options are all there.
for f in "$place"/bin/*; do
    check "man page of ${f##*/}" test -s "$place/share/man/man1/${f##*/}.1"
done
if command -v man >/dev/null; then
    for f in "$place"/share/man/man?/*; do
        [ "$(head -c 3 "$f")" != .so ] || continue
        check "${f##*/} without warnings" sh -c 'out=$(MANROFFSEQ= man --warnings -E UTF-8 -l "$1" 2>&1 >/dev/null) && test -z "$out" || { echo "$out"; exit 1; }' - "$f"
    done
fi
if command -v mandoc >/dev/null; then
    check 'mandoc has no warnings' sh -c 'mandoc -T lint -W warning "$1"/share/man/man?/[dm]*.?' - "$place"
fi
check 'each setting' sh -c '"$1/bin/datum-info" --settings | grep -o "^ *DATUM_[A-Z_0-9]*" | while read -r s; do
    grep -q "$s" "$1/share/man/man7/datum-settings.7" || { echo "$s"; exit 1; }; done' - "$place"
check 'each option' sh -c 'for p in mpiexec datum-info datum-check datum-bench; do
    "$1/bin/$p" --help | grep -o "^  --*[a-z-]*" | while read -r o; do
        sed "s/\\\\-/-/g" "$1/share/man/man1/$p.1" | grep -q -e "$o" || { echo "$p $o"; exit 1; }; done || exit 1; done' - "$place"

# It says where it is, not where configure wanted it.
check 'its prefix' says "^ *prefix +$place$" "$place/bin/datum-info" --build
check 'its libraries' grep -qx " *libraries  *$place/lib" said
check 'the same as JSON' says "\"prefix\": \"$place\",.*\"libraries\": \"$place/lib\"" "$place/bin/datum-info" --build --json
mkdir m && cp -r "$place" m/oved
check 'it was moved' says "^ *prefix +$PWD/m/oved$" m/oved/bin/datum-info --build
rm -r m/oved/lib
check 'without libraries: as configured' says "^ *prefix +$(sed -n 's/#define DM_PREFIX *"\(.*\)"/\1/p' "$DATUM_BUILD/config.h")$" m/oved/bin/datum-info --build
check 'of a build' says "^ *libraries +$DATUM_BUILD/lib$" "$DATUM_BUILD/bin/datum-info" --build
rm -r m

# Messages name pages where "prefix=" has put them, not where configure said.
docdir=$(sed -n 's/#define DM_DOCDIR *"\(.*\)"/\1/p' "$DATUM_BUILD/config.h")
for command in 'datum-info --settings' 'datum-info --markdown' 'datum-info --coll-table' 'datum-check --help'; do
    check "$command" says "$place/share/doc/datum/[A-Z]*.md" "$place/bin/"$command
    check "$command names no other place" sh -c '! sed "s|$1||g" said | grep "$2/"' - "$place/share/doc/datum" "$docdir"
    for page in $(grep -o "$place/share/doc/datum/[A-Z]*\.md" said | sort -u); do
        check "$page" test -s "$page"
    done
done
# Variables of MPI_T, which the library itself describes.
cat >cvars.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    char name[100], text[1000];
    int n = 0, level, bind, scope, provided;
    MPI_Datatype datatype;
    MPI_T_enum set;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&n);
    for (int i = 0; i < n; i++) {
        int name_len = sizeof(name), len = sizeof(text);
        MPI_T_cvar_get_info(i, name, &name_len, &level, &datatype, &set, text, &len, &bind, &scope);
        printf("%s %s\n", name, text);
    }
    return MPI_T_finalize();
}
END
check 'variables' sh -c '"$1/bin/mpicc" -o cvars cvars.c' - "$place"
check 'they name pages' says "$place/share/doc/datum/[A-Z]*.md" ./cvars
check 'variables name no other place' sh -c '! sed "s|$1||g" said | grep "$2/"' - "$place/share/doc/datum" "$docdir"
# Man pages do so, too.
check 'man pages name them' grep -q "$place/share/doc/datum" "$place/share/man/man1/mpicc.1" "$place/share/man/man7/datum-settings.7"
for f in "$place"/share/man/man?/*; do
    check "${f##*/} names no other place" sh -c '! sed "s|$1||g" "$2" | grep /share/doc/datum' - "$place/share/doc/datum" "$f"
done
check 'the license' cmp "$TEST_SRC/LICENSE" "$place/share/doc/datum/LICENSE"

# The static library.
if [ -e "$place/lib/libmpi.a" ]; then
    check 'libmpi.a' sh -c '"$1/bin/mpicc" -static-mpi -o hello3 hello.c && ! ldd hello3 | grep libmpi' - "$place"
    check 'two processes' says hello "$place/bin/mpiexec" -n 2 ./hello3
    check 'exports MPI alone' sh -c '! nm -g --defined-only "$1/lib/libmpi.a" | grep " [A-Z] " | grep -v " P\{0,1\}MPI\|mpi_f08\|MPID_"' - "$place"
    if [ -e "$place/lib/libdatum_mpifort.a" ]; then
        printf "use mpi\ncall MPI_INIT(i)\nprint *, 'hello'\ncall MPI_FINALIZE(i)\nend\n" >hello.f90
        check 'in Fortran' sh -c '"$1/bin/mpifort" -static-mpi -o hello4 hello.f90 && ! ldd hello4 | grep libmpi' - "$place"
        check 'two processes in Fortran' says hello "$place/bin/mpiexec" -n 2 ./hello4
    fi
else
    check_fails 'no libmpi.a' 'configure --enable-static' "$place/bin/mpicc" -static-mpi hello.c
fi
check 'uninstall' make -C "$DATUM_BUILD" uninstall "$@"
check 'nothing is left' test -z "$(find "$place" ! -type d)"

# The sources as a file: they can be configured, and know what they are.
check 'dist' make -C "$DATUM_BUILD" dist
mv "$DATUM_BUILD/datum-$version.tar.gz" . && tar xzf "datum-$version.tar.gz"
check 'its version' says "datum $version" "datum-$version/configure" --version
check 'no products in it' sh -c '! find "$1" -name "*.o" -o -name config.h | grep .' - "datum-$version"
mkdir "datum-$version/out" && cd "datum-$version/out" || exit 1
check 'it can be configured' ../configure CFLAGS=-O0
check 'it can be built' make objs-util obj/provider_shm.a
# Without git, and with this build inside.
check 'dist again' make dist
check 'it says nothing but that' test "$(sed 's/ *DIST *//' check.out)" = "datum-$version.tar.gz"
check 'the same files' sh -c 'tar tzf "../../$1" >a && tar tzf "$1" >b && diff a b' - "datum-$version.tar.gz"
cd ../.. && rm -rf stage "datum-$version"*
# The version is in one place; Debian's changelog and mpi.h must repeat it.
check 'Debian has the same' sh -c 'head -n 1 "$1/packaging/debian/changelog" | grep "^datum ($2-"' - "$TEST_SRC" "$version"
check 'so has mpi.h' grep -qx "#define DATUM_VERSION \"$version\"" "$TEST_SRC/include/mpi.h"
check 'so has CHANGELOG' grep -q "^$version (20" "$TEST_SRC/CHANGELOG"
totals
