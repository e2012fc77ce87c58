/* The bootstrap of last resort: a program started without a launcher is a job of one PE. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <switchyard/bootstrap.h>

#include "util/error.h"
#include "util/parse.h"

/* Sizes that launchers, or those who start without one, leave in the environment. */
static const char *const sizes[] = {"PMI_SIZE",   "OMPI_COMM_WORLD_SIZE",
                                    "PMIX_SIZE",  "SLURM_STEP_NUM_TASKS",
                                    "SHMEM_NPES", "WORLD_SIZE"};

/* N processes that each believe to be the only PE would compute N times the wrong thing. */
static int single_probe(struct sy_error *err)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        long size = sy_parse_variable(sizes[i]);
        if (size > 1 && (strcmp(sizes[i], "WORLD_SIZE") != 0 || sy_parse_variable("RANK") >= 0))
            return sy_fail(err, EEXIST,
                           "%s=%ld says that this process is one of %ld, and no bootstrap plugin "
                           "here can join them; use oshrun -n %ld, or set SHMEM_BOOTSTRAP=single "
                           "for %ld jobs of one PE",
                           sizes[i], size, size, size, size);
    }
    return 0;
}

static int single_open(const struct sy_host *host, const void *settings, void **self,
                       struct sy_job *job, struct sy_error *err)
{
    struct timespec now;

    (void)settings, (void)self;
    job->pe = 0;
    job->npes = 1;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(job->id, sizeof job->id, "%lx-%llx", (long)getpid(),
             (unsigned long long)now.tv_sec * 1000000u + (unsigned long long)now.tv_nsec / 1000u);
    if (getrandom(job->key, sizeof job->key, 0) != (ssize_t)sizeof job->key)
        return host->fail(err, errno ? errno : EIO,
                          "cannot get random numbers for the job's key: %s", strerror(errno));
    return 0;
}

static int single_allgather(void *self, const char *phase, const void *mine, void *all,
                            size_t length, double seconds, struct sy_error *err)
{
    (void)self, (void)phase, (void)seconds, (void)err;
    if (length && all != mine)
        memmove(all, mine, length);
    return 0;
}

SY_BOOTSTRAP_PLUGIN(single) = {
    .size = sizeof(struct sy_bootstrap),
    .name = "single",
    .probe = single_probe,
    .open = single_open,
    .allgather = single_allgather,
};
