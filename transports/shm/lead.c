/* The leader of the exchange: gathers the records and descriptors of all PEs of the node, then
 * sends all to all.
 *
 * One thread, and nobody is waited for: connections whose HELLO has not come yet are pending, PEs
 * that are slow to receive have what the kernel holds for them. Strangers may connect too. Those of
 * other users are refused at once. Of this user's there are at most as many pending connections as
 * PEs, and some; then the oldest has to go, and if that was a PE it comes again. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transports/shm/exchange.h"
#include "util/clock.h"
#include "util/denied.h"
#include "util/file.h"
#include "util/list.h"

/* Connections beside those of the node's PEs. */
#define STRANGERS 64

struct member {
    struct shm_holding holding;
    int socket;     /* or -1 */
    uint32_t batch; /* records it takes at a time */
    int sent;       /* entries of the leader's table that it has been sent */
};

struct lead {
    struct shm_state *shm;
    struct member *member; /* node_size of them */
    int expected, have;    /* PEs that take part, and that have come */
    struct pollfd *wait;   /* [0] is the listener's, then the pending ones', oldest first */
    int pending, most;
    double end, seconds; /* the whole exchange */
    double news;         /* when a PE has come last */
    double patience;     /* without news, unless strangers are in the way of PEs */
    long strangers;      /* connections that were no PE's, or had to make room */
};

static int lead_failed_call(const struct lead *l, const char *call, int code, struct sy_error *err)
{
    code = abs(code);
    if (code == EMFILE || code == ENFILE)
        return sy_shm_too_few_files(l->shm, code, err);
    return l->shm->host->fail(err, code, "exchange of memory on this host: %s: %s%s", call,
                              strerror(code), sy_denied_hint(code));
}

static int lead_missing(const struct lead *l, double seconds, struct sy_error *err)
{
    char text[SY_LIST_TEXT];
    struct sy_list list = sy_list_begin(text, sizeof text);

    for (int i = 0; i < l->shm->node_size; i++)
        if (l->shm->peer[i].expected && !l->member[i].holding.fds)
            sy_list_add(&list, l->shm->peer[i].pe);
    const char *missing = sy_list_end(&list);
    if (l->strangers)
        return l->shm->host->fail(err, ETIMEDOUT,
                                  "exchange of memory on this host: waited %.0f s for %s; %ld "
                                  "connections came that are no PE's of this job: another process "
                                  "of this host keeps connecting to its socket",
                                  seconds, missing, l->strangers);
    return l->shm->host->fail(err, ETIMEDOUT,
                              "exchange of memory on this host: waited %.0f s for %s; are they "
                              "stopped, or is the machine overloaded?",
                              seconds, missing);
}

/* ---- those who come ---- */

static void lead_drop_pending(struct lead *l, int i, bool close_it)
{
    if (close_it)
        close(l->wait[i].fd);
    memmove(&l->wait[i], &l->wait[i + 1], (size_t)(l->pending - i) * sizeof *l->wait);
    l->pending--;
}

/* accept4, or where a filter does not know it, accept. */
static int lead_accept_one(int listener)
{
    int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (socket >= 0 || !*sy_denied_hint(errno))
        return socket;
    socket = accept(listener, NULL, NULL);
    if (socket >= 0 && (fcntl(socket, F_SETFD, FD_CLOEXEC) || fcntl(socket, F_SETFL, O_NONBLOCK))) {
        int code = errno;
        close(socket);
        errno = code;
        return -1;
    }
    return socket;
}

/* Takes in a PE whose HELLO is right. */
static int lead_admit(struct lead *l, int socket, const struct shm_hello *hello, const int *fds,
                      int count, struct sy_error *err)
{
    struct member *m = &l->member[sy_shm_peer_of(l->shm, hello->record.pe) - l->shm->peer];

    m->socket = socket;
    m->batch = hello->batch < 1 ? 1 : hello->batch > BATCH ? BATCH : hello->batch;
    m->holding.record = hello->record;
    m->holding.fds = count;
    memcpy(m->holding.fd, fds, sizeof(int) * (size_t)count);
    l->have++;
    l->news = sy_clock();
    if (hello->failure || !count)
        return l->shm->host->fail(
            err, EPERM, "PE %d of this host cannot hand over its memory: %s%s", hello->record.pe,
            strerror(hello->failure), sy_denied_hint(hello->failure));
    return 0;
}

/* Takes the HELLO of pending connection i. One that sends none is a stranger's. */
static int lead_take_hello(struct lead *l, int i, struct sy_error *err)
{
    struct shm_hello hello;
    int fds[BATCH * FDS_EACH], count, socket = l->wait[i].fd;
    bool cut;
    ssize_t got = sy_shm_receive(socket, &hello, sizeof hello, fds, &count, &cut);

    if (got == -EAGAIN)
        return 0;
    if (got < 0 && got != -ECONNRESET)
        return lead_failed_call(l, "recvmsg", (int)got, err);
    bool known = got == (ssize_t)sizeof hello &&
                 !memcmp(hello.key, l->shm->host->job_key, sizeof hello.key);
    explicit_bzero(hello.key, sizeof hello.key);
    const struct shm_peer *peer = known ? sy_shm_peer_of(l->shm, hello.record.pe) : NULL;
    bool good = peer && peer->expected && l->member[peer - l->shm->peer].socket < 0 && !cut &&
                count <= FDS_EACH && peer->pe != l->shm->host->pe;

    lead_drop_pending(l, i, !good);
    if (good)
        return lead_admit(l, socket, &hello, fds, count, err);
    l->strangers++;
    sy_shm_close_all(fds, count);
    return known && cut ? sy_shm_too_few_files(l->shm, EMFILE, err) : 0;
}

/* Accepts some of those who wait. What a PE says is mostly there by then, and is heard at once: it
 * would not be later on, if more strangers come than there is room for. */
static int lead_accept(struct lead *l, struct sy_error *err)
{
    int rc = 0;

    for (int i = 0; i < STRANGERS && !rc; i++) {
        int socket = lead_accept_one(l->shm->listener);
        if (socket < 0 && (errno == EMFILE || errno == ENFILE) && l->pending) {
            lead_drop_pending(l, 1, true);
            continue;
        }
        if (socket < 0)
            return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED
                       ? 0
                       : lead_failed_call(l, "accept", errno, err);
        int same = sy_unix_same_user(socket);
        if (same < 1) {
            l->strangers++;
            close(socket);
            if (same < 0)
                return lead_failed_call(l, "getsockopt(SO_PEERCRED)", same, err);
            continue;
        }
        if (l->pending == l->most) {
            lead_drop_pending(l, 1, true);
            l->strangers++;
        }
        l->wait[++l->pending] = (struct pollfd){.fd = socket, .events = POLLIN};
        rc = lead_take_hello(l, l->pending, err);
    }
    return rc;
}

/* Gathers the files of all PEs. */
static int lead_gather(struct lead *l, struct sy_error *err)
{
    int rc = 0;

    while (!rc && l->have < l->expected) {
        double now = sy_clock(), limit = l->strangers ? l->end : l->news + l->patience;
        if (now >= limit || now >= l->end)
            return lead_missing(l, now >= l->end ? l->seconds : l->patience, err);
        limit = limit < l->end ? limit : l->end;
        double left = limit - now < 1000 ? limit - now : 1000;
        if (poll(l->wait, (nfds_t)l->pending + 1, (int)(left * 1000) + 1) < 0) {
            rc = errno == EINTR ? 0 : lead_failed_call(l, "poll", errno, err);
            continue;
        }
        for (int i = l->pending; i > 0 && !rc; i--)
            if (l->wait[i].revents)
                rc = lead_take_hello(l, i, err);
        if (!rc && l->wait[0].revents)
            rc = lead_accept(l, err);
    }
    return rc;
}

/* ---- handing out ---- */

/* Sends one PE what there is room for: 1 if that was anything, else 0; -errno where the call itself
 * fails. One that has gone is left to say so itself, or to the launcher. */
static int lead_send(struct lead *l, struct member *m, struct shm_batch *batch)
{
    int moved = 0;

    while (m->socket >= 0 && m->sent < l->shm->node_size) {
        int fds[BATCH * FDS_EACH], used = 0, next = m->sent;
        batch->count = 0;
        for (; next < l->shm->node_size && batch->count < m->batch; next++) {
            const struct shm_holding *h = &l->member[next].holding;
            if (!h->fds)
                continue;
            batch->record[batch->count++] = h->record;
            memcpy(fds + used, h->fd, sizeof(int) * (size_t)h->fds);
            used += h->fds;
        }
        int rc = sy_shm_send(m->socket, batch, sizeof *batch, fds, used);
        if (rc == -EAGAIN || rc == -ETOOMANYREFS)
            return moved;
        if (rc && rc != -EPIPE && rc != -ECONNRESET)
            return rc;
        moved = 1;
        m->sent = next;
        if (rc) {
            l->shm->host->log(SY_LOG_DEBUG, "shm", "PE %d has left the exchange: %s",
                              m->holding.record.pe, strerror(-rc));
            sy_file_close(&m->socket);
        }
    }
    return moved;
}

/* Waits until a PE that has not got all records takes more; also where the kernel has too many
 * descriptors under way, which sockets do not tell. */
static void lead_await_room(struct lead *l, struct pollfd *wait)
{
    nfds_t count = 0;

    for (int i = 0; i < l->shm->node_size; i++)
        if (l->member[i].socket >= 0 && l->member[i].sent < l->shm->node_size)
            wait[count++] = (struct pollfd){.fd = l->member[i].socket, .events = POLLOUT};
    poll(wait, count, 100);
}

static uint64_t lead_longest(const struct lead *l)
{
    uint64_t longest = 0;

    for (int i = 0; i < l->shm->node_size; i++)
        if (l->member[i].holding.fds && l->member[i].holding.record.file_length > longest)
            longest = l->member[i].holding.record.file_length;
    return longest;
}

static int lead_hand_out(struct lead *l, struct sy_error *err)
{
    struct shm_batch batch = {.longest = lead_longest(l)};
    char text[SY_LIST_TEXT];

    for (;;) {
        struct sy_list list = sy_list_begin(text, sizeof text);
        bool moved = false;
        for (int i = 0; i < l->shm->node_size; i++) {
            int rc = lead_send(l, &l->member[i], &batch);
            if (rc < 0)
                return lead_failed_call(l, "sendmsg", rc, err);
            moved = moved || rc;
            if (l->member[i].socket >= 0 && l->member[i].sent < l->shm->node_size)
                sy_list_add(&list, l->shm->peer[i].pe);
        }
        if (!list.total)
            return 0;
        if (sy_clock() > l->end)
            return l->shm->host->fail(err, ETIMEDOUT,
                                      "exchange of memory on this host: %s did not take it for "
                                      "%.0f s",
                                      sy_list_end(&list), l->seconds);
        if (!moved)
            sy_clock_sleep(1000000);
        lead_await_room(l, l->wait);
    }
}

/* ---- all of it ---- */

/* Tells those who wait why they wait in vain. */
static void lead_refuse(struct lead *l, int code, const char *why)
{
    struct shm_batch batch = {.failure = code};

    snprintf(batch.why, sizeof batch.why, "%s", why);
    for (int i = 0; i < l->shm->node_size; i++)
        if (l->member[i].socket >= 0 && l->member[i].sent == 0 &&
            sy_shm_send(l->member[i].socket, &batch, sizeof batch, NULL, 0))
            (void)!write(l->member[i].socket, &batch, sizeof batch);
}

/* Maps the others' files where `rc` is 0; in any case ends the connections and gives the
 * descriptors of others back. */
static int lead_finish(struct lead *l, int rc, struct sy_error *err)
{
    if (!rc)
        rc = sy_shm_reserve(l->shm, lead_longest(l), err);
    for (int i = 0; i < l->shm->node_size; i++) {
        struct member *m = &l->member[i];
        if (l->shm->peer[i].pe == l->shm->host->pe)
            continue;
        if (!rc && m->holding.fds)
            rc = sy_shm_map(l->shm, &m->holding, err);
        else
            sy_shm_close_all(m->holding.fd, m->holding.fds);
        sy_file_close(&m->socket);
    }
    return rc;
}

int sy_shm_lead(struct shm_state *shm, double seconds, double patience, struct sy_error *err)
{
    size_t n = (size_t)shm->node_size;
    struct lead l = {.shm = shm,
                     .member = calloc(n, sizeof *l.member),
                     .wait = calloc(n + STRANGERS + 2, sizeof *l.wait),
                     .most = (int)n + STRANGERS,
                     .end = sy_clock() + seconds,
                     .seconds = seconds,
                     .news = sy_clock(),
                     .patience = patience,
                     .have = 1};
    struct sy_error why = {""};
    int rc;

    if (!l.member || !l.wait) {
        rc = shm->host->fail(err, ENOMEM, "no memory for %zu PEs", n);
    } else {
        for (size_t i = 0; i < n; i++) {
            l.member[i].socket = -1;
            l.expected += shm->peer[i].expected;
            if (shm->peer[i].pe == shm->host->pe)
                sy_shm_describe(shm, &l.member[i].holding);
        }
        l.wait[0] = (struct pollfd){.fd = shm->listener, .events = POLLIN};
        rc = lead_gather(&l, &why);
        while (l.pending) /* strangers: from here on `wait` is for the PEs */
            lead_drop_pending(&l, l.pending, true);
        if (!rc)
            rc = lead_hand_out(&l, &why);
        if (rc)
            lead_refuse(&l, -rc, why.text);
        rc = lead_finish(&l, rc, &why);
        if (rc)
            shm->host->fail(err, -rc, "%s", why.text);
    }
    free(l.member);
    free(l.wait);
    return rc;
}
