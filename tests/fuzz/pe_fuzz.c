/* libFuzzer target: what a PE reads from oshrun. The first byte says what the PE does: joins, joins
 * and gathers, or looks for news. */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <switchyard/bootstrap.h>

#include "bootstrap/control/frames.h"
#include "tests/host.h"

extern const struct sy_bootstrap shmem_bootstrap_2_oshrun;

static const struct sy_bootstrap *const boot = &shmem_bootstrap_2_oshrun;

static const struct sy_host host = {.size = sizeof host, .fail = host_fail};

static void put(int fd, const void *bytes, size_t length)
{
    if (write(fd, bytes, length) != (ssize_t)length)
        abort();
}

static void welcome(int fd)
{
    struct sy_launch_welcome body = {.pe = 1, .npes = 3, .id = "fuzz"};
    const struct sy_frame header = {
        .type = SY_CONTROL_WELCOME, .length = sizeof body, .arg = SY_LAUNCH_VERSION};

    put(fd, &header, sizeof header);
    put(fd, &body, sizeof body);
}

static void play(unsigned manner)
{
    struct sy_error err;
    struct sy_job job = {.size = sizeof job};
    void *self = NULL;
    char all[3 * 8];
    int status = 0;

    if (boot->probe(&err) != 0)
        return;
    if (boot->open(&host, NULL, &self, &job, &err) != 0) {
        if (self)
            boot->close(self);
        return;
    }
    if (job.npes < 1 || job.npes > SY_LAUNCH_PES_MAX || job.pe < 0 || job.pe >= job.npes ||
        !memchr(job.id, '\0', sizeof job.id))
        abort();
    boot->mark(self, SY_MARK_INITIALIZED);
    if (manner & 2 && job.npes == 3)
        boot->allgather(self, "phase", "12345678", all, 8, 0.05, &err);
    for (int i = 0; manner & 4 && i < 8; i++) {
        if (boot->event(self, &status) == SY_EVENT_ASK)
            boot->note(self, "serving", 1, 1);
    }
    boot->abort(self, 1, "why");
    boot->close(self);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char number[16];
    int ends[2];

    if (!size || size > 100000)
        return 0;
    signal(SIGPIPE, SIG_IGN);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        abort();
    snprintf(number, sizeof number, "%d", ends[0]);
    setenv(SY_LAUNCH_FD_ENV, number, 1);
    if (*data & 1)
        welcome(ends[1]);
    put(ends[1], data + 1, size - 1);
    shutdown(ends[1], SHUT_WR);
    play(*data);
    close(ends[1]);
    return 0;
}
