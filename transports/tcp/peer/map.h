/* Which process of a node serves which PE, and what the PEs published about where they are. Set
 * once, when the transport is connected. */
#ifndef TCP_MAP_H
#define TCP_MAP_H

#include <stddef.h>
#include <switchyard/error.h>

struct tcp;

struct tcp_map {
    char *addresses; /* npes records of `size` bytes: length, then what the PE published */
    size_t size;
    int *node_begin; /* index into node_pe for each node, nodes + 1 */
    int *node_pe;    /* PEs sorted by node and index there */
};

/* addresses: as struct sy_transport's connect gets them. */
int sy_tcp_map_open(struct tcp *tcp, const char *addresses, size_t stride, struct sy_error *err);
void sy_tcp_map_close(struct tcp *tcp);

/* What PE pe published. */
const void *sy_tcp_address_of(struct tcp *tcp, int pe, size_t *size);

/* How two PEs can connect: TCP_WAY_, as sy_tcp_address_ways has it. */
unsigned sy_tcp_ways(struct tcp *tcp, int one, int other);

/* The process that operations for PE pe go to. */
int sy_tcp_endpoint(struct tcp *tcp, int pe);

/* Whether this PE and `pe`, which is on another node, have a stream to each other once all PEs talk
 * to all others: operations of one of them go to the other. */
bool sy_tcp_shares_stream(struct tcp *tcp, int pe);

/* Whether operations go to any process of the target's node rather than to the target itself. */
bool sy_tcp_uses_node_endpoints(struct tcp *tcp);

/* Whether operations of other nodes for PEs of this node may come to this PE, once connect() has
 * been called. */
bool sy_tcp_serves_neighbours(struct tcp *tcp);

#endif
