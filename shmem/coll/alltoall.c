/* See alltoall.h. Each member reads its blocks, beginning with its own and going around. */
#include <stdlib.h>

#include "coll/alltoall.h"
#include "coll/check.h"
#include "coll/data.h"
#include "coll/staged.h"
#include "core/fatal.h"

#define MANY_FAR 64 /* members for sy_data_many: as many gets by the grid, fewer connections */

static void alltoall_through_slot(const struct sy_group *group, char *dest, const char *source,
                                  size_t length)
{
    int size = group->members.size;
    size_t mine = (size_t)group->members.me * length;

    sy_copy_bytes(sy_group_slot(group), source, (size_t)size * length);
    sy_group_sync(group);
    for (int step = 0; step < size; step++) {
        int i = sy_data_after(group, step);
        sy_data_copy_slot(group, i, mine, length, dest + (size_t)i * length);
    }
    sy_group_slot_done(group);
}

static void alltoall_from_sources(const struct sy_group *group, char *dest, const char *source,
                                  size_t length)
{
    size_t mine = (size_t)group->members.me * length;

    sy_group_sync(group);
    sy_copy_bytes(dest + mine, source + mine, length);
    for (int step = 1; step < group->members.size; step++) {
        int i = sy_data_after(group, step);
        sy_group_pull(group, i, dest + (size_t)i * length, source + mine, length);
    }
    sy_group_sync(group);
}

/* ---- many members ---- */

/* The members as rows of `columns`, of which the last may be shorter. A block goes along its
 * source's row to the column of its target, then along that column: so each member reads from the
 * 2 sqrt(n) members of its row and its column. */
struct grid {
    const struct sy_group *group;
    int size, columns, rows, row, column; /* row, column: this member's */
    size_t length;
    const char *source; /* of the whole call, on any member */
    char *dest;
};

static struct grid alltoall_grid_of(const struct sy_group *group, char *dest, const char *source,
                                    size_t length)
{
    struct grid g = {group, group->members.size, 1, 0, 0, 0, length, source, dest};

    while (g.columns * g.columns < g.size)
        g.columns++;
    g.rows = (g.size + g.columns - 1) / g.columns;
    g.row = group->members.me / g.columns;
    g.column = group->members.me % g.columns;
    return g;
}

static int grid_width(const struct grid *g, int row)
{
    return row < g->rows - 1 ? g->columns : g->size - row * g->columns;
}

/* How many of the blocks from `row` to the member in row `to` of a column fit into the dest of the
 * row's member in that column, where they wait: all, except that the last row may lack room for
 * some. */
static int alltoall_grid_waiting(const struct grid *g, int row, int to)
{
    int width = grid_width(g, row), room = g->size - to * width;

    return room < 0 ? 0 : room < width ? room : width;
}

static void alltoall_grid_pull(const struct grid *g, int i, void *dest, const void *from,
                               size_t length)
{
    if (i == g->group->members.me)
        sy_copy_bytes(dest, from, length);
    else
        sy_group_pull(g->group, i, dest, from, length);
}

/* Reads what the members of this row have for this column into this member's dest, ordered by the
 * target's row. */
static void alltoall_grid_along_row(const struct grid *g)
{
    int width = grid_width(g, g->row);

    for (int step = 0; step < width; step++) {
        int k = (g->column + step) % width;
        for (int to = 0; to < g->rows && to * g->columns + g->column < g->size; to++)
            if (k < alltoall_grid_waiting(g, g->row, to))
                alltoall_grid_pull(
                    g, g->row * g->columns + k, g->dest + (size_t)(to * width + k) * g->length,
                    g->source + (size_t)(to * g->columns + g->column) * g->length, g->length);
    }
}

/* Reads the blocks that wait for this member in its column into `all`, in the order of the sources.
 * Blocks that did not fit there, and those of a last row that lacks this column, come from the
 * sources themselves. */
static void alltoall_grid_along_column(const struct grid *g, char *all)
{
    const char *mine = g->source + (size_t)g->group->members.me * g->length;

    for (int step = 0; step < g->rows; step++) {
        int row = (g->row + step) % g->rows, first = row * g->columns, at = first + g->column;
        int width = grid_width(g, row),
            waiting = at < g->size ? alltoall_grid_waiting(g, row, g->row) : 0;
        char *to = all + (size_t)first * g->length;
        if (waiting)
            alltoall_grid_pull(g, at, to, g->dest + (size_t)(g->row * width) * g->length,
                               (size_t)waiting * g->length);
        for (int k = waiting; k < width; k++)
            alltoall_grid_pull(g, first + k, to + (size_t)k * g->length, mine, g->length);
    }
}

/* Between the synchronisations: all sources are ready and no dest is in use; all blocks wait in
 * their columns; no other member reads this member's dest any more. */
static void alltoall_through_grid(const struct sy_group *group, char *dest, const char *source,
                                  size_t length)
{
    const struct grid g = alltoall_grid_of(group, dest, source, length);
    char *all = malloc((size_t)g.size * length);

    if (!all)
        sy_fatal("shmem_alltoall: no memory for %zu bytes", (size_t)g.size * length);
    sy_group_sync(group);
    alltoall_grid_along_row(&g);
    sy_group_sync(group);
    alltoall_grid_along_column(&g, all);
    sy_group_sync(group);
    sy_copy_bytes(dest, all, (size_t)g.size * length);
    free(all);
}

void sy_alltoall(const struct sy_group *group, void *dest, const void *source, size_t length)
{
    size_t all = sy_bytes(length, (size_t)group->members.size);

    SY_COLL_CHECK(group, .routine = SY_COLL_ALLTOALL, .dest = dest, .source = source,
                  .dest_length = all, .source_length = all, .size = length);
    if (!length)
        sy_group_sync(group);
    else if (sy_coll_is_staged(dest, source))
        sy_staged_gather(group, dest, source, (size_t)group->members.me * length, length);
    else if (sy_group_spans(group))
        sy_alltoall_nodes(group, dest, source,
                          &(struct sy_blocks){length, 1, (ptrdiff_t)length, (ptrdiff_t)length});
    else if (sy_data_many(group, length, MANY_FAR))
        alltoall_through_grid(group, dest, source, length);
    else if (sy_data_small(group, length, 2 * SY_SMALL) && all <= sy_group_slot_size(group))
        alltoall_through_slot(group, dest, source, length);
    else
        alltoall_from_sources(group, dest, source, length);
}

/* From the first to the last byte of `count` elements. A stride of 0, which no program may have, is
 * not to hide how many there are. */
static size_t alltoall_reach(size_t count, ptrdiff_t stride, size_t size)
{
    size_t last = count ? sy_bytes(count - 1, stride ? (size_t)stride : size) : 0;

    return !count ? 0 : last > SIZE_MAX - size ? SIZE_MAX : last + size;
}

void sy_alltoalls(const struct sy_group *group, void *dest, const void *source,
                  ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t size, size_t count)
{
    int members = group->members.size, me = group->members.me;
    size_t all = sy_bytes((size_t)members, count);

    SY_COLL_CHECK(group, .routine = SY_COLL_ALLTOALLS, .dest = dest, .source = source,
                  .dest_length = alltoall_reach(all, dest_stride, size),
                  .source_length = alltoall_reach(all, source_stride, size),
                  .size = sy_bytes(size, count));
    if (count && sy_group_spans(group) && !sy_coll_is_staged(dest, source)) {
        sy_alltoall_nodes(group, dest, source,
                          &(struct sy_blocks){size, count, dest_stride, source_stride});
        return;
    }
    sy_group_sync(group);
    if (!count)
        return;
    for (int step = 0; step < members; step++) {
        int i = sy_data_after(group, step);
        sy_get_strided(SHMEM_CTX_DEFAULT, sy_block(dest, i, dest_stride, count),
                       sy_block(source, me, source_stride, count), dest_stride, source_stride, size,
                       count, sy_members_pe(&group->members, i), SY_BLOCKING);
    }
    sy_group_sync(group);
}
