# Sourced by tests that need several hosts: network namespaces, joined by switches in a namespace of their
# own. Everything is gone at the end of the test, whatever happens.
#
#   cluster_hosts COUNT                          hosts 1 .. COUNT, each with its loopback interface
#   cluster_switch NAME                          a switch
#   cluster_wire HOST INTERFACE SWITCH [MTU]     an interface of a host, plugged into a switch
#   cluster_address HOST INTERFACE ADDRESS/BITS  IPv4 or IPv6
#   cluster_net COUNT [4|6]                      all of these: eth0 of all hosts, 10.77.0.HOST or fd77::HOST
#   cluster_line SWITCH [delay=MS] [loss=PERCENT] [mtu=BYTES] [rate=KBIT]
#                                                makes a switch a bad line (see cable.c); no words: good again
#   cluster_unplug, cluster_plug HOST INTERFACE  the switch forgets an interface, which the host cannot see;
#                                                and takes it back
#   cluster_on HOST COMMAND...                   runs a command on a host
#   cluster_run PES COMMAND...                   runs a job, its PEs divided among the hosts in blocks
. "$SY_SRC/tests/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "there is no ip command (iproute2)"
oshrun=$SY_BUILD/bin/oshrun
cluster=sy$$
cluster_size=0

# The processes on the hosts are the job's; those in the switches' namespace are the switches themselves.
cluster_end() {
    for space in $(ip netns list 2>/dev/null | awk -v own="$cluster" 'index($1, own "h") == 1 || $1 == own "s" { print $1 }'); do
        for pid in $(ip netns pids "$space" 2>/dev/null); do
            kill -9 "$pid" 2>/dev/null
        done
        ip netns delete "$space"
    done
    cd /
    rm -rf "$scratch"
}
trap cluster_end EXIT
trap 'exit 1' INT TERM HUP

ip netns add "${cluster}s" 2>ip.out || skip "no network namespace can be made here: $(cat ip.out)"

cluster_must() {
    "$@" >ip.out 2>&1 || fail "$*: $(cat ip.out)"
}
cluster_on() {
    cluster_host=$1
    shift
    ip netns exec "${cluster}h$cluster_host" "$@"
}
cluster_hosts() {
    cluster_size=$1
    for host in $(seq "$1"); do
        cluster_must ip netns add "${cluster}h$host"
        cluster_must ip -n "${cluster}h$host" link set lo up
    done
    cat >on_host <<E
#!/bin/sh
exec ip netns exec ${cluster}h\$((SHMEM_BOOT_PE * $1 / SHMEM_BOOT_NPES + 1)) "\$@"
E
    chmod +x on_host
}
cluster_switch() {
    cluster_must ip -n "${cluster}s" link add name "$1" type bridge
    cluster_must ip netns exec "${cluster}s" sh -c "echo 1 >/proc/sys/net/ipv6/conf/$1/disable_ipv6"
    cluster_must ip -n "${cluster}s" link set "$1" mtu 9000 up
}
# The other end of a host's interface is named after both, in the switches' namespace.
cluster_wire() {
    cluster_must ip -n "${cluster}h$1" link add name "$2" mtu 9000 type veth peer name "$2.$1" netns "${cluster}s"
    cluster_must ip netns exec "${cluster}s" sh -c "echo 1 >/proc/sys/net/ipv6/conf/$2.$1/disable_ipv6"
    cluster_must ip -n "${cluster}s" link set "$2.$1" mtu 9000 master "$3" up
    cluster_must ip -n "${cluster}h$1" link set "$2" mtu "${4:-1500}" up
    echo "$3" >"$2.$1.switch"
}
cluster_address() {
    case $3 in
    *:*) cluster_must ip -n "${cluster}h$1" address add "$3" dev "$2" nodad ;;
    *) cluster_must ip -n "${cluster}h$1" address add "$3" dev "$2" ;;
    esac
}
cluster_net() {
    cluster_hosts "$1"
    cluster_switch lan
    for host in $(seq "$1"); do
        cluster_wire "$host" eth0 lan
        if [ "${2:-4}" = 6 ]; then
            cluster_address "$host" eth0 "fd77::$host/64"
        else
            cluster_address "$host" eth0 "10.77.0.$host/24"
        fi
    done
}
cluster_line() {
    line=$1
    shift
    if [ -s "$line.pid" ]; then
        kill "$(cat "$line.pid")"
        wait "$(cat "$line.pid")" 2>/dev/null
        rm -f "$line.pid"
    fi
    if [ ! -s "$line.ports" ]; then
        ip -n "${cluster}s" -o link show master "$line" | sed 's/^[0-9]*: \([^@:]*\).*/\1/' >"$line.ports"
    fi
    if [ $# -eq 0 ]; then
        for port in $(cat "$line.ports"); do
            cluster_must ip -n "${cluster}s" link set "$port" master "$line"
        done
        return
    fi
    for port in $(cat "$line.ports"); do
        cluster_must ip -n "${cluster}s" link set "$port" nomaster promisc on
    done
    # shellcheck disable=SC2046 # a list
    ip netns exec "${cluster}s" "$SY_BUILD/tests/cluster/cable" "$@" $(cat "$line.ports") >"$line.out" 2>&1 &
    echo $! >"$line.pid"
    until grep -q ready "$line.out" 2>/dev/null; do
        kill -0 "$(cat "$line.pid")" 2>/dev/null || fail "cable: $(cat "$line.out")"
        sleep 0.05
    done
}
cluster_unplug() {
    cluster_must ip -n "${cluster}s" link set "$2.$1" nomaster
}
cluster_plug() {
    cluster_must ip -n "${cluster}s" link set "$2.$1" master "$(cat "$2.$1.switch")"
}
cluster_run() {
    pes=$1
    shift
    "$oshrun" -n "$pes" --timeout "${cluster_timeout:-120}" ./on_host "$@"
}
