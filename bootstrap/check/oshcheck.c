/* oshcheck: tries the hosts that a job is to run on, and the ways between them, and starts nothing
 * there but itself. Its options are those of oshrun, so that it goes the ways that oshrun would.
 *
 * oshcheck.c  the command
 * check.c     what is asked of which host, and the tables
 * host.c      the conversation with a host's agent
 * probe.c     the agent: what it finds out about its host
 * measure.c   the agent: one measurement between two hosts
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/check/check.h"
#include "bootstrap/check/probe.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/options/flags.h"
#include "config.h"
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

/* Parses the options as oshrun would for a job without a program. */
static int oshcheck_parse(struct sy_flags *flags, int argc, char **argv)
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
    int status = oshcheck_parse(&flags, argc, argv);
    if (status < 0)
        status = sy_flags_find_hosts(&flags, &slurm);
    if (status < 0)
        status = sy_check_hosts(&flags, slurm);
    sy_flags_free(&flags);
    return status ? status : sy_standard_end("oshcheck", EXIT_FAILURE);
}
