/* How members send each other data, with word that they are there: what algorithms between nodes
 * are made of, and small broadcasts. Data go where they belong on the receiver, either into scratch
 * that it has in its control window or into its copy of a symmetric array, and a flag of the
 * receiver is raised after, all in one direction: nothing is asked for and nothing is acknowledged.
 *
 * A collective takes its flags and its scratch space with sy_notify_open and raises no flag that is
 * not awaited. The next ones take others, so a member may be some collectives ahead; when the
 * scratch space of all has been used, sy_notify_open synchronises, unless it is known otherwise
 * that the others have left. */
#ifndef SY_COLL_NOTIFY_H
#define SY_COLL_NOTIFY_H

#include "coll/group.h"
#include "core/memory/control.h"

/* Bytes that a collective may take without having to synchronise more often than not. */
#define SY_NOTIFY_SMALL ((size_t)SY_NOTIFY_SCRATCH / 2)

/* The same where a team that has more scratch space, the world's, may use it. */
static inline size_t sy_notify_room(const struct sy_group *group)
{
    return (size_t)sy_control_scratch_size(group->team->slot) / 2;
}

struct sy_notify {
    const struct sy_group *group;
    uint64_t stamp;        /* flags are at most this before; step s, from 1 on, is stamp + s */
    uint64_t count, begin; /* collectives before, and the scratch space they took */
    size_t at;             /* where the scratch space is */
    unsigned flags;
    size_t keeps; /* a message to dest of up to so many bytes is copied when it is sent */
    bool ahead;   /* a small broadcast of one root in a row, or of two members: who sends goes on */
};

/* Every member calls it, with the same arguments: scratch in bytes, and the steps that flags will
 * go up to. While a collective has what it took it calls no sy_group_sync, which would say that all
 * have left it. */
struct sy_notify sy_notify_open(const struct sy_group *group, size_t scratch, uint64_t steps);

/* For a collective that sends some of `total` bytes to each node: has messages copied when they are
 * sent, where that costs less than to wait for word that they have arrived. */
void sy_notify_keep(struct sy_notify *notify, size_t total);

/* The same as sy_notify_open for a broadcast. Its root has entered it before anybody has its data:
 * so where each member was the root of one lately, all know of all which ones they have left, and
 * nobody synchronises. With scratch space, of several members: nothing is sent to the root. */
struct sy_notify sy_notify_open_broadcast(const struct sy_group *group, size_t scratch,
                                          uint64_t steps, int root);

/* Before the team ends, when all have entered what comes after its last collective: takes what may
 * still be on its way to this member. */
void sy_notify_settle(const struct sy_group *group);

/* Records that no member could leave the collective before all had entered it. */
void sy_notify_met(const struct sy_notify *notify);

/* The scratch space of this PE, or of another member on its node. A member may leave there what
 * others on the node read. */
char *sy_notify_scratch(const struct sy_notify *notify, int member);

/* The scratch space of this PE, and that of member number k of its node. */
static inline char *sy_notify_own(const struct sy_notify *notify)
{
    return sy_notify_scratch(notify, notify->group->members.me);
}

static inline char *sy_notify_mate(const struct sy_notify *notify, int k)
{
    return sy_notify_scratch(notify, sy_group_mate(notify->group, k));
}

/* Copies `length` bytes to `offset` in a member's scratch and raises the member's `flag` to `step`.
 * The source may be reused on return. A flag has one sender; its steps go up.
 *
 * SY_NOTIFY_COUNTER in place of a flag is for many senders, of which the receiver knows only the
 * number: each adds `step`. Data that were put to the member on sy_ctx_control before have then
 * arrived too. */
#define SY_NOTIFY_COUNTER (~0u)
void sy_notify_scratch_put(const struct sy_notify *notify, int member, size_t offset,
                           const void *source, size_t length, unsigned flag, uint64_t step);
/* Copies to a member's copy of dest. The source may be changed only after sy_notify_sent, which
 * waits for all of these; false: it may be at once, as it is short or on this node. A long source
 * that may be changed has to be copied until it has arrived, because a connection may break; of a
 * short one the copy costs less than word that it has arrived. */
bool sy_notify_dest_start(const struct sy_notify *notify, int member, void *dest,
                          const void *source, size_t length, unsigned flag, uint64_t step);
void sy_notify_sent(void);

void sy_notify_raise(const struct sy_notify *notify, int member, unsigned flag, uint64_t step);

/* Waits for a flag of this PE, or of a member on its node. Returns the step that the flag has got
 * to, which may be a later one. */
uint64_t sy_notify_await(const struct sy_notify *notify, unsigned flag, uint64_t step);
uint64_t sy_notify_watch(const struct sy_notify *notify, int member, unsigned flag, uint64_t step);

/* Whether sy_notify_await would return at once. */
bool sy_notify_arrived(const struct sy_notify *notify, unsigned flag, uint64_t step);

/* Waits until this PE's counter has grown by `count` since the wait before. */
void sy_notify_await_count(const struct sy_notify *notify, uint64_t count);

#endif
