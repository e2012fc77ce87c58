/* libFuzzer target: what oshrun reads from a host's agent, the banner included. A whole job runs
 * in oshrun's own code, except the command that would start the agent: the agent's output is the
 * input of this target, and ends with it, so every job must come to an end. The first byte: bit 0,
 * a valid banner comes first; bit 1, the PEs have been started; bit 2, there are two hosts. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/launcher/daemon/agent.h"
#include "bootstrap/launcher/head/call.h"
#include "bootstrap/launcher/options/flags.h"
#include "bootstrap/control/frames.h"
#include "bootstrap/launcher/options/placement.h"
#include "bootstrap/launcher/head/run.h"
#include "tests/fuzz/clock.h"

enum { BANNER = 1, STARTED = 2, TWO = 4, PES = 4 };

static const uint8_t *input;
static size_t input_length;
static unsigned manner;

static void put(int fd, const void *bytes, size_t length)
{
    if (write(fd, bytes, length) != (ssize_t)length)
        abort();
}

static void put_frame(int fd, unsigned type, int pe, int arg)
{
    const struct sy_frame header = {.type = (uint16_t)type, .pe = pe, .arg = arg};

    put(fd, &header, sizeof header);
}

/* In place of call.c: a pipe that holds all the agent's output. */
int sy_call_start(char *const *command, const struct rlimit *nofile, struct sy_call_ends *ends)
{
    static int hosts;
    int said[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char banner[80];
    int first = manner & TWO && hosts++ % 2 ? PES / 2 : 0;
    int count = manner & TWO ? PES / 2 : PES;

    (void)command;
    (void)nofile;
    if (null < 0 || pipe2(said, O_NONBLOCK | O_CLOEXEC) != 0)
        abort();
    fcntl(said[1], F_SETPIPE_SZ, 1 << 18);
    snprintf(banner, sizeof banner, "\n%s%d %d h\n", SY_AGENT_BANNER, SY_LAUNCH_VERSION,
             sy_agent_byte_order());
    if (manner & BANNER)
        put(said[1], banner, strlen(banner));
    for (int pe = first; pe < first + count && (manner & STARTED); pe++)
        put_frame(said[1], SY_DAEMON_STARTED, pe, 1000 + pe);
    if (manner & STARTED)
        put_frame(said[1], SY_DAEMON_UP, SY_ALL, 0);
    put(said[1], input, input_length);
    close(said[1]);
    ends->pid = 0;
    ends->in = null;
    ends->out = said[0];
    ends->err = fcntl(null, F_DUPFD_CLOEXEC, 3);
    return 0;
}

/* In place of signals.c: none come. */
void sy_signals_start(struct sy_run *run)
{
    (void)run;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const WORDS[] = {"oshrun", "--launcher", "x",  "-H",   "a",
                                        "-n",     "4",          "-l", "true", NULL};
    struct sy_placement_wish wish = {.npes = PES};
    struct sy_child_plan plan = {0};
    struct sy_placement placement;
    struct sy_flags flags;
    char *words[sizeof WORDS / sizeof *WORDS], hosts[] = "a,b:2";

    if (size < 1 || size > 100000)
        return 0;
    signal(SIGPIPE, SIG_IGN);
    manner = *data;
    input = data + 1;
    input_length = size - 1;
    memcpy(words, WORDS, sizeof words);
    if (manner & TWO)
        words[4] = hosts;
    if (sy_flags_parse(&flags, sizeof WORDS / sizeof *WORDS - 1, words) >= 0)
        abort();
    flags.input = SY_STDIN_NONE;
    flags.verbose = true;
    if (manner & TWO)
        flags.hosts.host[0].slots = 2;
    if (sy_placement_make(&placement, &flags.hosts, &wish))
        abort();
    let_time_fly(true);
    sy_run_job(&flags, &placement, false, &plan);
    let_time_fly(false);
    sy_placement_free(&placement);
    for (int i = 0; i < flags.apps; i++)
        flags.app[i].program = NULL;
    sy_flags_free(&flags);
    return 0;
}
