/* One gather: a blob from every PE, in order. Only bookkeeping: no descriptors, no timers. */
#ifndef SY_LAUNCHER_GATHER_H
#define SY_LAUNCHER_GATHER_H

#include <stdbool.h>
#include <stddef.h>

#include "bootstrap/launcher/link.h"

struct sy_gather {
    int npes;
    int arrived;
    char phase[64];
    int first; /* the PE whose blob came first: it set phase and length */
    size_t length;
    bool *have;               /* by PE */
    struct sy_packet *packet; /* GATHERED, being filled; NULL while nobody waits */
};

void sy_gather_init(struct sy_gather *gather, int npes);

/* Takes the blob of a PE. Returns whether all are there. If the blob does not fit to those of the
 * others, *fault is what is wrong, in words (allocated). */
bool sy_gather_add(struct sy_gather *gather, int pe, const char *phase, const char *blob,
                   size_t length, char **fault);

/* Hands over the complete answer; a new gather may begin. */
struct sy_packet *sy_gather_take(struct sy_gather *gather);

bool sy_gather_waits(const struct sy_gather *gather);

/* Those that have not come, as "PEs 1-3, 7" (allocated). */
char *sy_gather_missing(const struct sy_gather *gather);

void sy_gather_free(struct sy_gather *gather);

#endif
