# Hosts made of namespaces: . "$TEST_SRC/tests/hosts/lib.sh", in a script of bash.
#
#   hosts_enter "$@"             first: starts the script again in a world of its own
#   hosts_make N [OPTION]...     hosts h1 ... hN; again: the old ones are removed first
#       --family 4|6|both        addresses (default: both; names resolve to IPv4 then)
#       --nets N                 networks: eth0, eth1 ... of every host (default: 1)
#       --mtu N  --rate RATE     of every interface; the rate as tc writes it, 50mbit
#       --loss PERCENT           of the packets between hosts
#       --netem SPEC             of every interface, as tc writes it with _ for blanks:
#                                delay_3ms_1ms_reorder_25%; needs a kernel with sch_netem
#   on_host HOST COMMAND...      with this script's environment, directory, descriptors
#   rsh_host HOST WORD...        like ssh HOST WORD...
#   host_address HOST [NET [4|6]]   prints it; NET is 0 for eth0
#   host_pid HOST                process 1 of the host, as seen from here
#   host_kill HOST               all its processes die at once, the kernel tells their peers;
#                                after host_link HOST down nobody hears of it, as when the
#                                power fails
#   host_link HOST up|down [NET] its cable
#   hosts_loss PERCENT; hosts_rate RATE|none [NET]
#   hosts_nfs DIR                each host has it by NFS from the switch, where DIR is itself
#   hosts_nfs_end DIR            no more; a server would outlive the hosts
#   hosts_left                   what processes, files of /dev/shm or /tmp the hosts have left
#
# A host has its own network, name, processes, System V IPC, /dev/shm, /tmp and /etc/hosts.
# It shares with the others all other files, as if from a file server, and of /tmp what
# the script needs: its directory, the build, the sources, and what $HOSTS_SHARE names.
# The world (tests/hosts/hostd.c) has the switches, the bridges net0, net1 ..., and is
# gone with all hosts when the script has ended, however it ended.
#
# Commands on hosts find mpiexec's launcher and host list in their environment, for Hydra
# and for Open MPI, and in $HOSTS_RSH, $HOSTS_LIST (h1,h2,...) and $HOSTS_FILE.

hosts_dir=/tmp/.hosts
hosts_names=()

hosts_die() {
    echo "hosts: $*" >&2
    exit 2
}

# hosts_can: true when namespaces can be made here; prints the reason otherwise.
hosts_can() {
    local tool
    for tool in ip:iproute2 nft:nftables nsenter:util-linux mount:mount; do
        [ -n "$(PATH=$PATH:/usr/sbin:/sbin command -v ${tool%:*})" ] || {
            echo "${tool%:*} is not there (package ${tool#*:})"
            return 1
        }
    done
    [ -x "$hosts_d" ] || {
        echo "$hosts_d is not built (make tests)"
        return 1
    }
    "$hosts_d" world ip link add net0 type bridge 2>&1
}

hosts_enter() {
    local why
    hosts_d=${DATUM_BUILD:?}/tests/hosts/hostd
    if [ "${HOSTS_WORLD:-}" != yes ]; then
        why=$(hosts_can) || {
            echo "no network namespaces: $why"
            exit 77
        }
        HOSTS_WORLD=yes exec "$hosts_d" world bash "$0" "$@"
    fi
    unset HOSTS_WORLD
    export PATH=$PATH:/usr/sbin:/sbin
    hosts_shared=$(for dir in "$PWD" "$DATUM_BUILD" "${TEST_SRC:-}" "${TEST_TMP:-}" ${HOSTS_SHARE:-}; do
        [ -z "$dir" ] || realpath -- "$dir"
    done | grep '^/tmp/.' | sort -u)
    hosts_own_tmp
    unset TMPDIR
    mkdir -m 755 "$hosts_dir"
    hosts_write_rsh
    ip link set lo up
}

# A /tmp of one's own, with what is shared.
hosts_own_tmp() {
    local dir fd
    exec {fd}</tmp
    mount -t tmpfs -o mode=1777 tmpfs /tmp
    while IFS= read -r dir; do
        [ -n "$dir" ] && [ -d "/proc/self/fd/$fd/${dir#/tmp/}" ] || continue
        mkdir -p "$dir"
        # By the magic link: the old /tmp has no other name any more.
        mount --no-canonicalize --bind "/proc/self/fd/$fd/${dir#/tmp/}" "$dir" ||
            hosts_die "cannot share $dir"
    done <<<"$hosts_shared"$'\n'"$hosts_dir"
    exec {fd}<&-
    cd "$PWD" || exit 2
}

# What Hydra and Open MPI call instead of ssh.
hosts_write_rsh() {
    cat >"$hosts_dir/rsh" <<RSH
#!/bin/sh
while :; do
    case \$1 in
    -[bceFilmopSw]) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
host=\$1
shift
if [ ! -e "$hosts_dir/\$host.sock" ]; then
    echo "rsh: no host \$host" >&2
    exit 255
fi
exec "$hosts_d" rsh "$hosts_dir/\$host.sock" "\$@"
RSH
    chmod +x "$hosts_dir/rsh"
}

# In the host, as its first command.
host_set_up() { # NAME
    local name=$1 lib
    hostname "$name" || return
    mount --bind "$hosts_dir/hosts" /etc/hosts || return
    echo "$name" >"$hosts_dir/$name.name"
    [ ! -e /etc/hostname ] || mount --bind "$hosts_dir/$name.name" /etc/hostname || return
    hosts_own_tmp
    ip link set lo up
}

hosts_make() {
    local n=$1 i name family=both nets=1 mtu='' rate='' loss='' netem=''
    shift
    while [ $# -gt 1 ]; do
        case $1 in
        --family) family=$2 ;;
        --nets) nets=$2 ;;
        --mtu) mtu=$2 ;;
        --rate) rate=$2 ;;
        --loss) loss=$2 ;;
        --netem) netem=$2 ;;
        *) hosts_die "unknown option $1" ;;
        esac
        shift 2
    done
    [ $# = 0 ] || hosts_die "unknown option $1, or one without its value"
    case $n$nets in *[!0-9]*) hosts_die 'the numbers of hosts and networks are numbers' ;; esac
    case $family in 4 | 6 | both) ;; *) hosts_die "no address family $family" ;; esac
    hosts_remove
    hosts_family=$family hosts_nets=$nets
    for ((i = 1; i <= n; i++)); do hosts_names+=("h$i"); done
    hosts_write_names
    {
        declare -p hosts_dir hosts_shared
        declare -f host_set_up hosts_own_tmp hosts_die
        echo 'host_set_up "$1"'
    } >"$hosts_dir/set_up"
    hosts_switches "$mtu"
    for name in "${hosts_names[@]}"; do
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin SHELL=/bin/sh \
            HOME="${HOME:-/}" USER="$(id -un)" LOGNAME="$(id -un)" LANG=C \
            "$hosts_d" host "$hosts_dir/$name.sock" bash "$hosts_dir/set_up" "$name" </dev/null &
        host_pid_of[$name]=$!
        disown
    done
    for name in "${hosts_names[@]}"; do host_wire "$name" "$mtu" || hosts_die "$name: no network"; done
    [ -z "$rate" ] || hosts_rate "$rate"
    [ -z "$loss" ] || hosts_loss "$loss"
    [ -z "$netem" ] || hosts_netem "$netem" || hosts_die "netem $netem: is sch_netem in the kernel?"
    hosts_environment
}

declare -A host_pid_of

hosts_remove() {
    local name i
    for name in "${hosts_names[@]}"; do host_kill "$name"; done
    for ((i = 0; i < ${hosts_nets:-0}; i++)); do ip link del net$i; done
    nft flush ruleset
    rm -f "$hosts_dir"/*.sock "$hosts_dir"/*.name
    hosts_names=() hosts_nets=0
}

host_address() { # HOST [NET [FAMILY]]
    local family=${3:-$hosts_family}
    case $family in
    6) echo "fd77:${2:-0}::${1#h}" ;;
    *) echo "10.7$((7 + ${2:-0})).0.${1#h}" ;;
    esac
}

hosts_write_names() {
    local name family families=$hosts_family
    [ $families != both ] || families='4 6'
    {
        echo 127.0.0.1 localhost
        echo ::1 localhost ip6-localhost ip6-loopback
        for family in $families; do
            for name in "${hosts_names[@]}"; do
                echo "$(host_address "$name" 0 "$family") $name"
            done
        done
    } >"$hosts_dir/hosts"
    printf '%s\n' "${hosts_names[@]}" >"$hosts_dir/hostfile"
}

hosts_switches() { # MTU
    local i
    for ((i = 0; i < hosts_nets; i++)); do
        # Learning whom a packet is for by listening would lose the first ones of IPv6.
        ip link add net$i type bridge mcast_snooping 0 forward_delay 0 || exit
        ip link set net$i ${1:+mtu $1} up
    done
}

host_wire() { # NAME MTU
    local name=$1 pid=${host_pid_of[$1]} i t=0 addr
    # When it serves, it has its namespaces.
    until [ -S "$hosts_dir/$name.sock" ]; do
        kill -0 "$pid" 2>/dev/null && [ $((t += 1)) -lt 1000 ] || return 1
        sleep 0.01
    done
    for ((i = 0; i < hosts_nets; i++)); do
        ip link add "$name.$i" ${2:+mtu $2} type veth peer name eth$i ${2:+mtu $2} netns "$pid" &&
            ip link set "$name.$i" master net$i up || return 1
        [ $hosts_family = 6 ] ||
            echo "addr add $(host_address "$name" $i 4)/24 dev eth$i"
        [ $hosts_family = 4 ] ||
            echo "addr add $(host_address "$name" $i 6)/64 dev eth$i nodad"
        echo "link set eth$i up"
    done >"$hosts_dir/$name.batch" || return 1
    on_host "$name" ip -batch "$hosts_dir/$name.batch"
}

on_host() {
    local name=$1
    shift
    "$hosts_d" run "$hosts_dir/$name.sock" "$@"
}

rsh_host() { "$hosts_dir/rsh" "$@"; }

host_pid() {
    local children
    read -r children <"/proc/${host_pid_of[$1]}/task/${host_pid_of[$1]}/children"
    echo "$children"
}

host_kill() {
    local pid=${host_pid_of[$1]} i
    [ -e "/proc/$pid/stat" ] && kill -KILL "$(host_pid "$1")" 2>/dev/null
    # The process that made the namespaces waits for process 1, and that for all others:
    # their sockets are closed, and the peers have been told.
    while [ -e "/proc/$pid/stat" ] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null; do
        sleep 0.01
    done
    for ((i = 0; i < hosts_nets; i++)); do ip link del "$1.$i" 2>/dev/null; done
    rm -f "$hosts_dir/$1.sock"
}

# Back again, a cable carries a moment later: first the kernel tells both its ends and the bridge,
# and whom the hosts have asked for in vain they would call unreachable for a while.
host_link() {
    local net=${3:-0} name t=0
    ip link set "$1.$net" "$2" || return
    [ "$2" = up ] || return 0
    until [ "$(cat "/sys/class/net/$1.$net/operstate")" = up ] &&
        [ "$(cat "/sys/class/net/$1.$net/brport/state")" = 3 ] &&
        [ "$(on_host "$1" cat "/sys/class/net/eth$net/operstate")" = up ]; do
        [ $((t += 1)) -lt 500 ] || return 1
        sleep 0.01
    done
    for name in "${hosts_names[@]}"; do
        on_host "$name" ip neigh flush dev "eth$net" || return
    done
}

# Of what passes the switches, by chance.
hosts_loss() {
    local some='' n
    nft flush ruleset
    n=$(awk "BEGIN { printf \"%d\", $1 * 100 }")
    [ "$n" != 0 ] || return 0
    [ "$n" -ge 10000 ] || some="numgen random mod 10000 < $n"
    nft -f - <<RULES
table bridge loss {
    chain switch {
        type filter hook forward priority 0;
        $some counter drop
    }
}
RULES
}

hosts_rate() {
    local name i
    for name in "${hosts_names[@]}"; do
        for ((i = ${2:-0}; i <= ${2:-hosts_nets - 1}; i++)); do
            on_host "$name" tc qdisc del dev eth$i root 2>/dev/null
            [ "$1" = none ] ||
                on_host "$name" tc qdisc add dev eth$i root tbf rate "$1" burst 64k latency 100ms ||
                return 1
        done
    done
}

hosts_netem() {
    local name i
    for name in "${hosts_names[@]}"; do
        for ((i = 0; i < hosts_nets; i++)); do
            # shellcheck disable=SC2086
            on_host "$name" tc qdisc add dev eth$i root netem ${1//_/ } || return 1
        done
    done
}

# The switch is the server; each host is a client of its own, with a cache of its own.
hosts_nfs() { # DIR
    local name
    ip addr add 10.77.0.254/24 dev net0 && mount -t tmpfs tmpfs /var/lib/nfs &&
        mkdir -p /var/lib/nfs/{rpc_pipefs,v4recovery} && touch /var/lib/nfs/{etab,rmtab} &&
        mount -t nfsd nfsd /proc/fs/nfsd || return
    exportfs -o rw,sync,no_root_squash,no_subtree_check,insecure,fsid=0 "*:$1" &&
        rpc.mountd -N 2 -N 3 || return
    # It refuses to open files at first, for the sake of clients of an earlier server: 10 seconds, not 90.
    rpc.nfsd -N 3 -G 10 4 || return
    for name in "${hosts_names[@]}"; do
        on_host "$name" mount -t nfs4 -o vers=4.2,soft,timeo=600 10.77.0.254:/ "$1" || return
    done
}

# Clients say good-bye to the server, and wait for its answer, so they are the first to go.
hosts_nfs_end() { # DIR
    local name
    cd / || return
    for name in "${hosts_names[@]}"; do
        on_host "$name" umount "$1" || on_host "$name" umount -l "$1"
    done
    rpc.nfsd 0
}

hosts_left() {
    local name
    for name in "${hosts_names[@]}"; do
        [ -e "$hosts_dir/$name.sock" ] || continue
        on_host "$name" bash -c '
            for pid in /proc/[0-9]*; do
                exe=$(readlink $pid/exe) && [ ${pid#/proc/} != $$ ] || continue
                case $exe in */hostd) ;; *) echo "$0: process ${pid#/proc/}, $exe" ;; esac
            done
            shopt -s dotglob nullglob
            for f in /dev/shm/* /tmp/*; do
                case " $1 $2 " in *" $f "* | *" $f/"*) ;; *) echo "$0: $f" ;; esac
            done' "$name" "$(echo $hosts_shared)" "$hosts_dir"
    done
}

hosts_environment() {
    local IFS=,
    export HOSTS_LIST="${hosts_names[*]}" HOSTS_RSH=$hosts_dir/rsh HOSTS_FILE=$hosts_dir/hostfile
    export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$HOSTS_RSH HYDRA_HOST_FILE=$HOSTS_FILE
    export OMPI_MCA_plm_rsh_agent=$HOSTS_RSH OMPI_MCA_orte_default_hostfile=$HOSTS_FILE
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}
