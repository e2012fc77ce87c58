/* What the PEs exchange once, while they start: programs, hosts, and transports' addresses. Small
 * allgathers of the bootstrap carry it: identities, addresses, and the transports that have
 * connected. */
#ifndef SY_CORE_EXCHANGE_H
#define SY_CORE_EXCHANGE_H

#include <switchyard/error.h>

struct sy_options;
struct sy_host;

/* Gathers, checks that all PEs have the same settings where they must, sets host->load and
 * host->crowded, computes places (places.h), and connects the routes; opens those that reach other
 * nodes where they are needed. */
int sy_exchange(struct sy_options *options, struct sy_host *host, double seconds, long pes_per_node,
                struct sy_error *err);

#endif
