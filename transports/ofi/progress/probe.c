/* Whether the hosts of PEs that owe something still answer: docs/ofi.md (Lost paths) says why, and
 * what a probe is. A refused connection is an answer too. There is one connection for each address,
 * while it is needed. (The provider's own connections tell less, because the kernel probes ever
 * more seldom where data wait for room.) A PE that has not run for a while itself does not judge.
 *
 * Where libfabric cannot allocate for a connection, it wants the operation again, for ever. So a PE
 * for which it has taken nothing for a while is lost too, if this process has no address space
 * left.
 *
 * Whoever sends sets `watching` and asks for the first look. The rest is done by the progress
 * thread, once a second while anything is owed, so it costs transfers nothing. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <switchyard/bootstrap.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "transports/ofi/ofi.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/net/interfaces.h"

#define SECOND_NS  UINT64_C(1000000000)
#define LOOK_NS    SECOND_NS
#define SILENT_NS  (SECOND_NS * 3 / 2) /* without a sign of a PE before its host is asked */
#define ATTEMPT_NS (2 * SECOND_NS)     /* then it is tried anew: the kernel asks ever more seldom */
#define LATE_NS    (4 * SECOND_NS)     /* between two looks: this side has not run */
#define SAID_PART  3                   /* a warning comes after this part of the patience */
#define REFUSED_NS (20 * SECOND_NS)    /* without anything taken */
#define MISSING    3   /* times the patience: then what a PE that runs has not got is missing */
#define BEFORE     1.5 /* seconds: a silence is noticed late, and the next look is late too */

struct ofi_probe {
    struct ofi_probe *next;
    union ofi_ip to;
    int fd;              /* -1: none at present */
    bool connected, old; /* old: it has had time for an answer */
    uint64_t begun;
    uint64_t answered; /* the last answer, or since when one is wanted */
    int pe;            /* one of those that owe */
    unsigned pes;      /* so many do; 0: no more */
    bool said;
};

static double probe_patience(struct ofi_state *ofi)
{
    const struct sy_start *start = ofi->host->start;

    return start ? start->peer_timeout : 10;
}

/* ---- an address ---- */

static bool probe_same_host(const union ofi_ip *a, const union ofi_ip *b)
{
    struct sy_ip one = sy_socket_ip(a), other = sy_socket_ip(b);

    return sy_ip_equal(&one, &other);
}

static const char *probe_ip_text(const union ofi_ip *ip, char text[INET6_ADDRSTRLEN])
{
    const void *bytes = ip->any.sa_family == AF_INET6 ? (const void *)&ip->six.sin6_addr
                                                      : (const void *)&ip->four.sin_addr;

    return inet_ntop(ip->any.sa_family, bytes, text, INET6_ADDRSTRLEN) ? text : "?";
}

/* ---- a probe ---- */

static void probe_hang_up(struct ofi_probe *probe)
{
    sy_file_close(&probe->fd);
    probe->connected = false;
}

/* Connects from this endpoint's own address, as the provider does. If no descriptor is left nothing
 * can be said about the other side. */
static void probe_connect(struct ofi_state *ofi, struct ofi_probe *probe, uint64_t now)
{
    union ofi_ip own;

    memset(&own, 0, sizeof own);
    memcpy(&own, ofi->info->src_addr, sy_socket_length(&probe->to));
    own.four.sin_port = 0;
    probe->begun = now;
    probe->fd = socket(probe->to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe->fd < 0) {
        probe->answered = now;
        return;
    }
    if (own.any.sa_family != probe->to.any.sa_family ||
        bind(probe->fd, &own.any, sy_socket_length(&own)) ||
        (connect(probe->fd, &probe->to.any, sy_socket_length(&probe->to)) &&
         errno != EINPROGRESS)) {
        if (errno == ECONNREFUSED)
            probe->answered = now;
        probe_hang_up(probe);
    }
}

/* The connection has been made or has failed. A refusal is an answer of the host too. */
static void probe_concluded(struct ofi_probe *probe, uint64_t now)
{
    int error = 0, one = 1, most = 127;
    socklen_t length = sizeof error;

    if (getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &error, &length))
        error = errno;
    if (!error || error == ECONNREFUSED || error == ECONNRESET)
        probe->answered = now;
    if (error) {
        probe_hang_up(probe);
        return;
    }
    probe->connected = true;
    setsockopt(probe->fd, IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof one);
    setsockopt(probe->fd, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof one);
    setsockopt(probe->fd, IPPROTO_TCP, TCP_KEEPCNT, &most, sizeof most);
    setsockopt(probe->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
}

/* Asks this kernel when the other one last answered. */
static void probe_ask_kernel(struct ofi_probe *probe, uint64_t now)
{
    struct tcp_info info;
    socklen_t length = sizeof info;

    if (getsockopt(probe->fd, IPPROTO_TCP, TCP_INFO, &info, &length) ||
        info.tcpi_state == TCP_CLOSE) {
        probe_concluded(probe, now);
        probe_hang_up(probe);
        return;
    }
    uint64_t ago = (uint64_t)info.tcpi_last_ack_recv * 1000000;
    if (ago < now && now - ago > probe->answered)
        probe->answered = now - ago;
}

static void probe_look(struct ofi_state *ofi, struct ofi_probe *probe, uint64_t now)
{
    struct pollfd ready = {.fd = probe->fd, .events = POLLOUT};

    if (probe->connected)
        probe_ask_kernel(probe, now);
    else if (probe->fd >= 0 && poll(&ready, 1, 0) > 0)
        probe_concluded(probe, now);
    else if (probe->fd >= 0 && now - probe->begun >= ATTEMPT_NS)
        probe_hang_up(probe);
    if (probe->fd < 0)
        probe_connect(ofi, probe, now);
}

static void probe_judge(struct ofi_state *ofi, struct ofi_probe *probe, uint64_t now)
{
    double silence = (double)(now - probe->answered) * 1e-9, most = probe_patience(ofi);
    char address[INET6_ADDRSTRLEN], more[32] = "", advice[OFI_ADVICE], why[320 + OFI_ADVICE];

    probe_ip_text(&probe->to, address);
    if (probe->said && silence < most / SAID_PART) {
        probe->said = false;
        ofi->host->log(SY_LOG_WARN, ofi->name, "%s answers again", address);
    }
    if (silence < most / SAID_PART)
        return;
    if (!probe->said) {
        probe->said = true;
        if (probe->pes > 1)
            snprintf(more, sizeof more, " and %u more PEs", probe->pes - 1);
        ofi->host->log(SY_LOG_WARN, ofi->name,
                       "no answer from %s (PE %d on host %s%s) for %.0f s; the job ends if that "
                       "lasts for %g s (SHMEM_PEER_TIMEOUT)",
                       address, probe->pe, ofi->host->place(probe->pe).host, more, silence, most);
    }
    if (silence < (most > 2 * BEFORE ? most - BEFORE : most))
        return;
    snprintf(
        why, sizeof why,
        "its address %s has not answered for %.0f s (SHMEM_PEER_TIMEOUT)%s; libfabric does not "
        "connect anew, so the job ends. The tcp transport waits longer and does "
        "(SHMEM_TRANSPORTS=shm,tcp)",
        address, silence,
        *sy_ofi_advice(&probe->to, ETIMEDOUT, advice)
            ? advice
            : ": the host or the network between is down");
    ofi->host->lost(probe->pe, ETIMEDOUT, why);
}

/* ---- addresses ---- */

/* What libfabric was seen to want for a connection at once is 17 MB. */
#define ROOM_BYTES ((size_t)32 << 20)

static bool probe_has_address_space(void)
{
    void *room = mmap(NULL, ROOM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0);

    if (room != MAP_FAILED)
        munmap(room, ROOM_BYTES);
    return room != MAP_FAILED;
}

/* Libfabric has long taken nothing for a PE: because that PE has stopped, or for want of address
 * space. */
static void probe_judge_refusals(struct ofi_state *ofi, int pe)
{
    if (!probe_has_address_space())
        ofi->host->lost(pe, ENOMEM,
                        "libfabric has taken nothing for it for 20 s: this process has no address "
                        "space left for a connection; raise the limit (ulimit -v)");
}

/* ---- those that owe ---- */

/* Has the host of a PE probed that has been silent since `since`. */
static void probe_want(const struct ofi_peer *peer, uint64_t since)
{
    struct ofi_state *ofi = peer->ofi;
    struct ofi_probe *probe = ofi->probes.first;

    while (probe && !probe_same_host(&probe->to, &peer->at))
        probe = probe->next;
    if (!probe) {
        probe = calloc(1, sizeof *probe);
        if (!probe)
            return;
        *probe = (struct ofi_probe){
            .next = ofi->probes.first, .to = peer->at, .fd = -1, .answered = since};
        ofi->probes.first = probe;
    }
    if (!probe->pes++)
        probe->pe = peer->pe;
}

/* A number that changes with every sign of life of a PE. */
static uint64_t ofi_signs(const struct ofi_peer *peer)
{
    return peer->acked + peer->received + peer->heard +
           atomic_load_explicit(&peer->transfers, memory_order_relaxed);
}

/* Whether libfabric has long taken nothing of one kind for a PE; *since: when it was first seen. */
static bool probe_is_refused(_Atomic unsigned char *taken, uint64_t *since, uint64_t now, bool late)
{
    unsigned char refused = OFI_REFUSED;

    if (atomic_compare_exchange_strong(taken, &refused, OFI_REFUSED_SEEN) || late)
        *since = now;
    return refused == OFI_REFUSED_SEEN && now - *since >= REFUSED_NS;
}

/* ---- connections of the provider that are dead at one end ---- */

/* A PE runs, as it says by a wake-up, and has so many messages. What it has, but has not applied,
 * waits for somebody else. Main endpoint locked. */
void sy_ofi_probes_heard(struct ofi_peer *peer, uint32_t received, uint32_t applied)
{
    uint32_t doubt = (uint32_t)peer->doubt;
    bool waits = sy_ofi_reached(received, doubt) && !sy_ofi_reached(applied, doubt);

    peer->doubted = !waits && !atomic_load_explicit(&peer->transfers, memory_order_relaxed);
}

/* After a reset libfabric may go on at one end as if nothing had been, and refuse the other's new
 * connection. So a PE that owes an acknowledgement is asked whether it runs. One that has said so
 * for long enough is lost. While long transfers are under way messages may have to wait for these.
 */
static void probe_doubt(struct ofi_peer *peer)
{
    if (peer->acked >= peer->doubt) {
        peer->doubt = peer->sent;
        peer->doubts = 0;
    } else if (peer->doubted && ++peer->doubts >= MISSING * probe_patience(peer->ofi)) {
        sy_ofi_missing(peer);
    } else {
        sy_ofi_wakeup_send(peer, OFI_ACK_ME);
    }
    peer->doubted = false;
}

/* Finds the PEs that owe something. Those without a sign of life for a while are asked, again and
 * ever more seldom, and their hosts probed: where a connection is reset libfabric makes a new one,
 * and the number of what comes next says that what was under way is missing. Returns whether any PE
 * owes something; *refused: one for which libfabric has long taken nothing. Main endpoint locked.
 */
static bool probe_find(struct ofi_state *ofi, uint64_t now, bool late, int *refused)
{
    bool any = false;

    for (int pe = 0; pe < ofi->host->npes; pe++) {
        struct ofi_peer *peer = &ofi->peer[pe];
        bool awaits = peer->answers && sy_pending_count(&peer->answers->pending);
        if (!peer->known || !peer->at.any.sa_family || (!awaits && !sy_ofi_is_unanswered(peer))) {
            peer->owes_since = 0;
            continue;
        }
        any = true;
        probe_doubt(peer);
        uint64_t signs = ofi_signs(peer);
        if (late || !peer->owes_since || signs != peer->signs) {
            peer->owes_since = now;
            peer->signs = signs;
            peer->silent = 0;
        } else if (now - peer->owes_since >= SILENT_NS) {
            if (__builtin_popcount(++peer->silent) == 1 && sy_ofi_room(peer, 0))
                sy_ofi_push(peer, true);
            probe_want(peer, peer->owes_since);
        }
        if (probe_is_refused(&peer->message_taken, &peer->message_refused_at, now, late) ||
            probe_is_refused(&peer->transfer_taken, &peer->transfer_refused_at, now, late))
            *refused = pe;
    }
    return any;
}

static void probe_all(struct ofi_state *ofi, uint64_t now, bool late)
{
    struct ofi_probe **link = &ofi->probes.first, *probe;

    while ((probe = *link)) {
        if (!probe->pes) {
            *link = probe->next;
            probe_hang_up(probe);
            free(probe);
            continue;
        }
        probe->answered = late ? now : probe->answered;
        probe_look(ofi, probe, now);
        if (probe->old)
            probe_judge(ofi, probe, now);
        probe->old = true;
        link = &probe->next;
    }
}

/* Called by the progress thread whenever it is at work for this transport. Before it is time the
 * rest of the time is asked for again: the timer may have expired for an earlier request. */
void sy_ofi_probes_look(struct ofi_state *ofi)
{
    if (!ofi->traits.tcp || ofi->closing ||
        !atomic_load_explicit(&ofi->probes.watching, memory_order_acquire))
        return;
    uint64_t now = sy_clock_ns();
    uint64_t look_at = atomic_load_explicit(&ofi->probes.look_at, memory_order_relaxed);
    if (now < look_at) {
        ofi->host->soon((unsigned)((look_at - now) / 1000) + 1);
        return;
    }
    bool late = ofi->probes.looked && now - ofi->probes.looked > LATE_NS;
    ofi->probes.looked = now;
    atomic_store_explicit(&ofi->probes.look_at, now + LOOK_NS, memory_order_relaxed);
    for (struct ofi_probe *probe = ofi->probes.first; probe; probe = probe->next)
        probe->pes = 0;
    sy_ofi_lock(&ofi->endpoint[0]);
    int refused = -1;
    bool any = probe_find(ofi, now, late, &refused);
    if (!any) {
        atomic_store_explicit(&ofi->probes.watching, false, memory_order_relaxed);
        ofi->probes.looked = 0;
    }
    sy_ofi_unlock(&ofi->endpoint[0]);
    probe_all(ofi, now, late);
    if (refused >= 0)
        probe_judge_refusals(ofi, refused);
    if (any)
        ofi->host->soon(LOOK_NS / 1000);
}

/* Begins to watch, as something leaves for a PE. Main endpoint locked. */
void sy_ofi_probes_begin(struct ofi_state *ofi)
{
    atomic_store_explicit(&ofi->probes.look_at, sy_clock_ns() + LOOK_NS, memory_order_relaxed);
    atomic_store_explicit(&ofi->probes.watching, true, memory_order_release);
    ofi->host->soon(LOOK_NS / 1000);
}

/* Notes the address to probe, where the provider's way to the PE is TCP. */
void sy_ofi_probes_meet(struct ofi_peer *peer, const void *address)
{
    struct ofi_state *ofi = peer->ofi;

    memset(&peer->at, 0, sizeof peer->at);
    if (ofi->traits.tcp && ofi->info->src_addr && peer->pe != ofi->host->pe &&
        probe_patience(ofi) > 0)
        memcpy(&peer->at, address, sy_socket_length(address));
}

void sy_ofi_probes_close(struct ofi_state *ofi)
{
    for (struct ofi_probe *probe = ofi->probes.first; probe; probe = probe->next)
        probe->pes = 0;
    probe_all(ofi, 0, false);
    ofi->probes.looked = 0;
}
