#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/tcp/tcp.h"

#define DIRECT_UP_TO 64 /* PEs of a job */

bool sy_tcp_uses_node_endpoints(struct tcp *tcp)
{
    return tcp->settings.endpoints == TCP_ENDPOINTS_NODE ||
           (tcp->settings.endpoints == TCP_ENDPOINTS_AUTO && tcp->host->npes > DIRECT_UP_TO);
}

bool sy_tcp_serves_neighbours(struct tcp *tcp)
{
    if (!tcp->map.node_begin || !sy_tcp_uses_node_endpoints(tcp))
        return false;
    int node = tcp->host->place(tcp->host->pe).node,
        size = tcp->map.node_begin[node + 1] - tcp->map.node_begin[node];
    return size > 1 && size < tcp->host->npes;
}

/* One function of (from, target), so operations to a target keep their order. PEs that a record's
 * header has no number for are reached directly. */
static int map_endpoint(struct tcp *tcp, int from, int pe)
{
    if (!sy_tcp_uses_node_endpoints(tcp) || tcp->host->place(pe).local >= SY_RECORD_TARGET_SELF)
        return pe;
    int node = tcp->host->place(pe).node,
        size = tcp->map.node_begin[node + 1] - tcp->map.node_begin[node];
    if (node == tcp->host->place(from).node)
        return pe;
    return tcp->map.node_pe[tcp->map.node_begin[node] + tcp->host->place(from).local % size];
}

int sy_tcp_endpoint(struct tcp *tcp, int pe)
{
    return map_endpoint(tcp, tcp->host->pe, pe);
}

bool sy_tcp_shares_stream(struct tcp *tcp, int pe)
{
    return map_endpoint(tcp, tcp->host->pe, pe) == pe ||
           map_endpoint(tcp, pe, tcp->host->pe) == tcp->host->pe;
}

const void *sy_tcp_address_of(struct tcp *tcp, int pe, size_t *size)
{
    const char *record = tcp->map.addresses + (size_t)pe * tcp->map.size;

    *size = (unsigned char)record[0];
    return record + 1;
}

unsigned sy_tcp_ways(struct tcp *tcp, int one, int other)
{
    size_t size, other_size;
    const void *address = sy_tcp_address_of(tcp, one, &size),
               *other_address = sy_tcp_address_of(tcp, other, &other_size);
    bool beside = tcp->host->place(one).node == tcp->host->place(other).node;

    return sy_tcp_address_ways(address, size, other_address, other_size, beside);
}

static int map_list_nodes(struct tcp *tcp, struct sy_error *err)
{
    unsigned npes = (unsigned)tcp->host->npes;
    int nodes = 0;

    for (int pe = 0; pe < tcp->host->npes; pe++)
        if (tcp->host->place(pe).node >= nodes)
            nodes = tcp->host->place(pe).node + 1;
    tcp->map.node_begin = calloc((size_t)nodes + 1, sizeof *tcp->map.node_begin);
    tcp->map.node_pe = calloc(npes, sizeof *tcp->map.node_pe);
    if (!tcp->map.node_begin || !tcp->map.node_pe)
        return tcp->host->fail(err, ENOMEM, "no memory for the places of %u PEs", npes);
    for (int pe = 0; pe < tcp->host->npes; pe++)
        tcp->map.node_begin[tcp->host->place(pe).node + 1]++;
    for (int n = 0; n < nodes; n++)
        tcp->map.node_begin[n + 1] += tcp->map.node_begin[n];
    for (int pe = 0; pe < tcp->host->npes; pe++) {
        struct sy_place place = tcp->host->place(pe);
        tcp->map.node_pe[tcp->map.node_begin[place.node] + place.local] = pe;
    }
    return 0;
}

/* Keeps everyone's address, in records of the longest one's size. */
static int map_keep_addresses(struct tcp *tcp, const char *addresses, size_t stride,
                              struct sy_error *err)
{
    size_t longest = 0;

    for (int pe = 0; pe < tcp->host->npes; pe++) {
        size_t length = (unsigned char)addresses[(size_t)pe * stride];
        if (length + 1 > stride)
            return tcp->host->fail(err, EPROTO, "PE %d published an address of %zu bytes", pe,
                                   length);
        if (length > longest)
            longest = length;
    }
    tcp->map.size = longest + 1;
    tcp->map.addresses = malloc((size_t)tcp->host->npes * tcp->map.size);
    if (!tcp->map.addresses)
        return tcp->host->fail(err, ENOMEM, "no memory for the addresses of %d PEs",
                               tcp->host->npes);
    for (int pe = 0; pe < tcp->host->npes; pe++)
        memcpy(tcp->map.addresses + (size_t)pe * tcp->map.size, addresses + (size_t)pe * stride,
               tcp->map.size);
    return 0;
}

int sy_tcp_map_open(struct tcp *tcp, const char *addresses, size_t stride, struct sy_error *err)
{
    int rc = map_keep_addresses(tcp, addresses, stride, err);

    return rc ? rc : map_list_nodes(tcp, err);
}

void sy_tcp_map_close(struct tcp *tcp)
{
    free(tcp->map.addresses);
    free(tcp->map.node_begin);
    free(tcp->map.node_pe);
}
