/* oshcheck: tries the hosts that a job is to run on, and the ways between them, and starts nothing
 * there but itself. Its options are those of oshrun, so that it goes the ways that oshrun would.
 *
 * check.c    the command: what is asked of which host, and the tables
 * host.c     the conversation with a host's agent
 * probe.c    the agent: what it finds out about its host
 * measure.c  the agent: one measurement between two hosts
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bootstrap/check/host.h"
#include "bootstrap/check/probe.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/options/flags.h"
#include "config.h"
#include "util/net/interfaces.h"
#include "util/net/ports.h"
#include "util/secure.h"
#include "util/standard.h"

static const char usage[] =
    "usage: oshcheck [options]\n"
    "Tries the hosts that a job is to run on, and the ways between them, and says what would\n"
    "trouble the job. It takes the options of oshrun that say which hosts and how to get there:\n"
    "\n"
    "  -H, --hosts LIST        the hosts; else those of --hostfile, or of the batch job\n"
    "  --hostfile FILE         the same, one a line\n"
    "  --launcher HOW          ssh, slurm or fork\n"
    "  --launcher-exec WORDS   the command to run in place of ssh\n"
    "  --port-range A:B        the ports that the job is to use for TCP\n"
    "  --spawn-timeout SECONDS for a host to answer\n"
    "  -h, --help              print this and end\n"
    "  -V, --version           print the version and end\n"
    "\n"
    "The status is 0 if a job could run on all hosts, 1 if not, 2 if the options are wrong.\n";

static const double CLOCKS_APART = 1.0; /* seconds from which on clocks are complained of */

enum { FEW_FILES = 1024, ADDRESSES = 16 /* that are tried of a host */ };

/* ---- the hosts ---- */

static bool check_complain(struct host *host, const char *fmt, const char *value, const char *other)
{
    printf("    ! %s: ", host->name);
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
        char *value = sy_host_fact(host, COLUMNS[i]);

        printf(" %10s", value);
        free(value);
    }
    char *transports = sy_host_fact(host, "transport"), *addresses = sy_host_fact(host, "address");

    printf("  %s\n    addresses: %s\n", transports, addresses);
    free(transports);
    free(addresses);
}

static bool check_agree(struct host *host, const struct host *first, const char *name,
                        const char *fmt)
{
    char *value = sy_host_fact(host, name), *other = sy_host_fact(first, name);
    bool good = strcmp(value, other) == 0 || check_complain(host, fmt, value, other);

    free(other);
    free(value);
    return good;
}

/* Reports what would disturb a job. */
static bool check_look_for_trouble(struct host *host, const struct host *first)
{
    char *files = sy_host_fact(host, "files"), text[32];
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

/* "a 10.0.0.1 b fe80::1" alternates names of interfaces and addresses: keeps the first addresses,
 * and nothing else that the host may have sent. */
static char *check_addresses_of(const struct host *host)
{
    char *all = sy_host_fact(host, "address"), *save = NULL, *text = NULL;
    size_t length = 0;
    FILE *out = sy_memory_stream(&text, &length);
    int word = 0, count = 0;
    struct sy_ip ip;

    for (char *at = strtok_r(all, " ", &save); at; at = strtok_r(NULL, " ", &save)) {
        if (word++ % 2 && count < ADDRESSES && sy_ip_parse(at, &ip) == 0) {
            fprintf(out, " %s", at);
            count++;
        }
    }
    sy_memory_stream_end(out);
    free(all);
    return text;
}

static bool check_make_token(char token[33])
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return false;
    for (int i = 0; i < 16; i++)
        sprintf(token + 2 * i, "%02x", bytes[i]);
    return true;
}

struct ports {
    unsigned low, high; /* 0 0: any */
};

/* The ports that the job would use. Returns false where the setting is no range. */
static bool check_find_ports(const struct sy_flags *flags, struct ports *ports)
{
    const char *range = getenv("SHMEM_TCP_PORT_RANGE");

    for (size_t i = 0; i < flags->exports.count; i++) {
        if (strcmp(flags->exports.item[i].name, "SHMEM_TCP_PORT_RANGE") == 0)
            range = flags->exports.item[i].value;
    }
    if (!sy_ports_read(range ? range : "", &ports->low, &ports->high))
        return true;
    fprintf(stderr,
            "oshcheck: '%s' is no range of ports; write the first and the last one, such as "
            "5000:5100\n",
            range);
    return false;
}

/* In one line, whatever a host has sent: it is not to forge lines of the table. */
static void check_in_one_line(char *text)
{
    for (; text && *text; text++) {
        if (*text == '\n' || *text == '\t')
            *text = ' ';
    }
}

/* Has one host listen and the other one measure the way to it. Returns what came of it: the last
 * answer (allocated), or NULL. */
static char *check_ask_way(const struct ports *ports, struct host *from, struct host *to)
{
    char token[33], *question, *port, *answer, *addresses;

    if (!check_make_token(token))
        return sy_memory_text("! no secret for the connection: getrandom: %s", strerror(errno));
    question = sy_memory_text("listen %s %u %u", token, ports->low, ports->high);
    port = sy_host_ask(to, question);
    free(question);
    if (!port || *port == '!')
        return port;
    if (strspn(port, "0123456789,") != strlen(port)) {
        free(port);
        return NULL;
    }
    addresses = check_addresses_of(to);
    question = sy_memory_text("measure %s %s%s", token, port, addresses);
    answer = sy_host_ask(from, question);
    free(question);
    free(addresses);
    free(port);
    return answer;
}

static bool check_measure(const struct ports *ports, struct host *from, struct host *to)
{
    char address[64], *answer = check_ask_way(ports, from, to);
    double trip, rate;
    bool good = answer && sscanf(answer, "%63s %lf %lf", address, &trip, &rate) == 3 &&
                *answer != '!';

    check_in_one_line(answer);
    if (good)
        printf("%-16s %-16s %-24s %10.1f %10.0f\n", from->name, to->name, address, trip, rate);
    else
        printf("%-16s %-16s %s\n", from->name, to->name,
               answer && *answer == '!' ? answer : "! no answer");
    fflush(stdout);
    free(answer);
    return good;
}

static bool check_measure_all(const struct ports *ports, struct host *hosts, int count)
{
    bool good = true;

    if (count < 2)
        return true;
    printf("\n%-16s %-16s %-24s %10s %10s\n", "from", "to", "over", "trip us", "MB/s");
    for (int from = 0; from < count; from++) {
        for (int to = 0; to < count; to++) {
            if (from != to && hosts[from].reached && hosts[to].reached)
                good = check_measure(ports, &hosts[from], &hosts[to]) && good;
        }
    }
    return good;
}

/* Advice where hosts do not reach each other. */
static void check_advise(const struct ports *ports)
{
    if (ports->low)
        printf("\nPEs connect to each other at the ports from %u to %u: let them pass in firewalls "
               "and security groups\nbetween all of the hosts, in both directions",
               ports->low, ports->high);
    else
        printf("\nPEs connect to each other at any port: let all pass between the hosts, or choose "
               "some by --port-range A:B,\nfor this check and for the job, and let these pass in "
               "firewalls and security groups, in both directions");
    printf("; --if-include says which interfaces to use.\n");
}

/* Prints tables. Returns the exit status: 0 if a job could run on all of them. */
static int check_hosts(const struct sy_flags *flags, bool slurm)
{
    int count = flags->hosts.count;
    struct host *hosts = sy_memory_zeroed((size_t)count, sizeof *hosts);
    const struct host *first = NULL;
    bool good = true, ways;
    struct ports ports;

    if (!check_find_ports(flags, &ports)) {
        free(hosts);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    printf("%-16s %7s %9s %10s %10s %10s %10s %10s %10s %10s  %s\n", "host", "reach s", "clock s",
           "release", "kernel", "processors", "memory MB", "files", "processes", "locked kB",
           "transports");
    for (int i = 0; i < count; i++) {
        hosts[i].name = flags->hosts.host[i].name;
        sy_host_reach(&hosts[i], flags, slurm);
        check_print_host(&hosts[i]);
        fflush(stdout);
        if (hosts[i].reached && !first)
            first = &hosts[i];
        good = hosts[i].reached && check_look_for_trouble(&hosts[i], first) && good;
    }
    ways = check_measure_all(&ports, hosts, count);
    if (!ways)
        check_advise(&ports);
    good = good && ways;
    printf("\n%s\n", good ? "all is well" : "a job on these hosts would have trouble, see above");
    for (int i = 0; i < count; i++)
        sy_host_leave(&hosts[i]);
    free(hosts);
    return good ? 0 : 1;
}

/* ---- the command ---- */

/* Parses the options as oshrun would for a job without a program. */
static int check_parse(struct sy_flags *flags, int argc, char **argv)
{
    static char check[] = "--check";
    char **words = sy_memory_zeroed((size_t)argc + 2, sizeof *words);

    sy_flags_tool = "oshcheck";
    sy_flags_synopsis = "[options]";
    words[0] = argv[0];
    words[1] = check;
    for (int i = 1; i < argc; i++)
        words[i + 1] = argv[i];
    int status = sy_flags_parse(flags, argc + 1, words);
    free(words);
    return status;
}

int main(int argc, char **argv)
{
    struct sy_flags flags;
    bool slurm;

    sy_secure_refuse("oshcheck", "starts what its environment and its arguments say");
    sy_standard_keep();
    if (argc == 2 && strcmp(argv[1], "--agent") == 0)
        return sy_probe_run();
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return sy_standard_end("oshcheck", EXIT_FAILURE);
    }
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        puts("oshcheck (" PACKAGE_NAME ") " PACKAGE_VERSION);
        return sy_standard_end("oshcheck", EXIT_FAILURE);
    }
    int status = check_parse(&flags, argc, argv);
    if (status < 0)
        status = sy_flags_find_hosts(&flags, &slurm);
    if (status < 0)
        status = check_hosts(&flags, slurm);
    sy_flags_free(&flags);
    return status ? status : sy_standard_end("oshcheck", EXIT_FAILURE);
}
