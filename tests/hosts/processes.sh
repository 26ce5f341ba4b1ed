#!/bin/bash
# test: timeout=240
# Jobs that run on one host each, of one rank and of several, come to know jobs on other hosts: by
# published names, ports and spawn; names are known to all hosts of a job, and to those that it spawns.
. "$TEST_SRC/tests/hosts/lib.sh"
hosts_enter "$@"
. "$TEST_LIB"
san=$(sed -n "s/^SANFLAGS = //p" "$DATUM_BUILD/config.mk")
# shellcheck disable=SC2086 # none, or several options
mpicc -O1 $san -o processes "$TEST_SRC/tests/hosts/processes.c" || fail 'processes.c does not compile'
hosts_make 3
command -v hydra_nameserver >/dev/null 2>&1 || skip 'hydra_nameserver is not there (package mpich)'

# both RANKS SERVE CONNECT: jobs on h1 and h2 that know one name server
both() {
    local rc=0 server
    on_host h1 timeout 60 mpiexec -hosts h1 -nameserver "$(host_address h3):6001" -n "$1" ./processes "$2" name >served 2>&1 &
    server=$!
    on_host h2 timeout 60 mpiexec -hosts h2 -nameserver "$(host_address h3):6001" -n "$1" ./processes "$3" name >connected 2>&1 || rc=$?
    wait $server || rc=$?
    cat served connected
    return $rc
}
"$hosts_d" run "$hosts_dir/h3.sock" hydra_nameserver -port 6001 >names 2>&1 &
for ((i = 0; i < 100; i++)); do
    on_host h1 bash -c "(: <>/dev/tcp/$(host_address h3)/6001) 2>/dev/null" && break
    sleep 0.1
done
for n in 1 2 3; do
    check "two jobs of $n" says "^$((2 * n)) processes" both $n serve connect
done
check 'two jobs of 2, through one of each' says '^4 processes' both 2 serve-one connect-one

# spawned: one host's ranks spawn as many on another one
for n in 1 2; do
    check "$n spawn $n on another host" says "^$((2 * n)) processes" on_host h1 timeout 60 mpiexec -hosts h1 -n $n \
        ./processes spawn h2
done
check '3 on two hosts spawn 3 on a third' says '^6 processes' on_host h1 timeout 60 mpiexec -hosts h1,h2 -n 3 \
    ./processes spawn h3
several() { # three programs, each on its host
    on_host h1 timeout 60 mpiexec -hosts h1 -n 1 ./processes spawn-several h2 h3 h2 >said 2>&1 &&
        [ "$(grep '^place' said | sort | tr '\n' ' ')" = 'place h2 is h2 place h2 is h2 place h3 is h3 ' ] && return
    cat said
    return 1
}
check 'three programs on two other hosts' several
refused() { # HOSTS RANKS: nothing else is said
    on_host h1 timeout 60 mpiexec -hosts "$1" -n "$2" ./processes spawn-bad h3 >said 2>&1
    [ $? = 0 ] && [ "$(cat said)" = 'refused as MPI_ERR_SPAWN' ] && return
    cat said
    return 1
}
check 'what is not there, from one host' refused h1 2
check 'what is not there, from two hosts' refused h1,h2 2
totals
