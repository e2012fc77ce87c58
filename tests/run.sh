#!/bin/sh
# Runs one test program: a conformance program as jobs of several numbers of PEs (SY_PES), everything
# else by itself. Called by the test harness with the program and its arguments.
program=$1
shift
case $program in
*conformance/*)
    for pes in ${SY_PES:-1 2 3 8}; do
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
