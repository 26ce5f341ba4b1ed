#!/bin/bash
# test: timeout=150
# What users of several hosts meet: names that do not resolve, programs that are not
# everywhere, no common network, a firewall, hosts that differ. A message names the host,
# within the time limit, and the job ends.
. "$TEST_SRC/tests/hosts/lib.sh"
. "$TEST_LIB"
hosts_enter "$@"
mpicc -o sleeper "$TEST_SRC/tests/hosts/sleeper.c" || fail 'sleeper.c does not compile'
hosts_make 2
export DATUM_TIMEOUT=3s DATUM_CONNECT=start
job() { on_host h1 timeout 40 mpiexec -ppn 1 -n 2 "$@"; }

check 'a job' job ./sleeper 0
check 'a host that does not resolve' status 255 'launcher of a host .* ended with status 255' \
    on_host h1 mpiexec -hosts h1,h9 -n 2 ./sleeper 0
check 'Hydra adds nothing' sh -c '! grep "^\[mpiexec@" said'
cp sleeper /tmp/only-here
on_host h1 cp sleeper /tmp/only-here
check_fails 'a program that one host has not' '/tmp/only-here cannot be started on host h2: No such file' job /tmp/only-here 0
on_host h1 rm /tmp/only-here

# Datum is not installed there
on_host h2 mount -t tmpfs tmpfs "$DATUM_BUILD/lib"
check_fails 'no library there' 'libmpi.so.12' on_host h1 timeout 20 mpiexec -ppn 1 -n 2 ./sleeper 0
on_host h2 umount "$DATUM_BUILD/lib"

# only shared memory
check_fails 'no provider between the hosts' 'no DAT provider of host h[12] reaches rank [01] on host h[12]' \
    env DATUM_PROVIDER=datum-shm "$hosts_d" run "$hosts_dir/h1.sock" timeout 40 mpiexec -ppn 1 -n 2 ./sleeper 0
cp check.out said
check 'which says why' grep -q 'datum-shm: reaches only its own host' said

# what the dat.conf says about the provider
told() { # IA_PARAMS COMMAND...
    sed "/^datum-tcp/s/\"\" *\"\"\$/\"$1\" \"\"/" "$DAT_OVERRIDE" >told.conf
    shift
    DAT_OVERRIDE=$PWD/told.conf "$@"
}
check_fails 'an interface that there is not' 'datum-tcp: interface eth7 does not exist; this host has .*eth0' \
    told if=eth7 job ./sleeper 0
check_fails 'another network' 'say "prov=none"; it can be tcp' told prov=none job ./sleeper 0
if [ -e "$DATUM_BUILD/lib/libdatum_dapl_ofi.so" ]; then
    sed -e '/^datum-/d' -e '/^#datum-ofi/{s/^#//;s/"" *""$/"prov=none" ""/}' "$DAT_OVERRIDE" >ofi.conf
    over_ofi() { DAT_OVERRIDE=$PWD/ofi.conf "$@"; }
    check_fails 'a provider that libfabric has not' 'libfabric has no provider "none"' \
        over_ofi job ./sleeper 0
fi
check_fails 'a key that it does not know' 'say "tiemout=9", which it does not know; it knows if=' \
    told 'if=eth0 tiemout=9' job ./sleeper 0
check_fails 'a value that cannot be' 'say "timeout=ever"; it can be a number' told timeout=ever job ./sleeper 0

# no more ports
on_host h2 sysctl -qw net.ipv4.ip_local_port_range='50000 50001'
check_fails 'no local port' 'no local port is free' on_host h1 timeout 40 mpiexec -ppn 3 -n 6 ./sleeper 0
on_host h2 sysctl -qw net.ipv4.ip_local_port_range='32768 60999'

# firewalls: the launcher's ports are those of its range, all others are closed
export MPIEXEC_PORT_RANGE=40000:40100 MPIR_CVAR_CH3_PORT_RANGE=40000:40100
firewall() { # HOST VERDICT
    on_host "$1" nft -f - <<RULES
table inet firewall {
    chain in {
        type filter hook input priority 0;
        iifname "lo" accept
        ct state established accept
        tcp dport 40000-40100 accept
        meta l4proto tcp $2
    }
}
RULES
}
for verdict in drop 'reject with tcp reset'; do
    firewall h1 "$verdict" && firewall h2 "$verdict" || fail 'nftables'
    t0=$SECONDS
    check_fails "a firewall ($verdict)" 'rank [01] on host h[12] .*datum-tcp' job ./sleeper 0
    check "a firewall ($verdict): in time" [ $((SECONDS - t0)) -le 20 ]
    on_host h1 nft flush ruleset
    on_host h2 nft flush ruleset
done
check 'without it' job ./sleeper 0

# settings that differ
cat >differs.sh <<'END2'
[ "$(hostname)" != h2 ] || export DATUM_RING_SLOTS=8 DATUM_EAGER_LIMIT=100 DATUM_RING_SLOT_SIZE=1k
exec ./sleeper 0
END2
job sh differs.sh >check.out 2>&1
status=$?
if [ $status = 0 ] || grep -Eq 'h[12].*h[12]' check.out; then
    pass_one
else
    fail_one 'settings that differ: they must work, or a message must name both hosts'
    cat check.out
fi
totals
