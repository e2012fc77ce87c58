/* See staged.h. Each member reads all that it needs from where it is: the first synchronisation
 * says that it is there, the second that all have read it. */
#include <stdlib.h>

#include "coll/data.h"
#include "coll/staged.h"
#include "core/fatal.h"

#define PIECE ((size_t)256 << 10) /* a multiple of every element's size */

void sy_staged_broadcast(const struct sy_group *group, void *dest, const void *source,
                         size_t length, int root)
{
    sy_group_sync(group);
    if (group->members.me != root || (!group->psync && dest != source))
        sy_group_pull(group, root, dest, source, length);
    sy_group_sync(group);
}

void sy_staged_gather(const struct sy_group *group, void *dest, const void *source,
                      size_t of_source, size_t length)
{
    sy_group_sync(group);
    for (int step = 0; step < group->members.size; step++) {
        int i = sy_data_after(group, step);
        sy_group_pull(group, i, (char *)dest + (size_t)i * length, (const char *)source + of_source,
                      length);
    }
    sy_group_sync(group);
}

/* Combines member i's source with what is at `sum`. */
static void staged_join(const struct sy_group *group, struct sy_operation op, char *sum,
                        const char *source, size_t length, int i, char *room)
{
    for (size_t at = 0, part; at < length; at += part) {
        part = length - at < PIECE ? length - at : PIECE;
        sy_group_pull(group, i, room, source + at, part);
        op.kernel(sum + at, sum + at, room, part / op.size);
    }
}

void sy_staged_reduce(const struct sy_group *group, struct sy_operation op, void *dest,
                      const void *source, size_t count, int last)
{
    size_t length = count * op.size;
    char *sum = calloc(1, length), *room = malloc(length < PIECE ? length : PIECE);

    if (!sum || !room)
        sy_fatal("a reduction: no memory to combine %zu bytes of a device", length);
    sy_group_sync(group);
    if (last >= 0)
        sy_group_pull(group, 0, sum, source, length);
    for (int i = 1; i <= last; i++)
        staged_join(group, op, sum, source, length, i, room);
    sy_group_sync(group);
    sy_put(SHMEM_CTX_DEFAULT, dest, sum, length, 1,
           sy_members_pe(&group->members, group->members.me), SY_BLOCKING);
    free(sum);
    free(room);
}
