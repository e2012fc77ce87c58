/* See broadcast.h. Small data go through the root's scratch space, which nobody waits for but those
 * that read it. Other data are read from where they are, between two synchronisations: the root may
 * not go on before all have read. */
#include "coll/broadcast.h"
#include "coll/check.h"
#include "coll/notify.h"
#include "coll/staged.h"
#include "core/callsite.h"
#include "core/fatal.h"
#include "core/memory/control.h"

enum { TAG_READY };
enum { FLAG_DATA };

/* On one node: so many bytes are copied once more in less time than two synchronisations take, and
 * the scratch space has room for many times as many. */
#define MOST_SMALL ((size_t)SY_NOTIFY_SCRATCH / 16)

/* A broadcast on one node in which nobody waits for those that read. */
static void broadcast_through_scratch(const struct sy_group *group, void *dest, const void *source,
                                      size_t length, int root)
{
    struct sy_notify notify = sy_notify_open_broadcast(group, length, 1, root);

    if (group->members.me == root) {
        sy_notify_scratch_put(&notify, root, 0, source, length, FLAG_DATA, 1);
        sy_broadcast_own(group, dest, source, length);
        return;
    }
    sy_notify_watch(&notify, root, FLAG_DATA, 1);
    sy_copy_bytes(dest, sy_notify_scratch(&notify, root), length);
}

static void broadcast_from_source(const struct sy_group *group, void *dest, const void *source,
                                  size_t length, int root)
{
    sy_group_sync(group);
    if (group->members.me != root)
        sy_group_pull(group, root, dest, source, length);
    else
        sy_broadcast_own(group, dest, source, length);
    sy_group_sync(group);
}

/* A tree with the broadcast's root as its root: each member reads its parent's dest once the parent
 * has notified it. With a radix of all members every other member is the root's child. */
static void broadcast_along_tree(const struct sy_group *group, void *dest, const void *source,
                                 size_t length, int root, long radix)
{
    long size = group->members.size, me = (group->members.me - root + size) % size;
    long first = me * radix + 1, last = first + radix < size ? first + radix : size;

    if (me) {
        long parent = (me - 1) / radix;
        sy_group_await(group, TAG_READY, 1);
        sy_group_pull(group, (int)((parent + root) % size), dest, parent ? dest : source, length);
    }
    for (long child = first; child < last; child++)
        sy_group_notify(group, (int)((child + root) % size), TAG_READY);
    if (!me)
        sy_broadcast_own(group, dest, source, length);
    sy_group_sync(group);
}

void sy_broadcast(const struct sy_group *group, void *dest, const void *source, size_t length,
                  int root)
{
    bool is_root = group->members.me == root, writes = !group->psync || !is_root;

    if (SY_UNLIKELY((unsigned)root >= (unsigned)group->members.size))
        sy_fatal("%s: there is no PE %d to be the root among %d PEs",
                 sy_callsite_routine("shmem_broadcast"), root, group->members.size);
    SY_COLL_CHECK(group, .routine = SY_COLL_BROADCAST, .dest = dest, .source = source,
                  .dest_length = writes ? length : 0, .source_length = is_root ? length : 0,
                  .size = length, .root = root);
    if (!length)
        sy_group_sync(group);
    else if (sy_coll_is_staged(dest, source))
        sy_staged_broadcast(group, dest, source, length, root);
    else if (!group->team)
        broadcast_from_source(group, dest, source, length, root);
    else if (sy_config.bcast_algorithm == SY_BCAST_LINEAR)
        broadcast_along_tree(group, dest, source, length, root, group->members.size);
    else if (sy_config.bcast_algorithm == SY_BCAST_TREE)
        broadcast_along_tree(group, dest, source, length, root, sy_config.coll_radix);
    else if (sy_group_spans(group))
        sy_broadcast_nodes(group, dest, source, length, root);
    else if (length <= MOST_SMALL)
        broadcast_through_scratch(group, dest, source, length, root);
    else
        broadcast_from_source(group, dest, source, length, root);
}
