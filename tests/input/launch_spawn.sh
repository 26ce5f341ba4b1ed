#!/bin/bash
# test: timeout=240
# Jobs that processes spawn: what mpiexec starts, refuses, and ends; published names.
. "$TEST_LIB"
mkdir -p my/lib my/bin
ln -s "$(command -v mpiexec)" my/bin/mpiexec
link=$(sed -n 's/^LDFLAGS *[:?]*= *//p' "$DATUM_BUILD/config.mk" 2>/dev/null)
san=$(sed -n 's/^SANFLAGS = //p' "$DATUM_BUILD/config.mk")
${CC:-cc} -std=gnu11 -D_GNU_SOURCE $san -I"$DATUM_BUILD" -I"$TEST_SRC/src" -o my/lib/spawner "$TEST_SRC/tests/input/spawner.c" \
    "$DATUM_BUILD/obj/pmi.a" "$DATUM_BUILD/obj/util.a" $link -ldl -lpthread || fail 'spawner.c does not compile'
spawner=$PWD/my/lib/spawner
host=$(uname -n)
run() { timeout 20 mpiexec "$@"; }

left() { ! gone 3 "$spawner"; }
# spawned STATUS PATTERN N-CHILDREN COMMAND...: children say so; nothing is left
spawned() {
    local want=$1 pattern=$2 n=$3 got
    shift 3
    status "$want" "$pattern" "$@" || return 1
    got=$(grep -c '^child .* spawned port' said)
    [ "$got" = "$n" ] && ! left && return
    echo "$got children"
    cat said
    return 1
}
child='child [01] of 2 appnum 0 spawned port in .* extra none args 5'
check 'two children' spawned 0 "$child" 2 run -n 1 "$spawner" spawn 2 self
check 'by each of three' spawned 0 "$child" 6 run -n 3 "$spawner" spawn 2 self
check 'one after the other' spawned 0 "$child" 4 run -n 1 "$spawner" spawn 2 self wait 100 spawn 2 self
check 'two programs' spawned 0 'child 2 of 3 appnum 1' 3 run -n 1 "$spawner" and 2 self spawn 1 self
check 'a long argument' spawned 0 'args 100000' 2 env BIG=1 timeout 20 mpiexec -n 1 "$spawner" spawn 2 self
check 'wdir' spawned 0 'in /usr extra' 2 run -n 1 "$spawner" with wdir /usr spawn 2 self
check 'env' spawned 0 'extra two words' 2 run -n 1 "$spawner" with env $'A=b\nEXTRA=two words' spawn 2 self
check 'path' spawned 0 "$child" 2 run -n 1 "$spawner" with path "/nowhere:$PWD/my/lib" spawn 2 spawner
check 'host' spawned 0 "$child" 2 run -n 1 "$spawner" with host "$host" with nonsense 1 spawn 2 self
check 'with -pmi-port' spawned 0 "$child" 2 run -pmi-port -n 1 "$spawner" spawn 2 self
check 'with marked lines' spawned 0 '' 0 run -l -n 1 "$spawner" spawn 2 self
check 'none' spawned 0 'started 0' 0 run -n 1 "$spawner" spawn 0 self

# What cannot be started is told; the parent goes on.
check 'no such program' spawned 5 '/no/such cannot be started on host .*No such file' 0 \
    run -n 1 "$spawner" spawn 2 /no/such exit 5
check 'codes' spawned 0 'started 0 codes=00111' 0 run -n 1 "$spawner" and 2 self spawn 3 no-such-prog
check 'no such directory' spawned 0 'no directory /no/such' 0 run -n 1 "$spawner" with wdir /no/such spawn 2 self
check 'no such host' spawned 0 "no host 'no-such-host'" 0 run -n 1 "$spawner" with host no-such-host spawn 2 self
printf '#!/no/such/interpreter\n' >bad-script
chmod +x bad-script
check 'no interpreter' spawned 0 'bad-script.*interpreter' 0 run -n 1 "$spawner" spawn 2 ./bad-script
check 'only that' [ "$(grep -vc '^0: ' said)" = 0 ]

# Failures
check 'a status of a child' spawned 7 "$child" 2 env CHILD='exit 7' timeout 20 mpiexec -n 1 "$spawner" spawn 2 self
check 'a child is killed' spawned 137 'rank . on host .*spawned job 1.*killed by signal 9' 2 env CHILD='fence die 9' timeout 20 mpiexec -n 2 "$spawner" only 0 spawn 2 self run
check 'the parent is killed' spawned 139 'rank 0 .*killed by signal 11' 2 \
    env CHILD=run "ASAN_OPTIONS=${ASAN_OPTIONS:-}:handle_segv=0" timeout 20 mpiexec -n 2 "$spawner" only 0 spawn 2 self wait 300 die 11
parted="own b part a wait 600"
check 'a parted child is killed' spawned 137 'lookup: no such' 2 \
    env CHILD='own b part a wait 200 die 9' timeout 20 mpiexec -n 1 "$spawner" own a spawn 2 self wait 1000 lookup me
check 'a parted parent is killed' spawned 137 "1: lookup: no such name is published: child-1-lives" 2 \
    env CHILD="$parted spawn 0 self lookup child-1-lives" timeout 20 mpiexec -n 1 "$spawner" own a spawn 2 self wait 300 die 9
check 'SIGTERM' spawned 124 "$child" 2 env CHILD=run timeout 3 mpiexec -n 1 "$spawner" spawn 2 self run
check '-timeout' spawned 124 '-timeout' 2 env CHILD=run mpiexec -timeout 1 -n 1 "$spawner" spawn 2 self run
check 'a grandchild' spawned 0 '' 3 env CHILD='only 0 child x spawn 1 self' timeout 20 mpiexec -n 1 "$spawner" spawn 2 self

# A process that no launcher has started
alone() {
    timeout 20 "$spawner" spawn 2 self wait 100 >said 2>&1 || return 1
    for ((i = 0; i < 50; i++)); do
        [ "$(grep -c '^child .* spawned port' said)" = 2 ] && ! left && return
        sleep 0.1
    done
    cat said
    return 1
}
check 'alone, children' alone
check 'alone, no such program' spawned 0 '/no/such cannot be started' 0 timeout 20 "$spawner" spawn 2 /no/such

# Names
check 'names' spawned 0 'found a port of: me' 0 run -n 1 "$spawner" publish 'x y' lookup 'x y' unpublish 'x y'
check 'twice' spawned 0 'published already' 0 run -n 1 "$spawner" publish x publish x
check 'not there' spawned 0 'no such name' 0 run -n 1 "$spawner" lookup x unpublish x
check 'from another job' spawned 0 'found a port' 1 env CHILD='lookup x' timeout 20 mpiexec -n 1 "$spawner" publish x spawn 1 self wait 500
if command -v hydra_nameserver >/dev/null 2>&1; then
    port=$((20000 + $$ % 10000))
    hydra_nameserver -port $port >ns.out 2>&1 &
    server=$!
    for ((i = 0; i < 100; i++)); do
        (: <>/dev/tcp/localhost/$port) 2>/dev/null && break
        sleep 0.1
    done
    timeout 20 mpiexec -nameserver localhost:$port -n 1 "$spawner" publish served wait 2000 >publisher.out 2>&1 &
    publisher=$!
    for ((i = 0; i < 50; i++)); do
        grep -q 'publish: ok' publisher.out && break
        sleep 0.1
    done
    check 'from another mpiexec' spawned 0 'found a port of: me' 0 run -nameserver localhost:$port -n 1 "$spawner" lookup served
    wait $publisher
    check 'not there any more' spawned 0 'no such name' 0 run -nameserver localhost:$port -n 1 "$spawner" lookup served
    kill $server
    wait $server 2>/dev/null
    check 'no name server' spawned 0 'does not answer' 0 run -nameserver localhost:$port -n 1 "$spawner" lookup served
else
    skip_one 'hydra_nameserver is not there (package mpich)'
fi

# Descriptors of mpiexec do not grow.
many='for i in 1 2 3 4 5 6 7 8 9 10; do words="$words spawn 2 self wait 200 parent"; done; exec "$0" $words'
grow() { # descriptors after the first and after the last
    timeout 60 mpiexec -n 1 sh -c "$many" "$spawner" >said 2>&1 || { cat said; return 1; }
    [ "$(grep -c '^child' said)" = 20 ] && [ "$(sed -n 's/^descriptors //p' said | sort -n | sed -n '1p;$p' | uniq | wc -l)" = 1 ] && return
    cat said
    return 1
}
check 'many' grow

# Input goes on when a spawned job is over.
mkfifo in
inputs() {
    {
        for ((i = 0; i < 100; i++)); do
            grep -q '^descriptors' said && break
            sleep 0.1
        done
        echo line
    } >in &
    spawned 0 '^read: line' 2 run -stdin all -n 1 "$spawner" spawn 2 self wait 500 parent read <in
}
: >said
check 'input after children' inputs
wait
totals
