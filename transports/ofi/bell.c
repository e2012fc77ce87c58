/* The bell. A completion queue that can be slept on costs each of its messages about a microsecond:
 * the kernel tells the provider's epoll set of it, and the provider asks that set. So where PEs
 * have a processor each, the main lane's queue has no descriptor, and the progress thread of a PE
 * that computes sleeps on another one: that of an endpoint in a domain of its own, to which nothing
 * is sent but rings. Who sent something and has heard nothing for longer than a PE that polls would
 * take rings; who is rung looks at the main lane. So nothing is forgotten as long as
 *
 * - what was sent and is not known to have arrived makes its sender ring, in its waits or, while it
 * computes, at ticks of its progress thread (see settle in progress.c), until that is known; and
 * - who is about to sleep has read the bell's queue before its last look at the main lane.
 *
 * A ring has no content and is trusted with nothing: a stray one costs a look. Rings may be lost
 * while a connection is made; they are repeated. All with the main lane locked. */
#include <string.h>

#include "transports/ofi/ofi.h"

static struct {
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fi_context2 received[OFI_RINGS];
    unsigned round;
} bell;

static void hear(struct fi_context2 *context)
{
    fi_recv(bell.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, context);
}

static int make_of(struct fi_info *info)
{
    struct fi_av_attr av = {.type = info->domain_attr->av_type, .count = (size_t)sy_ofi.host->npes};
    struct fi_cq_attr cq = {
        .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD, .size = 2 * OFI_RINGS};
    int rc;

    info->tx_attr->size = info->rx_attr->size = OFI_RINGS;
    if ((rc = fi_domain(sy_ofi.fabric, info, &bell.domain, NULL)) ||
        (rc = fi_av_open(bell.domain, &av, &bell.av, NULL)) ||
        (rc = fi_cq_open(bell.domain, &cq, &bell.cq, NULL)) ||
        (rc = fi_endpoint(bell.domain, info, &bell.ep, NULL)) ||
        (rc = fi_ep_bind(bell.ep, &bell.av->fid, 0)) ||
        (rc = fi_ep_bind(bell.ep, &bell.cq->fid, FI_TRANSMIT | FI_RECV)) ||
        (rc = fi_enable(bell.ep)))
        return rc;
    for (int i = 0; i < OFI_RINGS; i++)
        hear(&bell.received[i]);
    return 0;
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

int sy_ofi_bell_meet(struct ofi_peer *peer, const void *name)
{
    int rc = sy_ofi_bell_open();
    int count = rc ? 0 : fi_av_insert(bell.av, name, 1, &peer->bell, 0, NULL);

    sy_ofi.rings = true;
    return rc ? rc : count == 1 ? 0 : count < 0 ? count : -FI_EINVAL;
}

/* Reads the queue, which also makes connections. Returns whether somebody has rung. */
bool sy_ofi_bell_heard(void)
{
    struct fi_cq_entry entry[OFI_RINGS];
    struct fi_cq_err_entry error = {0};
    ssize_t count;

    if (!bell.cq)
        return false;
    count = fi_cq_read(bell.cq, entry, OFI_RINGS);
    for (ssize_t i = 0; i < count; i++)
        hear(entry[i].op_context);
    if (count == -FI_EAVAIL && fi_cq_readerr(bell.cq, &error, 0) > 0 && error.op_context)
        hear(error.op_context);
    return count > 0 || count == -FI_EAVAIL;
}

static void ring(struct ofi_peer *peer)
{
    if (peer->rung == bell.round || peer->bell == FI_ADDR_NOTAVAIL)
        return;
    peer->rung = bell.round;
    fi_inject(bell.ep, NULL, 0, peer->bell);
}

void sy_ofi_ring(void)
{
    const struct ofi_lane *lane = &sy_ofi.lane[0];

    bell.round++;
    for (int i = 0; lane->taken && i < OFI_OPERATIONS; i++)
        if (lane->operations[i].pe >= 0)
            ring(&sy_ofi.peer[lane->operations[i].pe]);
    for (int pe = 0; pe < sy_ofi.host->npes; pe++)
        if (sy_ofi_unanswered(&sy_ofi.peer[pe]))
            ring(&sy_ofi.peer[pe]);
    sy_ofi_bell_heard();
}
