#!/bin/sh
# test: timeout=180
# Debian's NPmpich2, built against MPICH, runs unchanged: its integrity check and its measurement over
# all sizes up to 4 MiB; on our library and not on MPICH's.
. "$TEST_LIB"
need NPmpich2 netpipe-mpich2
need ldd libc-bin
upper=4194304

ours=$(readlink -f "$DATUM_BUILD")/lib/
mpiexec -n 1 ldd "$(command -v NPmpich2)" >libs 2>&1
if sed -n '/libmpi/s/.* => \(.*\) (0x.*/\1/p' libs | while read -r lib; do
    case $(readlink -f "$lib") in
    "$ours"*) echo ours ;;
    *) echo "$lib" ;;
    esac
done | sort -u | grep -qx ours && ! grep -q 'not found' libs; then
    pass_one
else
    fail_one 'NPmpich2 does not get our library'
    cat libs
fi

# reaches FILE: the sizes of the lines " N: SIZE bytes ..." rise from a few to the upper limit.
reaches() {
    awk -v upper=$upper '
        match($0, /^ *[0-9]+: *[0-9]+ bytes/) {
            n++
            size = $2 + 0
            if (n == 1 && size > 8 || size <= last) bad = 1
            last = size
        }
        END { exit bad || n < 30 || last < upper / 2 }' "$1"
}

check 'the integrity check ends well' mpiexec -n 2 NPmpich2 -i -n 10 -u $upper -o np.check
cp check.out integrity
check 'all sizes are checked' reaches integrity
n_sizes=$(grep -cE '^ *[0-9]+: *[0-9]+ bytes' integrity)
check 'every size passes' [ "$(grep -c 'Integrity check passed' integrity)" = "$n_sizes" ]
check 'none fails' sh -c '! grep -iE "fail|error|corrupt" integrity'

check 'with receives posted before' mpiexec -n 2 NPmpich2 -a -i -n 5 -u $upper -o np.async
# Not with -z: for any source it passes -1, which is MPI_PROC_NULL here and in MPICH, and hangs there.
check 'with synchronous sends' mpiexec -n 2 NPmpich2 -S -i -n 5 -u 65536 -o np.sync
check 'in both directions at once' mpiexec -n 2 NPmpich2 -2 -a -n 5 -u $upper -o np.both

check 'the measurement ends well' mpiexec -n 2 NPmpich2 -n 20 -u $upper -o np.out
cp check.out measured
check 'all sizes are measured' reaches measured
check 'its file has a line for each size' \
    [ "$(wc -l <np.out)" = "$(grep -cE '^ *[0-9]+: *[0-9]+ bytes' measured)" ]
tail -n 1 measured
totals
