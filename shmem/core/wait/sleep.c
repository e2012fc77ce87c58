#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/wait/progress.h"
#include "core/route/route.h"
#include "core/wait/sleep.h"
#include "core/wait/wait.h"
#include "util/denied.h"
#include "util/error.h"
#include "util/file.h"

struct sy_sleep sy_sleep;

static int wake_fd = -1; /* an eventfd */

int sy_sleep_open(struct sy_error *err)
{
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return wake_fd >= 0 ? 0
                        : sy_fail(err, errno, "a descriptor to wake waiting threads by: %s%s",
                                  strerror(errno), sy_denied_hint(errno));
}

void sy_sleep_close(void)
{
    sy_file_close(&wake_fd);
}

/* The wake-up descriptor first, then those of open transports, which become fewer at the end. */
static nfds_t sleep_descriptors(struct pollfd *fd)
{
    nfds_t count = 0;

    fd[count++] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
    for (unsigned i = 0; i < sy_routes.count; i++)
        fd[count++] = (struct pollfd){.fd = sy_routes.transport[i].wait_fd, .events = POLLIN};
    return count;
}

bool sy_sleep_until_arrival(uint32_t count, uint64_t nanoseconds)
{
    struct timespec t = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    struct pollfd fd[1 + SY_TRANSPORTS_MAX];
    nfds_t fds = sleep_descriptors(fd);
    uint64_t wakes;
    bool any = true;

    sy_progress_take_over();
    atomic_fetch_add(&sy_sleep.asleep, 1);
    if (atomic_load(&sy_sleep.moved) == count)
        any = ppoll(fd, fds, &t, NULL) > 0;
    atomic_fetch_sub(&sy_sleep.asleep, 1);
    if (any && fd[0].revents) {
        ssize_t got = read(wake_fd, &wakes, sizeof wakes);
        (void)got;
    }
    sy_progress_hand_back();
    sy_progress_awake();
    return any;
}

void sy_sleep_listen(void (*wake)(void))
{
    atomic_store(&sy_sleep.listened, true);
    atomic_exchange(&sy_sleep.listener, wake);
}

void sy_sleep_tell(void)
{
    void (*wake)(void) = atomic_exchange(&sy_sleep.listener, NULL);

    if (wake)
        wake();
}

void sy_sleep_moved(void)
{
    const uint64_t one = 1;

    atomic_fetch_add(&sy_sleep.moved, 1);
    if (sy_sleep_anybody()) {
        ssize_t put = write(wake_fd, &one, sizeof one);
        (void)put;
    }
    if (SY_UNLIKELY(atomic_load(&sy_sleep.word) != NULL)) {
        atomic_fetch_add(&sy_sleep.readers, 1);
        const uint32_t *word = atomic_load(&sy_sleep.word);
        if (word && __atomic_load_n(word, __ATOMIC_ACQUIRE) & sy_sleep.bits)
            sy_wait_wake(word);
        atomic_fetch_sub(&sy_sleep.readers, 1);
    }
    sy_sleep_polled();
}
