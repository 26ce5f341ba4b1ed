#!/bin/sh
# test: timeout=180
# A host that refuses what shared memory needs: without address space a clear error; without memfd,
# process_vm_* or membarrier everything works by other ways, shared windows without memfd excepted.
. "$TEST_LIB"

src=$TEST_SRC/tests/input
${CC:-cc} -o refuse "$src/refuse.c" || fail "refuse.c does not compile"
mpicc -O1 -o traffic "$src/traffic.c" || fail "traffic.c does not compile"
./refuse membarrier true || skip "seccomp filters are not available here"

runs() {
    what=$1
    shift
    timeout 60 mpiexec -n 3 "$@" ./traffic -n 20 >out 2>err || {
        cat out err
        fail "$what: the job does not run"
    }
    ! grep -q 'datum:.*error' err || fail "$what: $(grep 'datum:' err)"
    pass_one
}
# Collectives have ways of their own; all ranks must take the same.
collectives() {
    what="collectives, $1"
    shift
    timeout 100 mpiexec -n 3 "$@" "$DATUM_BUILD/tests/mp/coll_shm" >out 2>&1 || {
        cat out
        fail "$what"
    }
    pass_one
}
refused() {
    what=$1 word=$2
    shift 2
    timeout 20 mpiexec -n 2 "$@" ./traffic -n 5 >out 2>err
    rc=$?
    [ $rc != 124 ] || fail "$what: the job hangs"
    [ $rc != 0 ] || fail "$what: the job runs, which cannot be"
    # Where no provider can be used, each has a line of its own.
    grep -Eq "datum(-[a-z]+)?:.*$word" err || {
        cat err
        fail "$what: no message of ours says $word"
    }
    pass_one
}

runs 'process_vm refused' ./refuse process_vm_readv,process_vm_writev
runs 'membarrier refused' ./refuse membarrier
runs 'process_vm refused, send/receive' env DATUM_EAGER=sendrecv \
    ./refuse process_vm_readv,process_vm_writev
runs 'process_vm refused, rendezvous by read' env DATUM_RNDV=read \
    ./refuse process_vm_readv,process_vm_writev
collectives 'process_vm refused' ./refuse process_vm_readv,process_vm_writev
cat >one <<'END'
#!/bin/sh
[ "$PMI_RANK" != 1 ] || export "$1"
shift
exec "$@"
END
chmod +x one
collectives 'no shared memory wanted by one rank' ./one DATUM_COLL_SHM=no
collectives 'a rank that never spins' ./one DATUM_SPIN=0
# The launcher may have memory files where its processes may not; then in neither.
runs 'memfd refused to processes' ./refuse memfd_create
collectives 'memfd refused to processes' ./refuse memfd_create
printf '#!/bin/sh\nexec "%s/refuse" memfd_create "%s" "$@"\n' "$PWD" "$(command -v mpiexec)" >mpiexec
chmod +x mpiexec
path=$PATH
PATH=$PWD:$PATH
runs 'memfd refused' env DATUM_EXPLAIN=1
grep -q 'provider datum-tcp' err && grep -q '^ *datum-shm: .*memfd_create' err || {
    cat err
    fail 'memfd refused: not over datum-tcp, or not said why'
}
collectives 'memfd refused'
refused 'memfd refused, shared memory wanted' 'memfd_create' env DATUM_PROVIDER=datum-shm
PATH=$path
./refuse memfd_create datum-info --usable >out 2>&1
! grep -q datum-shm out && grep -q datum-tcp out || {
    cat out
    fail 'memfd refused: datum-info --usable lists what does not work'
}
pass_one
cat >limited <<'END'
#!/bin/sh
ulimit -v 60000
exec "$@"
END
chmod +x limited
refused 'little address space' 'memory|ulimit' env DATUM_PROVIDER=datum-shm ./limited
# Sockets need less of it: the job runs, and says what it did not get.
runs 'little address space, any provider' env DATUM_EXPLAIN=1 ./limited
grep -q 'provider datum-tcp' err && grep -q '^ *datum-shm: .*ulimit -v' err || {
    cat err
    fail 'little address space, any provider: not over datum-tcp, or not said why'
}
unshare -n true 2>/dev/null &&
    refused 'a network of its own for each' 'network namespace' env DATUM_TIMEOUT=3s unshare -n
cat >bound <<'END'
#!/bin/sh
ulimit $1 $2
shift 2
exec "$@"
END
chmod +x bound
refused 'small files only' 'ulimit -f' ./bound -f 1000
# Fewer than any job needs, however few this shell hands down; files.sh tries the numbers above.
# Error 24 is what the loader says where it cannot even open its texts.
refused 'few descriptors' 'ulimit -n|Too many open files|Error 24' env DATUM_TIMEOUT=3s ./bound -n 12
totals
