# For the tests of other people's launchers: the same programs under each of them. Sourced by bash after
# lib.sh. The test defines
#   start PES COMMAND...   runs it as a job
#   killed                 the status of a job of which a PE was killed by signal 9
# and calls judge NAME. SY_TEST_FULL=1: jobs of more numbers of PEs.
export SHMEM_SYMMETRIC_SIZE=16M
ulimit -c 0 # a core file of a large address space takes its time

# need COMMAND PACKAGE...: the test cannot be made without it.
need()
{
    local command=$1
    shift
    command -v "$command" >/dev/null 2>&1 || {
        echo "skipped: there is no $command here (Debian: $*)"
        exit 77
    }
}
[ -e "$SY_BUILD/shmem/.libs/switchyard/shmem_bootstrap_pmi.so" ] || {
    echo "skipped: the library was built without Nettle, so it joins no other launcher"
    exit 77
}

cat >"$dir/end.c" <<'C'
/* end [HOW [VALUE]]: a job whose last PE ends in some way, while the others compute or wait. */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static long sum;
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int value = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(how, "late") && atoi(getenv("LATE_PE")) == value)
        sleep(getenv("LATE_FOR") ? (unsigned)atoi(getenv("LATE_FOR")) : 6);
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_long_atomic_add(&sum, me + 1, 0);
    shmem_barrier_all();
    if (me == 0)
        printf("sum of %d: %ld\n", n, sum);
    fflush(stdout);
    shmem_barrier_all();
    if (!*how || !strcmp(how, "late")) {
        shmem_finalize();
        return 0;
    }
    if (me == n - 1) {
        printf("unflushed\n");
        if (!strcmp(how, "global_exit"))
            shmem_global_exit(value);
        if (!strcmp(how, "exit"))
            exit(value);
        if (!strcmp(how, "kill")) {
            usleep(200000); /* srun may lose what the last task wrote just before */
            raise(value);
        }
        if (!strcmp(how, "badput"))
            shmem_long_p(&sum, 1, 1000);
    }
    if (me == 0)
        for (volatile int forever = 0;; forever++) /* computes, makes no call */
            ;
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
C
"$SY_BUILD/bin/oshcc" -O1 "$dir/end.c" -o "$dir/end" 2>"$dir/err" || fail "cannot build end.c"

none_runs()
{
    ! pgrep -f "^$dir/end" >/dev/null
}

# ends STATUS PES ARGUMENT...: a job of that many PEs has this status and leaves nothing behind.
ends()
{
    local want=$1 pes=$2 got=0
    shift 2
    start "$pes" "$dir/end" "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ "$got" = "$want" ] || fail "$name, $pes PEs: end $*: status $got, not $want"
    within 10 none_runs || fail "$name, $pes PEs: end $*: PEs are left"
    grep -q "^sum of $pes: $((pes * (pes + 1) / 2))$" "$dir/out" ||
        fail "$name, $pes PEs: end $*: the wrong number of PEs came together"
}

# loses_daemon COMMAND...: the process that has started the PEs is killed, and the launcher after it. No PE is left, whether it
# computes or waits, and one has said why.
loses_daemon()
{
    local launcher pe
    : >"$dir/out" # of the job before
    setsid "$@" 3 sh -c 'exec "$0" wait 2>>"$1"' "$dir/end" "$dir/err" >"$dir/out" 2>"$dir/launcher" </dev/null &
    launcher=$!
    within 20 grep -q '^sum of' "$dir/out" || fail "$name: a job does not begin"
    pe=$(pgrep -f "^$dir/end" | head -n 1)
    kill -9 "$(ps -o ppid= -p "$pe" | tr -d ' ')"
    within 10 none_runs || fail "$name: the process that started the PEs is killed: PEs are left"
    said "the launcher's process on this host is gone"
    kill -9 $launcher 2>/dev/null
    wait $launcher 2>/dev/null
    : >"$dir/err"
    echo "ok: $name: the process that started the PEs is killed"
}

judge()
{
    local pes program some="1 4"
    [ -z "${SY_TEST_FULL-}" ] || some="1 2 4 8"
    name=$1
    for pes in $some; do
        ends 0 $pes
        ends 7 $pes global_exit 7
        said '^unflushed$' out
        echo "ok: $name: $pes PEs: hello, global_exit"
    done
    for pes in $some; do
        ends 0 $pes global_exit 0
        ends 5 $pes exit 5
        ends "$killed" $pes kill 9
        echo "ok: $name: $pes PEs: exit, kill"
    done
    ends 1 8 badput
    SHMEM_SYMMETRIC_SIZE=64M
    for program in lifecycle ordering generics2; do
        start 4 "$SY_BUILD/tests/conformance/$program" >"$dir/out" 2>"$dir/err" ||
            fail "$name: $program: status $?"
        echo "ok: $name: $program"
    done
    start 1 "$SY_BUILD/tests/conformance/lifecycle" >"$dir/out" 2>"$dir/err" || fail "$name, one PE: status $?"
    SHMEM_SYMMETRIC_SIZE=16M
}

# refuses TEXT PES COMMAND...: the job does not start, with this text and a status other than 0.
refuses()
{
    local text=$1 pes=$2 got attempt
    shift 2
    # Where a machine is very busy, hydra may drop all that PEs say before they end.
    for attempt in 1 2 3; do
        got=0
        start "$pes" "$@" >"$dir/out" 2>"$dir/err" || got=$?
        [ "$got" != 0 ] || fail "$name: status 0 of a job that cannot start: $*"
        [ ! -s "$dir/err" ] || break
    done
    said "$text"
    ! grep -q '^sum' "$dir/out" || fail "$name: PEs of a job that cannot start have run"
    within 10 none_runs || fail "$name: PEs of a job that cannot start are left"
}

# stalls PES: PE 0 reports what all are doing, once for all of them.
# Long enough for a second report: on a busy machine the first may find a PE that has not noted its wait yet.
# A report is part of the last one until 0.4 of its wait have gone by since: of 0.8 to 7 s there are 5 at most, 3 where
# all PEs report in time, and four times as many if each PE's were its own.
stalls()
{
    local pes=$1 n
    SHMEM_STALL_REPORT=0.8 start "$pes" "$SY_BUILD/tests/launch/stall" for 6 >"$dir/out" 2>"$dir/err" ||
        fail "$name, $pes PEs: stall: status $?"
    said 'PE 0@.*: a PE has been waiting for [0-9]+ s \(SHMEM_STALL_REPORT\); what all are doing:$'
    said 'PE 0@.*:   PE 0: in shmem_signal_wait_until$'
    said 'PE 0@.*:   PE 1: in (shmem_long_)?wait_until'
    said 'PE 0@.*:   PE 2: computing'
    said "PE 0@.*:   PEs 3-$((pes - 1)): in shmem_barrier_all$"
    n=$(grep -c 'has been waiting' "$dir/err")
    [ "$n" -le 5 ] || fail "$name, $pes PEs: $n reports of one wait"
    unsaid 'PE [1-9][0-9]*@.*(has been waiting|: in )' # on a busy machine one may say that PE 0 comes late
    echo "ok: $name: $pes PEs: what is waited for"
}

# mpicc_of FAMILY, and the launcher of an MPI with the standard binary interface; empty if there is none.
mpicc_of()
{
    [ "$1" = abi ] && echo mpicc_abi || echo "mpicc.$1"
}
abi_mpiexec=$(command -v mpicc_abi)
abi_mpiexec=${abi_mpiexec:+$(dirname "$abi_mpiexec")/mpiexec.hydra}

# For docs/mpi.md, "How a job ends": the program of MPI and OpenSHMEM, as $dir/mpi_end-FAMILY.
build_mpi_end()
{
    OSHCC_CC=$(mpicc_of "$1") "$SY_BUILD/bin/oshcc" -O1 -Wall -Wextra -Werror "$SY_SRC/tests/launch/mpi_end.c" -o "$dir/mpi_end-$1" \
        2>"$dir/err" || fail "cannot build mpi_end.c with $(mpicc_of "$1")"
}
none_of_mpi_runs()
{
    ! pgrep -f "^$dir/mpi_end" >/dev/null
}

# mpi_ends FAMILY STATUS HOW [VALUE]: a job of three ends with this status, or one of "7|9", and nothing is left of it.
mpi_ends()
{
    local family=$1 want=$2 got=0
    shift 2
    start 3 "$dir/mpi_end-$family" "$@" >"$dir/out" 2>"$dir/err" || got=$?
    said '^begun$' out
    [[ "|$want|" == *"|$got|"* ]] || fail "$name, MPI and OpenSHMEM: $*: status $got, not $want"
    within 10 none_of_mpi_runs || fail "$name, MPI and OpenSHMEM: $*: processes are left"
    echo "ok: $name: $*: status $got"
}

has_ended()
{
    ! kill -0 "$1" 2>/dev/null
}

# mpi_loses_launcher FAMILY SIGNAL STATUS COMMAND...: the launcher itself gets a signal when all have begun. Nothing is left.
# STATUS as of mpi_ends.
mpi_loses_launcher()
{
    local family=$1 signal=$2 want=$3 got=0 launcher
    shift 3
    : >"$dir/out" # of the job before
    setsid env --default-signal=INT "$@" 3 "$dir/mpi_end-$family" wait >"$dir/out" 2>"$dir/err" </dev/null &
    launcher=$!
    within 20 grep -q '^begun$' "$dir/out" || fail "$name: a job of MPI and OpenSHMEM does not begin"
    # Each PE tells what it does, though MPICH has a handler of SIGUSR1 of its own.
    pkill -USR1 -f "^$dir/mpi_end-$family wait"
    within 20 sh -c '[ "$(grep -c "SIGUSR1: this PE is" "$1")" = 3 ]' - "$dir/err" || fail "$name: not all PEs answer SIGUSR1"
    said 'SIGUSR1: this PE is computing, in MPI, or in a call of the system'
    kill -"$signal" $launcher
    within 20 has_ended $launcher || fail "$name: the launcher gets signal $signal and goes on"
    wait $launcher 2>/dev/null || got=$?
    [[ "|$want|" == *"|$got|"* ]] || fail "$name: the launcher gets signal $signal: status $got, not $want"
    within 10 none_of_mpi_runs || fail "$name: the launcher gets signal $signal: processes are left"
    echo "ok: $name: the launcher gets signal $signal"
}
