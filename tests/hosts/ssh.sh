#!/bin/bash
# test: timeout=90
# mpiexec over ssh, as docs/RUNNING.md describes it: a server of ssh in each host, with keys
# and files made for this test.
. "$TEST_SRC/tests/hosts/lib.sh"
. "$TEST_LIB"
PATH=$PATH:/usr/sbin
need sshd openssh-server
need ssh openssh-client
[ "$(id -u)" = 0 ] || skip 'sshd wants to be root'
hosts_enter "$@"
hosts_make 2

dir=$PWD
ssh-keygen -q -t ed25519 -N '' -f host_key
ssh-keygen -q -t ed25519 -N '' -f user_key
cp user_key.pub authorized_keys
sed 's/^/h1,h2 /; s/ [^ ]*$//' host_key.pub >known_hosts
cat >sshd_config <<CONF
Port 2022
HostKey $dir/host_key
AuthorizedKeysFile $dir/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
CONF
cat >ssh_config <<CONF
Host h1 h2
    Port 2022
    IdentityFile $dir/user_key
    UserKnownHostsFile $dir/known_hosts
    HostKeyAlias h1
    BatchMode yes
CONF
for host in h1 h2; do
    # The directory of sshd's privileges, where the system has not made it.
    on_host $host sh -c 'mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd'
    on_host $host "$(command -v sshd)" -D -e -f "$dir/sshd_config" >"sshd.$host" 2>&1 &
done
# What ~/.ssh/config would say; nothing of the user's is read.
cat >my-ssh <<RUN
#!/bin/sh
exec ssh -F $dir/ssh_config "\$@"
RUN
chmod +x my-ssh
for ((i = 0; i < 100; i++)); do
    on_host h1 ./my-ssh h2 true 2>/dev/null && break
    sleep 0.1
done
check 'ssh works' on_host h1 ./my-ssh h2 hostname
check 'it asks nothing and says nothing' [ "$(cat check.out)" = h2 ]

unset HYDRA_LAUNCHER HYDRA_LAUNCHER_EXEC HYDRA_HOST_FILE
export DATUM_CONNECT=demand HYDRA_LAUNCHER_EXEC=$dir/my-ssh
mpicc -o sleeper "$TEST_SRC/tests/hosts/sleeper.c" || fail 'sleeper.c does not compile'
job() { on_host h1 mpiexec "$@" >job.out 2>&1 || { cat job.out; return 1; }; }
check '-hosts' job -hosts h1,h2 -n 4 ./sleeper 0
check 'both have worked' grep -q 'on h2' job.out
printf 'h1:1\nh2:3  # three there\n' >hostfile
check '-f' job -f hostfile -n 4 ./sleeper 0
check 'as the file says' [ "$(grep -c 'on h2' job.out)" = 3 ]
on_host h1 mpiexec -hosts h1,h2 -n 2 ./sleeper 9 >job.out 2>&1
check 'exit status' [ $? = 9 ]
check_fails 'a name that does not resolve' 'Could not resolve hostname h7' on_host h1 mpiexec -hosts h1,h7 -n 2 ./sleeper 0
totals
