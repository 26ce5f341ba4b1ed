#!/bin/sh
# test: timeout=120
# make install into another place, whose name has a blank: its commands work from there, an edited
# dat.conf survives, and uninstall leaves nothing else.
. "$TEST_LIB"
unset DAT_OVERRIDE LD_LIBRARY_PATH MAKEFLAGS MAKELEVEL
place="$PWD/da tum"
PATH=$(echo "$PATH" | sed "s|^$DATUM_BUILD/bin:||")
make_in() { make -C "$DATUM_BUILD" --no-print-directory "$@" "prefix=$place" "libdir=$place/lib"; }

check 'install' make_in install
for f in bin/mpiexec bin/mpirun bin/mpicc bin/mpicxx bin/mpifort bin/mpif77 bin/mpif90 bin/datum-info bin/datum-check bin/datum-bench bin/datum-compare share/datum-bench/bench.c lib/libmpi.so.12 lib/libmpich.so.12 \
    lib/libmpi.so lib/libdatum_dapl_shm.so include/mpi.h etc/dat.conf; do
    check "$f" test -e "$place/$f"
done
if [ -e "$DATUM_BUILD/lib/libdatum_mpifort.so.0" ]; then
    printf 'use mpi_f08\ncall MPI_Init()\ncall MPI_Barrier(MPI_COMM_WORLD)\ncall MPI_Finalize()\nend\n' >hello.f90
    check 'mpifort' "$place/bin/mpifort" -o hellof hello.f90
    check 'in Fortran' "$place/bin/mpiexec" -n 2 ./hellof
    check 'it is the installed Fortran library' sh -c 'ldd hellof | grep "libdatum_mpifort.so.0 => $1/lib/"' - "$place"
fi
cat >hello.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("hello %d of %d\n", rank, size);
    MPI_Finalize();
    return 0;
}
END
check 'mpicc' "$place/bin/mpicc" -Wall -Werror -o hello hello.c
check 'the shell takes what mpicc -show prints' sh -c 'eval "$("$1" -show -o hello3 hello.c)" && ./hello3' - "$place/bin/mpicc"
if command -v pkg-config >/dev/null; then
    check 'and what pkg-config prints' env PKG_CONFIG_PATH="$place/lib/pkgconfig" sh -c \
        'eval "gcc -o hello4 hello.c $(pkg-config --cflags --libs datum)" && ./hello4'
fi
check 'mpicc -c and link' sh -c '"$1" -c -o hello.o hello.c && "$1" -o hello2 hello.o' - "$place/bin/mpicc"
check 'mpiexec' sh -c '"$1" -n 2 ./hello >out && test "$(grep -c "of 2" out)" = 2' - "$place/bin/mpiexec"
check 'mpirun' sh -c '"$1" -n 2 ./hello2 >out && test "$(grep -c "of 2" out)" = 2' - "$place/bin/mpirun"
check 'without mpiexec' sh -c './hello | grep "hello 0 of 1"'
check 'it is the installed library' sh -c 'ldd hello | grep "libmpi.so.12 => $1/lib/"' - "$place"
check 'datum-info' "$place/bin/datum-info"
check 'datum-check' "$place/bin/datum-check" --only open,late datum-shm
if [ -e "$place/lib/libdatum_dapl_ofi.so" ]; then
    # two libraries of libfabric's sleep 0.1 s each when they are loaded: not the real ones
    check 'no clocks are measured' sh -c \
        'ldd "$1/lib/libdatum_dapl_ofi.so" >out && grep libfabric out && ! grep libpsm out | grep -v "$1/lib/no-psm"' - "$place"
fi
echo '# edited' >>"$place/etc/dat.conf"
check 'install again' make_in install
check 'an edited dat.conf stays' grep -q '# edited' "$place/etc/dat.conf"
check 'uninstall' make_in uninstall
check 'only it is left' test "$(cd "$place" && find . ! -type d)" = ./etc/dat.conf
mkdir staged
check 'DESTDIR' make -C "$DATUM_BUILD" install "DESTDIR=$PWD/staged" prefix=/opt/x libdir=/opt/x/lib64
check 'in its place' test -e staged/opt/x/lib64/libmpich.so.12
check 'without it in the files' sh -c '! grep -r staged staged/opt/x/etc'
totals
