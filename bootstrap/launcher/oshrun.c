/* oshrun: runs a program as the PEs of a job. Checks what the user asked for, then leaves the rest
 * to run.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/launcher/child.h"
#include "bootstrap/launcher/flags.h"
#include "bootstrap/launcher/program.h"
#include "bootstrap/launcher/run.h"

static int run_program(const struct sy_flags *flags, struct sy_child_plan *plan)
{
    const char *name = flags->program[0];
    char *path, *why;
    int status;

    if (flags->directory && chdir(flags->directory) != 0) {
        fprintf(stderr, "oshrun: cannot go to the working directory '%s': %s\n", flags->directory,
                strerror(errno));
        return 2;
    }
    path = sy_program_find(name, &status, &why);
    if (!path) {
        fprintf(stderr, "oshrun: cannot run '%s': %s\n", name, why);
        free(why);
        return status;
    }
    plan->path = path;
    plan->argv = flags->program;
    status = sy_run_job(flags, plan);
    free(path);
    return status;
}

int main(int argc, char **argv)
{
    struct sy_child_plan plan = {0};
    struct sy_flags flags;
    int status;

    sy_child_prepare(&plan);
    status = sy_flags_parse(&flags, argc, argv);
    if (status < 0)
        status = run_program(&flags, &plan);
    sy_flags_free(&flags);
    return status;
}
