/* What is in a PE's control window: words and small buffers through which the members of teams
 * synchronise. Every PE of a node has all control windows of the node mapped; those of other nodes are
 * reached by the route's transport.
 *
 * A team has the same slot in the control window of each of its members. Counters only grow and are never
 * reset, also when a slot passes from one team to another: what was written for a team that has ended
 * cannot be taken for news of the next one, which starts from the values it finds (coll/team.c). */
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

#define SY_SYNC_GROUP  8 /* members that look at each other's words directly */
#define SY_SYNC_LEVELS 6 /* groups of groups: 8^6 PEs on a node */
#define SY_TAGS        50
#define SY_SLOT_BYTES  8192

/* Notifications for the owner of the control window. Others add to `value`; `expected`, how many the owner
 * has waited for, is the owner's alone. When no team uses the slot both are equal. */
struct sy_inbox {
    _Atomic uint64_t value;
    uint64_t expected;
} __attribute__((aligned(SY_LINE)));

struct sy_control_team {
    struct sy_counter arrived;                  /* syncs its owner has entered; the owner writes */
    struct sy_counter released;                 /* syncs that are complete; last PE to arrive writes */
    struct sy_counter gathered[SY_SYNC_LEVELS]; /* arrivals in the owner's group; the group adds */
    struct sy_inbox inbox[SY_TAGS];
    char slot[2][SY_SLOT_BYTES];                /* the owner's small data, in turn; the owner writes */
} __attribute__((aligned(SY_LINE)));

/* Slots there is room for. */
#define SY_CONTROL_TEAMS_MAX (SY_CONTROL_SPACE / sizeof(struct sy_control_team))

/* The part of a team's slot in the control window of a PE of this node; NULL where it is not mapped. */
static inline struct sy_control_team *sy_control_of(int pe, unsigned slot)
{
    char *base = sy_windows.entry[SY_WINDOW_CONTROL].peer[pe];
    return base ? (struct sy_control_team *)base + slot : NULL;
}

/* For control windows that are not mapped: adds to the word of PE pe, or copies from its memory, that
 * corresponds to `mine` in this PE's control window. */
void sy_control_add(int pe, void *mine, uint64_t value);
void sy_control_get(int pe, void *dest, const void *mine, size_t length);

#endif
