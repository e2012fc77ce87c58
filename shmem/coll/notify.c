/* See notify.h.
 *
 * Flags are words of the receiver's control window that are set to stamps, numbers that the team
 * gives out once; so an old flag is lower than a new one, whoever raised it. SY_NOTIFY_COLLECTIVES
 * in a row have different flags and different parts of the scratch space. A PE takes those of an
 * earlier one again only when it knows that all members have left that one: `free_count` and
 * `free_scratch` tell up to where that is known. Since all members take the same in the same order,
 * all know it of the same ones. Flags that were raised have been awaited by then, so none can still
 * be under way.
 */
#include <stdlib.h>
#include <string.h>

#include "coll/notify.h"
#include "coll/tree.h"
#include "core/fatal.h"
#include "core/memory/control.h"
#include "core/rma.h"
#include "core/wait/wait.h"

#define SHORT         ((size_t)32 << 10)  /* bytes of a source that is copied */
#define MOST_IN_CACHE ((size_t)512 << 10) /* of a collective's data, with copies for messages */

SY_INLINE struct sy_control_team *notify_control(const struct sy_notify *notify, int member)
{
    const struct sy_group *group = notify->group;

    return sy_control_of(sy_members_pe(&group->members, member), group->team->slot);
}

static struct sy_control_team *notify_own_control(const struct sy_notify *notify)
{
    return sy_control_own(notify->group->team->slot);
}

/* What members have told a root unasked as they entered a broadcast: they have left all before. */
struct notify_credit {
    bool given;              /* and not taken yet */
    int root;                /* who counts it, with the counter of that broadcast */
    uint64_t count, scratch; /* collectives before that broadcast, and where its space begins */
};

/* The latest broadcasts. All members have the same here, at the same collective. */
struct sy_notify_roots {
    uint64_t entered[SY_NOTIFY_COLLECTIVES]; /* by member: the last one of which it was the root */
    uint64_t begin[SY_NOTIFY_COLLECTIVES];   /* where the scratch space of a collective begins */
    int latest;                              /* of the last one, + 1; 0: none yet */
    struct notify_credit credit;
};

static bool notify_has_room(const struct sy_team *team, uint64_t begin, size_t scratch)
{
    return team->synced ||
           (begin + scratch <= team->notify.free_scratch + sy_control_scratch_size(team->slot) &&
            team->notify.count < team->notify.free_count + SY_NOTIFY_COLLECTIVES);
}

/* Who has entered a collective has left those before it. `but` (or -1) is the root of the one that
 * begins, to which nothing is sent: what others do in it waits for its data. */
static void notify_learn(const struct sy_group *group, int but)
{
    struct sy_team *team = group->team;
    uint64_t all = team->notify.count;

    for (int i = 0; i < group->members.size; i++)
        if (i != but && team->notify.roots->entered[i] < all)
            all = team->notify.roots->entered[i];
    if (all <= team->notify.free_count)
        return;
    team->notify.free_count = all;
    team->notify.free_scratch = team->notify.roots->begin[all % SY_NOTIFY_COLLECTIVES];
}

/* ---- credit ----
 * One root's small broadcasts in a row, among few members: the root is ahead of the others, who
 * tell it in the middle between two synchronisations. When all room is taken it waits for that word
 * alone, and has half of the room again. The others know that it has waited by the data that come
 * next, and send nothing but to the root before.
 *
 * With many members the root would have many messages to read; a few bytes take no longer than the
 * word does; and data of which few fit go in longer rows between synchronisations, which costs less
 * where processors are short. */

#define CREDIT_MEMBERS 8
#define CREDIT_BYTES   512 /* of a broadcast, at least */

/* The root takes it: all have told. */
static void notify_credit_take(const struct sy_group *group)
{
    struct notify_credit *credit = &group->team->notify.roots->credit;
    struct sy_notify at = {.group = group,
                           .flags = (unsigned)(credit->count % SY_NOTIFY_COLLECTIVES)};

    credit->given = false;
    if (group->members.me == credit->root)
        sy_notify_await_count(&at, (uint64_t)group->members.size - 1);
}

/* Another broadcast of `root` needs room. */
static void notify_credit_use(const struct sy_group *group, int root)
{
    struct sy_team *team = group->team;
    const struct notify_credit *credit = &team->notify.roots->credit;

    if (!credit->given || credit->root != root || team->notify.roots->latest != root + 1 ||
        credit->count <= team->notify.free_count)
        return;
    notify_credit_take(group);
    team->notify.free_count = credit->count;
    team->notify.free_scratch = credit->scratch;
}

/* Gives credit to the root of the broadcast that begins, once half of the collectives have been
 * taken, but not half of the scratch space. */
static void notify_credit_give(const struct sy_notify *notify, int root)
{
    struct sy_team *team = notify->group->team;
    struct notify_credit *credit = &team->notify.roots->credit;
    uint64_t count = notify->count - team->notify.free_count;
    uint64_t scratch = notify->begin - team->notify.free_scratch;

    if (credit->given || count < SY_NOTIFY_COLLECTIVES / 2 ||
        scratch >= sy_control_scratch_size(team->slot) / 2)
        return;
    *credit = (struct notify_credit){
        .given = true, .root = root, .count = notify->count, .scratch = notify->begin};
    if (notify->group->members.me != root)
        sy_notify_raise(notify, root, SY_NOTIFY_COUNTER, 1);
}

void sy_notify_settle(const struct sy_group *group)
{
    const struct sy_notify_roots *roots = group->team->notify.roots;

    if (roots && roots->credit.given)
        notify_credit_take(group);
}

/* ---- beginning ----
 * When all have entered a synchronisation they have left the collectives before it. The next one
 * takes the beginning of the scratch space, whose pages are there and in the caches. */

static struct sy_notify notify_open(const struct sy_group *group, size_t scratch, uint64_t steps,
                                    int but)
{
    struct sy_team *team = group->team;
    uint64_t size = sy_control_scratch_size(team->slot);
    uint64_t begin = sy_round_up(team->notify.scratch, team->synced ? size : SY_LINE);

    if (begin % size + scratch > size)
        begin = sy_round_up(begin, size);
    if (!notify_has_room(team, begin, scratch) && team->notify.roots)
        notify_learn(group, but);
    if (!notify_has_room(team, begin, scratch) && but >= 0)
        notify_credit_use(group, but);
    if (!notify_has_room(team, begin, scratch))
        sy_group_sync(group);
    if (team->synced) {
        team->notify.free_count = team->notify.count;
        team->notify.free_scratch = begin; /* the space that was skipped belongs to no collective */
    }
    struct sy_notify notify = {.group = group,
                               .stamp = sy_group_stamp(group, steps),
                               .count = team->notify.count,
                               .begin = begin,
                               .at = begin % size,
                               .flags = (unsigned)(team->notify.count % SY_NOTIFY_COLLECTIVES)};
    if (team->notify.roots) {
        team->notify.roots->begin[notify.flags] = begin;
        if (SY_UNLIKELY(team->notify.roots->credit.given) &&
            team->notify.roots->credit.count < team->notify.free_count)
            notify_credit_take(group); /* before its counter is another collective's */
    }
    team->notify.count++;
    team->notify.scratch = begin + scratch;
    team->synced = false;
    return notify;
}

struct sy_notify sy_notify_open(const struct sy_group *group, size_t scratch, uint64_t steps)
{
    return notify_open(group, scratch, steps, -1);
}

/* More members than collectives at a time cannot all have been the root of one of these. */
struct sy_notify sy_notify_open_broadcast(const struct sy_group *group, size_t scratch,
                                          uint64_t steps, int root)
{
    struct sy_notify_roots **roots = &group->team->notify.roots;

    if (group->members.size > SY_NOTIFY_COLLECTIVES)
        return sy_notify_open(group, scratch, steps);
    if (!*roots && !(*roots = calloc(1, sizeof **roots)))
        sy_fatal("a broadcast: no memory for %zu bytes", sizeof **roots);
    struct sy_notify notify = notify_open(group, scratch, steps, scratch ? root : -1);
    (*roots)->entered[root] = notify.count;
    bool again = scratch && (*roots)->latest == root + 1;
    (*roots)->latest = root + 1;
    notify.ahead = again || (scratch && group->members.size == 2);
    if (again && scratch >= CREDIT_BYTES && sy_group_spans(group) &&
        group->members.size <= CREDIT_MEMBERS)
        notify_credit_give(&notify, root);
    return notify;
}

/* With several receivers each would wait for the copy that is made for the one before. But where
 * processors are short, word that data have arrived is a message more, for which the sender would
 * wait longer, unless copies of much data push each other out of the caches. */
void sy_notify_keep(struct sy_notify *notify, size_t total)
{
    if (sy_tree_fits(sy_group_nodes(notify->group)))
        notify->keeps = total <= MOST_IN_CACHE ? SY_KEPT_PROMPT : SY_KEPT_BYTES;
}

void sy_notify_met(const struct sy_notify *notify)
{
    notify->group->team->notify.free_count = notify->count;
    notify->group->team->notify.free_scratch = notify->begin;
}

char *sy_notify_scratch(const struct sy_notify *notify, int member)
{
    return sy_control_scratch(notify_control(notify, member), notify->group->team->slot) +
           notify->at;
}

/* ---- sending ---- */

SY_INLINE _Atomic uint64_t *notify_word_of(struct sy_control_team *c,
                                           const struct sy_notify *notify, unsigned flag)
{
    struct sy_notify_flags *flags = &c->flags[notify->flags];

    return flag == SY_NOTIFY_COUNTER ? &flags->arrived.value : &flags->flag[flag];
}

static enum sy_amo_op notify_operation(unsigned flag)
{
    return flag == SY_NOTIFY_COUNTER ? SY_AMO_ADD : SY_AMO_SET;
}

/* What a flag is set to, or what is added to the counter. */
static uint64_t notify_value(const struct sy_notify *notify, unsigned flag, uint64_t step)
{
    return flag == SY_NOTIFY_COUNTER ? step : notify->stamp + step;
}

/* The receiver waits for the one sender of a flag, so the message leaves at once. One of many
 * senders may gather what it has for several PEs, and a root that is ahead of the others, like
 * those that pass its data on, what it has for several broadcasts, or for a barrier behind one. */
static unsigned notify_hint(const struct sy_notify *notify, unsigned flag)
{
    return flag == SY_NOTIFY_COUNTER || notify->ahead ? 0 : SY_PROMPT;
}

/* Sends data to another node, and their flag. */
static void notify_send(const struct sy_notify *notify, int member, unsigned window,
                        uint64_t offset, const void *source, size_t length, unsigned flag,
                        uint64_t step, unsigned hint)
{
    sy_control_put(sy_members_pe(&notify->group->members, member), window, offset, source, length,
                   notify_operation(flag), notify_word_of(notify_own_control(notify), notify, flag),
                   notify_value(notify, flag, step), hint | notify_hint(notify, flag));
}

void sy_notify_raise(const struct sy_notify *notify, int member, unsigned flag, uint64_t step)
{
    struct sy_control_team *there = notify_control(notify, member);
    uint64_t value = notify_value(notify, flag, step);

    if (!there)
        sy_control_update(sy_members_pe(&notify->group->members, member), notify_operation(flag),
                          notify_word_of(notify_own_control(notify), notify, flag), value);
    else if (flag == SY_NOTIFY_COUNTER)
        atomic_fetch_add_explicit(notify_word_of(there, notify, flag), value, memory_order_release);
    else
        atomic_store_explicit(notify_word_of(there, notify, flag), value, memory_order_release);
}

/* Whether word is awaited that data have arrived. Between two nodes the sender has nothing else to
 * do, and a copy made while data travel is done before that word comes. */
static bool notify_stays(const struct sy_notify *notify, int pe, size_t length, unsigned flag)
{
    bool two = sy_group_nodes(notify->group)->count == 2;
    size_t most = flag == SY_NOTIFY_COUNTER ? SY_KEPT_BYTES : SY_KEPT_PROMPT;

    return length > SHORT &&
           (length > most || (!two && length > notify->keeps) || !sy_control_keeps(pe));
}

bool sy_notify_dest_start(const struct sy_notify *notify, int member, void *dest,
                          const void *source, size_t length, unsigned flag, uint64_t step)
{
    int pe = sy_members_pe(&notify->group->members, member);
    bool stays = notify_stays(notify, pe, length, flag);

    if (length && !notify_control(notify, member)) {
        struct sy_target at = sy_rma_target("collective routine", dest, length, pe);
        notify_send(notify, member, at.window, at.offset, source, length, flag, step,
                    stays ? 0 : SY_BLOCKING);
        return stays;
    }
    if (length) {
        sy_put(&sy_ctx_control, dest, source, length, 1, pe, SY_BLOCKING);
        sy_quiet(&sy_ctx_control, pe);
    }
    sy_notify_raise(notify, member, flag, step);
    return false;
}

void sy_notify_sent(void)
{
    sy_quiet(&sy_ctx_control, SY_ALL_PES);
}

void sy_notify_scratch_put(const struct sy_notify *notify, int member, size_t offset,
                           const void *source, size_t length, unsigned flag, uint64_t step)
{
    if (length && !notify_control(notify, member)) {
        char *mine = sy_notify_scratch(notify, notify->group->members.me) + offset;
        notify_send(notify, member, SY_WINDOW_CONTROL, sy_control_offset(mine), source, length,
                    flag, step, SY_BLOCKING);
        return;
    }
    if (length)
        sy_copy_bytes(sy_notify_scratch(notify, member) + offset, source, length);
    sy_notify_raise(notify, member, flag, step);
}

/* ---- waiting ---- */

uint64_t sy_notify_watch(const struct sy_notify *notify, int member, unsigned flag, uint64_t step)
{
    const _Atomic uint64_t *word = notify_word_of(notify_control(notify, member), notify, flag);
    uint64_t value = notify->stamp + step, now;

    SY_WAIT_UNTIL((now = atomic_load_explicit(word, memory_order_acquire)) >= value);
    return now - notify->stamp;
}

uint64_t sy_notify_await(const struct sy_notify *notify, unsigned flag, uint64_t step)
{
    return sy_notify_watch(notify, notify->group->members.me, flag, step);
}

bool sy_notify_arrived(const struct sy_notify *notify, unsigned flag, uint64_t step)
{
    const _Atomic uint64_t *word = notify_word_of(notify_own_control(notify), notify, flag);

    return atomic_load_explicit(word, memory_order_acquire) >= notify->stamp + step;
}

void sy_notify_await_count(const struct sy_notify *notify, uint64_t count)
{
    struct sy_notify_inbox *arrived = &notify_own_control(notify)->flags[notify->flags].arrived;

    arrived->expected += count;
    SY_WAIT_UNTIL(atomic_load_explicit(&arrived->value, memory_order_acquire) >= arrived->expected);
}
