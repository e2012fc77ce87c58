#include "bootstrap/check/host.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/check/probe.h"
#include "bootstrap/control/protocol.h"
#include "bootstrap/launcher/head/command.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/stdio/plain.h"
#include "util/clock.h"
#include "util/net/io.h"
#include "util/parse.h"

static const double ANSWER = 25; /* seconds for one answer */

enum { CLOCK_ROUNDS = 5 };

/* ---- the conversation ---- */

static bool host_send(const struct host *host, const char *text, double deadline)
{
    size_t left = strlen(text);

    while (left) {
        ssize_t n = write(host->ends.in, text, left);

        if (n > 0) {
            text += n;
            left -= (size_t)n;
        } else if ((errno != EAGAIN && errno != EINTR) ||
                   sy_net_wait(host->ends.in, POLLOUT, &deadline) != 0) {
            return false;
        }
    }
    return true;
}

static bool host_receive(const struct host *host, void *to, size_t length, double deadline)
{
    char *at = to;

    while (length) {
        ssize_t n;

        if (sy_clock() > deadline)
            return false;
        n = read(host->ends.out, at, length);
        if (n > 0) {
            at += n;
            length -= (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR) ||
                   sy_net_wait(host->ends.out, POLLIN, &deadline) != 0) {
            return false;
        }
    }
    return true;
}

/* Receives a line; what does not fit is left out. */
static bool host_receive_line(const struct host *host, char *line, size_t room, double deadline)
{
    size_t length = 0;

    for (;;) {
        if (!host_receive(host, line + length, 1, deadline))
            return false;
        if (line[length] == '\n')
            break;
        length += length < room - 1;
    }
    line[length] = '\0';
    return true;
}

/* The answer, fit for a terminal (allocated). */
static char *host_receive_answer(const struct host *host, double deadline)
{
    char line[16], *answer, *plain = NULL;
    long length;

    if (!host_receive_line(host, line, sizeof line, deadline) ||
        sy_parse_int(line, 0, PROBE_ANSWER_MAX, &length) != 0)
        return NULL;
    answer = sy_memory_zeroed((size_t)length + 1, 1);
    if (host_receive(host, answer, (size_t)length, deadline))
        plain = sy_plain_string(answer);
    free(answer);
    return plain;
}

char *sy_host_ask(struct host *host, const char *question)
{
    double deadline = sy_clock() + ANSWER;
    char *answer = NULL, *line;

    if (host->broken)
        return NULL;
    line = sy_memory_text("%s\n", question);
    if (host_send(host, line, deadline))
        answer = host_receive_answer(host, deadline);
    free(line);
    host->broken = !answer;
    return answer;
}

/* The last words of a command that failed. */
static void host_read_fault(struct host *host)
{
    char text[2000], *plain;
    double deadline = sy_clock() + 0.2;
    ssize_t n = sy_net_wait(host->ends.err, POLLIN, &deadline) == 0
                    ? read(host->ends.err, text, sizeof text - 1)
                    : 0;

    text[n > 0 ? n : 0] = '\0';
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
    for (char *at = text; *at; at++) {
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    }
    plain = sy_plain_string(text);
    snprintf(host->fault, sizeof host->fault, "no answer%s%s", *plain ? ": " : "", plain);
    free(plain);
}

/* The shells before the agent may have said something. */
static bool host_read_banner(struct host *host, double deadline)
{
    char line[512];

    do {
        if (!host_receive_line(host, line, sizeof line, deadline)) {
            host_read_fault(host);
            return false;
        }
    } while (strncmp(line, PROBE_BANNER, strlen(PROBE_BANNER)) != 0);
    if (atoi(line + strlen(PROBE_BANNER)) == SY_LAUNCH_VERSION)
        return true;
    snprintf(host->fault, sizeof host->fault, "has an oshcheck of another release");
    return false;
}

static void host_find_clock(struct host *host)
{
    double best = ANSWER;
    long told = 0;

    for (int i = 0; i < CLOCK_ROUNDS && !host->broken; i++) {
        double begin = (double)sy_clock_of(CLOCK_REALTIME) / 1e9;
        char *answer = sy_host_ask(host, "clock");
        double end = (double)sy_clock_of(CLOCK_REALTIME) / 1e9;

        if (answer && sy_parse_int(answer, 0, LONG_MAX, &told)) {
            host->broken = true;
        } else if (answer && end - begin < best) {
            best = end - begin;
            host->clock = (double)told / 1e9 - (begin + end) / 2;
        }
        free(answer);
    }
}

void sy_host_reach(struct host *host, const struct sy_flags *flags, bool slurm)
{
    char **command = sy_command_make(flags, host->name, slurm, "oshcheck");
    double begin = sy_clock();
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    int rc = sy_call_start(command, &files, &host->ends);
    if (rc != 0) {
        host->ends.pid = 0;
        snprintf(host->fault, sizeof host->fault, "'%s' cannot be run: %s%s", command[0],
                 strerror(-rc), rc == -EMFILE ? " (see ulimit -Hn)" : "");
    } else if (host_read_banner(host, flags->spawn_timeout > 0 ? begin + flags->spawn_timeout
                                                               : INFINITY)) {
        host->seconds = sy_clock() - begin;
        host->facts = sy_host_ask(host, "facts");
        if (host->facts)
            host_find_clock(host);
        host->reached = !host->broken;
        if (host->broken)
            snprintf(host->fault, sizeof host->fault,
                     "oshcheck's agent there does not answer, or not as it should");
    }
    sy_memory_free_list(command);
}

void sy_host_leave(struct host *host)
{
    if (host->ends.pid <= 0)
        return;
    close(host->ends.in);
    close(host->ends.out);
    close(host->ends.err);
    for (int round = 0; round < 100 && waitpid(host->ends.pid, NULL, WNOHANG) == 0; round++)
        sy_clock_sleep(10000000);
    kill(-host->ends.pid, SIGKILL);
    waitpid(host->ends.pid, NULL, WNOHANG);
    free(host->facts);
}

char *sy_host_fact(const struct host *host, const char *name)
{
    char *text = NULL;
    size_t length = 0, skip = strlen(name);
    FILE *out = sy_memory_stream(&text, &length);
    const char *line = host->facts, *between = "";

    while (line && *line) {
        size_t end = strcspn(line, "\n");

        if (strncmp(line, name, skip) == 0 && line[skip] == ' ') {
            fprintf(out, "%s%.*s", between, (int)(end - skip - 1), line + skip + 1);
            between = " ";
        }
        line += end + (line[end] == '\n');
    }
    sy_memory_stream_end(out);
    return text;
}
