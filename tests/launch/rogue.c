/* Stands in for "oshrun --agent" on an untrusted host: sends the banner, and then does what its
 * argument says. What follows the name on the command line (host, command) is ignored. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/launcher/daemon/agent.h"
#include "bootstrap/control/frames.h"

static const char ESCAPE[] = "\033]0;owned\007\033[31m\302\233red";

static void put(const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length) {
        ssize_t n = write(1, at, length);

        if (n < 0 && errno != EINTR)
            exit(0); /* oshrun has hung up */
        at += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
}

static void head(unsigned type, int pe, int arg, int more, size_t length)
{
    const struct sy_frame header = {.type = (uint16_t)type,
                                    .length = (uint32_t)length,
                                    .pe = pe,
                                    .more = (uint16_t)more,
                                    .arg = arg};

    put(&header, sizeof header);
}

static void frame(unsigned type, int pe, int arg, int more, const char *body)
{
    head(type, pe, arg, more, strlen(body));
    put(body, strlen(body));
}

static void nap(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

/* Takes what oshrun sends, and answers its pings, until oshrun hangs up. */
static void answer_pings(void)
{
    struct sy_frame header;
    char *body = malloc(1 << 20);

    for (;;) {
        size_t got = 0;

        while (got < sizeof header) {
            ssize_t n = read(0, (char *)&header + got, sizeof header - got);

            if (n <= 0)
                exit(0);
            got += (size_t)n;
        }
        for (got = 0; got < header.length;) {
            ssize_t n = read(0, body,
                             header.length - got < 1 << 20 ? header.length - got : 1 << 20);

            if (n <= 0)
                exit(0);
            got += (size_t)n;
        }
        if (header.type == SY_DAEMON_PING)
            frame(SY_DAEMON_PONG, SY_ALL, 0, 0, "");
    }
}

static void start(void)
{
    frame(SY_DAEMON_STARTED, 0, 4711, 0, "");
    frame(SY_DAEMON_UP, SY_ALL, 0, 0, "");
}

/* ---- what it does ---- */

static void do_huge(void)
{
    start();
    head(SY_CONTROL_HELLO, 0, SY_LAUNCH_VERSION, 0, 0xffffffff);
    for (;;)
        put(ESCAPE, sizeof ESCAPE);
}

static void do_wide(void)
{
    start();
    head(SY_DAEMON_FAULT, 0, 0, 0, 0x7fffffff);
    answer_pings();
}

static void do_silent(void)
{
    pause();
}

/* Says nothing, and is busy for a moment with whatever comes. */
static void do_busy(void)
{
    char bytes[4096];

    start();
    while (read(0, bytes, sizeof bytes) > 0) {
        clock_t end = clock() + CLOCKS_PER_SEC / 33;
        while (clock() < end)
            ;
    }
}

static void do_idle(void)
{
    answer_pings();
}

static void do_partial(void)
{
    frame(SY_DAEMON_UP, SY_ALL, 0, 0, "");
    answer_pings();
}

static void do_stays(void)
{
    start();
    frame(SY_DAEMON_ENDED, 0, 0, 0, "");
    frame(SY_DAEMON_JUDGE, SY_ALL, 0, 0, "");
    answer_pings();
}

/* A byte of a long frame now and then, which is never complete. */
static void do_trickle(void)
{
    start();
    head(SY_CONTROL_GATHER, 0, 1000, 0, SY_LAUNCH_BODY_MAX);
    for (;;) {
        put("x", 1);
        nap(0.1);
    }
}

static void do_flood(void)
{
    start();
    for (;;) {
        static char text[SY_DAEMON_WINDOW + 1];

        memset(text, 'x', sizeof text - 1);
        frame(SY_DAEMON_OUTPUT, 0, 0, 1, text);
    }
}

/* Asks again and again, and never reads the answers. */
static void do_deaf(void)
{
    start();
    for (;;)
        head(SY_CONTROL_HELLO, 0, SY_LAUNCH_VERSION, 0, 0);
}

static void do_twice(void)
{
    start();
    frame(SY_DAEMON_ENDED, 0, 0, 0, "");
    frame(SY_DAEMON_ENDED, 0, 0, 0, "");
    answer_pings();
}

static void do_early(void)
{
    start();
    frame(SY_DAEMON_FINISHED, SY_ALL, 0, 0, "");
    answer_pings();
}

static void do_other(void)
{
    start();
    frame(SY_DAEMON_ENDED, 1, 0, 0, "");
    answer_pings();
}

static void do_input(void)
{
    start();
    frame(SY_DAEMON_TAKEN, 0, 0, 0, "");
    frame(SY_DAEMON_TAKEN, 0, 0, 0, "");
    answer_pings();
}

static void do_stopped(void)
{
    start();
    frame(SY_DAEMON_ENDED, 0, 0x137f, 0, "");
    answer_pings();
}

static void do_lines(void)
{
    for (;;)
        frame(SY_DAEMON_SAY, 0, 0, 0, ESCAPE);
}

static void do_trouble(void)
{
    frame(SY_DAEMON_TROUBLE, SY_ALL, 3, 0, ESCAPE);
    answer_pings();
}

static void do_fault(void)
{
    start();
    frame(SY_DAEMON_FAULT, 0, 0, 0, ESCAPE);
    frame(SY_DAEMON_ENDED, 0, 15, 0, "");
    answer_pings();
}

static void do_errors(void)
{
    fprintf(stderr, "%s\nforged\r\n", ESCAPE);
    exit(3);
}

static unsigned dice;

static unsigned throw(unsigned sides)
{
    dice = dice * 1103515245u + 12345u;
    return (dice >> 12) % sides;
}

/* Frames of existing types, with numbers that may be valid; then nothing but pongs. */
static void do_storm(void)
{
    static const unsigned char TYPES[] = {1,  3,  5,  6,  9,  73, 74, 75, 76, 77,
                                          78, 79, 80, 81, 82, 83, 84, 85, 88};
    static const int ARGS[] = {0, 1, 2, 255, 256, 0x137f, -1, INT32_MAX, INT32_MIN};
    static const unsigned LENGTHS[] = {0, 0, 0, 1, 6, 100, 5000};
    static char body[5000];

    if (throw(4))
        frame(SY_DAEMON_STARTED, 0, 4711, 0, "");
    if (throw(4))
        frame(SY_DAEMON_UP, SY_ALL, 0, 0, "");
    for (int i = 0; i < 50; i++) {
        unsigned length = LENGTHS[throw(7)];

        for (unsigned j = 0; j < length; j++)
            body[j] = (char) throw(256);
        head(TYPES[throw(sizeof TYPES)], (int) throw(3) - 1, ARGS[throw(9)], (int) throw(3),
             length);
        put(body, length);
    }
    answer_pings();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*act)(void);
    } ACTS[] = {{"huge", do_huge},       {"wide", do_wide},       {"silent", do_silent},
                {"idle", do_idle},       {"partial", do_partial}, {"stays", do_stays},
                {"trickle", do_trickle}, {"flood", do_flood},     {"deaf", do_deaf},
                {"twice", do_twice},     {"early", do_early},     {"other", do_other},
                {"input", do_input},     {"stopped", do_stopped}, {"lines", do_lines},
                {"trouble", do_trouble}, {"fault", do_fault},     {"errors", do_errors},
                {"storm", do_storm},     {"busy", do_busy}};
    const char *name = argc > 1 ? argv[1] : "";
    char banner[100];

    signal(SIGPIPE, SIG_IGN);
    if (strcmp(name, "talk") == 0) {
        for (;;)
            put("no banner ", 12);
    }
    snprintf(banner, sizeof banner, "\n%s%d %d rogue\n", SY_AGENT_BANNER,
             strcmp(name, "old") == 0 ? SY_LAUNCH_VERSION - 1 : SY_LAUNCH_VERSION, 1);
    put(banner, strlen(banner));
    if (argc > 2)
        dice = (unsigned)atoi(argv[2]);
    for (size_t i = 0; i < sizeof ACTS / sizeof *ACTS; i++) {
        if (strcmp(ACTS[i].name, name) == 0)
            ACTS[i].act();
    }
    return 0;
}
