/* See alltoall.h. Each member reads its blocks, beginning with its own and going around. */
#include "coll/alltoall.h"
#include "coll/check.h"
#include "coll/data.h"

static void through_slot(const struct sy_group *group, char *dest, const char *source,
                         size_t length)
{
    int size = group->members.size;
    size_t mine = (size_t)group->members.me * length;

    memcpy(sy_group_slot(group), source, (size_t)size * length);
    sy_group_sync(group);
    for (int step = 0; step < size; step++) {
        int i = sy_data_after(group, step);
        sy_data_copy_slot(group, i, mine, length, dest + (size_t)i * length);
    }
    sy_group_slot_done(group);
}

static void from_sources(const struct sy_group *group, char *dest, const char *source,
                         size_t length)
{
    size_t mine = (size_t)group->members.me * length;

    sy_group_sync(group);
    memcpy(dest + mine, source + mine, length);
    for (int step = 1; step < group->members.size; step++) {
        int i = sy_data_after(group, step);
        sy_group_pull(group, i, dest + (size_t)i * length, source + mine, length);
    }
    sy_group_sync(group);
}

void sy_alltoall(const struct sy_group *group, void *dest, const void *source, size_t length)
{
    size_t all = length * (size_t)group->members.size;

    SY_COLL_CHECK(group, .routine = SY_COLL_ALLTOALL, .dest = dest, .source = source,
                  .dest_length = all, .source_length = all, .size = length);
    if (!length)
        sy_group_sync(group);
    else if (sy_group_spans(group))
        sy_alltoall_nodes(group, dest, source,
                          &(struct sy_blocks){length, 1, (ptrdiff_t)length, (ptrdiff_t)length});
    else if (sy_data_small(group, length, 2 * SY_SMALL) && all <= sy_group_slot_size(group))
        through_slot(group, dest, source, length);
    else
        from_sources(group, dest, source, length);
}

/* Block i of one of the arrays of sy_alltoalls. */
static char *strided_block(const void *array, int i, ptrdiff_t stride, size_t count)
{
    return (char *)array + (ptrdiff_t)((size_t)i * count) * stride;
}

void sy_alltoalls(const struct sy_group *group, void *dest, const void *source,
                  ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t size, size_t count)
{
    int members = group->members.size, me = group->members.me;
    size_t last = count ? (size_t)members * count - 1 : 0;

    SY_COLL_CHECK(group, .routine = SY_COLL_ALLTOALLS, .dest = dest, .source = source,
                  .dest_length = count ? last * (size_t)dest_stride + size : 0,
                  .source_length = count ? last * (size_t)source_stride + size : 0,
                  .size = size * count);
    if (count && sy_group_spans(group)) {
        sy_alltoall_nodes(group, dest, source,
                          &(struct sy_blocks){size, count, dest_stride, source_stride});
        return;
    }
    sy_group_sync(group);
    if (!count)
        return;
    for (int step = 0; step < members; step++) {
        int i = sy_data_after(group, step);
        sy_get_strided(SHMEM_CTX_DEFAULT, strided_block(dest, i, dest_stride, count),
                       strided_block(source, me, source_stride, count), dest_stride, source_stride,
                       size, count, sy_members_pe(&group->members, i));
    }
    sy_group_sync(group);
}
