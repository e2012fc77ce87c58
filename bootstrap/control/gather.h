/* One gather: a blob from every PE, in order. Only bookkeeping, for the process that hears all PEs:
 * oshrun, or PE 0 of the control tree. It knows no descriptors and no timers. */
#ifndef SY_CONTROL_GATHER_H
#define SY_CONTROL_GATHER_H

#include <stdbool.h>
#include <stddef.h>

#include "util/frame.h"
#include "util/list.h"

enum { SY_GATHER_FAULT = 320 /* bytes that hold what is wrong with a blob, in words */ };

struct sy_gather {
    int npes;
    int arrived;
    char phase[64];
    int first; /* the PE whose blob came first: it set phase and length */
    size_t length;
    bool *have;               /* by PE */
    struct sy_packet *packet; /* GATHERED, being filled; NULL while nobody waits */

    sy_host_of *host_of; /* for what is wrong with blobs; may be NULL */
    void *owner;         /* of host_of */
};

/* 0 or -ENOMEM. */
int sy_gather_init(struct sy_gather *gather, int npes);

/* Takes the blob of a PE, which has none in it. 1: all are there; 0: not yet; -EPROTO: it does not
 * fit to those of the others, or -EMSGSIZE: it is too large, and `fault` says why; -ENOMEM. */
int sy_gather_add(struct sy_gather *gather, int pe, const char *phase, const char *blob,
                  size_t length, char fault[SY_GATHER_FAULT]);

/* Hands over the complete answer; a new gather may begin. */
struct sy_packet *sy_gather_take(struct sy_gather *gather);

bool sy_gather_waits(const struct sy_gather *gather);

void sy_gather_free(struct sy_gather *gather);

#endif
