#!/bin/bash
# test: timeout=90
# The hosts of the other tests are what they claim to be: apart from each other, joined by
# networks that can be slow, lossy or cut, and gone afterwards.
. "$TEST_SRC/tests/hosts/lib.sh"
hosts_enter "$@"
. "$TEST_LIB"
hosts_make 3 --nets 2

prints() { # WANT COMMAND...
    local want=$1 got
    shift
    got=$("$@" 2>&1)
    [ "$got" = "$want" ] && return
    echo "wanted: $want"
    echo "got: $got"
    return 1
}
not() { ! "$@"; }

# ---- apart ----

check 'its name' prints h2 on_host h2 hostname
check 'its name, in its file' prints h2 on_host h2 cat /etc/hostname
check 'addresses of names' prints '10.77.0.3 h3' \
    on_host h1 sh -c 'getent ahostsv4 h3 | head -n 1 | sed "s/ .* / /"'
check 'six' prints fd77::3 on_host h1 sh -c 'getent ahostsv6 h3 | sed -n "1s/ .*//p"'
check 'interfaces of each' prints 'eth0 eth1 lo ' on_host h1 sh -c 'ls /sys/class/net | tr "\n" " "'
on_host h1 touch /dev/shm/x /tmp/x
check 'own /dev/shm and /tmp' prints '' on_host h2 sh -c 'ls /dev/shm/x /tmp/x 2>/dev/null'
check 'which hosts_left sees' prints $'h1: /dev/shm/x\nh1: /tmp/x' hosts_left
on_host h1 rm /dev/shm/x /tmp/x
echo here >file
check 'the directory of the test is shared' prints here on_host h2 cat file
on_host h1 ipcmk -S 1 >/dev/null
check 'own System V IPC' prints 0 on_host h2 sh -c 'ipcs -s | grep -c 0x'
on_host h3 sleep 1000 &
check 'own processes' not on_host h2 pgrep -x sleep
host_kill h3
wait $!
check 'status of a command whose host is gone' [ $? = 255 ]
hosts_make 3 --nets 2
check 'no interface of the machine is seen' prints 'lo net0 net1 h1 h1 h2 h2 h3 h3' \
    sh -c 'ls -U /sys/class/net | sed "s/[.].*//" | sort | tr "\n" " " |
           sed "s/\(.*\)lo net0 net1 /lo net0 net1 \1/; s/ $//"'

# ---- the way in ----

check 'status' bash -c "'$hosts_d' run $hosts_dir/h1.sock sh -c 'exit 7'; [ \$? = 7 ]"
check 'status of a signal' bash -c "'$hosts_d' run $hosts_dir/h1.sock sh -c 'kill \$\$'; [ \$? = 143 ]"
check 'arguments' prints '<a  b><$x><"><>' on_host h2 printf '<%s>' 'a  b' '$x' '"' ''
check 'environment' prints 1 env MY=1 "$hosts_d" run "$hosts_dir/h2.sock" sh -c 'echo $MY'
check 'rsh: no environment' prints '' env MY=1 "$HOSTS_RSH" h2 'echo $MY'
check 'rsh: words are a shell line' prints 'a b; c' rsh_host -x h2 echo '"a b;' 'c"'
check 'rsh: home' prints "$HOME" rsh_host h2 pwd
check_fails 'rsh: no such host' 'no host nohost' rsh_host nohost true

# ---- networks ----

cat >ask.sh <<'END2'
# ask.sh SERVER ADDRESS: true when a connection is made within five seconds
exec 2>/dev/null
timeout 5 bash -c "exec 3<>/dev/tcp/$1/5555 && read -r line <&3 && [ \"\$line\" = hello ]"
END2
cat >serve.pl <<'END2'
# Says hello to each that connects, and takes what comes; a process each, since one whose
# last packets were lost goes on for a while.
use strict; use Socket;
socket(my $s, PF_INET6, SOCK_STREAM, 0) or die;
setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1);
bind($s, pack_sockaddr_in6(5555, Socket::inet_pton(AF_INET6, "::"))) or die;
listen($s, 16) or die;
$SIG{CHLD} = "IGNORE";
while (accept(my $c, $s)) {
    if (!fork) { syswrite($c, "hello\n"); my $b; 1 while sysread($c, $b, 1 << 20); exit; }
    close $c;
}
END2
for h in h2 h3; do on_host $h perl "$PWD/serve.pl" & done
for ((i = 0; i < 50; i++)); do on_host h1 bash ask.sh h2 && on_host h1 bash ask.sh h3 && break; sleep 0.1; done
ask() { on_host h1 bash ask.sh "$1"; }
for net in 0 1; do
    for family in 4 6; do
        check "network $net, IPv$family" ask "$(host_address h2 $net $family)"
    done
done
host_link h2 down
check 'the link is down' not ask "$(host_address h2)"
check 'the other network is there' ask "$(host_address h2 1)"
check 'the other host is there' ask "$(host_address h3)"
check 'no carrier' prints 0 on_host h2 cat /sys/class/net/eth0/carrier
host_link h2 up
check 'the link is back' ask "$(host_address h2)"
check 'and for IPv6' ask "$(host_address h2 0 6)"

# seconds COMMAND...
seconds() { local t0=${EPOCHREALTIME/./}; "$@" >/dev/null 2>&1; echo $(((${EPOCHREALTIME/./} - t0) / 1000000)); }
send_mb() { on_host h1 timeout 60 bash -c "exec 3<>/dev/tcp/h2/5555; head -c $1000000 /dev/zero >&3; exec 3>&-"; }
hosts_rate 20mbit
check 'ten megabytes at 20 mbit/s take their time' [ "$(seconds send_mb 10)" -ge 3 ]
hosts_rate none
drops() { nft list ruleset | sed -n 's/.*counter packets \([0-9]*\).*/\1/p'; }
hosts_loss 5
send_mb 20
check 'some packets were lost, and TCP lived' [ "$(drops)" -gt 0 ]
hosts_loss 100
check 'all are lost' not ask h2
hosts_loss 0
check 'none is lost' ask h2

# ---- gone ----

on_hosts=$TEST_SRC/tests/hosts/on-hosts
check_fails 'a process that is left' 'left on the hosts.*sleep' \
    "$on_hosts" --tidy -- sh -c 'setsid sleep 1000 >/dev/null 2>&1 &'
for sig in INT TERM KILL; do
    "$on_hosts" sh -c 'echo up; exec sleep 4321' >"up.$sig" 2>/dev/null &
    pid=$!
    for ((i = 0; i < 200; i++)); do grep -q up "up.$sig" && break; sleep 0.1; done
    check "the hosts are there before SIG$sig" pgrep -f 'sleep 4321'
    kill -$sig $pid
    wait $pid 2>/dev/null
    for ((i = 0; i < 50; i++)); do pgrep -f 'sleep 4321' >/dev/null || break; sleep 0.1; done
    check "gone after SIG$sig" not pgrep -f 'sleep 4321'
done
totals
