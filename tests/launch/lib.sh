# For the tests of oshrun: paths, and functions that check and report. Sourced by bash.
: "${SY_BUILD:?set SY_BUILD to the build directory}"
oshrun=$SY_BUILD/bin/oshrun
pe=$SY_BUILD/tests/launch/pe
for program in "$oshrun" "$pe"; do
    [ -x "$program" ] || { echo "FAIL: $program was not built"; exit 1; }
done
unset SHMEM_BOOT_FD SHMEM_BOOT_FLAGS PMI_SIZE OMPI_COMM_WORLD_SIZE PMIX_SIZE SLURM_STEP_NUM_TASKS

# The version of the protocol between oshrun, its agents and PEs.
protocol=$(sed -n 's/^#define SY_LAUNCH_VERSION //p' "$SY_SRC/bootstrap/control/protocol.h")

dir=$(mktemp -d "${TMPDIR:-/tmp}/oshrun-test.XXXXXX") || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT # jobs: where a test fails on the way
# A word on the command line by which a test finds its own processes.
tag=tag=sy$$x$RANDOM

fail()
{
    echo "FAIL: $*"
    for file in "$dir/out" "$dir/err"; do
        [ -s "$file" ] && { echo "--- ${file##*/}:"; head -c 3000 "$file"; }
    done
    states
    exit 1
}

# What this test's processes are doing: where each waits, and its signals.
states()
{
    local pid
    for pid in $(tagged) $(pgrep -P "${job:-none}" 2>/dev/null); do
        echo "--- process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" | head -c 200), in $(cat "/proc/$pid/wchan")"
        grep -E '^(State|SigPnd|ShdPnd|SigBlk|SigCgt):' "/proc/$pid/status"
    done 2>/dev/null
}

# run STATUS COMMAND...: runs the command, output to $dir/out and $dir/err; counts as a case that has passed if the
# command ends with this status.
run()
{
    local want=$1 got=0
    shift
    "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ "$got" = "$want" ] || fail "status $got, not $want: $*"
    printf 'ok: status %s: %.150s\n' "$want" "${*//$'\n'/ }"
}

# said PATTERN [FILE], unsaid PATTERN [FILE]: a line of stderr, or of FILE, matches.
said()
{
    grep -Eq -- "$1" "$dir/${2:-err}" || fail "no line '$1' in ${2:-err}"
}
unsaid()
{
    ! grep -Eq -- "$1" "$dir/${2:-err}" || fail "a line '$1' in ${2:-err}"
}

# lines COUNT [FILE]
lines()
{
    local n
    n=$(wc -l <"$dir/${2:-out}")
    [ "$n" = "$1" ] || fail "$n lines in ${2:-out}, not $1"
}

# within SECONDS COMMAND...: repeats it until it succeeds.
within()
{
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

# The processes that carry the tag, one a line; zombies carry none.
tagged()
{
    local file pid word
    for file in /proc/[0-9]*/cmdline; do
        pid=${file#/proc/}
        pid=${pid%/cmdline}
        while IFS= read -r -d '' word; do
            [ "$word" = "$tag" ] && echo "$pid"
        done <"$file"
    done 2>/dev/null
}
tagged_count_is()
{
    [ "$(tagged | wc -l)" = "$1" ]
}
none_left()
{
    within 20 tagged_count_is 0 || fail "processes are left: $(tagged | tr '\n' ' ')"
}
