/* What a PE publishes about where it listens, and in which order a peer tries it.
 *
 * The record: a byte with the version and the number of addresses, 8 bytes that identify the
 * machine, 2 bytes of port, then for each address a byte with its family (and a bit that says that
 * it has a port of its own), a byte with the length of its network's prefix, the port if it has
 * one, and 4 or 16 bytes. Numbers have their most significant byte first. Zeros may follow. */
#ifndef TCP_CONN_CANDIDATES_H
#define TCP_CONN_CANDIDATES_H

#include <switchyard/host.h>

#include "util/net/interfaces.h"
#include "util/net/race.h"

#define TCP_ENDPOINTS  15 /* in a record, and so listened on */
#define TCP_CANDIDATES SY_RACE_MOST

struct tcp_endpoint {
    struct sy_ip ip;
    uint16_t port;
};

struct tcp_record {
    uint64_t machine; /* sy_machine_network; 0: not known */
    unsigned count;
    struct tcp_endpoint endpoint[TCP_ENDPOINTS];
};

/* Writes the endpoints that find room, the last ones being left out but for one of loopback;
 * returns the length. */
size_t sy_tcp_record_write(const struct tcp_record *record, void *buffer, size_t room);

/* Whether it is well-formed; fills in *record. */
bool sy_tcp_record_read(struct tcp_record *record, const void *bytes, size_t size);

/* Replaces the endpoints by those of a list: "192.0.2.1,192.0.2.1:7000,[2001:db8::1]:7000". Those
 * without a port get `port`; loopback stays. 0 or -EINVAL and err. */
int sy_tcp_record_advertise(const struct sy_host *host, struct tcp_record *record, const char *list,
                            uint16_t port, struct sy_error *err);

/* Whether it can be called from other machines. */
bool sy_tcp_record_outward(const struct tcp_record *record);

/* Where to connect to, best first; at most TCP_CANDIDATES. `mine`: the addresses of this machine.
 */
unsigned sy_tcp_candidates(const struct tcp_record *peer, uint64_t machine,
                           const struct sy_interface *mine, size_t count,
                           struct sockaddr_storage out[TCP_CANDIDATES]);

/* Spreads the streams between two PEs over the networks that both are in, by putting another
 * address first for another `number` of a stream. These are networks as fast as that of the best
 * address; where the drivers do not tell, only networks that the user has chosen. */
void sy_tcp_candidates_spread(struct sockaddr_storage *address, unsigned addresses,
                              const struct sy_interface *mine, size_t count, bool chosen,
                              unsigned number);

#endif
