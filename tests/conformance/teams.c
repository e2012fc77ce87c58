/* Teams (9.4) and contexts on them (9.5): membership, numbering, invalid arguments, exhaustion,
 * nesting, hundreds of cycles; that contexts translate PE numbers and complete by themselves;
 * sessions (9.9). */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

static shmem_team_t world = SHMEM_TEAM_WORLD, shared = SHMEM_TEAM_SHARED, none = SHMEM_TEAM_INVALID;
static shmem_ctx_t no_context = SHMEM_CTX_INVALID, default_context = SHMEM_CTX_DEFAULT;
static int me, npes;

static void check_predefined(void)
{
    CHECK(shmem_team_my_pe(world) == me && shmem_team_n_pes(world) == npes);
    int in_shared = shmem_team_my_pe(shared), shared_size = shmem_team_n_pes(shared);
    CHECK(in_shared >= 0 && in_shared < shared_size && shared_size <= npes);
    CHECK(shmem_team_my_pe(none) == -1 && shmem_team_n_pes(none) == -1);
    static long word;
    long *heap = shmem_malloc(sizeof *heap);
    for (int i = 0; i < shared_size; i++) {
        int pe = shmem_team_translate_pe(shared, i, world);
        CHECK(pe >= 0 && shmem_ptr(heap, pe) != NULL);
        CHECK(shmem_team_ptr(shared, heap, i) == shmem_ptr(heap, pe));
    }
    CHECK(shmem_team_ptr(world, &word, me) == &word);
    CHECK(shmem_team_ptr(none, heap, 0) == NULL);
    CHECK(shmem_team_translate_pe(world, me, none) == -1);
    CHECK(shmem_team_translate_pe(none, 0, world) == -1);
    CHECK(shmem_team_translate_pe(world, npes, world) == -1);
    CHECK(shmem_team_translate_pe(world, -1, world) == -1);
    shmem_team_destroy(none);
    shmem_free(heap);
}

/* A team by start, stride and size; everything that can be asked about it. */
static void check_strided(int start, int stride, int size)
{
    shmem_team_t team = (shmem_team_t)&world;
    int mine = -1;

    CHECK(shmem_team_split_strided(world, start, stride, size, NULL, 0, &team) == 0);
    for (int i = 0; i < size; i++)
        if (start + i * stride == me)
            mine = i;
    CHECK(shmem_team_my_pe(team) == mine);
    CHECK((team == none) == (mine < 0));
    if (mine >= 0) {
        CHECK(shmem_team_n_pes(team) == size);
        for (int i = 0; i < size; i++) {
            CHECK(shmem_team_translate_pe(team, i, world) == start + i * stride);
            CHECK(shmem_team_translate_pe(world, start + i * stride, team) == i);
        }
        CHECK(shmem_team_translate_pe(team, size, world) == -1);
        CHECK(shmem_team_sync(team) == 0);
        CHECK(shmem_sync(team) == 0);
        shmem_team_destroy(team);
    }
}

static void check_splits(void)
{
    check_strided(0, 1, npes);
    check_strided(npes - 1, -1, npes);
    check_strided(npes - 1, 0, 1);
    check_strided(0, 77, 1);
    check_strided(0, 2, (npes + 1) / 2);
    check_strided(npes - 1, -2, (npes + 1) / 2);
    if (npes > 1)
        check_strided(1, 2, npes / 2);
    if (npes > 2)
        check_strided(1, 1, npes - 2);
}

static void check_invalid(void)
{
    static const int bad[][3] = {
        {-1, 1, 1},      {0, 1, 0},       {0, 1, -1},      {0, 0, 2},       {0, -1, 2},
        {INT_MAX, 1, 1}, {0, INT_MIN, 2}, {0, INT_MAX, 2}, {0, 1, INT_MAX}, {0, INT_MAX, INT_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        shmem_team_t team = world;
        CHECK(shmem_team_split_strided(world, bad[i][0], bad[i][1], bad[i][2], NULL, 0, &team) !=
              0);
        CHECK(team == none);
    }
    shmem_team_t team = world, other = world;
    CHECK(shmem_team_split_strided(world, npes, 1, 1, NULL, 0, &team) != 0 && team == none);
    CHECK(shmem_team_split_strided(world, 0, 1, npes + 1, NULL, 0, &team) != 0 && team == none);
    team = world;
    CHECK(shmem_team_split_strided(none, 0, 1, 1, NULL, 0, &team) != 0 && team == none);
    team = world;
    CHECK(shmem_team_split_2d(none, 1, NULL, 0, &team, NULL, 0, &other) != 0);
    CHECK(team == none && other == none);
    CHECK(shmem_team_split_2d(world, 0, NULL, 0, &team, NULL, 0, &other) != 0);
}

static void check_2d(int xrange)
{
    shmem_team_t x = none, y = none;
    int width = xrange < npes ? xrange : npes;

    CHECK(shmem_team_split_2d(world, xrange, NULL, 0, &x, NULL, 0, &y) == 0);
    CHECK(shmem_team_my_pe(x) == me % width && shmem_team_my_pe(y) == me / width);
    int row = me / width * width, left = npes - row;
    CHECK(shmem_team_n_pes(x) == (left < width ? left : width));
    CHECK(shmem_team_n_pes(y) == (npes - me % width + width - 1) / width);
    CHECK(shmem_team_translate_pe(x, 0, world) == row);
    CHECK(shmem_team_translate_pe(y, 0, world) == me % width);
    CHECK(shmem_team_translate_pe(x, shmem_team_my_pe(x), y) == shmem_team_my_pe(y));
    for (int i = 0; i < 20; i++) {
        CHECK(shmem_team_sync(i % 2 ? x : y) == 0);
        CHECK(shmem_team_sync(i % 2 ? y : x) == 0);
    }
    /* A team of a team, and the parent gone before its child. */
    shmem_team_t child = none;
    CHECK(shmem_team_split_strided(x, shmem_team_n_pes(x) - 1, -1, shmem_team_n_pes(x), NULL, 0,
                                   &child) == 0);
    CHECK(shmem_team_my_pe(child) == shmem_team_n_pes(x) - 1 - shmem_team_my_pe(x));
    shmem_team_destroy(x);
    CHECK(shmem_team_sync(child) == 0);
    CHECK(shmem_team_translate_pe(child, shmem_team_my_pe(child), world) == me);
    shmem_team_destroy(child);
    shmem_team_destroy(y);
}

static void check_config(void)
{
    shmem_team_config_t config = {.num_contexts = 3}, got = {.num_contexts = -7};
    shmem_team_t team;

    CHECK(shmem_team_split_strided(world, 0, 1, npes, &config, SHMEM_TEAM_NUM_CONTEXTS, &team) ==
          0);
    CHECK(shmem_team_get_config(team, 0, NULL) == 0);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 3);
    shmem_team_destroy(team);
    config.num_contexts = 12345;
    CHECK(shmem_team_split_strided(world, 0, 1, npes, &config, 0, &team) == 0);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 0);
    shmem_team_destroy(team);
    got.num_contexts = -7;
    CHECK(shmem_team_get_config(none, SHMEM_TEAM_NUM_CONTEXTS, &got) != 0 &&
          got.num_contexts == -7);
    CHECK(shmem_team_get_config(world, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 &&
          got.num_contexts == 0);
}

/* Overlapping teams of changing members, synchronised in between. */
static void check_cycles(void)
{
    for (int i = 0; i < 300; i++) {
        int start = i % npes, size = 1 + (i / 3) % (npes - start);
        shmem_team_t team = none;
        CHECK(shmem_team_split_strided(world, start, 1, size, NULL, 0, &team) == 0);
        for (int k = 0; team != none && k < i % 4; k++)
            CHECK(shmem_team_sync(team) == 0);
        if (team != none)
            shmem_team_destroy(team);
        if (i % 7 == 0)
            shmem_sync_all();
    }
}

/* Creates teams until none is left: the same answer on every PE, and room again afterwards. */
static void check_exhaustion(void)
{
    shmem_team_t teams[5000];
    static long failed_at;
    int made = 0;

    /* PE 0 holds one more than the others. */
    shmem_team_t own = none;
    CHECK(shmem_team_split_strided(world, 0, 1, 1, NULL, 0, &own) == 0);
    while (made < 5000 && shmem_team_split_strided(world, 0, 1, npes, NULL, 0, &teams[made]) == 0)
        made++;
    CHECK(made > 100 && made < 5000);
    CHECK(teams[made] == none);
    failed_at = made;
    shmem_barrier_all();
    CHECK(shmem_long_g(&failed_at, 0) == made);
    shmem_barrier_all();
    while (made)
        shmem_team_destroy(teams[--made]);
    if (own != none)
        shmem_team_destroy(own);
    check_strided(0, 1, npes);
}

static void check_contexts(void)
{
    static long word, counter;
    shmem_team_t reversed, got;
    shmem_ctx_t ctx, other;

    CHECK(shmem_team_split_strided(world, npes - 1, -1, npes, NULL, 0, &reversed) == 0);
    static const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        long stamp = 1000 * (long)(i + 1);
        CHECK(shmem_team_create_ctx(reversed, options[i], &ctx) == 0);
        CHECK(shmem_ctx_create(options[i], &other) == 0);
        CHECK(shmem_ctx_get_team(ctx, &got) == 0 && got == reversed);
        CHECK(shmem_ctx_get_team(other, &got) == 0 && got == world);
        shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH,
                                &(shmem_ctx_session_config_t){.total_ops = 3},
                                SHMEM_CTX_SESSION_TOTAL_OPS);
        word = counter = 0;
        shmem_barrier_all();
        int neighbour = (shmem_team_my_pe(reversed) + 1) % npes; /* PE me - 1 of the job */
        shmem_ctx_long_p(ctx, &word, stamp + me, neighbour);
        shmem_ctx_long_atomic_add(ctx, &counter, 1, neighbour);
        shmem_ctx_long_atomic_inc(other, &counter, (me + 1) % npes);
        shmem_ctx_session_stop(ctx);
        shmem_ctx_pe_quiet(ctx, &neighbour, 1);
        CHECK(shmem_ctx_long_g(ctx, &word, neighbour) == stamp + me);
        shmem_ctx_quiet(other);
        shmem_barrier_all();
        CHECK(word == stamp + (me + 1) % npes);
        CHECK(counter == 2);
        shmem_barrier_all();
        shmem_ctx_long_put_nbi(ctx, &word, &stamp, 1, neighbour);
        shmem_ctx_destroy(ctx); /* completes the put */
        if (i % 2)
            shmem_ctx_destroy(other);
        shmem_barrier_all();
        CHECK(word == stamp);
        shmem_barrier_all();
    }
    CHECK(shmem_team_create_ctx(reversed, 0, &ctx) == 0); /* dies with its team */
    shmem_team_destroy(reversed);
    ctx = default_context;
    CHECK(shmem_team_create_ctx(none, 0, &ctx) != 0 && ctx == no_context);
    CHECK(shmem_ctx_get_team(default_context, &got) == 0 && got == world);
    got = world;
    CHECK(shmem_ctx_get_team(no_context, &got) != 0 && got == none);
    shmem_ctx_destroy(no_context);
    shmem_ctx_session_start(no_context, 0, NULL, 0);
    shmem_ctx_session_stop(no_context);
    shmem_ctx_session_start(default_context, 0, NULL, 0);
    shmem_ctx_session_stop(default_context);
    shmem_ctx_session_stop(default_context);
}

static void check_many_contexts(void)
{
    enum { MANY = 10000 };
    shmem_ctx_t *ctx = malloc(MANY * sizeof *ctx);
    int made = 0;

    for (int round = 0; round < 2; round++) {
        for (made = 0; made < MANY && shmem_ctx_create(0, &ctx[made]) == 0; made++)
            ;
        CHECK(made == MANY || ctx[made] == no_context);
        while (made)
            shmem_ctx_destroy(ctx[--made]);
    }
    free(ctx);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    check_predefined();
    check_splits();
    check_invalid();
    for (int xrange = 1; xrange <= npes + 1; xrange++)
        check_2d(xrange);
    check_config();
    check_cycles();
    check_exhaustion();
    check_contexts();
    check_many_contexts();
    /* Left open on purpose, over the end of the library and a new start. */
    shmem_team_t left;
    shmem_ctx_t left_too;
    CHECK(shmem_team_split_strided(world, 0, 1, npes, NULL, 0, &left) == 0);
    CHECK(shmem_team_create_ctx(left, 0, &left_too) == 0);
    shmem_finalize();
    shmem_init();
    check_splits();
    check_2d(2);
    int status = check_end("teams");
    shmem_finalize();
    return status;
}
