# Sourced by test scripts: a scratch directory to work in, and fail. SY_BUILD and SY_SRC are absolute.
set -u
SY_SANITIZE=${SY_SANITIZE-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sy-test.XXXXXX")
# Jobs are left where a test fails on the way; dash knows them only outside $().
trap 'jobs -p >"$scratch/jobs"; kill $(cat "$scratch/jobs") 2>/dev/null; cd /; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

fail() {
    echo "FAIL: $*"
    exit 1
}

# skip WHY: the test cannot be made here.
skip() {
    echo "skipped: $*"
    exit 77
}
