#!/bin/sh
# Runs one test program: a conformance program as jobs of several numbers of PEs (SY_PES), everything
# else by itself. Called by the test harness with the program and its arguments. Those that are about pairs of PEs have jobs of one
# PE and of three, in which a PE has two neighbours; what many PEs do together is also done by eight. SY_TEST_FULL=1: all by
# eight, and by two, which modes.test has for most of them.
program=$1
shift
case ${program##*/},${SY_TEST_FULL-} in
*,?*) numbers='1 2 3 8' ;;
activesets,* | collectives_*,* | crowd,* | generics2,* | lifecycle,* | locks,* | reductions_typed,* | switches,* | teams,*) numbers='1 3 8' ;;
*) numbers='1 3' ;;
esac
case $program in
*conformance/*)
    for pes in ${SY_PES:-$numbers}; do
        # The time limit is for hangs; it says nothing about speed.
        "$SY_BUILD/bin/oshrun" -n "$pes" --timeout 240 "$program" "$@" || {
            status=$?
            echo "failed with status $status: oshrun -n $pes $program"
            exit 1
        }
        echo "ok: $pes PEs"
    done
    ;;
*) exec "$program" "$@" ;;
esac
