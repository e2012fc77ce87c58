/* The bootstrap of last resort: a program that was started without a launcher is a job of one PE.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <switchyard/bootstrap.h>

static int single_probe(struct sy_error *err)
{
    (void)err;
    return 0;
}

static int single_open(const struct sy_host *host, struct sy_job *job, struct sy_error *err)
{
    struct timespec now;

    memset(job, 0, sizeof *job);
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

static int single_allgather(const char *phase, const void *mine, void *all, size_t length,
                            double seconds, struct sy_error *err)
{
    (void)phase;
    (void)seconds;
    (void)err;
    if (length && all != mine)
        memmove(all, mine, length);
    return 0;
}

static void single_mark(enum sy_mark mark)
{
    (void)mark;
}

static void single_abort(int status, const char *why)
{
    (void)status;
    (void)why;
}

static int single_wait_fd(void)
{
    return -1;
}

static int single_event(int *status)
{
    (void)status;
    return SY_EVENT_NONE;
}

static void single_close(void)
{
}

SY_BOOTSTRAP_PLUGIN(single) = {
    .size = sizeof(struct sy_bootstrap),
    .name = "single",
    .probe = single_probe,
    .open = single_open,
    .allgather = single_allgather,
    .mark = single_mark,
    .abort = single_abort,
    .wait_fd = single_wait_fd,
    .event = single_event,
    .close = single_close,
};
