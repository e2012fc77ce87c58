/* What the members on a node have together: see reduce.h. */
#include "coll/data.h"
#include "coll/reduce.h"

/* A piece: SY_PIECE bytes at most. */
static void reduce_own_piece(const struct sy_group *group, struct sy_operation op, char *dest,
                             const char *source, size_t count)
{
    int last = sy_group_locals(group) - 1;
    size_t length = count * op.size;
    struct sy_piece room[2], sum;
    const void *left = sy_data_look(group, sy_group_mate(group, 0), source, length, room[0].bytes);

    for (int k = 1; k <= last; k++) {
        void *to = k < last ? sum.bytes : dest;
        op.kernel(to, left,
                  sy_data_look(group, sy_group_mate(group, k), source, length, room[1].bytes),
                  count);
        left = to;
    }
    if (!last)
        sy_data_copy(dest, left, length);
}

void sy_reduce_own(const struct sy_group *group, struct sy_operation op, char *dest,
                   const char *source, size_t count)
{
    size_t piece = SY_PIECE / op.size;

    for (size_t at = 0; at < count; at += piece) {
        size_t n = count - at < piece ? count - at : piece, offset = at * op.size;
        reduce_own_piece(group, op, dest + offset, source + offset, n);
    }
}
