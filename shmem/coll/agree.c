/* See agree.h. One reduction: where the greatest number and the greatest complement are both this
 * PE's own, all voters have that number. The voters are counted too, because PEs in another routine
 * take part in the same synchronisation and contribute no vote, or other bytes. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "coll/agree.h"
#include "coll/check.h"
#include "coll/reduce.h"
#include "core/fatal.h"
#include "core/wait/tell.h"
#include "core/start/world.h"

struct ballot {
    uint64_t voters, noes;
    uint64_t vote, not_vote; /* mark a vote, and its number: other routines have other bytes */
    uint64_t call, not_call; /* a hash */
};

/* For the message: two PEs that differ, each as its distance from npes so that the maximum is the
 * first one, and their calls. */
struct finder {
    uint64_t greatest, least;
};
struct pair {
    struct sy_call greatest, least;
};
_Static_assert(sizeof(struct sy_call) % sizeof(uint64_t) == 0, "a call is whole words");

static uint64_t agree_greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void agree_count(void *dest, const void *left, const void *right, size_t count)
{
    const struct ballot *l = left, *r = right;

    for (size_t i = 0; i < count; i++)
        ((struct ballot *)dest)[i] = (struct ballot){
            .voters = l[i].voters + r[i].voters,
            .noes = l[i].noes + r[i].noes,
            .vote = agree_greater(l[i].vote, r[i].vote),
            .not_vote = agree_greater(l[i].not_vote, r[i].not_vote),
            .call = agree_greater(l[i].call, r[i].call),
            .not_call = agree_greater(l[i].not_call, r[i].not_call)};
}

static void agree_most(const struct sy_group *group, void *words, size_t length)
{
    const struct sy_operation op = {SY_COMPARE_KERNEL(max, uint64_t), sizeof(uint64_t)};

    sy_reduce_few(group, op, words, words, length / sizeof(uint64_t));
}

static const char *agree_describe(const struct sy_call *call, char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "%s", call->routine);

    if (call->bytes && used < room)
        used += (size_t)snprintf(text + used, room - used, " of %zu bytes", call->bytes);
    if (call->alignment && used < room)
        used += (size_t)snprintf(text + used, room - used, " at a multiple of %zu",
                                 call->alignment);
    if (call->hints && used < room)
        used += (size_t)snprintf(text + used, room - used, " with hints %#lx", call->hints);
    if (call->offset && used < room)
        used += (size_t)snprintf(text + used, room - used, " of the block at offset %#zx",
                                 call->offset - 1);
    if (call->more && used < room)
        snprintf(text + used, room - used, " with arguments whose hash is %#zx", call->more);
    return text;
}

/* The routine that this PE is in, as messages name it. */
static struct sy_call agree_own(const struct sy_call *call)
{
    static const char exit_handler[] = "its exit handler, as shmem_finalize";
    struct sy_call own = *call;

    if (sy_world.exiting)
        strcpy(own.routine, exit_handler);
    return own;
}

#define RULE "all PEs must make the same calls, in the same order, with the same arguments"

/* Ends the job where some PEs take part in no vote, so that their calls cannot be asked for. */
static SY_COLD void agree_end_alone(const struct sy_call *call)
{
    struct sy_call own = agree_own(call);
    char text[160];

    sy_fatal("collective routines do not match: PE %d is in %s, and another PE is in another "
             "collective routine, or has called others before; " RULE "%s",
             sy_world.pe, agree_describe(&own, text, sizeof text),
             sy_config.check ? "" : " (SHMEM_CHECK=1 finds the first that differs)");
}

/* Ends the job where all PEs are in the vote. The lower of the two PEs that the message names
 * writes it; the others give it time to end the job. */
static SY_COLD void agree_end_together(const struct sy_group *group, const struct sy_call *call,
                                       const struct ballot *mine, const struct ballot *all)
{
    uint64_t place = (uint64_t)(sy_world.npes - sy_world.pe);
    bool greatest = mine->call == all->call, least = mine->not_call == all->not_call;
    struct finder who = {.greatest = greatest ? place : 0, .least = least ? place : 0};
    struct pair what;
    char text[2][160];

    agree_most(group, &who, sizeof who);
    memset(&what, 0, sizeof what);
    if (who.greatest == place)
        what.greatest = agree_own(call);
    if (who.least == place)
        what.least = agree_own(call);
    agree_most(group, &what, sizeof what);
    int pe[] = {sy_world.npes - (int)who.greatest, sy_world.npes - (int)who.least};
    const struct sy_call *in[] = {&what.greatest, &what.least};
    int first = pe[0] > pe[1];
    if (sy_world.pe != pe[first])
        sy_tell_hear_out();
    sy_fatal("collective routines do not match: PE %d is in %s, and PE %d is in %s; " RULE,
             pe[first], agree_describe(in[first], text[0], sizeof text[0]), pe[!first],
             agree_describe(in[!first], text[1], sizeof text[1]));
}

/* The vote's number. A PE that has made one synchronisation less may read slots that others have
 * written for a later vote, so their number is part of it. (Between nodes the numbers of PEs on a
 * node may differ.) */
static uint64_t agree_number(struct sy_team *team)
{
    const uint64_t place[] = {++team->votes, team->nodes.count > 1 ? 0 : team->syncs, team->stamp};

    return sy_hash(place, sizeof place, UINT64_C(0x766f7465));
}

bool sy_agree(struct sy_team *team, const struct sy_call *call, bool yes)
{
    const struct sy_operation count = {agree_count, sizeof(struct ballot)};
    struct sy_group group = sy_group_of_team(team);
    struct ballot mine = {.voters = 1, .noes = !yes}, all;

    if (SY_UNLIKELY(sy_config.check))
        sy_coll_check(&group, (struct sy_coll_call){.routine = SY_COLL_VOTE});
    mine.vote = agree_number(team);
    mine.call = sy_hash(call, sizeof *call, 0);
    mine.not_vote = ~mine.vote;
    mine.not_call = ~mine.call;
    all = mine;
    sy_reduce_few(&group, count, &all, &all, 1);
    if (SY_UNLIKELY(all.voters != (uint64_t)team->members.size || all.vote != mine.vote ||
                    all.not_vote != mine.not_vote))
        agree_end_alone(call);
    if (SY_UNLIKELY(all.call != mine.call || all.not_call != mine.not_call))
        agree_end_together(&group, call, &mine, &all);
    return !all.noes;
}
