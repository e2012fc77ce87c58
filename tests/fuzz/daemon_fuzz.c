/* libFuzzer target: what oshrun reads from its own PEs. A whole job of three runs in oshrun's own
 * code, except that the PEs are no processes: each has written the input to its socket, and ends.
 * The first byte: bit 0, it says HELLO first; bits 1 and 2, its status. */
#define _GNU_SOURCE 1
#include "tests/fuzz/clock.h"
#include "tests/fuzz/processes.h"

#include "bootstrap/launcher/options/flags.h"
#include "bootstrap/control/frames.h"
#include "bootstrap/launcher/options/placement.h"
#include "bootstrap/launcher/head/run.h"

enum { PES = 3, ROUNDS = 3 };

static ev_timer timer;
static int rounds;

/* In place of signals.c: PEs end after some turns of the loop. */
static void look_for_ends(struct ev_loop *loop, ev_timer *of, int events)
{
    (void)loop;
    (void)events;
    if (++rounds == ROUNDS)
        memset(dead, 1, (size_t)started_pids);
    sy_nodes_reap(of->data);
}

void sy_signals_start(struct sy_run *run)
{
    rounds = 0;
    ev_timer_init(&timer, look_for_ends, 0., 0.0001);
    timer.data = run;
    ev_timer_again(run->loop, &timer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sy_frame HELLO = {.type = SY_CONTROL_HELLO, .arg = SY_LAUNCH_VERSION};
    static uint8_t all[sizeof HELLO + 60000];
    struct sy_placement_wish wish = {.npes = PES};
    struct sy_child_plan plan = {0};
    struct sy_placement placement;
    struct sy_flags flags;
    char words[][16] = {"oshrun", "-v", "/bin/true"},
         *argv[] = {words[0], words[1], words[2], NULL};

    if (size < 1 || size > 60000)
        return 0;
    frames_length = *data & 1 ? sizeof HELLO : 0;
    memcpy(all, &HELLO, frames_length);
    memcpy(all + frames_length, data + 1, size - 1);
    frames = all;
    frames_length += size - 1;
    started_pids = 0;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (sy_flags_parse(&flags, 3, argv) >= 0)
        abort();
    flags.input = SY_STDIN_NONE;
    free(sy_hostlist_put(&flags.hosts, "localhost", 0, 0));
    if (sy_placement_make(&placement, &flags.hosts, &wish))
        abort();
    let_time_fly(true);
    sy_run_job(&flags, &placement, false, &plan);
    let_time_fly(false);
    sy_placement_free(&placement);
    sy_flags_free(&flags);
    return 0;
}
