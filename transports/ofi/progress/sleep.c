/* What a thread sleeps on, be it the core's progress thread or one that waits: an epoll set of
 * the main completion queue's descriptor, that for wake-ups (wakeup.c) and a timer. Who sleeps
 * when is progress.c's business. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "transports/ofi/ofi.h"
#include "util/clock.h"
#include "util/denied.h"
#include "util/file.h"

/* Sets the timer and notes whether it runs. The main endpoint is locked. */
void sy_ofi_set_timer(struct ofi_state *ofi, long ns)
{
    ofi->ticking = ns > 0;
    sy_clock_set_timer(ofi->timer, (uint64_t)ns);
}

void sy_ofi_watch_queue(struct ofi_state *ofi, bool on)
{
    struct epoll_event event = {.events = EPOLLIN};

    atomic_store_explicit(&ofi->armed, on, memory_order_relaxed);
    epoll_ctl(ofi->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, ofi->cq_fd, &event);
}

/* Something was issued whose end may wake nobody, so the timer is set. */
void sy_ofi_look_after(struct ofi_state *ofi)
{
    long soon = ofi->wakeup.wanted ? ofi->unheard_ns : OFI_TICK_NS;

    if (ofi->armed && (!ofi->ticking || ofi->tick_ns > soon))
        sy_ofi_set_timer(ofi, ofi->tick_ns = soon);
}

int sy_ofi_wait_fd(void *self)
{
    struct ofi_state *ofi = self;

    return ofi->epoll;
}

int sy_ofi_sleep_open(struct ofi_state *ofi, struct sy_error *err)
{
    struct epoll_event event = {.events = EPOLLIN};

    ofi->cq_fd = -1;
    ofi->epoll = epoll_create1(EPOLL_CLOEXEC);
    ofi->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (ofi->epoll < 0 || ofi->timer < 0 ||
        epoll_ctl(ofi->epoll, EPOLL_CTL_ADD, ofi->timer, &event) ||
        (ofi->wakeup.fd >= 0 && !ofi->traits.wakeup &&
         epoll_ctl(ofi->epoll, EPOLL_CTL_ADD, ofi->wakeup.fd, &event)))
        return ofi->host->fail(err, errno, "a timer for the progress thread: %s%s", strerror(errno),
                               sy_denied_hint(errno));
    if (ofi->traits.wakeup)
        ofi->cq_fd = ofi->wakeup.fd;
    else if (ofi->traits.deaf || fi_control(&ofi->endpoint[0].cq->fid, FI_GETWAIT, &ofi->cq_fd))
        ofi->cq_fd = -1;
    ofi->host->log(SY_LOG_DEBUG, ofi->name, "progress: %s",
                   ofi->cq_fd < 0       ? "by a timer"
                   : ofi->traits.wakeup ? "woken by datagrams"
                                        : "woken by the completion queue");
    ofi->beat_ns = OFI_TICK_NS;
    ofi->unheard_ns = OFI_UNHEARD_NS;
    sy_ofi_set_timer(ofi, ofi->tick_ns = OFI_TICK_NS);
    return 0;
}

void sy_ofi_sleep_close(struct ofi_state *ofi)
{
    sy_file_close(&ofi->epoll);
    sy_file_close(&ofi->timer);
    ofi->epoll = ofi->timer = ofi->cq_fd = -1;
}
