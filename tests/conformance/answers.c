/* The manual pages' answers to questions that the specification leaves open: numbers of contexts,
 * unknown option bits, the number of teams, reads after a fence, a broadcast in place. */
#include "check.h"

static int me, npes;
static long word, from[4], flags[64];

/* shmem_team_get_config(3), shmem_team_split_strided(3), shmem_ctx_create(3). */
static void contexts(void)
{
    static const int asked[] = {0, -1, 1, 1000000000};
    shmem_team_config_t config, got;
    shmem_team_t team;
    shmem_ctx_t ctx;

    for (int i = 0; i < 4; i++) {
        config.num_contexts = asked[i];
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, &config,
                                       SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
        CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0);
        CHECK(got.num_contexts == asked[i]);
        CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
        shmem_ctx_long_p(ctx, &word, i, (me + 1) % npes);
        shmem_ctx_destroy(ctx);
        shmem_team_destroy(team);
    }
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, SHMEM_TEAM_NUM_CONTEXTS,
                                   &team) == 0);
    shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got);
    CHECK(got.num_contexts == 0);
    shmem_team_destroy(team);
}

static void unknown_bits(void)
{
    shmem_team_config_t config = {3};
    shmem_team_t team;
    shmem_ctx_t ctx;

    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, &config, ~0L, &team) == 0);
    config.num_contexts = 0;
    CHECK(shmem_team_get_config(team, ~0L, &config) == 0 && config.num_contexts == 3);
    shmem_team_destroy(team);
    CHECK(shmem_ctx_create(1L << 40, &ctx) == 0);
    shmem_ctx_destroy(ctx);
    void *block = shmem_malloc_with_hints(64, 1L << 40);
    CHECK(block);
    shmem_free(block);
}

/* SHMEM_TEAMS_MAX is 256 by default, besides the predefined teams. */
static void number_of_teams(void)
{
    enum { MOST = 300 };
    static shmem_team_t teams[MOST];
    int made = 0;

    while (made < MOST &&
           !shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &teams[made]))
        made++;
    CHECK(made == 256);
    while (made-- > 0)
        shmem_team_destroy(teams[made]);
    for (int range = 0; range >= -1; range--) {
        shmem_team_t row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, range, NULL, 0, &row, NULL, 0, &column) != 0);
        CHECK(row == SHMEM_TEAM_INVALID && column == SHMEM_TEAM_INVALID);
    }
}

/* shmem_fence(3): a PE that waits for a value sent after a fence finds what was sent before it. */
static void reads_after_fence(void)
{
    int to = (me + 1) % npes;
    long seen;

    shmem_barrier_all();
    for (long i = 1; i <= 3000; i++) {
        long source[2] = {i, -i};
        if (i % 3 == 0)
            shmem_long_put_nbi(from, source, 2, to);
        else if (i % 3 == 1)
            shmem_long_put(from, source, 2, to);
        else
            shmem_long_atomic_set(from, i, to), shmem_long_p(&from[1], -i, to);
        shmem_fence();
        CHECK(shmem_long_atomic_fetch(from, to) == i);
        shmem_long_get(&seen, &from[1], 1, to);
        CHECK(seen == -i && shmem_long_g(from, to) == i);
    }
    shmem_barrier_all();
}

/* shmem_broadcast(3): dest may be source. */
static void broadcast_in_place(void)
{
    long *large = shmem_malloc(50000 * sizeof *large);

    for (int root = 0; root < npes; root++) {
        int wrong = 0;
        for (int i = 0; i < 50000; i++)
            large[i] = me * 100000L + i;
        for (int i = 0; i < 64; i++)
            flags[i] = me * 100 + i;
        shmem_sync_all();
        shmem_long_broadcast(SHMEM_TEAM_WORLD, flags, flags, 64, root);
        shmem_long_broadcast(SHMEM_TEAM_WORLD, large, large, 50000, root);
        for (int i = 0; i < 50000; i++)
            wrong += large[i] != root * 100000L + i || flags[i % 64] != root * 100 + i % 64;
        CHECK(!wrong);
        shmem_sync_all();
    }
    shmem_free(large);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    contexts();
    unknown_bits();
    number_of_teams();
    reads_after_fence();
    broadcast_in_place();
    int status = check_end("answers");
    shmem_finalize();
    return status;
}
