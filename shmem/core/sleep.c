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
#include "util/log.h"

struct sy_sleep sy_sleep;

static struct {
    int word; /* an eventfd; -1: nobody can be told */
    nfds_t fds;
    struct pollfd fd[1 + SY_TRANSPORTS_MAX]; /* the word first */
} set = {.word = -1};

bool sy_sleep_open(void)
{
    bool any = false;

    set.fds = 1;
    for (unsigned i = 0; i < sy_routes.count; i++)
        if (sy_routes.transport[i].wait_fd >= 0) {
            set.fd[set.fds++] = (struct pollfd){.fd = sy_routes.transport[i].wait_fd,
                                                .events = POLLIN};
            any = true;
        }
    if (!any)
        return false;
    set.word = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (set.word < 0)
        sy_log(SY_LOG_WARN, "progress", "no descriptor to wake waiting threads by: %s",
               strerror(errno));
    set.fd[0] = (struct pollfd){.fd = set.word, .events = POLLIN};
    return set.word >= 0;
}

void sy_sleep_close(void)
{
    if (set.word >= 0)
        close(set.word);
    set.word = -1;
}

bool sy_sleep_until_arrival(uint32_t count, uint64_t nanoseconds)
{
    struct timespec t = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    struct pollfd fd[1 + SY_TRANSPORTS_MAX];
    uint64_t words;
    bool any = true;

    memcpy(fd, set.fd, set.fds * sizeof *fd);
    sy_progress_take_over();
    atomic_fetch_add(&sy_sleep.asleep, 1);
    if (atomic_load(&sy_sleep.moved) == count)
        any = ppoll(fd, set.fds, &t, NULL) > 0;
    atomic_fetch_sub(&sy_sleep.asleep, 1);
    if (any && fd[0].revents) {
        ssize_t got = read(set.word, &words, sizeof words);
        (void)got;
    }
    sy_progress_hand_back();
    return any;
}

void sy_sleep_word(void)
{
    const uint64_t one = 1;

    atomic_fetch_add(&sy_sleep.moved, 1);
    if (sy_sleep_anybody()) {
        ssize_t put = write(set.word, &one, sizeof one);
        (void)put;
    }
}
