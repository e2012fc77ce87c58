/* What is in a PE's control window: words and small buffers through which the members of teams
 * synchronise. Every PE of a node has all control windows of the node mapped; those of other nodes
 * are reached by the route's transport.
 *
 * A team has the same slot in the control window of each of its members. Counters and flags only
 * grow and are never reset, also when a slot passes from one team to another: what was written for
 * a team that has ended cannot be taken for news of the next one, which starts from the values it
 * finds (coll/team.c). */
#ifndef SY_CORE_CONTROL_H
#define SY_CORE_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>
#include <switchyard/host.h>

#include "core/memory/statics.h"
#include "core/memory/windows.h"
#include "util/bits.h"

struct sy_counter {
    _Atomic uint64_t value;
    uint64_t base; /* value when the slot's team was made; the owner writes it before */
} __attribute__((aligned(SY_LINE)));

#define SY_SYNC_GROUP         8  /* members that look at each other's words directly */
#define SY_SYNC_LEVELS        6  /* groups of groups: 8^6 PEs on a node */
#define SY_SYNC_ROUNDS        48 /* flags of a synchronisation between nodes */
#define SY_TAGS               18
#define SY_SLOT_BYTES         8192
#define SY_NOTIFY_COLLECTIVES 32     /* collectives whose messages may be under way at a time */
#define SY_NOTIFY_FLAGS       40     /* of each */
#define SY_NOTIFY_SCRATCH     65536  /* bytes for the data of all */
#define SY_NOTIFY_WIDE        262144 /* and in the first slots, which long-lived teams have */

/* Notifications for the owner of the control window. Others add to `value`; `expected`, how many
 * the owner has waited for, is the owner's alone. When no team uses the slot both are equal. */
struct sy_notify_inbox {
    _Atomic uint64_t value;
    uint64_t expected;
} __attribute__((aligned(SY_LINE)));

/* Messages of one collective (coll/notify.h): others add to `arrived` or set flags. */
struct sy_notify_flags {
    struct sy_notify_inbox arrived;
    _Atomic uint64_t flag[SY_NOTIFY_FLAGS];
} __attribute__((aligned(SY_LINE)));

struct sy_control_team {
    struct sy_counter arrived;  /* syncs its owner has entered; the owner writes */
    struct sy_counter released; /* syncs that are complete; one PE of the node writes */
    struct sy_counter gathered[SY_SYNC_LEVELS]; /* arrivals in the owner's group; the group adds */
    struct sy_notify_inbox inbox[SY_TAGS];
    struct sy_counter stamp;                /* the owner's latest (core/team.h); the owner writes */
    _Atomic uint64_t round[SY_SYNC_ROUNDS]; /* stamps of syncs; others write */
    struct sy_notify_flags flags[SY_NOTIFY_COLLECTIVES];
    char slot[2][SY_SLOT_BYTES]; /* the owner's small data, in turn; the owner writes, and in a sync
                                    that joins slots those of its group */
    char scratch[SY_NOTIFY_SCRATCH]; /* data that are sent to the owner; others write */
} __attribute__((aligned(SY_LINE)));

#define SY_CONTROL_WIDE_OFFSET (SY_CONTROL_SPACE - SY_CONTROL_BOUNCE - SY_CONTROL_WIDE)

/* Slots there is scratch for; and those of few teams, with more of it, behind the slots. */
#define SY_CONTROL_TEAMS_MAX  (SY_CONTROL_WIDE_OFFSET / sizeof(struct sy_control_team))
#define SY_CONTROL_WIDE_TEAMS (SY_CONTROL_WIDE / SY_NOTIFY_WIDE)

/* The part of a team's slot in the control window of a PE of this node; NULL where it is not
 * mapped. */
static inline struct sy_control_team *sy_control_of(int pe, unsigned slot)
{
    char *base = sy_windows_peer(SY_WINDOW_CONTROL, pe);
    return base ? (struct sy_control_team *)base + slot : NULL;
}

/* The part of a team's slot in this PE's own control window. */
static inline struct sy_control_team *sy_control_own(unsigned slot)
{
    return (struct sy_control_team *)sy_windows.entry[SY_WINDOW_CONTROL].own.base + slot;
}

/* Bytes of the scratch space of a team's slot, and where it is in a control window, of which
 * `there` is that slot. */
static inline uint64_t sy_control_scratch_size(unsigned slot)
{
    return slot < SY_CONTROL_WIDE_TEAMS ? SY_NOTIFY_WIDE : SY_NOTIFY_SCRATCH;
}

static inline char *sy_control_scratch(struct sy_control_team *there, unsigned slot)
{
    char *wide = (char *)(there - slot) + SY_CONTROL_WIDE_OFFSET;

    return slot < SY_CONTROL_WIDE_TEAMS ? wide + slot * (uint64_t)SY_NOTIFY_WIDE : there->scratch;
}

/* For control windows that are not mapped. What is named by a pointer is at the same place in the
 * control window of PE pe as it is in this PE's. */

/* Adds to a word, or sets it, after what was put on sy_ctx_control before. */
void sy_control_update(int pe, enum sy_amo_op op, void *mine, uint64_t value);

/* Raises a word to `value`, in no order with anything else, and not covered by a quiet. The word
 * only grows, and one PE at a time raises it. */
void sy_control_raise(int pe, void *mine, uint64_t value);

/* Copies from there to dest. */
void sy_control_get(int pe, void *dest, const void *mine, size_t length);

/* Copies `length` bytes (not 0) from source to there, to an offset of a window, and updates a word
 * of the control window after. flags: SY_BLOCKING, or the source may be reused only after a quiet
 * on sy_ctx_control; SY_PROMPT. */
void sy_control_put(int pe, unsigned window, uint64_t offset, const void *source, size_t length,
                    enum sy_amo_op op, void *mine, uint64_t value, unsigned flags);
uint64_t sy_control_offset(const void *mine);

/* Whether a blocking sy_control_put of up to SY_KEPT_BYTES, with SY_PROMPT up to SY_KEPT_PROMPT,
 * returns before they have arrived. */
bool sy_control_keeps(int pe);

#endif
