#!/bin/bash
# test: timeout=180
# Collective transfers to a disk that is full: no rank hangs or dies, one at least says so, and what is
# reported as written is there. A rank that is killed meanwhile: the job ends within 5 seconds, and
# nothing but the file is left.
. "$TEST_LIB"
mpicc -O1 -o io_end "$TEST_SRC/tests/input/io_end.c" || fail 'the program does not compile'
prog=$PWD/io_end

# ---- killed ----

for how in 'blocking enable 64' 'nonblocking enable 64' 'blocking automatic 64' 'nonblocking automatic 4096'; do
    set -- $how
    before=$(find /dev/shm | wc -l)
    : >out
    mpiexec -n 4 "$prog" loop "$@" x.end >out 2>err &
    job=$!
    for ((i = 0; i < 200; i++)); do
        grep -q running out && break
        sleep 0.1
    done
    grep -q running out || { cat out err; fail "$how: the job does not start"; }
    kill -9 "$(pgrep -x io_end | sed -n 3p)"
    start=$SECONDS
    while kill -0 $job 2>/dev/null && ((SECONDS - start < 6)); do sleep 0.05; done
    ! kill -0 $job 2>/dev/null || { cat err; fail "$how: the job still runs after 5 seconds"; }
    wait $job && fail "$how: exit status 0"
    for ((i = 0; i < 20; i++)); do
        pgrep -f "$prog" >/dev/null || break
        sleep 0.1
    done
    ! pgrep -f "$prog" >/dev/null || fail "$how: processes are left"
    rm -f x.end out err
    [ "$(ls -A)" = io_end ] || fail "$how: files are left: $(ls -A)"
    pass_one
done

# ---- full ----

mkdir disk
unshare -m mount -t tmpfs none disk 2>/dev/null || skip 'no file system can be mounted here'
for how in 'blocking enable' 'nonblocking enable' 'blocking automatic' 'nonblocking automatic' 'blocking disable'; do
    for block in 8 512 4096 65536; do
        set -- $how $block
        unshare -m sh -c "mount -t tmpfs -o size=1m none disk && cd disk && exec timeout 30 mpiexec -n 3 '$prog' full $* x.end" \
            >said 2>&1
        rc=$?
        n_bad=$(grep -c 'failed, what it says is there: $' said)
        [ $rc = 0 ] && [ "$(grep -c 'what it says is there: $' said)" = 3 ] &&
            [ "$(grep -c 'then written' said)" = 3 ] && [ "$n_bad" -ge 1 ] &&
            { [ "$2" != enable ] || [ "$n_bad" = 3 ]; } && pass_one && continue
        fail_one "full, $*"
        cat said
    done
done
totals
