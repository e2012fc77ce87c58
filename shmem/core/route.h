/* Which transport reaches which PE. Transports are opened in the order of SHMEM_TRANSPORTS; for
 * each pair the first one that both sides have and that reaches is used, for the whole job. All PEs
 * compute this from the same exchanged data, so both sides of a pair agree. */
#ifndef SY_CORE_ROUTE_H
#define SY_CORE_ROUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <switchyard/host.h>
#include <switchyard/transport.h>

#include "util/bits.h"
#include "util/plugin.h"

#define SY_TRANSPORTS_MAX   8
#define SY_TRANSPORT_NONE   0xff
#define SY_ADDRESS_MAX      128
#define SY_TRANSPORT_RECORD 160 /* most bytes of one transport in sy_routes_pack */

struct sy_route_transport {
    struct sy_plugin plugin;
    const struct sy_transport *table;
    struct sy_transport_ctx *ctx; /* of the default context */
    bool connected;
    bool carries; /* some PE's data goes through its data calls, not only by mapping */
};

struct sy_routes {
    unsigned count;
    struct sy_route_transport transport[SY_TRANSPORTS_MAX];
    uint8_t *of; /* npes indices into transport, or SY_TRANSPORT_NONE */
    uint8_t
        *other; /* npes flags: 1 = runs another executable, its data windows do not match ours */
};

extern struct sy_routes sy_routes SY_HIDDEN;

struct sy_options;

/* Opens the transports of `wanted` ("auto", "shm,tcp" or "^ofi") and makes the windows known to
 * them. One that was named and fails is an error; others are left out, with the reason in the log.
 */
int sy_routes_open(const char *wanted, struct sy_options *options, const struct sy_host *host,
                   struct sy_error *err);

/* Writes names and addresses of the opened transports, for other PEs; returns the length. */
size_t sy_routes_pack(char *buffer, size_t room);

/* Takes what every PE packed (PE p's is at all + p * stride), connects, and fills in routes and
 * peers' windows. `layout(p)` tells whether PE p runs the same executable. */
int sy_routes_connect(const char *all, size_t stride, int npes, bool (*same_layout)(int pe),
                      double seconds, struct sy_error *err);

void sy_routes_close(void);

/* The transport to PE pe, for the slow path. */
static inline struct sy_route_transport *sy_route_to(int pe)
{
    uint8_t index = sy_routes.of[pe];
    return index == SY_TRANSPORT_NONE ? NULL : &sy_routes.transport[index];
}

#endif
