/* See sleep.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/progress.h"
#include "core/route.h"
#include "core/sleep.h"
#include "util/error.h"

struct sy_sleep sy_sleep;

static struct {
    nfds_t fds;
    struct pollfd fd[1 + SY_TRANSPORTS_MAX]; /* the bell first, an eventfd */
} set = {.fd[0].fd = -1};

int sy_sleep_open(struct sy_error *err)
{
    set.fd[0] = (struct pollfd){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .events = POLLIN};
    if (set.fd[0].fd < 0)
        return sy_fail(err, errno, "a descriptor to wake waiting threads by: %s", strerror(errno));
    set.fds = 1;
    for (unsigned i = 0; i < sy_routes.count; i++)
        if (sy_routes.transport[i].wait_fd >= 0)
            set.fd[set.fds++] = (struct pollfd){.fd = sy_routes.transport[i].wait_fd,
                                                .events = POLLIN};
    return 0;
}

void sy_sleep_close(void)
{
    if (set.fd[0].fd >= 0)
        close(set.fd[0].fd);
    set.fd[0].fd = -1;
    set.fds = 0;
}

bool sy_sleep_until_arrival(uint32_t count, uint64_t nanoseconds)
{
    struct timespec t = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    struct pollfd fd[1 + SY_TRANSPORTS_MAX];
    uint64_t rings;
    bool any = true;

    memcpy(fd, set.fd, set.fds * sizeof *fd);
    sy_progress_take_over();
    atomic_fetch_add(&sy_sleep.asleep, 1);
    if (atomic_load(&sy_sleep.moved) == count)
        any = ppoll(fd, set.fds, &t, NULL) > 0;
    atomic_fetch_sub(&sy_sleep.asleep, 1);
    if (any && fd[0].revents) {
        ssize_t got = read(fd[0].fd, &rings, sizeof rings);
        (void)got;
    }
    sy_progress_hand_back();
    return any;
}

void sy_sleep_moved(void)
{
    const uint64_t one = 1;

    atomic_fetch_add(&sy_sleep.moved, 1);
    if (sy_sleep_anybody()) {
        ssize_t put = write(set.fd[0].fd, &one, sizeof one);
        (void)put;
    }
}
