# Sourced by tests of jobs whose PEs talk over TCP: each PE is a node of its own, on this machine.
. "$SY_SRC/tests/lib.sh"
oshrun=$SY_BUILD/bin/oshrun
storm=$SY_BUILD/tests/fault/storm
SHMEM_TRANSPORTS=tcp
SHMEM_PES_PER_NODE=1
export SHMEM_TRANSPORTS SHMEM_PES_PER_NODE
"$oshrun" -n 2 --timeout 60 "$storm" amo 1 >probe.out 2>&1 || {
    grep -q "no such transport" probe.out && skip "the library was built without the TCP transport"
    fail "a job of 2 PEs over TCP: $(cat probe.out)"
}

# start PES COMMAND...: begins a job in the background and waits until its PEs have met. Sets job, and pes:
# the process ids of the PEs, in no order.
start() {
    start_pes=$1
    shift
    rm -f out err
    "$oshrun" -n "$start_pes" --timeout 240 "$@" >out 2>err &
    job=$!
    waited=0
    until grep -q begun out 2>/dev/null; do
        kill -0 $job 2>/dev/null || fail "$*: ended early: $(cat out err)"
        [ $waited -lt 600 ] || fail "$*: no sign of life in 60 s"
        waited=$((waited + 1))
        sleep 0.1
    done
    pes=$(pgrep -P $job -x 'storm|lt-storm')
}

# milliseconds of the monotonic clock
now() {
    awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime
}

# gone SECONDS PID...: waits until no process is left; sets took (ms).
gone() {
    limit=$1
    shift
    begin=$(now)
    while :; do
        alive=
        for pid in "$@"; do
            kill -0 "$pid" 2>/dev/null && alive="$alive $pid"
        done
        took=$(($(now) - begin))
        [ -z "$alive" ] && return 0
        [ $took -lt $((limit * 1000)) ] || return 1
        sleep 0.02
    done
}
