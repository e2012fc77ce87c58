#!/bin/sh
# Runs one test for automake's harness, and prints a line as it ends: how many have ended of how many, its result, its
# seconds, the seconds of processors that the processes it waited for took, and how many cases it reported. What the test
# prints is its log; of that three kinds of line count:
#   ok: WHAT             a case that passed
#   skipped: WHAT, WHY   a case, or with status 77 the whole test, that cannot be made here
#   FAIL: WHY            what went wrong, with a status other than 0 and 77
# A test that ends with status 0 and has reported no case has failed, and so has one that is skipped without a reason.
while [ "$1" != -- ]; do
    case $1 in
    --test-name) name=$2 ;;
    --log-file) log=$2 ;;
    --trs-file) trs=$2 ;;
    esac
    shift 2
done
shift
tests=${SY_TESTS-$log}
unset SY_TESTS
same=0
for each in $tests; do
    [ "$each" != "$log" ] || same=$((same + 1))
done

begin=$(date +%s%N)
status=0
"$@" >"$log" 2>&1 || status=$?
tenths=$((($(date +%s%N) - begin) / 100000000))
times >"$trs.times"
worked=$(awk -F'[ms ]+' 'NR == 2 { printf "%.1f", $1 * 60 + $2 + $3 * 60 + $4 }' "$trs.times")
rm -f "$trs.times"
cases=$(grep -c '^ok: ' "$log")
skipped=$(grep -c '^skipped: ' "$log")

case $status in
0)
    result=PASS
    if [ "$cases" -eq 0 ]; then
        result=FAIL
        echo "FAIL: the test reported no case; a line \"ok: WHAT\" for each tells what was tried" >>"$log"
    fi
    ;;
77)
    result=SKIP
    if [ "$skipped" -eq 0 ]; then
        result=FAIL
        echo "FAIL: status 77 without a line \"skipped: WHAT, WHY\"" >>"$log"
    fi
    ;;
*)
    result=FAIL
    echo "status $status" >>"$log"
    ;;
esac
if [ $same -gt 1 ]; then
    result=FAIL
    echo "FAIL: $same tests write $log, so make runs one of them only; another name is wanted" >>"$log"
fi
{
    echo ":test-result: $result"
    echo ":global-test-result: $result"
    [ $result = FAIL ] && echo ":recheck: yes" || echo ":recheck: no"
    echo ":copy-in-global-log: no"
    echo ":seconds: $((tenths / 10)).$((tenths % 10))"
    echo ":worked: $worked"
    echo ":cases: $cases"
} >"$trs"
# How many tests there are, and have ended; they end in no fixed order where several run at a time.
number=0 all=0
for each in $tests; do
    all=$((all + 1))
    [ ! -e "${each%.log}.trs" ] || number=$((number + 1))
done
left_out=
[ "$skipped" -eq 0 ] || left_out=", $skipped skipped"
printf '%3d/%d %s: %s (%d.%d s, %s of processors, %d cases%s)\n' $number $all $result "$name" \
    $((tenths / 10)) $((tenths % 10)) "$worked" "$cases" "$left_out"
