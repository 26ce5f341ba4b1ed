#!/bin/sh
# test: timeout=120
# configure: what it refuses and says, and a source directory with blanks in its path.
. "$TEST_LIB"
unset CC CFLAGS CPPFLAGS LDFLAGS LIBS
conf=$TEST_SRC/configure

# refuse NAME PATTERN ARGUMENT...
refuse() {
    name=$1 pattern=$2
    shift 2
    mkdir -p r
    check_fails "$name" "$pattern" sh -c 'cd r && exec "$@"' - "$conf" "$@"
    rm -rf r
}
check 'help' sh -c '"$1" --help | grep -q -e --enable-sanitize' - "$conf"
refuse 'an unknown option' 'unknown argument "--prefex=/x"' --prefex=/x
refuse 'the nearest option' 'did you mean --prefix\?' --prefex=/x
refuse 'nothing near it' '^  "configure --help" lists' --something=/x
check 'no guess' sh -c '! "$1" --something=/x 2>&1 | grep "did you mean"' - "$conf"
refuse 'a variable' 'did you mean CFLAGS\?' CLFAGS=-O3
refuse 'no value' 'needs a value' --prefix
refuse 'a relative prefix' 'must be an absolute path' --prefix=here
refuse 'a quote in the prefix' 'cannot be in' "--prefix=/it's"
refuse 'an impossible sanitizer' 'say address, undefined' --enable-sanitize=memory
refuse 'two that do not mix' 'is not possible' --enable-sanitize=address,thread
refuse 'no such compiler' 'the compiler "nocc" is not there' CC=nocc
refuse 'a compiler that fails' 'apt-get install gcc' CC=false

# Directories: as Debian's and rpm's tools give them.
dh="--build=x86_64-linux-gnu --prefix=/usr --includedir=\${prefix}/include --mandir=\${prefix}/share/man
    --infodir=\${prefix}/share/info --sysconfdir=/etc --localstatedir=/var --disable-option-checking --disable-silent-rules
    --libdir=\${prefix}/lib/x86_64-linux-gnu --runstatedir=/run --disable-maintainer-mode --disable-dependency-tracking --with-xyz"
rpm="--build=x86_64-redhat-linux-gnu --host=x86_64-redhat-linux-gnu --program-prefix= --disable-dependency-tracking
    --prefix=/usr --exec-prefix=/usr --bindir=/usr/bin --sbindir=/usr/sbin --sysconfdir=/etc --datadir=/usr/share
    --includedir=/usr/include --libdir=/usr/lib64 --libexecdir=/usr/libexec --localstatedir=/var
    --sharedstatedir=/var/lib --mandir=/usr/share/man --infodir=/usr/share/info"
mkdir d && cd d || exit 1
# shellcheck disable=SC2086 # arguments
check "Debian's arguments" "$conf" $dh
check 'its directories' grep -q 'DM_LIBDIR *"/usr/lib/x86_64-linux-gnu"' config.h
check 'commands are shown' grep -q '^V = 1' config.mk
# shellcheck disable=SC2086
check "rpm's arguments" "$conf" $rpm
check 'its directories, too' grep -q 'DM_LIBDIR *"/usr/lib64"' config.h
check 'an argument for itself' "$conf" --prefix /opt/x '--libdir=${exec_prefix}/lib' --docdir=/doc
check 'ways' sh -c 'grep "DM_BIN_TO_LIB \"./../lib\"" config.h && grep "DM_DOCDIR *\"/doc\"" config.h'
check 'what is left out' says 'PMIx +no jobs started by srun' "$conf" --without-pmix
check 'by which package' grep -q 'apt-get install libpmix-dev' said
check 'nothing is said' sh -c 'test -z "$("$1" --quiet)"' - "$conf"
# What autoconf takes, packagers give to every configure.
check "autoconf's arguments" "$conf" --enable-static=yes --enable-shared=yes --with-pic --disable-nls "--srcdir=$TEST_SRC" \
    --program-suffix= --program-prefix= --program-transform-name= --enable-debug=no --with-pmix=no \
    CXXFLAGS=-O1 CXXCPP=cpp PKG_CONFIG=pkgconf RANLIB=ranlib LDFLAGS=-Wl,-O1 LIBS=-lrt AR=ar OBJCOPY=my-objcopy --quiet
for line in 'STATIC = yes' 'HAVE_PMIX = no' 'LDFLAGS = -Wl,-O1' 'ADDED_LIBS = -lrt' 'OBJCOPY = my-objcopy' 'LIBDEFS = -DNDEBUG.*'; do
    check "they give $line" grep -qx "$line" config.mk
done
check 'they are linked' sh -c 'make -n lib/libmpi.so.12 | grep -q -- "-lpthread -lrt"'
check 'static=no' sh -c '"$1" --enable-static --enable-static=no --quiet && grep -qx "STATIC = no" config.mk' - "$conf"
check_fails 'a library that is not there' 'cannot make' "$conf" LIBS=-lnothing
check 'of the environment, too' sh -c 'LIBS=-lrt "$1" --quiet && grep -qx "ADDED_LIBS = -lrt" config.mk' - "$conf"
check 'unknown features' says '^configure: WARNING: unrecognized options: --enable-xyz, --without-abc, --enable-debgu$' \
    "$conf" --quiet --enable-xyz=1 --without-abc --enable-debgu
check 'what was meant' grep -q -- '--enable-debgu: did you mean --enable-debug?' said
check 'by that one alone' test "$(grep -c 'did you mean' said)" = 1
check 'nobody wants to know' sh -c 'test -z "$("$1" --quiet --enable-xyz --disable-option-checking 2>&1)"' - "$conf"
cd .. && rm -r d || exit 1

# Libraries of other prefixes: headers, linking and the run path.
opt=$PWD/opt
mkdir -p opt/include opt/lib64 d
for lib in libdat2.so libfabric.so libpmix.so.2; do
    ln -s "$(gcc -print-file-name=$lib)" opt/lib64/
done
ln -s /usr/include/dat2 opt/include/
flags="-L$opt/lib64 -Wl,-rpath,$opt/lib64"
with() { (cd d && "$conf" --quiet "$@"); }
check 'a prefix of DAT' with --with-dat="$opt//" LDFLAGS=-Wl,-O1
check 'its headers' grep -qx "CPPFLAGS = -isystem $opt/include *" d/config.mk
check 'its library' grep -qx "LDFLAGS = $flags -Wl,-O1" d/config.mk
check 'programs find it' sh -c 'make -C d -n lib/libmpi.so.12 bin/datum-info | grep -c -e "$1 .*-shared" -e "$1 .*-o bin/datum-info" | grep -x 2' - "$flags"
check 'so does a static program' sh -c 'make -C d bin/mpicc && grep "^runpath=.$1" d/bin/mpicc' - "$flags"
check 'what /usr has needs no flags' sh -c 'cd d && "$1" --quiet --with-dat=/usr && grep -qx "LDFLAGS = " config.mk && ! grep isystem\ /usr/include config.mk' - "$conf"
refuse 'no such prefix' "with-dat=$opt/none: there is no such directory" --with-dat="$opt/none"
refuse 'no header in it' "with-libfabric=$opt: there is no rdma/fabric.h in $opt/include" --with-libfabric="$opt"
refuse 'a relative one' 'wants a directory with an absolute path' --with-pmix=opt
refuse 'a blank in it' 'cannot be on command lines' --with-pmix='/o pt'
refuse 'no DAT' 'there is no Datum without DAT' --without-dat
if [ -e /usr/include/rdma/fabric.h ]; then
    ln -s /usr/include/rdma opt/include/
    check 'a prefix of libfabric' with --with-libfabric="$opt"
    check 'its provider finds it' sh -c 'make -C d -n lib/libdatum_dapl_ofi.so | grep -e "-shared.*$1 -lfabric"' - "$flags"
    check 'its provider is compiled with it' sh -c 'make -C d -n lib/libdatum_dapl_ofi.so | grep -e "-isystem $1/include .*/ofi/ia.c"' - "$opt"
    check 'the others are not' sh -c '! make -C d -n lib/libdatum_dapl_shm.so | grep isystem' - "$flags"
fi
if [ "$(sed -n 's/^HAVE_PMIX = //p' "$DATUM_BUILD/config.mk")" = yes ]; then
    cp -r "$(find /usr/include/pmix* /usr/lib/*/pmix2/include -name 'pmix*.h' 2>/dev/null | head -n 1 | xargs dirname)"/* opt/include/
    check 'a prefix of PMIx' with --with-pmix="$opt"
    check 'where it is loaded' grep -qx "LDFLAGS = $flags *" d/config.mk
    check 'a distribution of PMIx' with --with-pmix=/usr
fi
rm opt/lib64/libdat2.so
refuse 'no library in it' "with-dat=$opt: there is no libdat2.so in $opt/lib64, $opt/lib and $opt/lib/" --with-dat="$opt"
rm -rf d opt
refuse 'an unknown directory' 'did you mean --bindir' --bndir=/x
refuse 'an unknown variable in one' 'cannot be in --bindir' '--bindir=${what}/bin'
refuse 'a feature that there is not, when that is fatal' 'unrecognized options: --enable-xyz' --enable-xyz --enable-option-checking=fatal
refuse 'no shared library' 'always a shared one' --enable-shared=no
refuse 'no shared library, either' 'always a shared one' --disable-shared
refuse 'other names of programs' 'programs keep their names' --program-suffix=-datum
refuse 'a prefix of them' 'programs keep their names' --program-prefix=my
refuse 'other sources' 'is not the directory of' --srcdir=/
refuse 'no value for itself' '--host needs a value' --host
refuse 'a machine without compiler' 'no compiler for mips-linux-gnu' --host=mips-linux-gnu

printf '#!/bin/sh\nfor a do [ "$a" != -ldat2 ] || exit 1; done\nexec gcc "$@"\n' >nodapl
chmod +x nodapl
refuse 'no DAPL' 'apt-get install libdapl-dev' CC="$PWD/nodapl"
# One error, none of the shell's own.
alone() { # NAME PATTERN COMMAND...
    check_fails "$@"
    cp check.out alone.out
    check "$1: nothing else" sh -c 'head -n 1 alone.out | grep "^configure: error: " && ! grep -v "^configure: \|^  " alone.out'
}
alone 'no commands at all' 'not found in PATH: awk cat .*tr$' env PATH=/nonexistent /bin/sh "$conf"
alone 'a directory that cannot be written' 'the current directory, /proc, cannot be written' sh -c 'cd /proc && "$1"' - "$conf"
alone 'no place for temporary files' 'a temporary directory in /nonexistent cannot be made' env TMPDIR=/nonexistent sh -c 'mkdir r; cd r; "$1"' - "$conf"
rm -rf r
mkdir bin
for tool in sh awk sed gcc as ld ar mktemp rm mkdir cat cmp cp touch chmod tr grep ln; do
    ln -s "$(command -v $tool)" bin/
done
check_fails 'no make' 'apt-get install make' env PATH="$PWD/bin" sh -c 'mkdir r; cd r; sh "$1"' - "$conf"
rm -rf r
ln -s "$(command -v make)" bin/
check 'no Python is no error' says 'datum-compare and bench-diff do not run' env PATH="$PWD/bin" sh -c 'mkdir r; cd r; sh "$1"' - "$conf"
check 'no man page that wants it' sh -c '! make -C r -n share/man/man1/datum-compare.1 && make -C r -n share/man/man1/datum-tune.1'
rm -rf r

# A Fortran compiler is not needed either: no modules of our own.
check 'no gfortran' sh -c 'mkdir f && cd f && "$1" FC=no-such-fc | grep "mpifort cannot compile"' - "$conf"
check 'it builds without' grep -qx 'HAVE_FORTRAN = no' f/config.mk
check 'no modules wanted' sh -c 'cd f && "$1" --disable-fortran >out && grep -qx "HAVE_FORTRAN = no" config.mk' - "$conf"
check_fails 'modules wanted' 'no-such-fc.*not there or too old' sh -c 'cd f && "$1" --enable-fortran FC=no-such-fc' - "$conf"
# libfabric is not needed: one provider less.
mkdir -p r none/rdma && echo '#error none' >none/rdma/fabric.h
check 'no libfabric' sh -c 'cd r && "$1" CPPFLAGS="-I$2" | grep "without its provider, datum-ofi"' - "$conf" "$PWD/none"
check 'a dat.conf without it' sh -c 'make -C r etc/dat.conf && grep ^datum-tcp r/etc/dat.conf && ! grep ofi r/etc/dat.conf'
rm -rf r none

# Sources and build under paths with blanks; an in-tree start builds in ./build.
mkdir -p 'a b/src c'
(cd "$TEST_SRC" && tar cf - --exclude=./build --exclude=./.git --exclude='./build-*' .) | tar xf - -C 'a b/src c'
mkdir 'a b/out of tree' && cd 'a b/out of tree' || exit 1
check 'out of tree' '../src c/configure' --enable-debug --prefix='/opt/da tum'
check 'its objects' make objs-util
check 'its settings' grep -q '#define DM_TRACE_ON 1' config.h
check 'nothing to do again' sh -c 'make objs-util | grep -q "CC " && exit 1; exit 0'
touch '../src c/configure'
check 'configure again by make' sh -c 'make objs-util | grep "debug\|CONFIG"'
check 'with the same arguments' grep -q 'prefix = /opt/da tum' config.mk
cd '../src c' || exit 1
check 'in tree' ./configure CFLAGS=-O0 --srcdir=.
check 'its objects, too' make objs-util
check 'they are in build' test -f build/obj/util/err.o
check 'distclean' make distclean
check 'nothing is left' test ! -e build -a ! -e Makefile
totals
