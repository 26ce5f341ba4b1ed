#!/bin/sh
# test: timeout=120
# Our bindings for Fortran: what the modules refer to and what the distribution's library has is exported,
# constants have the values of mpi.h, and mpif.h is valid in fixed and in free form.
. "$TEST_LIB"
need gfortran gfortran
need nm binutils
lib=$DATUM_BUILD/lib/libdatum_mpifort.so.0
[ -e "$lib" ] || skip 'the bindings for Fortran were not built (configure --enable-fortran)'
gen=$DATUM_BUILD/gen
cc=${CC:-gcc}

nm -D --defined-only "$lib" | awk '{ print $3 }' | sort -u >have
# The linker's names of all procedures of the modules.
cat "$gen/fortran_f08.f90" "$gen/fortran_mpi.f90" | sed '/^ *end /d' | tr -d '&\n' | tr -s ' ' | sed 's/ subroutine /\n&/g; s/ function /\n&/g' |
    sed -n 's/^ \(subroutine\|function\) \(P\{0,1\}MPI_[A-Za-z0-9_]*\)(.*/\2 &/p' |
    awk '{ if (match($0, /bind\(C, name="[a-z0-9_]*"/)) print substr($0, RSTART + 14, RLENGTH - 15)
           else if ($0 !~ /_function(_c)?\(/) print tolower($1) "_" }' | sort -u >want
[ "$(wc -l <want)" -gt 1500 ] || fail "only $(wc -l <want) procedures found in the modules"
check 'what the modules have is exported' sh -c '! comm -23 want have | grep .'

theirs=$(ls /usr/lib/*/libmpichfort.so.12 2>/dev/null | head -n 1)
if [ -n "$theirs" ]; then
    # Those of mpif.h and "use mpi": the distribution's mpi_f08 has other names.
    nm -D --defined-only "$theirs" | awk '{ print $3 }' | grep -E '^p?mpi_[a-z0-9_]*[a-z0-9]_$' |
        grep -vE '_(f08|f08ts)_|^pmpi_.*(_fn_|_fn_null_)' | sort -u >theirs
    [ "$(wc -l <theirs)" -gt 600 ] || fail "only $(wc -l <theirs) functions found in $theirs"
    check 'what the distribution has is there' sh -c '! comm -23 theirs have | grep .'
else
    skip_one 'libmpichfort.so.12 is not there (package libmpich12)'
fi
check 'PMPI_ twins' sh -c "sed -n 's/^mpi_/pmpi_/p' have | grep -v '_fn_\\|fn_null' | comm -23 - have >lacks; ! grep . lacks"

# The constants: one program in C, and one in Fortran of each kind.
sed -n 's/^      PARAMETER (\(MPI_[A-Z0-9_]*\)=.*/\1/p' "$gen/fortran/mpif.h" |
    grep -vE '_KIND$|^MPI_(SUBARRAYS|ASYNC|STATUS_SIZE|SOURCE|TAG|ERROR)' | sort >names
[ "$(wc -l <names)" -gt 250 ] || fail "only $(wc -l <names) constants found in mpif.h"
theirs=$(ls /usr/include/*/mpich/mpif.h 2>/dev/null | head -n 1)
if [ -n "$theirs" ]; then
    sed -n 's/^ *PARAMETER *(\(MPI_[A-Z0-9_]*\)=.*/\1/p' "$theirs" | sort >theirs.names
    sed -n 's/^ *PARAMETER *(\(MPI_[A-Z0-9_]*\)=.*/\1/p' "$gen/fortran/mpif.h" | sort >ours.names
    [ "$(wc -l <theirs.names)" -gt 250 ] || fail_one "only $(wc -l <theirs.names) constants found in $theirs"
    check 'constants that the distribution has' sh -c '! comm -23 theirs.names ours.names | grep .'
else
    skip_one "MPICH's mpif.h is not there (package libmpich-dev)"
fi
{
    printf '#include <mpi.h>\n#include <stdio.h>\nint main(void)\n{\n'
    # A key is one higher, room for a text one lower.
    awk '{ d = $1 ~ /^MPI_MAX_/ ? " - 1" : $1 ~ /^MPI_(TAG_UB|HOST|IO|WTIME_IS_GLOBAL|UNIVERSE_SIZE|LASTUSEDCODE|APPNUM|WIN_BASE|WIN_SIZE|WIN_DISP_UNIT|WIN_CREATE_FLAVOR|WIN_MODEL)$/ ? " + 1" : ""
           printf "    printf(\"%s %%ld\\n\", (long)(int)(long)(%s)%s);\n", $1, $1, d }' names
    printf '    return 0;\n}\n'
} >constants.c
check 'constants of C compile' $cc -w -I"$gen" -I"$TEST_SRC/include" -o constants constants.c
./constants >want
show() { # NAME LINE: a program that prints them
    printf 'program show\n%s\nimplicit none\n%s\n' "$2" "$3"
    awk -v f08="$4" 'FILENAME == "handles" { is[$1] = 1; next }
        { printf "print \"(a,1x,i0)\", \"%s\", %s%s\n", $1, $1, (f08 != "" && $1 in is) ? "%MPI_VAL" : "" }' handles names
    printf 'end program\n'
}
sed -n 's/^ *TYPE(MPI_.*PARAMETER :: \(MPI_[A-Z0-9_]*\) = &/\1/p' "$gen/fortran_f08.f90" >handles
[ "$(wc -l <handles)" -gt 80 ] || fail 'no handles found in the module'
show mpifh '' "include 'mpif.h'" '' >mpifh.f90
show usempi 'use mpi' '' '' >usempi.f90
show usef08 'use mpi_f08' '' yes >usef08.f90
for way in mpifh usempi usef08; do
    check "constants of $way compile" mpifort -modules=own -o $way $way.f90
    ./$way >have_$way
    check "constants of $way" diff want have_$way
done

cat >fixed.f <<'EOF'
      PROGRAM FIXED
      INCLUDE 'mpif.h'
      PRINT *, MPI_COMM_WORLD, MPI_INTEGER
      END
EOF
printf "include 'mpif.h'\nprint *, MPI_COMM_WORLD\nend\n" >free.f90
check 'fixed form' mpifort -modules=own -fmax-errors=1 -Wall -Werror -Wno-unused -o fixed fixed.f
check 'free form' mpifort -modules=own -o free free.f90

# Another library than the distribution's, and none of it.
check 'only ours' sh -c "readelf -d usef08 fixed | grep NEEDED >needed; ! grep mpichfort needed"
totals
