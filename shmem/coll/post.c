/* See post.h.
 *
 * Flags are words of the receiver's control window that are set to stamps, numbers that the team
 * gives out once; so an old flag is lower than a new one, whoever raised it. Sixteen collectives in
 * a row have different flags and different parts of the room. A PE takes those of the sixteenth
 * before again only when it knows that all members have left that one: `free_count` and `free_room`
 * tell up to where that is known. Since all members take the same in the same order, all know it of
 * the same ones. Flags that were raised have been awaited by then, so none can still be under way.
 */
#include <string.h>

#include "coll/post.h"
#include "core/control.h"
#include "core/rma.h"
#include "core/wait.h"

static struct sy_control_team *control(const struct sy_post *post, int member)
{
    const struct sy_group *group = post->group;

    return sy_control_of(sy_members_pe(&group->members, member), group->team->slot);
}

static struct sy_control_team *own(const struct sy_post *post)
{
    return control(post, post->group->members.me);
}

struct sy_post sy_post_open(const struct sy_group *group, size_t room, uint64_t steps)
{
    struct sy_team *team = group->team;
    uint64_t begin = sy_round_up(team->posts.room, SY_LINE);

    if (begin % SY_POST_ROOM + room > SY_POST_ROOM)
        begin = sy_round_up(begin, SY_POST_ROOM);
    if (begin + room > team->posts.free_room + SY_POST_ROOM ||
        team->posts.count == team->posts.free_count + SY_POSTS) {
        sy_group_sync(group);
        team->posts.free_room = begin; /* what was left out to get there is nobody's */
    }
    struct sy_post post = {.group = group,
                           .stamp = sy_group_stamp(group, steps),
                           .count = team->posts.count,
                           .begin = begin,
                           .at = begin % SY_POST_ROOM,
                           .mail = (unsigned)(team->posts.count % SY_POSTS)};
    team->posts.count++;
    team->posts.room = begin + room;
    return post;
}

void sy_post_met(const struct sy_post *post)
{
    post->group->team->posts.free_count = post->count;
    post->group->team->posts.free_room = post->begin;
}

char *sy_post_room(const struct sy_post *post, int member)
{
    return control(post, member)->room + post->at;
}

/* ---- sending ---- */

static const char what[] = "collective routine";

#define COUNTER (-1) /* instead of a flag: what many senders add to */

static _Atomic uint64_t *word_of(struct sy_control_team *c, const struct sy_post *post, int flag)
{
    struct sy_mail *mail = &c->mail[post->mail];

    return flag == COUNTER ? &mail->arrived.value : &mail->flag[flag];
}

static enum sy_amo_op operation(int flag)
{
    return flag == COUNTER ? SY_AMO_ADD : SY_AMO_SET;
}

/* Raises a flag or counts up, after what was sent before. */
static void tell(const struct sy_post *post, int member, int flag, uint64_t value)
{
    struct sy_control_team *there = control(post, member);

    if (!there)
        sy_control_update(sy_members_pe(&post->group->members, member), operation(flag),
                          word_of(own(post), post, flag), value);
    else if (flag == COUNTER)
        atomic_fetch_add_explicit(word_of(there, post, flag), value, memory_order_release);
    else
        atomic_store_explicit(word_of(there, post, flag), value, memory_order_release);
}

/* Data to another node, and word of it. The one sender of a flag is waited for; of many senders
 * each may gather what it has for several PEs. */
static void send(const struct sy_post *post, int member, unsigned window, uint64_t offset,
                 const void *source, size_t length, int flag, uint64_t value)
{
    sy_control_put(sy_members_pe(&post->group->members, member), window, offset, source, length,
                   operation(flag), word_of(own(post), post, flag), value,
                   flag == COUNTER ? 0 : SY_PROMPT);
}

static void put_dest(const struct sy_post *post, int member, void *dest, const void *source,
                     size_t length, int flag, uint64_t value)
{
    int pe = sy_members_pe(&post->group->members, member);

    if (length && !control(post, member)) {
        struct sy_target at = sy_rma_target(what, dest, length, pe);
        send(post, member, at.window, at.offset, source, length, flag, value);
        return;
    }
    if (length) {
        sy_put(&sy_ctx_control, dest, source, length, pe, SY_BLOCKING);
        sy_quiet(&sy_ctx_control, pe);
    }
    tell(post, member, flag, value);
}

static void put_room(const struct sy_post *post, int member, size_t offset, const void *source,
                     size_t length, int flag, uint64_t value)
{
    if (length && !control(post, member)) {
        char *mine = sy_post_room(post, post->group->members.me) + offset;
        send(post, member, SY_WINDOW_CONTROL, sy_control_offset(mine), source, length, flag, value);
        return;
    }
    if (length)
        memcpy(sy_post_room(post, member) + offset, source, length);
    tell(post, member, flag, value);
}

void sy_post_room_put(const struct sy_post *post, int member, size_t offset, const void *source,
                      size_t length, unsigned flag, uint64_t step)
{
    put_room(post, member, offset, source, length, (int)flag, post->stamp + step);
}

void sy_post_dest_put(const struct sy_post *post, int member, void *dest, const void *source,
                      size_t length, unsigned flag, uint64_t step)
{
    put_dest(post, member, dest, source, length, (int)flag, post->stamp + step);
}

void sy_post_raise(const struct sy_post *post, int member, unsigned flag, uint64_t step)
{
    tell(post, member, (int)flag, post->stamp + step);
}

void sy_post_count(const struct sy_post *post, int member)
{
    tell(post, member, COUNTER, 1);
}

void sy_post_room_count(const struct sy_post *post, int member, size_t offset, const void *source,
                        size_t length)
{
    put_room(post, member, offset, source, length, COUNTER, 1);
}

void sy_post_dest_count(const struct sy_post *post, int member, void *dest, const void *source,
                        size_t length)
{
    put_dest(post, member, dest, source, length, COUNTER, 1);
}

/* ---- waiting ---- */

void sy_post_watch(const struct sy_post *post, int member, unsigned flag, uint64_t step)
{
    const _Atomic uint64_t *word = word_of(control(post, member), post, (int)flag);
    uint64_t value = post->stamp + step;

    SY_WAIT_UNTIL(atomic_load_explicit(word, memory_order_acquire) >= value);
}

void sy_post_await(const struct sy_post *post, unsigned flag, uint64_t step)
{
    sy_post_watch(post, post->group->members.me, flag, step);
}

void sy_post_await_count(const struct sy_post *post, uint64_t count)
{
    struct sy_inbox *arrived = &own(post)->mail[post->mail].arrived;

    arrived->expected += count;
    SY_WAIT_UNTIL(atomic_load_explicit(&arrived->value, memory_order_acquire) >= arrived->expected);
}
