/* oshrun: runs a program as the PEs of a job. Reads the user's options, decides which PE runs
 * where, and leaves the rest to run.c. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/launcher/daemon/agent.h"
#include "bootstrap/launcher/daemon/child.h"
#include "bootstrap/launcher/options/flags.h"
#include "bootstrap/launcher/options/placement.h"
#include "bootstrap/control/protocol.h"
#include "bootstrap/launcher/head/run.h"
#include "util/secure.h"

/* Runs oshcheck in this process's place, for --check. It is beside this program. */
static int launcher_oshrun_exec_check(char **argv)
{
    char path[PATH_MAX] = "";
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof "oshcheck");
    char *slash = n > 0 ? strrchr(path, '/') : NULL;

    strcpy(slash ? slash + 1 : path, "oshcheck");
    execvp(path, argv);
    fprintf(stderr, "oshrun: %s, which does what --check asks for, cannot be run: %s\n", path,
            strerror(errno));
    return 2;
}

/* The sum of the programs' numbers of PEs; of several programs, one without a number counts as one
 * PE. */
static int launcher_oshrun_wanted(struct sy_flags *flags)
{
    int sum = 0;

    if (flags->apps == 1)
        return flags->app[0].npes;
    for (int i = 0; i < flags->apps; i++) {
        if (!flags->app[i].npes)
            flags->app[i].npes = 1;
        sum += flags->app[i].npes;
        if (sum > SY_LAUNCH_PES_MAX)
            return SY_LAUNCH_PES_MAX + 1;
    }
    return sum;
}

static int launcher_oshrun_run_job(struct sy_flags *flags, bool slurm,
                                   const struct sy_child_plan *plan)
{
    const struct sy_placement_wish wish = {.npes = launcher_oshrun_wanted(flags),
                                           .per_host = flags->per_host,
                                           .most = flags->most_per_host,
                                           .cyclic = flags->cyclic,
                                           .oversubscribe = flags->oversubscribe};
    struct sy_placement placement;
    char *why = sy_placement_make(&placement, &flags->hosts, &wish);
    int status;

    if (why)
        return sy_flags_complain(why);
    if (flags->input >= placement.npes) {
        fprintf(stderr, "oshrun: --stdin %d: there are only %d PEs\n", flags->input,
                placement.npes);
        status = 2;
    } else {
        status = sy_run_job(flags, &placement, slurm, plan);
    }
    sy_placement_free(&placement);
    return status;
}

int main(int argc, char **argv)
{
    struct sy_child_plan plan = {0};
    struct sy_flags flags;
    bool slurm;

    sy_secure_refuse("oshrun", "starts what its environment and its arguments say");
    sy_child_prepare(&plan);
    if (argc == 2 && strcmp(argv[1], "--agent") == 0)
        return sy_agent_run(&plan);
    int status = sy_flags_parse(&flags, argc, argv);
    if (status < 0 && flags.check)
        status = launcher_oshrun_exec_check(argv);
    if (status < 0)
        status = sy_flags_find_hosts(&flags, &slurm);
    if (status < 0)
        status = launcher_oshrun_run_job(&flags, slurm, &plan);
    sy_flags_free(&flags);
    return status;
}
