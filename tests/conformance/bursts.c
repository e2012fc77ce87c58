/* PEs that synchronise again and again, at once and after pauses, all of them and in teams that
 * overlap: nobody leaves before all have entered, and what was put before is there.
 *
 *   bursts COUNT SEED      about so many barriers and syncs
 *   bursts COUNT SEED order    also that a sync of two PEs brings what was issued before it, which
 * is more than the specification says */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "dice.h"

enum { MOST_PES = 64, BURST = 200 };

/* In each member: what every PE put before its last barrier, and how many syncs it has entered. */
static long put_by[MOST_PES], entered;

static int me, npes;

static void pause_for(uint64_t microseconds)
{
    struct timespec t = {.tv_nsec = (long)microseconds * 1000};

    nanosleep(&t, NULL);
}

/* One PE comes late now and then. */
static void dawdle(uint64_t one_in)
{
    uint64_t who = any((uint64_t)npes * one_in), length = any(3000);

    if (who == (uint64_t)me)
        pause_for(length);
}

static void barriers(long *turn, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        dawdle(60);
        ++*turn;
        for (int pe = 0; pe < npes; pe++)
            shmem_long_p(&put_by[me], *turn, pe);
        shmem_barrier_all();
        for (int pe = 0; pe < npes; pe++) {
            long seen = __atomic_load_n(&put_by[pe], __ATOMIC_ACQUIRE);
            CHECK(seen == *turn || seen == *turn + 1);
        }
    }
}

/* A sync completes no put, but a PE that has left it can fetch what others stored before they
 * entered. */
static void syncs(shmem_team_t team, uint64_t count)
{
    int size = shmem_team_n_pes(team), mine = shmem_team_my_pe(team);

    for (uint64_t i = 0; i < count; i++) {
        long now = __atomic_add_fetch(&entered, 1, __ATOMIC_RELEASE);
        shmem_team_sync(team);
        int other = shmem_team_translate_pe(team, (mine + 1) % size, SHMEM_TEAM_WORLD);
        if (i % 2 == 0)
            CHECK(shmem_long_g(&entered, other) >= now);
    }
}

static void sync_teams(const shmem_team_t team[3], uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        for (int t = 0; t < 3; t++)
            syncs(team[t], 1 + any(5));
}

/* Puts and additions that are still incomplete at the sync. */
static void unquieted(long count)
{
    static long there[BURST], sum, added;
    int other = 1 - me;

    for (long i = 1; i <= count; i++) {
        uint64_t issued = any(4);
        for (uint64_t k = 0; k < issued; k++)
            shmem_long_p(&there[any(BURST)], i, other);
        uint64_t last = any(BURST);
        shmem_long_p(&there[last], i, other);
        shmem_long_atomic_add(&sum, 1, other);
        added++;
        for (uint64_t k = any(3); k < 3; k++)
            shmem_sync_all();
        CHECK(__atomic_load_n(&there[last], __ATOMIC_ACQUIRE) == i);
        CHECK(__atomic_load_n(&sum, __ATOMIC_ACQUIRE) >= added);
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 20000, turn = 0, done = 0;
    shmem_team_t team[3];

    /* Every PE draws the same number, as long as all draw equally often. */
    dice_state = argc > 2 ? (uint64_t)atol(argv[2]) : 1;
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    if (npes > MOST_PES) {
        fprintf(stderr, "bursts: at most %d PEs\n", MOST_PES);
        shmem_global_exit(2);
    }
    team[0] = SHMEM_TEAM_WORLD;
    for (int t = 1; t < 3; t++)
        CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team[t]));
    while (done < count) {
        uint64_t burst = 1 + any(BURST);
        barriers(&turn, burst);
        dawdle(2);
        sync_teams(team, burst / 4);
        if (any(4) == 0) { /* a later team takes the place of an earlier one */
            shmem_team_destroy(team[2]);
            CHECK(!shmem_team_split_strided(team[1], 0, 1, npes, NULL, 0, &team[2]));
        }
        if (any(3) == 0)
            pause_for(any(3000));
        done += (long)(burst + burst / 4 * 9);
    }
    if (argc > 3 && npes == 2)
        unquieted(count / 4);
    shmem_barrier_all();
    for (int t = 1; t < 3; t++)
        shmem_team_destroy(team[t]);
    int status = check_end("bursts");
    shmem_finalize();
    return status;
}
