/* Fabric, domain, address vector, endpoints. */
#include <stdlib.h>
#include <string.h>

#include "transports/ofi/ofi.h"
#include "util/file.h"

static void close_fid(struct fid *fid)
{
    if (fid)
        fi_close(fid);
}

/* ---- endpoints ---- */

static int endpoint_open_queue(struct ofi_endpoint *endpoint, struct sy_error *err)
{
    struct ofi_state *ofi = endpoint->ofi;
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    bool is_main = endpoint == &ofi->endpoint[0];

    attr.size = OFI_OPERATIONS + (is_main ? OFI_REQUESTS + OFI_REPLIES + OFI_RECEIVES : 0);
    if (!is_main || ofi->traits.wakeup || ofi->host->unattended)
        attr.wait_obj = FI_WAIT_NONE;
    int rc = fi_cq_open(ofi->fid_domain, &attr, &endpoint->cq, NULL);
    if (rc && is_main) { /* some providers have no descriptor to wait on */
        attr.wait_obj = FI_WAIT_NONE;
        rc = fi_cq_open(ofi->fid_domain, &attr, &endpoint->cq, NULL);
    }
    return rc ? sy_ofi_fail(ofi, err, rc, "a completion queue") : 0;
}

static int endpoint_open_operations(struct ofi_endpoint *endpoint, struct sy_error *err)
{
    endpoint->operations = calloc(OFI_OPERATIONS, sizeof *endpoint->operations);
    if (!endpoint->operations)
        return endpoint->ofi->host->fail(err, ENOMEM, "no memory for an endpoint's operations");
    endpoint->free = NULL;
    for (int i = OFI_OPERATIONS; i--;) {
        endpoint->operations[i].pe = -1;
        endpoint->operations[i].next = endpoint->free;
        endpoint->free = &endpoint->operations[i];
    }
    return 0;
}

static void endpoint_close(struct ofi_endpoint *endpoint)
{
    close_fid(endpoint->ep ? &endpoint->ep->fid : NULL);
    close_fid(endpoint->cq ? &endpoint->cq->fid : NULL);
    free(endpoint->operations);
    endpoint->ep = NULL;
    endpoint->cq = NULL;
    endpoint->operations = endpoint->free = NULL;
    endpoint->users = 0;
}

int sy_ofi_endpoint_open(struct ofi_endpoint *endpoint, struct sy_error *err)
{
    struct ofi_state *ofi = endpoint->ofi;
    int rc = endpoint_open_operations(endpoint, err);

    if (!rc)
        rc = endpoint_open_queue(endpoint, err);
    if (rc)
        goto failed;
    if ((rc = fi_endpoint(ofi->fid_domain, ofi->info, &endpoint->ep, NULL)) ||
        (rc = fi_ep_bind(endpoint->ep, &ofi->av->fid, 0)) ||
        (rc = fi_ep_bind(endpoint->ep, &endpoint->cq->fid, FI_TRANSMIT | FI_RECV)) ||
        (rc = fi_enable(endpoint->ep))) {
        rc = sy_ofi_fail(ofi, err, rc, "an endpoint");
        goto failed;
    }
    return 0;

failed:
    endpoint_close(endpoint);
    return rc;
}

/* Opens the socket for wake-ups, where these or probe.c have use for it and it can be opened. */
static void endpoint_open_wakeup(struct ofi_state *ofi)
{
    struct ofi_traits *traits = &ofi->traits;
    bool useful = ofi->host->npes > 1 && !ofi->host->unattended;
    int rc;

    traits->wakeup = traits->wakeup && useful && !ofi->host->crowded;
    if (!useful || (!traits->tcp && !traits->wakeup) || !(rc = sy_ofi_wakeup_open(ofi)))
        return;
    traits->wakeup = false;
    ofi->host->log(SY_LOG_DEBUG, ofi->name, "no wake-ups: %s", strerror(rc));
}

int sy_ofi_domain_open(struct ofi_state *ofi, struct sy_error *err)
{
    struct fi_av_attr attr = {.type = ofi->info->domain_attr->av_type,
                              .count = (size_t)ofi->host->npes};
    int rc;

    /* Sends and writes ask for the completion that they need; a common default would make every
     * message wait for the target. */
    ofi->info->tx_attr->op_flags = 0;
    if ((rc = sy_ofi_library.fabric(ofi->info->fabric_attr, &ofi->fabric, NULL)))
        return sy_ofi_fail(ofi, err, rc, "a fabric");
    if ((rc = fi_domain(ofi->fabric, ofi->info, &ofi->fid_domain, NULL)))
        return sy_ofi_fail(ofi, err, rc, "a domain");
    if ((rc = fi_av_open(ofi->fid_domain, &attr, &ofi->av, NULL)))
        return sy_ofi_fail(ofi, err, rc, "an address vector");
    endpoint_open_wakeup(ofi);
    return sy_ofi_endpoint_open(&ofi->endpoint[0], err);
}

void sy_ofi_endpoints_close(struct ofi_state *ofi)
{
    /* Registered memory may be bound to an endpoint, which then must outlive it. */
    sy_ofi_regions_close(ofi);
    for (unsigned i = ofi->endpoints; i-- > 0;)
        endpoint_close(&ofi->endpoint[i]);
    sy_file_close(&ofi->wakeup.fd);
}

/* Comes after everything that was made in the domain. */
void sy_ofi_domain_close(struct ofi_state *ofi)
{
    close_fid(ofi->av ? &ofi->av->fid : NULL);
    close_fid(ofi->fid_domain ? &ofi->fid_domain->fid : NULL);
    close_fid(ofi->fabric ? &ofi->fabric->fid : NULL);
    ofi->av = NULL;
    ofi->fid_domain = NULL;
    ofi->fabric = NULL;
}
