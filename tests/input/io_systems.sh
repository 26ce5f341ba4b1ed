#!/bin/bash
# test: timeout=400
# Tests of files, and HDF5, on file systems of several kinds, each made here in a mount namespace of
# its own: local ones, and one of user space, which counts as of a network.
. "$TEST_LIB"
[ "$(id -u)" = 0 ] || skip 'only root can mount'
if [ "${1:-}" != inside ]; then
    unshare -m true 2>/dev/null || skip 'no mount namespaces here'
    exec unshare -m --propagation private "$0" inside
fi
# The whole tests in the second tier, else the first runs of two.
if [ -n "${TEST_FULL:-}" ]; then first=() programs=("$TEST_SRC"/tests/mp/io_*.c "$TEST_SRC/tests/binaries/hdf5.sh")
else first=(--first) programs=("$TEST_SRC"/tests/mp/io_{basic,shared}.c); fi
# usable NAME DIR: the tests on what is mounted there
usable() {
    local last
    mkdir -p "$2/t" && chmod 777 "$2/t"
    TMPDIR=$2/t "$TEST_SRC/tests/run" -j 2 "${first[@]}" "${programs[@]}" >run.out 2>&1
    last=$(tail -n 1 run.out)
    if [[ $last =~ ^([0-9]+)' passed, '([0-9]+)' failed' ]] && [ "${BASH_REMATCH[1]}" -gt 0 ]; then
        n_passed=$((n_passed + BASH_REMATCH[1])) n_failed=$((n_failed + BASH_REMATCH[2]))
        [ "${BASH_REMATCH[2]}" = 0 ] || { echo "FAILED: on $1"; cat run.out; }
    else
        fail_one "$1: $last"
    fi
    umount "$2"
}
# kind NAME SIZE-MIB MKFS...: in a file of this directory
kind() {
    local name=$1 size=$2
    shift 2
    command -v "$1" >/dev/null 2>&1 || { skip_one "$name: $1 is not there"; return; }
    mkdir -p "$name" && truncate -s "$size"M "$name.img" && "$@" "$name.img" >mkfs.out 2>&1 &&
        mount -o loop "$name.img" "$name" 2>mount.out || { skip_one "$name: $(cat mkfs.out mount.out | tail -n 1)"; return; }
    check "$name is local" says "^file system  *$name, local" datum-info --file "$name"
    usable "$name" "$PWD/$name"
    rm -f "$name.img"
}
kind ext4 600 mkfs.ext4 -q
kind xfs 600 mkfs.xfs -q
if command -v bindfs >/dev/null 2>&1 && [ -c /dev/fuse ]; then
    mkdir -p behind fuse
    bindfs behind fuse || fail 'bindfs mounts nothing'
    check 'fuse is of a network' says '^file system  *fuse, of a network' datum-info --file fuse
    # Each of ten million pieces would be a call of the file system's own process.
    for i in "${!programs[@]}"; do
        [[ ${programs[i]} != */io_pieces.c ]] || unset "programs[i]"
    done
    usable fuse "$PWD/fuse"
else
    skip_one 'no file system of user space: bindfs (package bindfs) or /dev/fuse is not there'
fi
rm -rf behind
totals
