#!/bin/sh
# check.sh [quick|full]: builds in build/ and runs the tests; each is shown as it ends, and the logs of those that
# failed at the end. Those that mostly wait run four at a time. "quick" takes at most three minutes once it is built,
# "full" also runs what takes very long. It installs nothing: config/install-packages.sh test does. The last line is
# "N passed, N failed, N skipped"; the exit status tells whether all is well.
set -e
cd "$(dirname "$0")/.."
. config/packages.sh
targets='check-together check-alone'
case ${1-} in
'') ;;
quick) targets=check-quick ;;
full) SY_TEST_FULL=1 && export SY_TEST_FULL ;;
*) echo "usage: $0 [quick|full]" >&2 && exit 2 ;;
esac

# Lines for stack traces are all the debug information that the tests want; more takes a tenth longer to compile.
set_up build --enable-werror CFLAGS='-O2 -g1'
echo "== building the tests"
make -C build -s -k -j"$(nproc)" check TESTS= >build/make.out 2>&1 || {
    tail -n 40 build/make.out >&2
    echo "$0: a test does not build; the whole story is in build/make.out" >&2
    exit 1
}
echo "== testing"
find build -name '*.trs' -delete
rm -f build/check.failed
# shellcheck disable=SC2086 # a list
{ make -C build -s -k $targets || touch build/check.failed; } 2>&1 | tee build/check.out |
    grep --line-buffered -E '^ *[0-9]+/[0-9]+ |^make.*Error' || true
status=0
config/summary.sh build || status=1
[ ! -e build/check.failed ] || status=1
exit $status
