/* The bell. In libfabric 1.x a completion queue that can be slept on costs each message over
 * tcp;ofi_rxm about a microsecond: the kernel tells the provider's epoll set of it, and the
 * provider asks that set. So where PEs have a processor each, the main lane's queue has no
 * descriptor, and the progress thread of a PE that computes sleeps on another one: that of an
 * endpoint in a domain of its own, to which nothing is sent but rings. Who is rung looks at the
 * main lane.
 *
 * A PE to which something leaves is put on a list (sy_ofi_expect), and taken off when all of it is
 * known to have arrived. Those on it are rung when so many polls have found no sign of them as a PE
 * that polls would not need to answer, again and again, ever more seldom; from the second time on a
 * message asks for that knowledge too. Polls are those of threads that wait (sy_ofi_ring_due), or,
 * while none does, ticks of the progress thread (sy_ofi_inquire). So rings may be lost or come
 * before what they are for. They have no content and are trusted with nothing: a stray one costs a
 * look.
 *
 * All with the main lane locked, but for opening, closing and meeting. */
#include <string.h>

#include "transports/ofi/ofi.h"

#define RINGS 16 /* that can be heard at once */

/* Polls without a sign of a PE before it is rung, on this machine and on others; and after a ring
 * at most before the next one. */
#define PATIENCE     64
#define PATIENCE_FAR 256
#define LONGEST_GAP  2048

static struct {
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct hearing {
        struct fi_context2 context;
        bool posted;
    } hearing[RINGS];
} bell;

/* Posts what has been used up, and what could not be posted before. */
static int listen_again(void)
{
    int rc = 0;

    for (int i = 0; i < RINGS && !rc; i++) {
        struct hearing *one = &bell.hearing[i];
        if (!one->posted)
            rc = (int)fi_recv(bell.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, &one->context);
        one->posted = !rc;
    }
    return rc;
}

static int make_of(struct fi_info *info)
{
    struct fi_av_attr av = {.type = info->domain_attr->av_type, .count = (size_t)sy_ofi.host->npes};
    struct fi_cq_attr cq = {
        .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD, .size = 2 * RINGS};
    int rc;

    info->tx_attr->size = info->rx_attr->size = RINGS;
    if ((rc = fi_domain(sy_ofi.fabric, info, &bell.domain, NULL)) ||
        (rc = fi_av_open(bell.domain, &av, &bell.av, NULL)) ||
        (rc = fi_cq_open(bell.domain, &cq, &bell.cq, NULL)) ||
        (rc = fi_endpoint(bell.domain, info, &bell.ep, NULL)) ||
        (rc = fi_ep_bind(bell.ep, &bell.av->fid, 0)) ||
        (rc = fi_ep_bind(bell.ep, &bell.cq->fid, FI_TRANSMIT | FI_RECV)) ||
        (rc = fi_enable(bell.ep)))
        return rc;
    return listen_again();
}

static int make(void)
{
    struct fi_info *info = sy_ofi_library.dupinfo(sy_ofi.info);
    int rc = info ? make_of(info) : -FI_ENOMEM;

    if (info)
        sy_ofi_library.freeinfo(info);
    return rc;
}

/* Returns libfabric's error, having undone what was done. */
int sy_ofi_bell_open(void)
{
    int rc = bell.ep ? 0 : make();

    if (rc)
        sy_ofi_bell_close();
    sy_ofi.rings = !rc;
    return rc;
}

void sy_ofi_bell_close(void)
{
    sy_ofi_close_fid(bell.ep ? &bell.ep->fid : NULL);
    sy_ofi_close_fid(bell.cq ? &bell.cq->fid : NULL);
    sy_ofi_close_fid(bell.av ? &bell.av->fid : NULL);
    sy_ofi_close_fid(bell.domain ? &bell.domain->fid : NULL);
    memset(&bell, 0, sizeof bell);
}

struct fid *sy_ofi_bell_queue(void)
{
    return &bell.cq->fid;
}

int sy_ofi_bell_name(void *name, size_t *length)
{
    return fi_getname(&bell.ep->fid, name, length);
}

/* name: of the peer's bell, or NULL. Who has no bell itself must open an endpoint to ring it. */
int sy_ofi_bell_meet(struct ofi_peer *peer, const void *name)
{
    const char *here = sy_ofi.host->place(sy_ofi.host->pe).host;
    bool far = strcmp(here, sy_ofi.host->place(peer->pe).host);

    peer->patience = far ? PATIENCE_FAR : PATIENCE;
    peer->bell = FI_ADDR_NOTAVAIL;
    if (!name)
        return 0;
    int rc = sy_ofi_bell_open();
    int count = rc ? 0 : fi_av_insert(bell.av, name, 1, &peer->bell, 0, NULL);
    return rc ? rc : count == 1 ? 0 : count < 0 ? count : -FI_EINVAL;
}

/* Reads the queue, which also makes connections. Returns whether somebody has rung. */
bool sy_ofi_bell_heard(void)
{
    struct fi_cq_entry entry[RINGS];
    struct fi_cq_err_entry error = {0};

    if (!bell.cq)
        return false;
    ssize_t count = fi_cq_read(bell.cq, entry, RINGS);
    for (ssize_t i = 0; i < count; i++)
        ((struct hearing *)entry[i].op_context)->posted = false;
    if (count == -FI_EAVAIL && fi_cq_readerr(bell.cq, &error, 0) > 0 && error.op_context)
        ((struct hearing *)error.op_context)->posted = false;
    if (count != -FI_EAGAIN)
        listen_again();
    return count > 0;
}

/* ---- those that are expected to answer ---- */

/* Something is under way to the peer, or was and is not known to have arrived. */
static bool unanswered(const struct ofi_peer *peer)
{
    return peer->sent != peer->acked || peer->unproved || peer->proving || peer->head ||
           atomic_load_explicit(&peer->transfers, memory_order_relaxed);
}

void sy_ofi_expect_first(struct ofi_peer *peer)
{
    peer->expected = true;
    peer->stale = false;
    peer->gap = peer->patience;
    peer->ring_at = sy_ofi.looks + peer->gap;
    if (!sy_ofi.expected || !sy_ofi_reached(peer->ring_at, sy_ofi.ring_at))
        sy_ofi.ring_at = peer->ring_at;
    peer->next_expected = sy_ofi.expected;
    sy_ofi.expected = peer;
}

/* One that cannot be rung will not be found out about later either: so once in the log. */
static void ring(struct ofi_peer *peer)
{
    ssize_t rc = peer->bell == FI_ADDR_NOTAVAIL ? 0 : fi_inject(bell.ep, NULL, 0, peer->bell);

    if (!rc || rc == -FI_EAGAIN || peer->mute)
        return;
    peer->mute = true;
    sy_ofi.host->log(SY_LOG_WARN, "ofi",
                     "PE %d cannot be woken, and answers only when it calls the library: %s",
                     peer->pe, sy_ofi_library.strerror((int)-rc));
}

/* Rings, and asks for an answer if that has not helped before. Neither counts as a sign of life. */
static void call(struct ofi_peer *peer)
{
    unsigned gap = peer->gap;

    if (gap > peer->patience)
        sy_ofi_prove(peer);
    ring(peer);
    peer->gap = gap < LONGEST_GAP ? 2 * gap : gap;
    peer->ring_at = sy_ofi.looks + peer->gap;
    peer->stale = true;
}

/* The first on the list behind *link that is still expected to answer; the others are taken off. */
static struct ofi_peer *next_expected(struct ofi_peer **link)
{
    struct ofi_peer *peer;

    while ((peer = *link) && !unanswered(peer)) {
        peer->expected = false;
        *link = peer->next_expected;
    }
    return peer;
}

/* Called by sy_ofi_poll when somebody may be due. */
void sy_ofi_ring_due(void)
{
    struct ofi_peer **link = &sy_ofi.expected, *peer;

    sy_ofi.ring_at = sy_ofi.looks + LONGEST_GAP;
    for (; (peer = next_expected(link)); link = &peer->next_expected) {
        if (sy_ofi_reached(sy_ofi.looks, peer->ring_at))
            call(peer);
        if (!sy_ofi_reached(peer->ring_at, sy_ofi.ring_at))
            sy_ofi.ring_at = peer->ring_at;
    }
}

/* While nobody waits. now: all; else those to whom nothing has left since the last time. */
void sy_ofi_inquire(bool now)
{
    struct ofi_peer **link = &sy_ofi.expected, *peer;

    for (; (peer = next_expected(link)); link = &peer->next_expected) {
        if (now || peer->stale) {
            peer->gap = peer->gap > peer->patience ? peer->gap : 2 * peer->patience;
            call(peer);
        }
        peer->stale = true;
    }
}
