#!/bin/sh
# test: timeout=60
# A program of our mpicc needs libmpi.so.12, Debian's Fortran library needs libmpich.so.12:
# the process must have one MPI library, ours.
. "$TEST_LIB"
need gcc gcc
fort=''
for f in /usr/lib/*/libmpichfort.so.12; do
    [ ! -e "$f" ] || fort=$f
done
[ -n "$fort" ] || skip 'libmpichfort.so.12 is not there (package libmpich12)'

cat >two.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char line[1000], seen[10000] = "";
    FILE *maps;
    int n = 0;

    MPI_Init(&argc, &argv);
    maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        char *path = strchr(line, '/');
        if (path == NULL || strstr(path, "/libmpi") == NULL || strstr(seen, path) != NULL)
            continue;
        strcat(seen, path);
        n++;
    }
    fputs(seen, stdout);
    MPI_Finalize();
    return n != 2; /* the library and the Fortran library */
}
END
mpicc -o two two.c -Wl,--no-as-needed "$fort" -Wl,--allow-shlib-undefined || fail 'mpicc does not link'
for lib in libmpi.so.12 libmpichfort.so.12; do
    readelf -d two | grep -q "NEEDED.*\[$lib\]" || fail "the program does not need $lib"
done
mpiexec -n 1 ./two >out || { cat out; fail 'not two libraries in the process'; }
grep -q "^$(readlink -f "$DATUM_BUILD")/lib/libmpi.so.12" out || { cat out; fail 'it is not our library'; }
