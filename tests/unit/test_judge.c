/* oshrun's decisions about its PEs: which ends are failures of the job, how the job ends, and when
 * no PE can continue. The launcher's own files, with a clock of the test's own; the test records
 * messages to daemons, PEs and users. */
#include <check.h>
#include <ev.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bootstrap/launcher/head/run.h"
#include "suite.h"

enum { PES = 4, TIMERS = 16 };

static struct sy_run run;
static struct sy_flags flags;
static struct sy_node node;
static struct sy_pe pes[PES];
static char said[4096]; /* lines, each after its kind: "0 no PE can go on...\n" */
static char sent[4096]; /* words, in order: "exit0 ask1 signal15 ", and "end " where the daemons are
                           to end */
static bool stopped;    /* the loop */
static bool unread;     /* output of PEs */

/* ---- the clock ---- */

static double now;
static struct {
    ev_timer *timer;
    double due;
} clock_timer[TIMERS];

void ev_timer_start(struct ev_loop *loop, ev_timer *timer)
{
    (void)loop;
    for (int i = 0; i < TIMERS && !ev_is_active(timer); i++) {
        if (clock_timer[i].timer)
            continue;
        clock_timer[i].timer = timer;
        clock_timer[i].due = now + ((ev_watcher_time *)timer)->at;
        ((ev_watcher *)timer)->active = 1;
    }
    ck_assert(ev_is_active(timer));
}

void ev_timer_stop(struct ev_loop *loop, ev_timer *timer)
{
    (void)loop;
    for (int i = 0; i < TIMERS; i++)
        if (clock_timer[i].timer == timer)
            clock_timer[i].timer = NULL;
    ((ev_watcher *)timer)->active = 0;
}

ev_tstamp ev_now(struct ev_loop *loop)
{
    (void)loop;
    return now;
}

void ev_break(struct ev_loop *loop, int how)
{
    (void)loop, (void)how;
    stopped = true;
}

/* The timer that is due first, up to a time; -1: none. */
static int clock_next(double until)
{
    int next = -1;

    for (int i = 0; i < TIMERS; i++)
        if (clock_timer[i].timer && clock_timer[i].due <= until &&
            (next < 0 || clock_timer[i].due < clock_timer[next].due))
            next = i;
    return next;
}

static void clock_pass(double seconds)
{
    double until = now + seconds;

    for (int i; (i = clock_next(until)) >= 0;) {
        ev_timer *timer = clock_timer[i].timer;
        now = clock_timer[i].due;
        clock_timer[i].due += timer->repeat;
        if (!(timer->repeat > 0))
            ev_timer_stop(NULL, timer);
        timer->cb(NULL, timer, EV_TIMER);
    }
    now = until;
}

/* ---- stand-ins for the rest of oshrun ---- */

void sy_run_say(struct sy_run *of, enum sy_say kind, const char *fmt, ...)
{
    size_t used = strlen(said);
    va_list arguments;

    (void)of;
    used += (size_t)snprintf(said + used, sizeof said - used, "%d ", kind);
    va_start(arguments, fmt);
    used += (size_t)vsnprintf(said + used, sizeof said - used, fmt, arguments);
    va_end(arguments);
    snprintf(said + used, sizeof said - used, "\n");
}

static void note_sent(const char *what, long number)
{
    size_t used = strlen(sent);

    snprintf(sent + used, sizeof sent - used, number < 0 ? "%s " : "%s%ld ", what, number);
}

void sy_run_send(struct sy_pe *pe, unsigned type, int arg, const void *body, size_t length)
{
    (void)body, (void)length;
    if (type == SY_CONTROL_ASK)
        note_sent("ask", pe->number);
    else if (type == SY_CONTROL_EXIT)
        note_sent("exit", pe->number);
    else
        note_sent(type == SY_DAEMON_SIGNAL && arg == SIGTERM ? "term"
                  : type == SY_DAEMON_TRACE                  ? "trace"
                                                             : "frame",
                  pe->number);
}

void sy_nodes_send(struct sy_run *of, unsigned type, int arg)
{
    (void)of;
    note_sent(type == SY_DAEMON_SIGNAL ? "signal" : "trace", arg);
}

void sy_nodes_end(struct sy_run *of)
{
    (void)of;
    note_sent("end", -1);
}

char *sy_nodes_text(const struct sy_run *of, bool (*wanted)(const struct sy_node *node))
{
    (void)of, (void)wanted;
    return NULL;
}

bool sy_outputs_empty(const struct sy_outputs *outputs)
{
    (void)outputs;
    return !unread;
}

void sy_run_check_gone(struct sy_run *of)
{
    of->all_gone = !of->living;
}

/* ---- jobs ---- */

/* The default of oshrun's option: no grace is given. */
static void begin(void)
{
    now = 1000;
    memset(clock_timer, 0, sizeof clock_timer);
    memset(&run, 0, sizeof run);
    memset(&flags, 0, sizeof flags);
    memset(pes, 0, sizeof pes);
    *said = *sent = '\0';
    stopped = unread = false;
    flags.grace = -1;
    flags.timeout = 60;
    node.name = "h";
    node.local = true;
    run.flags = &flags;
    run.pes = pes;
    run.npes = run.living = PES;
    sy_gather_init(&run.gather, PES);
    sy_ending_init(&run);
    sy_waiting_init(&run);
    for (int i = 0; i < PES; i++)
        pes[i] = (struct sy_pe){.run = &run,
                                .node = &node,
                                .number = i,
                                .pid = 100 + i,
                                .started = true,
                                .alive = true,
                                .said_hello = true,
                                .initialized = true};
}

static void end(void)
{
    sy_gather_free(&run.gather);
    sy_report_free(&run.report);
}

static void dies(int pe, int wait_status)
{
    pes[pe].alive = false;
    pes[pe].just_ended = true;
    pes[pe].wait_status = wait_status;
    run.living--;
}

static void exits(int pe, int status)
{
    dies(pe, status << 8);
}

/* The PE has said that it leaves the library, and ends with status 0. */
static void leaves(int pe)
{
    pes[pe].initialized = pes[pe].said_hello = false;
    exits(pe, 0);
    sy_judge(&run);
}

/* PE `pe` is at rest in its wait number `wait`; 0: it goes on. */
static void blocked(int pe, uint64_t wait, unsigned kind)
{
    sy_report_blocked(&run.report, pe, wait, kind);
}

/* The PE reports what it is doing, after so many seconds of it; -1: because it was asked. */
static void says(int pe, const char *text, int seconds)
{
    sy_report_note(&run.report, pe, text, strlen(text), seconds < 0 ? -1 : seconds * 1000, now);
}

/* The PE answers oshrun's question: it is in the same wait. */
static void answers(int pe, uint64_t wait, unsigned kind, const char *text)
{
    blocked(pe, wait, kind);
    says(pe, text, -1);
}

#define SAID(TEXT)   ck_assert_msg(strstr(said, TEXT) != NULL, "'%s' is not in: %s", TEXT, said)
#define UNSAID(TEXT) ck_assert_msg(strstr(said, TEXT) == NULL, "'%s' is in: %s", TEXT, said)

/* ---- ends that are failures ---- */

START_TEST(an_error_ends_the_job)
{
    exits(1, 3);
    sy_judge(&run);
    ck_assert(run.ending.begun);
    ck_assert_int_eq(run.status, 3);
    SAID("1 PE 1 on host h (pid 101) exited with status 3; stopping the other 3 PEs\n");
    ck_assert_str_eq(sent, ""); /* the others may have a word to say yet */
    clock_pass(0.15);
    ck_assert_str_eq(sent, "exit0 exit1 exit2 exit3 end ");
    clock_pass(0.2);
    ck_assert_str_eq(sent, "exit0 exit1 exit2 exit3 end signal15 signal18 ");
    clock_pass(0.7);
    ck_assert_str_eq(sent, "exit0 exit1 exit2 exit3 end signal15 signal18 signal9 ");
    ck_assert(!stopped);
    clock_pass(10);
    ck_assert(stopped);
    SAID("0 PE 0 on host h (pid 100) has not ended 10 s after it was killed: it is stuck in the "
         "kernel, or");
    UNSAID("PE 1 on host h (pid 101) has not");
}
END_TEST

/* PEs that flush their output are not killed meanwhile: some still leave, or nobody reads. */
START_TEST(slow_ends_get_time)
{
    dies(2, SIGKILL);
    sy_judge(&run);
    clock_pass(0.15);
    dies(1, 0);
    clock_pass(0.2);
    ck_assert_str_eq(sent, "exit0 exit1 exit2 exit3 end ");
    clock_pass(0.1);
    ck_assert_str_eq(sent, "exit0 exit1 exit2 exit3 end signal15 signal18 ");
}
END_TEST

START_TEST(a_slow_reader_gets_time)
{
    unread = true;
    dies(2, SIGKILL);
    sy_judge(&run);
    clock_pass(9.5);
    ck_assert_str_eq(sent, "exit0 exit1 exit2 exit3 end ");
    clock_pass(1);
    ck_assert_str_eq(sent, "exit0 exit1 exit2 exit3 end signal15 signal18 ");
}
END_TEST

START_TEST(a_signal_ends_it_at_once)
{
    dies(2, SIGKILL);
    sy_judge(&run);
    ck_assert_int_eq(run.status, 137);
    SAID("PE 2 on host h (pid 102) was killed by signal 9 (Killed); stopping the other 3 PEs\n");
    ck_assert_str_eq(sent, "exit0 exit1 exit2 exit3 end ");
}
END_TEST

/* An error of PE 0, which lost PE 3, is not the cause. */
START_TEST(a_signal_goes_before_an_error)
{
    exits(0, 1);
    dies(3, SIGSEGV);
    sy_judge(&run);
    ck_assert_int_eq(run.status, 139);
    UNSAID("exited with status 1");
}
END_TEST

START_TEST(the_first_end_counts)
{
    exits(1, 3);
    sy_judge(&run);
    dies(2, SIGKILL);
    sy_judge(&run);
    ck_assert_int_eq(run.status, 3);
    UNSAID("was killed");
}
END_TEST

/* PE 0 has reported why it gives up and gets time: another PE's error is a consequence too, a
 * signal is a cause. */
START_TEST(an_abort_waits_for_a_signal)
{
    run.abort.asked = true;
    pes[0].aborted = true;
    exits(0, 1);
    exits(1, 1);
    sy_judge(&run);
    ck_assert(!run.ending.begun);
    dies(2, SIGABRT);
    sy_judge(&run);
    ck_assert_int_eq(run.status, 134);
    ck_assert(!run.abort.asked);
}
END_TEST

START_TEST(who_aborts_may_end_anyhow)
{
    pes[1].aborted = true;
    dies(1, SIGKILL);
    sy_judge(&run);
    ck_assert(!run.ending.begun);
}
END_TEST

START_TEST(leaving_early_is_an_error)
{
    exits(1, 0);
    sy_judge(&run);
    ck_assert_int_eq(run.status, 1);
    SAID("PE 1 on host h (pid 101) exited with status 0 before shmem_finalize; stopping the other "
         "3 PEs");
}
END_TEST

START_TEST(a_program_without_the_library_ends_well)
{
    for (int i = 0; i < PES; i++) {
        pes[i].said_hello = pes[i].initialized = false;
        exits(i, 0);
        sy_judge(&run);
    }
    ck_assert(!run.ending.begun);
    ck_assert(run.all_gone);
    UNSAID("1 PE");
}
END_TEST

/* ... unless others wait for it. */
START_TEST(who_is_waited_for_may_not_leave)
{
    char fault[SY_GATHER_FAULT];

    pes[1].said_hello = pes[1].initialized = pes[2].initialized = false;
    ck_assert(!sy_gather_add(&run.gather, 2, "start", "x", 1, fault));
    exits(2, 0); /* it has brought what it had to */
    sy_judge(&run);
    ck_assert(!run.ending.begun);
    exits(1, 0);
    sy_judge(&run);
    ck_assert_int_eq(run.status, 1);
    SAID("PE 1 on host h (pid 101) exited with status 0 without shmem_init, while others wait for "
         "it in 'start'");
}
END_TEST

START_TEST(a_limit_of_processor_time_is_named)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){1000, 1000});
    dies(2, SIGKILL);
    sy_judge(&run);
    SAID("was killed by signal 9 (Killed), perhaps at its limit of processor time (ulimit -Ht); "
         "stop");
}
END_TEST

START_TEST(the_others_may_go_on)
{
    flags.tolerant = true;
    exits(1, 3);
    sy_judge(&run);
    dies(2, SIGKILL);
    sy_judge(&run);
    clock_pass(30);
    ck_assert(!run.ending.begun);
    ck_assert_int_eq(run.status, 3);
    SAID("PE 1 on host h (pid 101) exited with status 3\n");
    ck_assert_str_eq(sent, "");
}
END_TEST

/* Ctrl-C: the PEs get the signal; the second one kills; the third leaves a PE behind that is stuck.
 */
START_TEST(signals_to_oshrun)
{
    sy_ending_signal(&run, SIGINT);
    ck_assert_int_eq(run.status, 130);
    ck_assert_str_eq(sent, "end signal2 signal18 ");
    clock_pass(1);
    ck_assert_str_eq(sent, "end signal2 signal18 ");
    sy_ending_signal(&run, SIGINT);
    ck_assert_str_eq(sent, "end signal2 signal18 signal9 ");
    sy_ending_signal(&run, SIGINT);
    ck_assert(stopped);
}
END_TEST

START_TEST(the_grace_that_is_given)
{
    flags.grace = 30;
    dies(2, SIGKILL);
    sy_judge(&run);
    clock_pass(30);
    ck_assert(!strstr(sent, "signal9"));
    clock_pass(1);
    ck_assert(strstr(sent, "signal9"));
}
END_TEST

/* ---- no PE can continue ---- */

/* PE 0 waits for the end of the job, the others for it. */
static void all_rest(void)
{
    blocked(0, 7, SY_BLOCKED_FINALIZING);
    for (int i = 1; i < PES; i++)
        blocked(i, (uint64_t)i, 0);
}

START_TEST(a_deadlock)
{
    all_rest();
    clock_pass(0.9);
    ck_assert_str_eq(sent, "");
    clock_pass(0.2);
    ck_assert_str_eq(sent, "ask0 ask1 ask2 ask3 ");
    answers(0, 7, SY_BLOCKED_FINALIZING, "in shmem_finalize");
    for (int i = 1; i < PES; i++) {
        ck_assert(!run.ending.begun);
        answers(i, (uint64_t)i, 0, "in shmem_barrier_all");
    }
    ck_assert_int_eq(run.status, 1);
    SAID(
        "0 no PE can go on: each waits for another one (SHMEM_DEADLOCK_TIMEOUT); stopping all PEs\n"
        "0   PE 0: in shmem_finalize\n"
        "0   PEs 1-3: in shmem_barrier_all\n");
    UNSAID("SHMEM_STALL_REPORT");
}
END_TEST

START_TEST(one_has_left)
{
    for (int i = 1; i < PES; i++)
        blocked(i, 5, 0);
    clock_pass(10);
    ck_assert_str_eq(sent, "");
    leaves(0);
    clock_pass(1.1);
    ck_assert_str_eq(sent, "ask1 ask2 ask3 ");
    for (int i = 1; i < PES; i++)
        answers(i, 5, 0, "in shmem_long_wait_until");
    ck_assert_int_eq(run.status, 1);
    SAID("; stopping the other 3 PEs\n0   PE 0: has exited with status 0\n0   PEs 1-3: in "
         "shmem_long_wait_until\n");
}
END_TEST

START_TEST(one_computes)
{
    all_rest();
    blocked(2, 0, 0); /* before the question */
    clock_pass(60);
    answers(1, 1, 0, "in shmem_barrier_all");
    clock_pass(60);
    ck_assert(!run.ending.begun);
    UNSAID("no PE can go on");
}
END_TEST

/* The PE has gone on since, and is at rest in another wait: it was never stuck. */
START_TEST(one_has_gone_on)
{
    all_rest();
    clock_pass(1.1);
    answers(0, 7, SY_BLOCKED_FINALIZING, "in shmem_finalize");
    answers(1, 1, 0, "in shmem_barrier_all");
    answers(2, 9, 0, "in shmem_quiet");
    answers(3, 3, 0, "in shmem_barrier_all");
    ck_assert(!run.ending.begun);
    ck_assert_str_eq(said, "");
    /* If that is the last event, the deadlock is found all the same. */
    *sent = '\0';
    sy_report_look(&run.report);
    clock_pass(1.1);
    ck_assert_str_eq(sent, "ask0 ask1 ask2 ask3 ");
    answers(0, 7, SY_BLOCKED_FINALIZING, "in shmem_finalize");
    answers(1, 1, 0, "in shmem_barrier_all");
    answers(2, 9, 0, "in shmem_quiet");
    answers(3, 3, 0, "in shmem_barrier_all");
    ck_assert(run.ending.begun);
}
END_TEST

/* A stopped PE does not answer; its state is unknown. */
START_TEST(one_does_not_answer)
{
    all_rest();
    clock_pass(1.1);
    answers(0, 7, SY_BLOCKED_FINALIZING, "in shmem_finalize");
    answers(1, 1, 0, "in shmem_barrier_all");
    answers(2, 2, 0, "in shmem_barrier_all");
    clock_pass(60);
    ck_assert(!run.ending.begun);
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(a_job_that_ends_is_left_alone)
{
    all_rest();
    exits(1, 3);
    sy_judge(&run);
    clock_pass(1.2);
    ck_assert(!strstr(sent, "ask"));
    UNSAID("no PE can go on");
}
END_TEST

/* ---- messages to users ---- */

START_TEST(a_stall_is_reported_once)
{
    for (int i = 0; i < PES; i++)
        says(i, "in shmem_barrier_all", 60);
    ck_assert_str_eq(sent, "ask1 ask2 ask3 "); /* PE 0 has said it */
    for (int i = 1; i < PES; i++)
        says(i, i == 2 ? "computing" : "in shmem_barrier_all", -1);
    ck_assert_str_eq(said,
                     "0 a PE has been waiting for 60 s (SHMEM_STALL_REPORT); what all are doing:\n"
                     "0   PEs 0-1, 3: in shmem_barrier_all\n0   PE 2: computing\n");
    clock_pass(20);
    says(3, "in shmem_barrier_all", 61); /* about the same wait */
    ck_assert_str_eq(sent, "ask1 ask2 ask3 ");
    clock_pass(41);
    says(3, "in shmem_barrier_all", 121);
    ck_assert_str_eq(sent, "ask1 ask2 ask3 ask0 ask1 ask2 ");
    ck_assert(!run.ending.begun);
}
END_TEST

START_TEST(who_does_not_answer_is_named)
{
    pes[1].initialized = false;
    pes[1].finalized = true;
    pes[2].initialized = pes[2].said_hello = false;
    says(0, "in shmem_barrier_all", 2);
    clock_pass(1.2);
    SAID("PE 1: after shmem_finalize\n");
    SAID("PE 2: no shmem_init so far\n");
    SAID("PE 3: no answer: stopped, short of processors, or its progress thread is stuck or was "
         "not started\n");
}
END_TEST

/* oshrun has not run for a while, and has not read the answers yet. */
START_TEST(answers_that_wait_are_taken)
{
    for (int wait = 9; wait < 99; wait += 45) {
        says(0, "in shmem_barrier_all", wait);
        clock_pass(1.05);
        for (int i = 1; i < PES; i++)
            says(i, "computing", -1);
        clock_pass(44);
    }
    SAID("waiting for 54 s (SHMEM_STALL_REPORT); what all are doing:\n0   PE 0: in "
         "shmem_barrier_all\n"
         "0   PEs 1-3: computing\n");
    UNSAID("no answer");
}
END_TEST

START_TEST(a_start_that_takes_long)
{
    char fault[SY_GATHER_FAULT];

    ck_assert(!sy_gather_add(&run.gather, 1, "start", "x", 1, fault));
    run.waiting.gather_began = now;
    clock_pass(16.5);
    ck_assert_str_eq(said, "1 'start' has been waiting for PEs 0, 2-3 for 2 s\n"
                           "1 'start' has been waiting for PEs 0, 2-3 for 4 s\n"
                           "1 'start' has been waiting for PEs 0, 2-3 for 8 s\n"
                           "1 'start' has been waiting for PEs 0, 2-3 for 16 s\n");
}
END_TEST

START_TEST(the_time_is_over)
{
    sy_waiting_trace(&run);
    SAID("1 the job did not end within 60 seconds (--timeout); stopping all PEs\n");
    ck_assert_str_eq(sent, "ask0 ask1 ask2 ask3 ");
    for (int i = 0; i < PES; i++)
        says(i, "computing", -1);
    ck_assert_str_eq(sent, "ask0 ask1 ask2 ask3 trace0 trace1 trace2 trace3 ");
    for (int i = 0; i < PES; i++) {
        ck_assert(!run.ending.begun);
        sy_waiting_traced(&pes[i], "#0 main\n#1 start");
    }
    ck_assert_int_eq(run.status, 124);
    SAID("1 where the PEs are:\n0   PEs 0-3: computing\n1 PE 0 on host h (pid 100):\n1   #0 "
         "main\n1   #1 start\n");
}
END_TEST

/* A debugger that hangs does not delay the report. */
START_TEST(traces_that_do_not_come)
{
    sy_waiting_trace(&run);
    clock_pass(20);
    ck_assert(!run.ending.begun);
    clock_pass(2);
    ck_assert_int_eq(run.status, 124);
}
END_TEST

/* The time of --timeout is over while all PEs compute. */
static void run_out_of_time(void)
{
    sy_waiting_trace(&run);
    for (int i = 0; i < PES; i++)
        says(i, "computing", -1);
}

/* PE 1 ends before it is looked at, PE 2 while it is, so that its trace comes later. */
START_TEST(the_time_is_over_and_some_end)
{
    run_out_of_time();
    sy_waiting_traced(&pes[0], "#0 main");
    leaves(1);
    leaves(2);
    sy_waiting_traced(&pes[2], "no stack");
    ck_assert(!run.ending.begun);
    sy_waiting_traced(&pes[3], "#0 main");
    ck_assert_int_eq(run.status, 124);
    UNSAID("no stack");
}
END_TEST

START_TEST(the_time_is_over_and_all_end)
{
    run_out_of_time();
    for (int i = 0; i < PES; i++) {
        ck_assert(!run.ending.begun);
        leaves(i);
    }
    ck_assert_int_eq(run.status, 124);
}
END_TEST

/* The last end is judged before the end for the time limit begins. */
START_TEST(the_time_is_over_and_one_fails)
{
    run_out_of_time();
    for (int i = 0; i < PES - 1; i++)
        leaves(i);
    exits(PES - 1, 3);
    sy_judge(&run);
    ck_assert_int_eq(run.status, 3);
}
END_TEST

/* PEs are being asked whether all are blocked; PE 3 is stopped. */
START_TEST(the_time_is_over_meanwhile)
{
    flags.no_traces = true;
    all_rest();
    clock_pass(1.1);
    for (int i = 0; i < 3; i++)
        answers(i, i ? (uint64_t)i : 7, i ? 0 : SY_BLOCKED_FINALIZING, "in shmem_barrier_all");
    sy_waiting_trace(&run);
    ck_assert(!run.ending.begun);
    clock_pass(2);
    ck_assert_int_eq(run.status, 124);
    SAID("1 where the PEs are:\n0   PEs 0-2: in shmem_barrier_all\n0   PE 3: no answer");
    UNSAID("no PE can go on");
}
END_TEST

static Suite *judge_suite(void)
{
    const struct {
        const char *name;
        const TTest *test[16];
    } cases[] = {
        {"failures",
         {an_error_ends_the_job, slow_ends_get_time, a_slow_reader_gets_time,
          a_signal_ends_it_at_once, a_signal_goes_before_an_error, the_first_end_counts,
          an_abort_waits_for_a_signal, who_aborts_may_end_anyhow, leaving_early_is_an_error,
          a_program_without_the_library_ends_well, who_is_waited_for_may_not_leave,
          the_others_may_go_on, a_limit_of_processor_time_is_named, signals_to_oshrun,
          the_grace_that_is_given}},
        {"deadlocks",
         {a_deadlock, one_has_left, one_computes, one_has_gone_on, one_does_not_answer,
          a_job_that_ends_is_left_alone}},
        {"reports",
         {a_stall_is_reported_once, who_does_not_answer_is_named, a_start_that_takes_long,
          the_time_is_over, traces_that_do_not_come, the_time_is_over_meanwhile,
          the_time_is_over_and_some_end, the_time_is_over_and_all_end,
          the_time_is_over_and_one_fails, answers_that_wait_are_taken}},
    };
    Suite *suite = suite_create("judge");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TCase *group = tcase_create(cases[i].name);
        tcase_add_checked_fixture(group, begin, end);
        for (size_t k = 0; cases[i].test[k]; k++)
            tcase_add_test(group, cases[i].test[k]);
        suite_add_tcase(suite, group);
    }
    return suite;
}

int main(void)
{
    return suite_run(judge_suite());
}
