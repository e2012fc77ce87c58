#!/bin/sh
# Adds up a test run from the .trs files that tests/driver.sh leaves: prints the logs of what failed and why the
# rest was skipped, then one line "N passed, N failed, N skipped". Fails if anything did, or if nothing ran.
cd "${1:-build}" || exit 1
results=$(find . -name '*.trs' | sort)
[ -n "$results" ] || { echo "0 passed, 0 failed, 0 skipped" && exit 1; }
# ended RESULT: the tests with this result.
ended() {
    # shellcheck disable=SC2086 # a list
    grep -l "^:test-result: $1" $results | sed 's/\.trs$//'
}
for test in $(ended FAIL); do
    echo "== $test.log"
    tail -n 150 "$test.log"
done
# shellcheck disable=SC2046,SC2086 # lists
grep '^skipped: ' /dev/null $(echo "$results" | sed 's/trs$/log/') | sed 's/\.log:/: /'
# shellcheck disable=SC2086 # a list
awk '/^:cases: / { cases += $2 } /^:seconds: / { seconds += $2 } /^:worked: / { worked += $2 }
    END { printf "%d cases passed in %d tests, which took %d seconds in all, and %d of processors\n", cases, ARGC - 1, seconds,
        worked }' $results
failed=$(ended FAIL | wc -l)
echo "$(ended PASS | wc -l) passed, $failed failed, $(ended SKIP | wc -l) skipped"
[ "$failed" -eq 0 ] && [ -n "$(ended PASS)" ]
