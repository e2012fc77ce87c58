/* Which of a provider's offers is taken: one for each address of each interface. The order is the
 * one in which the tcp transport prefers addresses, then that of libfabric; loopback addresses come
 * behind others, and link-local ones last, since they mean nothing without an interface. An offer
 * that cannot be opened, as an address that the kernel does not yet let anybody use, is left out
 * from then on. */
#include <stdlib.h>

#include "transports/ofi/ofi.h"
#include "util/net/interfaces.h"

/* Lists this machine's interfaces, by which offers are ranked. If that fails libfabric's order
 * stands. */
void sy_ofi_offers_open(struct ofi_state *ofi)
{
    struct sy_error why;
    size_t count;

    sy_ofi_offers_close(ofi);
    if (sy_interfaces_list(&ofi->offers.all, &count))
        return;
    sy_interfaces_choose("SHMEM_OFI_DOMAIN", "auto", SY_IP_ANY, ofi->offers.all, count,
                         &ofi->offers.preferred, &ofi->offers.count, &why);
}

void sy_ofi_offers_close(struct ofi_state *ofi)
{
    free(ofi->offers.all);
    free(ofi->offers.preferred);
    if (ofi->offers.tried)
        sy_ofi_library.freeinfo(ofi->offers.tried);
    ofi->offers.all = NULL;
    ofi->offers.preferred = NULL;
    ofi->offers.count = 0;
    ofi->offers.tried = NULL;
}

/* The rank of an offer; lower is better. */
unsigned sy_ofi_offer_rank(struct ofi_state *ofi, const struct fi_info *info)
{
    struct sy_ip ip = sy_socket_ip(info->src_addr);
    unsigned rank = 0, others = (unsigned)ofi->offers.count;

    if (!ip.family)
        return 0;
    if (sy_ip_link_local(&ip))
        return others + 2;
    if (sy_ip_loopback(&ip))
        return others + 1;
    while (rank < ofi->offers.count && !sy_ip_equal(&ofi->offers.preferred[rank]->ip, &ip))
        rank++;
    return rank;
}

static bool offers_same_offer(const struct fi_info *a, const struct fi_info *b)
{
    return !strcmp(a->fabric_attr->prov_name, b->fabric_attr->prov_name) &&
           !strcmp(a->domain_attr->name, b->domain_attr->name) &&
           a->src_addrlen == b->src_addrlen &&
           (!a->src_addrlen || !memcmp(a->src_addr, b->src_addr, a->src_addrlen));
}

bool sy_ofi_offer_is_tried(struct ofi_state *ofi, const struct fi_info *info)
{
    for (const struct fi_info *i = ofi->offers.tried; i; i = i->next)
        if (offers_same_offer(i, info))
            return true;
    return false;
}

/* Notes that an offer cannot be opened. False: it cannot be noted, so no other offer may be asked
 * for. */
bool sy_ofi_offer_failed(struct ofi_state *ofi, const struct fi_info *info)
{
    struct fi_info *copy = sy_ofi_library.dupinfo(info);

    if (!copy)
        return false;
    copy->next = ofi->offers.tried;
    ofi->offers.tried = copy;
    return true;
}
