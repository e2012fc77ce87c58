/* Wake-ups. A PE whose program computes, or waits in MPI, looks at MPI seldom once nothing has come
 * for long (tick.c). Another PE that has sent it something, and has not heard of it for some
 * milliseconds, sends a datagram to a socket that its sleepers sleep on beside the timer; they then
 * look as often as ever.
 *
 * PEs of one network namespace have UNIX sockets, with names that the kernel chose. Others are
 * woken across the network (datagram.c), where a wake-up may get lost: so a PE that has such others
 * looks at least every SHMEM_MPI_POLL microseconds, and wake-ups only save that time.
 *
 * A wake-up has no content. One that is lost costs the rest of an interval, and a stranger's a few
 * looks: while looks follow soon the sockets are not listened to, so that any number of wake-ups
 * makes no more looks than messages do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "transports/mpi/state.h"
#include "util/clock.h"
#include "util/count.h"
#include "util/file.h"
#include "util/net/machine.h"

enum {
    IDLE = 64, /* looks in vain of threads that poll, before others are woken */
    EVERY = 8  /* such looks, in one of which wake-ups are read */
};

/* A PE that has been heard later than this ago does not look seldom. */
#define AGE_NS UINT64_C(2000000)

/* ---- the socket ---- */

static int mpi_wakeup_join(int set, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static bool mpi_wakeup_open_near(struct mpi_wakeup *wakeup)
{
    wakeup->own.network = sy_machine_network();
    wakeup->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return wakeup->fd >= 0 && wakeup->own.network && !sy_unix_bind(wakeup->fd, &wakeup->own.name) &&
           !mpi_wakeup_join(wakeup->set, wakeup->fd);
}

int mpi_wakeup_open(struct mpi_state *state, struct sy_error *err)
{
    struct mpi_wakeup *wakeup = &state->wakeup;

    wakeup->fd = wakeup->far = -1;
    wakeup->set = epoll_create1(EPOLL_CLOEXEC);
    if (wakeup->set < 0 || mpi_wakeup_join(wakeup->set, state->tick.fd) ||
        !mpi_wakeup_open_near(wakeup)) {
        mpi_wakeup_close(state);
        return 0;
    }
    int rc = mpi_datagram_open(state, err);
    if (!rc && wakeup->far >= 0 && mpi_wakeup_join(wakeup->set, wakeup->far))
        mpi_datagram_close(wakeup);
    if (rc)
        mpi_wakeup_close(state);
    return rc;
}

void mpi_wakeup_close(struct mpi_state *state)
{
    struct mpi_wakeup *wakeup = &state->wakeup;

    sy_file_close(&wakeup->fd);
    mpi_datagram_close(wakeup);
    sy_file_close(&wakeup->set);
    free(wakeup->of);
    free(wakeup->unheard);
    free(wakeup->heard);
    *wakeup = (struct mpi_wakeup){.fd = -1, .far = -1, .set = -1};
}

static bool mpi_wakeup_is_near(const struct mpi_wakeup *wakeup, const struct mpi_socket *to)
{
    return sy_unix_is_name(&wakeup->own.name) && sy_unix_is_name(&to->name) &&
           to->network == wakeup->own.network;
}

void mpi_wakeup_meet(struct mpi_state *state, const struct mpi_socket *of)
{
    struct mpi_wakeup *wakeup = &state->wakeup;
    size_t ranks = (size_t)state->ranks;

    wakeup->near = true;
    for (size_t rank = 0; rank < ranks; rank++)
        wakeup->near = wakeup->near && mpi_wakeup_is_near(wakeup, &of[rank]);
    if (wakeup->near)
        mpi_datagram_close(wakeup);
    else
        mpi_tick_never_silent(&state->tick);
    if (wakeup->set < 0)
        return;
    wakeup->of = malloc(ranks * sizeof *wakeup->of);
    wakeup->unheard = calloc(ranks, sizeof *wakeup->unheard);
    wakeup->heard = calloc(ranks, sizeof *wakeup->heard);
    if (wakeup->of && wakeup->unheard && wakeup->heard) {
        memcpy(wakeup->of, of, ranks * sizeof *of);
        return;
    }
    free(wakeup->of);
    wakeup->of = NULL;
    mpi_tick_never_silent(&state->tick);
}

int mpi_wakeup_wait_fd(void *self)
{
    const struct mpi_state *state = self;

    return state->wakeup.set >= 0 ? state->wakeup.set : state->tick.fd;
}

/* ---- waking ---- */

static void mpi_wakeup_send(struct mpi_state *state, int rank)
{
    const struct mpi_wakeup *wakeup = &state->wakeup;
    bool sent = false;

    if (mpi_wakeup_is_near(wakeup, &wakeup->of[rank])) {
        struct sockaddr_un address;
        socklen_t length = sy_unix_address(&wakeup->of[rank].name, &address);
        sent = !sendto(wakeup->fd, "", 0, 0, (struct sockaddr *)&address, length);
    } else if (mpi_datagram_reaches(wakeup, &wakeup->of[rank])) {
        sent = mpi_datagram_send(state, rank);
    }
    if (sent)
        sy_count_shared(&state->counters.wakeups_sent, 1);
}

static unsigned mpi_wakeup_read_age(const _Atomic unsigned *age)
{
    return atomic_load_explicit(age, memory_order_relaxed);
}

/* Wakes those that have been sent something, and that have not been heard since nor in this age.
 * What comes often costs no look at a clock so. In a job of several hosts they have been woken when
 * that was sent. */
static void mpi_wakeup_call(struct mpi_state *state)
{
    struct mpi_wakeup *wakeup = &state->wakeup;
    unsigned age = mpi_wakeup_read_age(&wakeup->age);
    uint64_t now = sy_clock_ns();

    if (now - wakeup->since > AGE_NS) {
        wakeup->since = now;
        atomic_store_explicit(&wakeup->age, ++age, memory_order_relaxed);
    }
    for (int rank = 0; rank < state->ranks && wakeup->near; rank++)
        if (mpi_wakeup_read_age(&wakeup->heard[rank]) != age &&
            atomic_load(&wakeup->unheard[rank])) {
            atomic_store(&wakeup->unheard[rank], false);
            mpi_wakeup_send(state, rank);
        }
}

/* A PE across the network that has not been heard for an age looks at the longest interval. */
static void mpi_wakeup_sent_far(struct mpi_state *state, int rank)
{
    struct mpi_wakeup *wakeup = &state->wakeup;
    unsigned age = mpi_wakeup_read_age(&wakeup->age);

    if (age - mpi_wakeup_read_age(&wakeup->heard[rank]) < 2)
        return;
    atomic_store_explicit(&wakeup->heard[rank], age, memory_order_relaxed);
    mpi_wakeup_send(state, rank);
}

/* After a silence here the other PE may look seldom too, and this one may compute from now on. */
void mpi_wakeup_sent(struct mpi_state *state, int rank)
{
    struct mpi_wakeup *wakeup = &state->wakeup;

    if (!wakeup->of)
        return;
    if (!wakeup->near) {
        mpi_wakeup_sent_far(state, rank);
        return;
    }
    if (atomic_load_explicit(&wakeup->unheard[rank], memory_order_relaxed))
        return;
    atomic_store(&wakeup->unheard[rank], true);
    if (mpi_tick_is_slow(&state->tick))
        mpi_wakeup_send(state, rank);
}

void mpi_wakeup_heard(struct mpi_state *state, int rank)
{
    struct mpi_wakeup *wakeup = &state->wakeup;

    if (!wakeup->of)
        return;
    atomic_store_explicit(&wakeup->unheard[rank], false, memory_order_relaxed);
    atomic_store_explicit(&wakeup->heard[rank], mpi_wakeup_read_age(&wakeup->age),
                          memory_order_relaxed);
}

/* Takes wake-ups from a socket. */
static bool mpi_wakeup_drain(int fd)
{
    char none;
    bool any = false;

    for (int i = 0; i < EVERY && fd >= 0 && recv(fd, &none, sizeof none, 0) >= 0; i++)
        any = true;
    return any;
}

static void mpi_wakeup_mute(struct mpi_wakeup *wakeup, bool muted)
{
    struct epoll_event event = {.events = muted ? 0 : EPOLLIN};

    wakeup->muted = muted;
    epoll_ctl(wakeup->set, EPOLL_CTL_MOD, wakeup->fd, &event);
    if (wakeup->far >= 0)
        epoll_ctl(wakeup->set, EPOLL_CTL_MOD, wakeup->far, &event);
}

/* While looks follow soon, wake-ups say nothing new. */
static void mpi_wakeup_read(struct mpi_state *state)
{
    struct mpi_wakeup *wakeup = &state->wakeup;
    bool was_muted = wakeup->muted;

    if (was_muted && !mpi_tick_is_long(&state->tick))
        return;
    bool near = mpi_wakeup_drain(wakeup->fd), far = mpi_wakeup_drain(wakeup->far);
    if (was_muted) {
        mpi_wakeup_mute(wakeup, false);
    } else if (near || far) {
        mpi_wakeup_mute(wakeup, true);
        sy_count_shared(&state->counters.wakeups_heard, 1);
        mpi_tick_hurry(&state->tick);
    }
}

void mpi_wakeup_looked(struct mpi_state *state, bool moved, bool event)
{
    struct mpi_wakeup *wakeup = &state->wakeup;

    if (moved) {
        wakeup->idle = 0;
        return;
    }
    wakeup->idle++;
    if (wakeup->fd >= 0 && (event || wakeup->idle % EVERY == 0) && mpi_tick_is_armed(&state->tick))
        mpi_wakeup_read(state);
    if (wakeup->of && (event || wakeup->idle % IDLE == 0))
        mpi_wakeup_call(state);
}
