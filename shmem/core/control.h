/* What is in a PE's control window: words through which PEs synchronise. Every PE of a node has all
 * control windows of the node mapped; those of other nodes are reached by put and signal.
 *
 * All counters are 64-bit, only grow, start at 0 with the process, and are never reset: nothing has
 * to be cleared between two uses, and a PE that lags one use behind cannot mistake one for the
 * other. */
#ifndef SY_CORE_CONTROL_H
#define SY_CORE_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/statics.h"
#include "core/windows.h"
#include "util/bits.h"

struct sy_counter {
    _Atomic uint64_t value;
} __attribute__((aligned(SY_LINE)));

#define SY_SYNC_LEVELS 6 /* groups of 8: enough for 8^6 PEs on a node */

/* Synchronisation of one team. */
struct sy_control_sync {
    struct sy_counter arrived;  /* syncs its owner has entered; the owner writes */
    struct sy_counter released; /* syncs that are complete; last PE to arrive writes */
    struct sy_counter gathered[SY_SYNC_LEVELS]; /* arrivals in the owner's group; the group adds */
    struct sy_counter vote[2];                  /* the owner's word in an agreement; used in turn */
};

struct sy_control {
    struct sy_control_sync world;
};

_Static_assert(sizeof(struct sy_control) <= SY_CONTROL_SPACE, "the control window is too small");

/* The control window of a PE of this node. */
static inline struct sy_control *sy_control_of(int pe)
{
    return (struct sy_control *)sy_windows.entry[SY_WINDOW_CONTROL].peer[pe];
}

#endif
