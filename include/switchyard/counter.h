/* One row describes one counter of a plugin's instance. The plugin counts, the core shows: what
 * SHMEM_DEBUG=counters and SIGUSR1 tell, and oshinfo's listing, all come from the rows. */
#ifndef SWITCHYARD_COUNTER_H
#define SWITCHYARD_COUNTER_H

#include <stddef.h>

/* What values of several instances or PEs come to together. */
enum sy_counter_kind {
    SY_COUNTER_SUM, /* of events or bytes: it only grows */
    SY_COUNTER_MOST /* the largest that has been seen */
};

struct sy_counter_row {
    const char *name; /* "bytes_sent": small letters, digits and _ */
    const char *unit; /* "bytes", "calls", "us" */
    enum sy_counter_kind kind;
    size_t offset;    /* in the instance that open() makes, of an aligned _Atomic uint64_t. The core
                         reads it at any time until close(), by relaxed loads from any thread */
    const char *help; /* one sentence, without a full stop */
};

#endif
