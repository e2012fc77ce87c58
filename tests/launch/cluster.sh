# Hosts n1 .. n4 for tests of oshrun: network namespaces with a server of ssh in each, joined by a
# bridge, and n0 where oshrun runs. Source after lib.sh, in a test that may be skipped: without the
# right to make namespaces, or without ssh, it says so and leaves with 77.

cluster=sy$$
hosts=4

cluster_missing()
{
    [ "$(id -u)" = 0 ] || { echo "only root may make network namespaces"; return; }
    for program in ip ssh ssh-keygen sshd; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null || { echo "there is no $program here"; return; }
    done
    ip netns add "$cluster"b 2>/dev/null || { echo "network namespaces cannot be made here"; return; }
    ip -n "$cluster"b link add br0 type bridge 2>/dev/null || echo "bridges cannot be made here"
}

cluster_down()
{
    local file n
    for file in "$dir"/sshd.*.pid; do
        [ -s "$file" ] && kill "$(cat "$file")" 2>/dev/null
    done
    for n in b $(seq 0 $hosts); do
        # Kills the processes that are left in a network when it ends.
        ip netns pids "$cluster$n" 2>/dev/null | xargs -r kill -9 2>/dev/null
        ip netns del "$cluster$n" 2>/dev/null
    done
}

# Everything that is asked of it, in the namespace of host N.
on()
{
    local n=$1
    shift
    ip netns exec "$cluster$n" "$@"
}

cluster_host()
{
    local n=$1
    ip netns add "$cluster$n" &&
        ip link add "$cluster-$n" netns "$cluster"b type veth peer name eth0 netns "$cluster$n" &&
        ip -n "$cluster"b link set "$cluster-$n" master br0 up &&
        ip -n "$cluster$n" addr add 10.83.0.$((n + 1))/24 dev eth0 &&
        ip -n "$cluster$n" link set lo up && ip -n "$cluster$n" link set eth0 up
}

# HOME is an empty directory: shells that sshd starts would read the user's start-up files, which may take any time.
cluster_ssh()
{
    local n=$1
    cat >"$dir/sshd.$n" <<END
ListenAddress 10.83.0.$((n + 1))
HostKey $dir/hostkey
PidFile $dir/sshd.$n.pid
AuthorizedKeysFile $dir/key.pub
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
SetEnv HOME=$dir
END
    printf 'Host n%s\n HostName 10.83.0.%s\n' "$n" $((n + 1)) >>"$dir/ssh_config"
    on "$n" "$(PATH=$PATH:/usr/sbin command -v sshd)" -f "$dir/sshd.$n"
}

cluster_up()
{
    local why n
    trap 'cluster_down; rm -rf "$dir"' EXIT
    why=$(cluster_missing)
    [ -z "$why" ] || { echo "skipped: $why"; exit 77; }
    ip -n "$cluster"b link set br0 up
    mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f "$dir/hostkey" && ssh-keygen -q -t ed25519 -N '' -f "$dir/key" ||
        fail "no keys"
    printf 'Host *\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n' \
        "$dir/key" "$dir/known_hosts" >"$dir/ssh_config"
    for n in $(seq 0 $hosts); do
        cluster_host "$n" || { echo "skipped: no network between namespaces here"; exit 77; }
        [ "$n" = 0 ] || cluster_ssh "$n" || fail "sshd of host n$n does not start"
    done
}

# oshrun, on host n0, with the key of this test.
remote()
{
    on 0 "$oshrun" --launcher-args "-F $dir/ssh_config" "$@"
}
