#!/bin/sh
# Adds up a test run from the .trs files that automake's harness leaves: prints the logs of what failed,
# then one line "N passed, N failed, N skipped". Fails if anything did, or if nothing ran.
cd "${1:-build}" || exit 1
passed=0 failed=0 skipped=0
for trs in $(find . -name '*.trs' | sort); do
    p=$(grep -c '^:test-result: \(PASS\|XFAIL\)' "$trs")
    f=$(grep -c '^:test-result: \(FAIL\|XPASS\|ERROR\)' "$trs")
    s=$(grep -c '^:test-result: SKIP' "$trs")
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    if [ "$f" -gt 0 ]; then
        echo "== ${trs%.trs}.log"
        tail -n 150 "${trs%.trs}.log"
    fi
    if [ "$s" -gt 0 ]; then
        echo "skipped ${trs%.trs}: $(tail -n 2 "${trs%.trs}.log" | head -n 1)"
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
