#!/bin/sh
# coverage.sh [TEST...]: which lines of the product the tests run. Builds in build-coverage/ with --enable-coverage,
# runs the quick set, or the tests that are named, and prints the share of lines run, by folder, and the ten files
# of which least is run. build-coverage/coverage.txt has all files, and build-coverage/lines.txt the lines not run.
# Processes that are killed do not tell what they have run.
set -e
cd "$(dirname "$0")/.."
. config/packages.sh
set_up build-coverage --enable-coverage CFLAGS='-g -O0'
cd build-coverage
make -s -k -j"$(nproc)" check TESTS= >make.out 2>&1 || { tail -n 40 make.out >&2; exit 1; }
find . -name '*.gcda' -delete
echo "== testing"
if [ $# -gt 0 ]; then
    make -s -k check-TESTS TESTS="$*"
else
    make -s -k check-quick
fi 2>&1 | grep --line-buffered -E '^ *[0-9]+/[0-9]+ ' || true
echo "== adding up"

# A source is compiled more than once; a line that one of them has run counts as run.
find . -name '*.gcno' ! -path './tests/*' ! -path './examples/*' ! -path './bin/*' | xargs gcov -t 2>/dev/null |
    awk -F: '
        $3 == "Source" { file = $4; sub(/^(\.\.\/)+/, "", file); ours = file ~ /^(shmem|bootstrap|transports|include)\// }
        !ours || $2 + 0 == 0 || $1 ~ /^ *-$/ { next }
        { seen[file, $2 + 0] = seen[file, $2 + 0] || $1 !~ /[#=]/ }
        END { for (line in seen) { split(line, part, SUBSEP); print part[1] "\t" part[2] "\t" seen[line] } }' |
    sort -t "$(printf '\t')" -k 1,1 -k 2,2n >seen.txt
awk -F'\t' '!$3 { print $1 ":" $2 }' seen.txt >lines.txt
# shares COLUMN: run and all lines of each value of the first words of the path.
awk -F'\t' '{ all[$1]++; run[$1] += $3 }
    END { for (file in all) printf "%5.1f %% of %4d  %s\n", 100 * run[file] / all[file], all[file], file }' seen.txt |
    sort -n >coverage.txt
awk -F'\t' '{ sub(/\/[^\/]*$/, "", $1); all[$1]++; run[$1] += $3; lines++; sum += $3 }
    END { for (folder in all) printf "%5.1f %% of %5d  %s\n", 100 * run[folder] / all[folder], all[folder], folder | "sort -k 5"
          close("sort -k 5")
          printf "%5.1f %% of %5d  in all\n", 100 * sum / lines, lines }' seen.txt
echo "least covered, of the files with 30 lines and more:"
awk '$4 >= 30' coverage.txt | head -n 10
