#!/bin/bash
# test: timeout=3000 tier=full
# Debian packages: dpkg-buildpackage makes them, lintian has nothing to say, and they are installed, used and
# removed beside MPICH and Open MPI, in a copy of this system that is in memory. PACKAGING_DEBS=DIR takes packages that
# are there.
. "$TEST_LIB"
unset DAT_OVERRIDE LD_LIBRARY_PATH MAKEFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS
PATH=$(echo "$PATH" | sed "s|^$DATUM_BUILD/bin:||")
need dpkg-buildpackage dpkg-dev
need dh debhelper
need lintian lintian
need mpicc.mpich libmpich-dev
need mpirun.openmpi openmpi-bin
version=$("$TEST_SRC/configure" --version | sed 's/datum //')
if [ -n "${PACKAGING_DEBS:-}" ]; then
    cp "$PACKAGING_DEBS"/*.deb "$PACKAGING_DEBS"/*.changes "$PACKAGING_DEBS"/*.buildinfo .
else
    check 'dist' make -C "$DATUM_BUILD" dist
    mv "$DATUM_BUILD/datum-$version.tar.gz" . && tar xzf "datum-$version.tar.gz"
    cp -r "datum-$version/packaging/debian" "datum-$version/debian"
    (cd "datum-$version" && dpkg-checkbuilddeps) 2>said || skip "$(cat said)"
    check 'dpkg-buildpackage' sh -c 'cd "$1" && dpkg-buildpackage -us -uc -b -j2' - "datum-$version"
    rm -rf "datum-$version"
fi
check 'two packages' sh -c 'test -s datum_"$1"-*.deb && test -s libdatum-dev_"$1"-*.deb' - "$version"
check 'lintian' env TMPDIR="$PWD" lintian --allow-root --fail-on error,warning ./*.changes
for deb in datum_*.deb libdatum-dev_*.deb; do
    dpkg-deb -c "$deb" | awk '{ print $6 }' | sed 's|^\.||' | grep -v '/$'
done >files
check 'no file of other packages' sh -c '! xargs dpkg -S <files 2>/dev/null | grep -v "^\(datum\|libdatum-dev\):"'

# The copy: this system under a layer in memory.
cat >inside.sh <<'END'
set -eu
top=$PWD/copy
mkdir -p "$top"
mount -t tmpfs none "$top"
mkdir "$top/upper" "$top/work" "$top/root"
mount -t overlay none -o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" "$top/root"
for d in proc dev; do mount --rbind /$d "$top/root/$d"; done
mount -t tmpfs none "$top/root/tmp"
cp ./*.deb hello.c hello.f90 "$top/root/tmp"
chroot "$top/root" sh -eu -c '
    cd /tmp
    export HOME=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    unset DATUM_BUILD
    was=$(readlink /etc/alternatives/mpirun) wasmpi=$(readlink /etc/alternatives/mpi)
    dpkg -i datum_*.deb libdatum-dev_*.deb
    echo "installed"
    [ "$(readlink /etc/alternatives/mpirun)" = "$was" ] && [ "$(readlink /etc/alternatives/mpi)" = "$wasmpi" ] &&
        echo "the alternatives stay"
    mpicc.datum -o d hello.c && mpiexec.datum -n 2 ./d | grep -c "Datum" | sed "s/^/datum ranks: /"
    ./d | sed "s/^/alone: /"
    mpicc.mpich -o m hello.c && mpiexec.mpich -n 2 ./m | grep -c "MPICH Version" | sed "s/^/mpich ranks: /"
    mpicc.openmpi -o o hello.c && mpirun.openmpi --oversubscribe -n 2 ./o | grep -c "Open MPI" | sed "s/^/openmpi ranks: /"
    mpiexec.datum -n 2 ./m | grep -c "Datum" | sed "s/^/MPICH program on Datum: /"
    gcc -o p hello.c $(pkg-config --cflags --libs datum) && ./p | sed "s/^/pkg-config: /"
    mpicc.datum -static-mpi -o s hello.c && mpiexec.datum -n 2 ./s | grep -c "Datum" | sed "s/^/static: /"
    mpifort.datum -o f hello.f90 && mpiexec.datum -n 2 ./f | grep -c "Fortran" | sed "s/^/modules: /"
    mpifort.datum -modules=mpich -o g hello.f90 && mpiexec.datum -n 2 ./g | grep -c "Fortran" | sed "s/^/of MPICH: /"
    datum-info --dat-conf
    datum-bench --version
    datum-compare --help | sed -n "s/^Usage: /usage of /p"
    update-alternatives --set mpirun /usr/bin/mpirun.datum
    update-alternatives --set mpi /usr/bin/mpicc.datum
    mpicc -o d hello.c && mpiexec -n 2 ./d | grep -c "Datum" | sed "s/^/chosen: /"
    man -w mpiexec mpicc datum-settings
    test -s /usr/share/doc/datum/TUNING.md && echo "pages"
    # A changed dat.conf is a configuration file of the package: it stays.
    echo "# mine" >>/etc/datum/dat.conf
    dpkg -i datum_*.deb </dev/null
    grep -q "# mine" /etc/datum/dat.conf && echo "dat.conf stays"
    dpkg -r datum libdatum-dev
    [ "$(readlink /etc/alternatives/mpirun)" = "$was" ] && echo "the alternatives are back"
    dpkg -P datum libdatum-dev
    test ! -e /etc/datum && test -z "$(find /usr/bin -name "*datum*")" && echo "nothing is left"
'
END
cat >hello.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int len;
    MPI_Init(&argc, &argv);
    MPI_Get_library_version(text, &len);
    /* Short, or launchers mix the lines of two processes. */
    text[strcspn(text, "\n")] = 0;
    printf("%.40s\n", text);
    return MPI_Finalize();
}
END
cat >hello.f90 <<'END'
use mpi_f08
call MPI_Init()
call MPI_Barrier(MPI_COMM_WORLD)
print *, 'Fortran'
call MPI_Finalize()
end
END
if [ "$(id -u)" = 0 ]; then
    unshare -m --propagation private sh inside.sh >said 2>&1
else
    unshare -rm sh inside.sh >said 2>&1
fi
rc=$?
grep -q 'mount: \|unshare: ' said && skip "no layer over this system here: $(grep -m 1 'mount: \|unshare: ' said)"
[ $rc = 0 ] || fail_one "in the copy: status $rc: $(tail -n 30 said)"
for line in installed 'the alternatives stay' 'datum ranks: 2' 'alone: .*Datum' 'mpich ranks: 2' 'openmpi ranks: 2' \
    'MPICH program on Datum: 2' 'pkg-config: .*Datum' 'static: 2' 'modules: 2' 'of MPICH: 2' '/etc/datum/dat.conf' "Datum $version" 'usage of datum-compare' 'chosen: 2' \
    '/usr/share/man/man1/mpiexec(.datum)?.1.gz' 'pages' 'dat.conf stays' 'the alternatives are back' 'nothing is left'; do
    check "$line" grep -Eq "^($line)" said
done
totals
