/* Wake-ups. A PE whose program computes, or waits in MPI, looks at MPI seldom once nothing has come
 * for long (tick.c). Another PE that has sent it something, and has not heard of it for some
 * milliseconds, sends a datagram to a socket that its sleepers sleep on beside the timer; they then
 * look as often as ever.
 *
 * The sockets have names that the kernel chose, in the job's network namespace, so no network
 * carries wake-ups: where some PE of the job cannot wake this one, it never looks seldom. A wake-up
 * has no content. One that is lost costs the rest of an interval, and a stranger's a look. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transports/mpi/state.h"
#include "util/clock.h"
#include "util/count.h"
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

void mpi_wakeup_open(struct mpi_state *state)
{
    struct mpi_wakeup *wakeup = &state->wakeup;

    wakeup->own.network = sy_machine_network();
    wakeup->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    wakeup->set = epoll_create1(EPOLL_CLOEXEC);
    if (wakeup->fd < 0 || wakeup->set < 0 || !wakeup->own.network ||
        sy_unix_bind(wakeup->fd, &wakeup->own.name) ||
        mpi_wakeup_join(wakeup->set, state->tick.fd) || mpi_wakeup_join(wakeup->set, wakeup->fd))
        mpi_wakeup_close(state);
}

void mpi_wakeup_close(struct mpi_state *state)
{
    struct mpi_wakeup *wakeup = &state->wakeup;

    if (wakeup->fd >= 0)
        close(wakeup->fd);
    if (wakeup->set >= 0)
        close(wakeup->set);
    free(wakeup->of);
    free(wakeup->unheard);
    free(wakeup->heard);
    *wakeup = (struct mpi_wakeup){.fd = -1, .set = -1};
}

void mpi_wakeup_meet(struct mpi_state *state, const struct mpi_socket *of)
{
    struct mpi_wakeup *wakeup = &state->wakeup;
    size_t ranks = (size_t)state->ranks;
    bool all = sy_unix_is_name(&wakeup->own.name);

    for (size_t rank = 0; rank < ranks; rank++)
        all = all && sy_unix_is_name(&of[rank].name) && of[rank].network == wakeup->own.network;
    if (all) {
        wakeup->of = malloc(ranks * sizeof *wakeup->of);
        wakeup->unheard = calloc(ranks, sizeof *wakeup->unheard);
        wakeup->heard = calloc(ranks, sizeof *wakeup->heard);
    }
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
    struct sockaddr_un address;
    socklen_t length = sy_unix_address(&state->wakeup.of[rank].name, &address);

    if (!sendto(state->wakeup.fd, "", 0, 0, (struct sockaddr *)&address, length))
        sy_count_shared(&state->counters.wakeups_sent, 1);
}

/* Wakes those that have been sent something, and that have not been heard since nor in this age.
 * What comes often costs no look at a clock so. */
static void mpi_wakeup_call(struct mpi_state *state)
{
    struct mpi_wakeup *wakeup = &state->wakeup;
    uint64_t now = sy_clock_ns();

    if (now - wakeup->since > AGE_NS) {
        wakeup->since = now;
        wakeup->age++;
    }
    for (int rank = 0; rank < state->ranks; rank++)
        if (wakeup->heard[rank] != wakeup->age && atomic_load(&wakeup->unheard[rank])) {
            atomic_store(&wakeup->unheard[rank], false);
            mpi_wakeup_send(state, rank);
        }
}

/* After a silence here the other PE may look seldom too, and this one may compute from now on. */
void mpi_wakeup_sent(struct mpi_state *state, int rank)
{
    struct mpi_wakeup *wakeup = &state->wakeup;

    if (!wakeup->of || atomic_load_explicit(&wakeup->unheard[rank], memory_order_relaxed))
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
    wakeup->heard[rank] = wakeup->age;
}

static void mpi_wakeup_read(struct mpi_state *state)
{
    char none;
    bool any = false;

    for (int i = 0; i < EVERY && recv(state->wakeup.fd, &none, sizeof none, 0) >= 0; i++)
        any = true;
    if (any) {
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
