/* Collective routines with sizes next to those at which another algorithm takes over, and odd ones,
 * on teams of several shapes; every byte is compared with what it must be, and those behind the
 * dest too.
 *
 *   switches MOST    bytes of a member's data, at most */
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

enum { BEHIND = 64, UNTOUCHED = 0xee };

/* Members: from `first` on, `stride` apart, so many, or 0 for as many as there are. */
static const struct shape {
    int first, stride, size;
} shapes[] = {{0, 1, 0}, {0, 3, 0}, {1, 2, 0}, {0, 1, 1}, {0, 1, 2}, {1, 1, 5}};

static const size_t sizes[] = {1,     3,     511,   513,    8191,   8193,   10922,  10923,  16385,
                               32769, 65535, 65537, 131071, 131073, 131137, 262143, 262145, 400001};

static unsigned char *source, *dest;
static size_t room;
static shmem_team_t team;
static int me, members;

/* What a member has at place i. */
static unsigned char byte_of(int member, size_t i)
{
    uint32_t x = ((uint32_t)i + 1) * 2654435761u + (uint32_t)member * 40503u;

    return (unsigned char)((x ^ x >> 15) >> 8);
}

static void fill(size_t length)
{
    for (size_t i = 0; i < length; i++)
        source[i] = byte_of(me, i);
    memset(dest, UNTOUCHED, room + BEHIND);
}

static int is_part(const unsigned char *at, int member, size_t from, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (at[i] != byte_of(member, from + i))
            return 0;
    return 1;
}

/* Nothing was written behind `length` bytes of dest; and nobody writes to it any more. */
static void check_end_of_dest(size_t length)
{
    CHECK(dest[length] == UNTOUCHED && dest[length + BEHIND - 1] == UNTOUCHED);
    shmem_team_sync(team);
}

static void broadcasts(size_t length)
{
    int root = (int)(length % (size_t)members);

    fill(length);
    CHECK(shmem_broadcastmem(team, dest, source, length, root) == 0);
    CHECK(is_part(dest, root, 0, length));
    check_end_of_dest(length);
}

static void collects(size_t length)
{
    size_t all = 0, mine = me % 2 ? length / 2 : length;

    fill(length);
    CHECK(shmem_fcollectmem(team, dest, source, length) == 0);
    for (int i = 0; i < members; i++)
        CHECK(is_part(dest + (size_t)i * length, i, 0, length));
    check_end_of_dest((size_t)members * length);
    fill(length);
    CHECK(shmem_collectmem(team, dest, source, mine) == 0);
    for (int i = 0; i < members; i++) {
        size_t part = i % 2 ? length / 2 : length;
        CHECK(is_part(dest + all, i, 0, part));
        all += part;
    }
    check_end_of_dest(all);
}

static void alltoalls(size_t length)
{
    fill((size_t)members * length);
    CHECK(shmem_alltoallmem(team, dest, source, length) == 0);
    for (int i = 0; i < members; i++)
        CHECK(is_part(dest + (size_t)i * length, i, (size_t)me * length, length));
    check_end_of_dest((size_t)members * length);
}

/* In place every other time. */
static void reductions(size_t length)
{
    unsigned char *to = length % 4 == 1 ? source : dest;
    int right = 1;

    fill(length);
    CHECK(shmem_uchar_xor_reduce(team, to, source, length) == 0);
    for (size_t i = 0; i < length; i++) {
        unsigned char sum = 0;
        for (int k = 0; k < members; k++)
            sum ^= byte_of(k, i);
        right = right && to[i] == sum;
    }
    CHECK(right);
    check_end_of_dest(to == dest ? length : 0);
}

static void try_shape(const struct shape *shape, size_t most)
{
    int npes = shmem_n_pes(), size = shape->size;

    if (!size)
        size = (npes - shape->first + shape->stride - 1) / shape->stride;
    if (size < 1 || shape->first + (size - 1) * shape->stride >= npes)
        return;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, shape->first, shape->stride, size, NULL, 0, &team);
    if (team != SHMEM_TEAM_INVALID) {
        me = shmem_team_my_pe(team);
        members = size;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= most; i++) {
            broadcasts(sizes[i]);
            collects(sizes[i]);
            alltoalls(sizes[i]);
            reductions(sizes[i]);
        }
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    size_t most = argc > 1 ? strtoul(argv[1], NULL, 10) : 131137;
    int bad;

    shmem_init();
    room = most * (size_t)shmem_n_pes();
    source = shmem_malloc(room + BEHIND);
    dest = shmem_malloc(room + BEHIND);
    CHECK(source && dest);
    for (size_t i = 0; source && dest && i < sizeof shapes / sizeof *shapes; i++)
        try_shape(&shapes[i], most);
    bad = check_end("switches");
    shmem_finalize();
    return bad;
}
