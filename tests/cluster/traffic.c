/* One collective routine with many bytes, checked: traffic ROUTINE BYTES TEAM. The team: "all";
 * "odd", the PEs with an odd number; "third", every third PE from PE 1 on. BYTES are those of a
 * PE's part; of a collect member i has i % 9 ninths more, and member 1 none. The first PE prints
 * how many bytes a PE's dest has. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, size;

static unsigned char byte_of(int i, size_t k)
{
    return (unsigned char)((size_t)i * 31 + k * 7 + (k >> 9));
}

static void fill(unsigned char *to, size_t length)
{
    for (size_t k = 0; k < length; k++)
        to[k] = byte_of(me, k);
}

/* `length` bytes of member i's source, from `from` on. */
static void same(const char *what, const unsigned char *at, int i, size_t from, size_t length)
{
    for (size_t k = 0; k < length; k++)
        if (at[k] != byte_of(i, from + k)) {
            fprintf(stderr, "%s: member %d has %d for byte %zu of member %d's %zu\n", what, me,
                    at[k], k, i, length);
            shmem_global_exit(3);
        }
}

static size_t part_of(int i, size_t bytes)
{
    return i == 1 ? 0 : bytes + (size_t)(i % 9) * (bytes / 9);
}

static size_t broadcast(shmem_team_t team, unsigned char *dest, unsigned char *source, size_t bytes)
{
    int root = size / 2;

    fill(source, bytes);
    shmem_broadcastmem(team, dest, source, bytes, root);
    same("broadcast", dest, root, 0, bytes);
    return bytes;
}

static size_t fcollect(shmem_team_t team, unsigned char *dest, unsigned char *source, size_t bytes)
{
    fill(source, bytes);
    shmem_fcollectmem(team, dest, source, bytes);
    for (int i = 0; i < size; i++)
        same("fcollect", dest + (size_t)i * bytes, i, 0, bytes);
    return bytes * (size_t)size;
}

static size_t collect(shmem_team_t team, unsigned char *dest, unsigned char *source, size_t bytes)
{
    size_t at = 0;

    fill(source, part_of(me, bytes));
    shmem_collectmem(team, dest, source, part_of(me, bytes));
    for (int i = 0; i < size; at += part_of(i, bytes), i++)
        same("collect", dest + at, i, 0, part_of(i, bytes));
    return at;
}

static size_t alltoall(shmem_team_t team, unsigned char *dest, unsigned char *source, size_t bytes)
{
    fill(source, bytes * (size_t)size);
    shmem_alltoallmem(team, dest, source, bytes);
    for (int i = 0; i < size; i++)
        same("alltoall", dest + (size_t)i * bytes, i, (size_t)me * bytes, bytes);
    return bytes * (size_t)size;
}

/* The same by elements, with a gap after each in dest, which nobody writes to. */
static size_t strided(shmem_team_t team, unsigned char *dest, unsigned char *source, size_t bytes)
{
    size_t words = bytes / 16;
    long *to = (long *)(void *)dest, *from = (long *)(void *)source;

    for (size_t k = 0; k < words * (size_t)size; k++)
        from[k] = (long)me << 32 | (long)k;
    memset(dest, 0xff, words * 16 * (size_t)size);
    shmem_team_sync(team);
    shmem_long_alltoalls(team, to, from, 2, 1, words);
    for (int i = 0; i < size; i++)
        for (size_t k = 0; k < words; k++) {
            size_t at = 2 * ((size_t)i * words + k);
            if (to[at] != ((long)i << 32 | (long)((size_t)me * words + k)) || to[at + 1] != -1) {
                fprintf(stderr, "strided: member %d has %lx, %lx from %d at %zu\n", me,
                        (unsigned long)to[at], (unsigned long)to[at + 1], i, k);
                shmem_global_exit(3);
            }
        }
    return bytes / 2 * (size_t)size;
}

static void same_sums(const char *what, const long *sum, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (sum[k] != (long)size * (size - 1) / 2 + (long)size * (long)k) {
            fprintf(stderr, "%s: member %d has %ld at %zu\n", what, me, sum[k], k);
            shmem_global_exit(3);
        }
}

static size_t reduce(shmem_team_t team, unsigned char *dest, unsigned char *source, size_t bytes)
{
    size_t count = bytes / sizeof(long);
    long *from = (long *)(void *)source, *to = (long *)(void *)dest;

    for (size_t k = 0; k < count; k++)
        from[k] = me + (long)k;
    shmem_long_sum_reduce(team, to, from, count);
    same_sums("reduce", to, count);
    return bytes;
}

static const struct routine {
    const char *name;
    size_t (*run)(shmem_team_t, unsigned char *, unsigned char *, size_t);
} routines[] = {{"broadcast", broadcast}, {"fcollect", fcollect}, {"collect", collect},
                {"alltoall", alltoall},   {"strided", strided},   {"reduce", reduce},
                {"place", reduce}};

static shmem_team_t team_of(const char *name)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int n = shmem_n_pes();

    if (strcmp(name, "odd") == 0)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n / 2, NULL, 0, &team);
    else if (strcmp(name, "third") == 0)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 3, (n + 1) / 3, NULL, 0, &team);
    return team;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    shmem_init();
    size_t bytes = strtoul(argv[2], NULL, 0), room = 2 * bytes * (size_t)shmem_n_pes();
    unsigned char *dest = shmem_malloc(room), *source = shmem_malloc(room);
    shmem_team_t team = team_of(argv[3]);
    if (team != SHMEM_TEAM_INVALID) {
        me = shmem_team_my_pe(team);
        size = shmem_team_n_pes(team);
        for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
            if (strcmp(argv[1], routines[i].name) == 0) {
                int in_place = strcmp(argv[1], "place") == 0; /* a reduction into its source */
                size_t all = routines[i].run(team, dest, in_place ? dest : source, bytes);
                if (me == 0)
                    printf("%zu\n", all);
            }
    }
    shmem_finalize();
    return 0;
}
