# Sourced by test scripts: a scratch directory to work in, and fail. SY_BUILD and SY_SRC are absolute.
set -u
SY_SANITIZE=${SY_SANITIZE-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sy-test.XXXXXX")
# Ends jobs that a test which fails halfway leaves running; dash lists them only outside $().
trap 'jobs -p >"$scratch/jobs"; kill $(cat "$scratch/jobs") 2>/dev/null; cd /; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

fail() {
    echo "FAIL: $*"
    exit 1
}

# skip WHY: the test cannot run here.
skip() {
    echo "skipped: $*"
    exit 77
}

# on_two ORDER...: runs a command on two processors at most, which all PEs of a job share.
on_two() {
    command -v taskset >/dev/null || skip "no taskset, of util-linux"
    two=$(taskset -cp $$ | sed 's/.*: //')
    case $two in
    *[-,]*)
        first=${two%%[-,]*} two=${two#"$first"}
        case $two in
        -*) two=$first,$((first + 1)) ;;
        *) two=${two#,} two=$first,${two%%[-,]*} ;;
        esac
        ;;
    esac
    taskset -c "$two" "$@"
}
