/* How members send each other data, with word that they are there: what algorithms between nodes
 * are made of. Data go where they belong on the receiver, either into room that it has in its
 * control window or into its copy of a symmetric array, and a flag of the receiver is raised after,
 * all in one direction: nothing is asked for and nothing is acknowledged.
 *
 * A collective takes its flags and its room with sy_post_open and raises no flag that is not
 * awaited. The next ones take others, so a member may be some collectives ahead; when the room of
 * all has been used, sy_post_open synchronises. */
#ifndef SY_COLL_POST_H
#define SY_COLL_POST_H

#include <stdatomic.h>

#include "coll/group.h"

/* Bytes that a collective may take without having to synchronise more often than not; and at most.
 */
#define SY_POST_SMALL ((size_t)SY_POST_ROOM / 2)
#define SY_POST_MOST  ((size_t)SY_POST_ROOM)

struct sy_post {
    const struct sy_group *group;
    uint64_t stamp;        /* flags are at most this before; step s, from 1 on, is stamp + s */
    uint64_t count, begin; /* collectives before, and the room they took */
    size_t at;             /* where the room is */
    unsigned mail;
};

/* Every member calls it, with the same arguments: room in bytes, and the steps that flags will go
 * up to. While a collective has what it took it calls no sy_group_sync, which would say that all
 * have left it. */
struct sy_post sy_post_open(const struct sy_group *group, size_t room, uint64_t steps);

/* After a collective in which no member can leave before all have entered. */
void sy_post_met(const struct sy_post *post);

/* The room of this PE, or of another member on its node. A member may leave there what its mates
 * read. */
char *sy_post_room(const struct sy_post *post, int member);

/* The same of this PE, and of number k of its node. */
static inline char *sy_post_own(const struct sy_post *post)
{
    return sy_post_room(post, post->group->members.me);
}

static inline char *sy_post_mate(const struct sy_post *post, int k)
{
    return sy_post_room(post, sy_group_mate(post->group, k));
}

/* Copies `length` bytes to `offset` in a member's room, or to its copy of dest, and raises the
 * member's `flag` to `step`. The source may be reused on return. A flag has one sender; its steps
 * go up. */
void sy_post_room_put(const struct sy_post *post, int member, size_t offset, const void *source,
                      size_t length, unsigned flag, uint64_t step);
void sy_post_dest_put(const struct sy_post *post, int member, void *dest, const void *source,
                      size_t length, unsigned flag, uint64_t step);
void sy_post_raise(const struct sy_post *post, int member, unsigned flag, uint64_t step);

/* Waits for a flag of this PE, or of a member on its node. */
void sy_post_await(const struct sy_post *post, unsigned flag, uint64_t step);
void sy_post_watch(const struct sy_post *post, int member, unsigned flag, uint64_t step);

/* The same for many senders, of which the receiver knows only the number: they count up. Data that
 * were put to the member on sy_ctx_control before have arrived too. */
void sy_post_count(const struct sy_post *post, int member);
void sy_post_room_count(const struct sy_post *post, int member, size_t offset, const void *source,
                        size_t length);
void sy_post_dest_count(const struct sy_post *post, int member, void *dest, const void *source,
                        size_t length);
void sy_post_await_count(const struct sy_post *post, uint64_t count);

#endif
