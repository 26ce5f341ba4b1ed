#!/bin/sh
# test: timeout=60
# mpicc: its options, and what it does to a command line.
. "$TEST_LIB"

cat >prog.c <<'END'
#include <mpi.h>
int main(void) { return MPI_VERSION < 2; }
END
shows() { # WANT ARGUMENT...
    want=$1
    shift
    mpicc "$@" >shown && grep -qe "$want" shown
}
shows_no() {
    want=$1
    shift
    mpicc "$@" >shown && ! grep -qe "$want" shown
}
check '-show' shows ' -lmpi$' -show prog.c -o prog
check '-show runs nothing' test ! -e prog
check '-show with -c does not link' shows_no 'lmpi' -show -c prog.c
check '-show with -E does not link' shows_no 'lmpi' -show -E prog.c
check '-compile_info' shows '-I.*include' -compile_info
check '-compile_info does not link' shows_no 'lmpi' -compile_info
check '-link_info' shows '-lmpi' -link_info
check 'rpath' shows '-Wl,-rpath,' -show prog.c
check '-norpath' shows_no 'rpath' -show -norpath prog.c
check '-cc=' shows '^my-cc ' -show -cc=my-cc prog.c
check 'DATUM_CC' env DATUM_CC=my-cc sh -c 'mpicc -show prog.c | grep -q "^my-cc "'
check 'MPICH_CC' env MPICH_CC=my-cc sh -c 'mpicc -show prog.c | grep -q "^my-cc "'
check 'DATUM_CC before MPICH_CC' env MPICH_CC=x DATUM_CC=y sh -c 'mpicc -show prog.c | grep -q "^y "'
check '-v alone does not link' shows '^mpicc for Datum version' -v
check '-echo' shows ' -c prog.c' -echo -c prog.c
check '-echo runs it' test -e prog.o
check_fails 'no such compiler' 'no-such-cc.*is not there' mpicc -cc=no-such-cc prog.c
check_fails 'empty -cc=' 'needs the name' mpicc -cc= prog.c
check_fails 'nothing to do' 'no input files' mpicc
check_fails "the compiler's errors" 'nofile.c' mpicc nofile.c
check 'a program' mpicc -Wall -Werror -o prog prog.c
check 'it finds the library without help' env -u LD_LIBRARY_PATH ./prog
mkdir 'a b'
cp prog.c 'a b/c d.c'
# What -show prints is for the shell: its words come back.
shown_again() { # ARGUMENT...
    eval "set -- $(mpicc -show "$@") end"
    printf '%s\n' "$@" | tee words
}
check 'odd words' shown_again -c 'a b.c' "-DX=\"it's\"" '-DY=$HOME*' '-DZ=a\b'
check 'they come back' sh -c 'grep -Fxe "a b.c" words && grep -Fxe "$1" words && grep -Fxe "$2" words && grep -Fxe "$3" words' - \
    "-DX=\"it's\"" '-DY=$HOME*' '-DZ=a\b'
check 'blanks in names' mpicc -o 'a b/prog' 'a b/c d.c' '-DX="a b"'
ln -s "$DATUM_BUILD/bin/mpicc" other-name
check 'through a link' ./other-name -o prog2 prog.c
totals
