/* The pre-flight check: see check.h. One agent on each host answers questions (probe.h) and starts
 * no PEs. Hosts are asked one after another, because the output is for people. */
#include "bootstrap/launcher/check/check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/launcher/daemon/agent.h"
#include "bootstrap/launcher/head/call.h"
#include "bootstrap/launcher/head/command.h"
#include "bootstrap/launcher/daemon/daemon.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/stdio/plain.h"
#include "util/clock.h"
#include "util/net/io.h"

static const double ANSWER = 25;        /* seconds for one answer */
static const double CLOCKS_APART = 1.0; /* seconds from which on clocks are complained of */

enum { FEW_FILES = 1024, CLOCK_ROUNDS = 5 };

struct host {
    const char *name;
    struct sy_call_ends ends;
    bool reached;
    bool broken;    /* it has left a question without an answer that makes sense */
    double seconds; /* until it answered */
    double clock;   /* how far its clock is ahead of ours */
    char *facts;
    char fault[400];
};

static double check_time_of_day(void)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- the conversation with an agent ---- */

static bool check_receive(const struct host *host, void *to, size_t length, double deadline)
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

/* The answer, fit for a terminal (allocated). */
static char *check_receive_answer(const struct host *host, double deadline)
{
    struct sy_frame header;
    char *answer, *plain = NULL;

    if (!check_receive(host, &header, sizeof header, deadline) || header.type != SY_DAEMON_ANSWER ||
        sy_frame_fault(&header, SY_FRAME_AT_HEAD, SY_FRAME_NEW))
        return NULL;
    answer = sy_memory_zeroed((size_t)header.length + 1, 1);
    if (check_receive(host, answer, header.length, deadline))
        plain = sy_plain_string(answer);
    free(answer);
    return plain;
}

/* The answer (allocated), or NULL; then the conversation is over, because a late answer would be
 * taken for that to the next question. */
static char *check_ask(struct host *host, const char *question)
{
    struct sy_frame header = {
        .type = SY_DAEMON_PROBE, .length = (uint32_t)strlen(question), .pe = SY_ALL};
    char *answer = NULL;

    if (host->broken)
        return NULL;
    if (write(host->ends.in, &header, sizeof header) == sizeof header &&
        write(host->ends.in, question, header.length) == (ssize_t)header.length)
        answer = check_receive_answer(host, sy_clock() + ANSWER);
    host->broken = !answer;
    return answer;
}

/* The last words of a command that failed. */
static void check_read_fault(struct host *host)
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

static bool check_read_greeting(struct host *host, double deadline)
{
    char line[512];
    size_t length = 0;

    for (;;) {
        if (!check_receive(host, line + length, 1, deadline)) {
            check_read_fault(host);
            return false;
        }
        if (line[length] != '\n') {
            length += length < sizeof line - 1;
            continue;
        }
        line[length] = '\0';
        length = 0;
        if (strncmp(line, SY_AGENT_GREETING, strlen(SY_AGENT_GREETING)) != 0)
            continue;
        if (atoi(line + strlen(SY_AGENT_GREETING)) == SY_LAUNCH_VERSION)
            return true;
        snprintf(host->fault, sizeof host->fault, "has an oshrun of another release");
        return false;
    }
}

static void check_find_clock(struct host *host)
{
    double best = ANSWER;

    for (int i = 0; i < CLOCK_ROUNDS && !host->broken; i++) {
        double begin = check_time_of_day();
        char *answer = check_ask(host, "clock");
        double end = check_time_of_day();

        if (answer && end - begin < best) {
            best = end - begin;
            host->clock = strtod(answer, NULL) / 1e9 - (begin + end) / 2;
        }
        free(answer);
    }
}

static void check_reach(struct host *host, const struct sy_flags *flags, bool slurm,
                        const struct sy_child_plan *plan)
{
    char **command = sy_command_make(flags, host->name, slurm);
    double begin = sy_clock();
    int rc = sy_call_start(command, &plan->nofile, &host->ends);

    if (rc != 0) {
        host->ends.pid = 0;
        snprintf(host->fault, sizeof host->fault, "'%s' cannot be run: %s", command[0],
                 strerror(-rc));
    } else if (check_read_greeting(host, begin + flags->spawn_timeout)) {
        host->seconds = sy_clock() - begin;
        host->facts = check_ask(host, "facts");
        if (host->facts)
            check_find_clock(host);
        host->reached = !host->broken;
        if (host->broken)
            snprintf(host->fault, sizeof host->fault, "oshrun's agent there does not answer");
    }
    for (char **word = command; *word; word++)
        free(*word);
    free(command);
}

static void check_leave(struct host *host)
{
    if (host->ends.pid <= 0)
        return;
    close(host->ends.in);
    close(host->ends.out);
    close(host->ends.err);
    for (int round = 0; round < 100 && waitpid(host->ends.pid, NULL, WNOHANG) == 0; round++)
        usleep(10000);
    kill(-host->ends.pid, SIGKILL);
    waitpid(host->ends.pid, NULL, WNOHANG);
    free(host->facts);
}

/* ---- what they know ---- */

/* All values of a fact, with a blank between (allocated). */
static char *check_fact(const struct host *host, const char *name)
{
    char *text = NULL;
    size_t length = 0, skip = strlen(name);
    FILE *out = sy_memory_check(open_memstream(&text, &length));
    const char *line = host->facts, *between = "";

    while (line && *line) {
        size_t end = strcspn(line, "\n");

        if (strncmp(line, name, skip) == 0 && line[skip] == ' ') {
            fprintf(out, "%s%.*s", between, (int)(end - skip - 1), line + skip + 1);
            between = " ";
        }
        line += end + (line[end] == '\n');
    }
    if (fclose(out) != 0)
        sy_memory_check(NULL);
    return text;
}

static bool check_complain(struct host *host, const char *fmt, const char *value, const char *other)
{
    printf("    ! ");
    printf("%s: ", host->name);
    printf(fmt, value, other);
    putchar('\n');
    return false;
}

static void check_print_host(const struct host *host)
{
    static const char *const COLUMNS[] = {"release", "kernel",    "processors", "memory",
                                          "files",   "processes", "locked"};

    if (!host->reached) {
        printf("%-16s %s\n", host->name, host->fault);
        return;
    }
    printf("%-16s %7.2f %+9.4f", host->name, host->seconds, host->clock);
    for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++) {
        char *value = check_fact(host, COLUMNS[i]);

        printf(" %10s", value);
        free(value);
    }
    char *transports = check_fact(host, "transport"), *addresses = check_fact(host, "address");

    printf("  %s\n    addresses: %s\n", transports, addresses);
    free(transports);
    free(addresses);
}

static bool check_agree(struct host *host, const struct host *first, const char *name,
                        const char *fmt)
{
    char *value = check_fact(host, name), *other = check_fact(first, name);
    bool good = strcmp(value, other) == 0 || check_complain(host, fmt, value, other);

    free(other);
    free(value);
    return good;
}

/* Reports what would disturb a job. */
static bool check_look_for_trouble(struct host *host, const struct host *first)
{
    char *files = check_fact(host, "files"), text[32];
    bool good = true;

    good = check_agree(host, first, "release", "release %s, the first host has %s") && good;
    good = check_agree(host, first, "transport", "transports '%s', the first host has '%s'") &&
           good;
    snprintf(text, sizeof text, "%+.3f", host->clock);
    if (host->clock > CLOCKS_APART || host->clock < -CLOCKS_APART)
        good = check_complain(host, "its clock differs by %s seconds%s", text, "");
    if (atoi(files) && atoi(files) < FEW_FILES)
        good = check_complain(host, "only %s open files are allowed (ulimit -Hn)%s", files, "");
    free(files);
    return good;
}

/* ---- the ways between them ---- */

/* "a 10.0.0.1 b fe80::1" alternates names of interfaces and addresses: keeps the addresses. */
static char *check_addresses_of(const struct host *host)
{
    char *all = check_fact(host, "address"), *save = NULL, *text = NULL;
    size_t length = 0;
    FILE *out = sy_memory_check(open_memstream(&text, &length));
    int word = 0;

    for (char *at = strtok_r(all, " ", &save); at; at = strtok_r(NULL, " ", &save)) {
        if (word++ % 2)
            fprintf(out, " %s", at);
    }
    if (fclose(out) != 0)
        sy_memory_check(NULL);
    free(all);
    return text;
}

static void check_make_token(char token[33])
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < 16; i++)
        sprintf(token + 2 * i, "%02x", bytes[i]);
}

/* The range of ports that the job would use: 0 0 for any. Returns false where the setting is no
 * range. */
static bool check_find_ports(const struct sy_flags *flags, int *low, int *high)
{
    const char *range = getenv("SHMEM_TCP_PORT_RANGE");
    char more;

    for (size_t i = 0; i < flags->exports.count; i++) {
        if (strcmp(flags->exports.item[i].name, "SHMEM_TCP_PORT_RANGE") == 0)
            range = flags->exports.item[i].value;
    }
    *low = *high = 0;
    if (!range || !*range)
        return true;
    if (sscanf(range, "%5d:%5d%c", low, high, &more) == 2 && *low > 0 && *low <= *high &&
        *high <= 65535)
        return true;
    fprintf(stderr,
            "oshrun: '%s' is no range of ports; write the first and the last one, such as "
            "5000:5100\n",
            range);
    return false;
}

/* "! why", without the first two characters. */
static const char *check_reason(const char *answer)
{
    return strncmp(answer, "! ", 2) == 0 ? answer + 2 : "an answer that is none";
}

static bool check_measure(const struct sy_flags *flags, struct host *from, struct host *to)
{
    char token[33], *question, *port, *answer = NULL, *addresses = check_addresses_of(to);
    char address[64];
    double trip, rate;
    int low, high;
    bool good;

    check_make_token(token);
    check_find_ports(flags, &low, &high);
    question = sy_memory_text("listen %s %d %d", token, low, high);
    port = check_ask(to, question);
    free(question);
    if (port && *port != '!' && strspn(port, "0123456789,") == strlen(port)) {
        question = sy_memory_text("measure %s %s%s", token, port, addresses);
        answer = check_ask(from, question);
        free(question);
    }
    good = answer && sscanf(answer, "%63s %lf %lf", address, &trip, &rate) == 3 && *answer != '!';
    if (good)
        printf("%-16s %-16s %-24s %10.1f %10.0f\n", from->name, to->name, address, trip, rate);
    else
        printf("%-16s %-16s ! %s\n", from->name, to->name,
               answer ? check_reason(answer)
               : port ? check_reason(port)
                      : "no answer");
    fflush(stdout);
    free(answer);
    free(port);
    free(addresses);
    return good;
}

static bool check_measure_all(const struct sy_flags *flags, struct host *hosts, int count)
{
    bool good = true;

    if (count < 2)
        return true;
    printf("\n%-16s %-16s %-24s %10s %10s\n", "from", "to", "over", "trip us", "MB/s");
    for (int from = 0; from < count; from++) {
        for (int to = 0; to < count; to++) {
            if (from != to && hosts[from].reached && hosts[to].reached)
                good = check_measure(flags, &hosts[from], &hosts[to]) && good;
        }
    }
    return good;
}

/* Advice where hosts do not reach each other. */
static void check_advise(const struct sy_flags *flags)
{
    int low, high;

    check_find_ports(flags, &low, &high);
    if (low)
        printf("\nPEs connect to each other at the ports from %d to %d: let them pass in firewalls "
               "and security groups\nbetween all of the hosts, in both directions",
               low, high);
    else
        printf("\nPEs connect to each other at any port: let all pass between the hosts, or choose "
               "some by --port-range A:B,\nfor this check and for the job, and let these pass in "
               "firewalls and security groups, in both directions");
    printf("; --if-include says which interfaces to use.\n");
}

int sy_check_hosts(const struct sy_flags *flags, bool slurm, const struct sy_child_plan *plan)
{
    int count = flags->hosts.count;
    struct host *hosts = sy_memory_zeroed((size_t)count, sizeof *hosts);
    const struct host *first = NULL;
    bool good = true, ways;
    int low, high;

    if (!check_find_ports(flags, &low, &high)) {
        free(hosts);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    printf("%-16s %7s %9s %10s %10s %10s %10s %10s %10s %10s  %s\n", "host", "reach s", "clock s",
           "release", "kernel", "processors", "memory MB", "files", "processes", "locked kB",
           "transports");
    for (int i = 0; i < count; i++) {
        hosts[i].name = flags->hosts.host[i].name;
        check_reach(&hosts[i], flags, slurm, plan);
        check_print_host(&hosts[i]);
        fflush(stdout);
        if (hosts[i].reached && !first)
            first = &hosts[i];
        good = hosts[i].reached && check_look_for_trouble(&hosts[i], first) && good;
    }
    ways = check_measure_all(flags, hosts, count);
    if (!ways)
        check_advise(flags);
    good = good && ways;
    printf("\n%s\n", good ? "all is well" : "a job on these hosts would have trouble, see above");
    for (int i = 0; i < count; i++)
        check_leave(&hosts[i]);
    free(hosts);
    return good ? 0 : 1;
}
