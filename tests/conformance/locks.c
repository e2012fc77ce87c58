/* Locks (9.13): mutual exclusion, what a section has put is there in the next section, order of
 * arrival, shmem_test_lock, many locks in static memory and in the heap, and a lock that no PE
 * holds is 0 again on every PE. Sections change their numbers without atomics. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { LOCKS = 48, SECTIONS = 1200, PAIRS = 600, TRIALS = 6, WORDS = 700 };

static long static_locks[LOCKS];
static long *heap_locks;
static int me, npes;

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void check_all_clear(void)
{
    shmem_barrier_all();
    for (int i = 0; i < LOCKS; i++) {
        CHECK(static_locks[i] == 0);
        CHECK(heap_locks[i] == 0);
    }
    shmem_barrier_all();
}

/* ---- exclusion ---- */

/* Section number `count` writes its number all over an array of another PE, without waiting for
 * completion; the next section finds it there. */
static void section(long *count, long *inside, long *data)
{
    static long mine[WORDS]; /* read until the section's end, which is after this function's */
    long found[WORDS], section = shmem_long_g(count, 0);
    int holder = (int)(section % npes), complete = 1;

    CHECK(shmem_long_atomic_fetch_inc(inside, 0) == 0);
    shmem_long_get(found, data, WORDS, (holder + npes - 1) % npes);
    for (int i = 0; i < WORDS; i++) {
        complete &= found[i] == section;
        mine[i] = section + 1;
    }
    CHECK(complete);
    if (section % 16 == 0) /* long enough for one that does not wait for its end to be seen */
        pause_ms(0);
    shmem_long_put_nbi(data, mine, WORDS, holder);
    shmem_long_p(count, section + 1, 0);
    CHECK(shmem_long_atomic_fetch_add(inside, -1, 0) == 1);
}

/* Takes the lock by waiting for it (every), by trying again and again (none), or alternately. */
enum way { WAIT, TRY, MIX };

static void take(long *lock, enum way way, int round)
{
    int held;

    if (way == WAIT || (way == MIX && (round + me) % 2)) {
        shmem_set_lock(lock);
        return;
    }
    do
        held = shmem_test_lock(lock);
    while (held == 1);
    CHECK(held == 0);
}

static void check_exclusion(long *lock, enum way way, const char *name)
{
    static long count, inside, data[WORDS];
    int rounds = SECTIONS / npes + 1;

    check_case = name;
    count = inside = 0;
    memset(data, 0, sizeof data);
    shmem_barrier_all();
    for (int round = 0; round < rounds; round++) {
        take(lock, way, round);
        section(&count, &inside, data);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(&count, 0) == (long)npes * rounds);
    check_all_clear();
}

/* ---- order ---- */

/* PE 0 holds the lock; the others come one after another, in an order that differs in each trial,
 * and record the order in which they got it. That one PE has come before the next is assumed after
 * a pause: false if the pause was too short, as it may be on a busy machine. */
static int orderly_trial(long *lock, int trial, long delay)
{
    static long go, got[1 + 64], count;
    int waiters = npes - 1, turn = (me + trial * 3) % (waiters ? waiters : 1), orderly = 1;

    count = 0;
    go = -1;
    shmem_barrier_all();
    if (me == 0)
        shmem_set_lock(lock);
    shmem_barrier_all();
    if (me == 0) {
        for (int next = 0; next < waiters; next++) {
            for (int pe = 1; pe < npes; pe++)
                shmem_long_atomic_set(&go, next, pe);
            shmem_quiet();
            pause_ms(delay);
        }
    } else {
        shmem_long_wait_until(&go, SHMEM_CMP_GE, turn);
        shmem_set_lock(lock);
        long place = shmem_long_g(&count, 0);
        shmem_long_p(&got[place], turn, 0);
        shmem_long_p(&count, place + 1, 0);
    }
    shmem_clear_lock(lock);
    shmem_barrier_all();
    CHECK(shmem_long_g(&count, 0) == waiters);
    for (int i = 0; i < waiters; i++)
        orderly &= shmem_long_g(&got[i], 0) == i;
    shmem_barrier_all();
    return orderly;
}

/* All PEs see the same result of a trial, so all go on alike. */
static void check_order(long *lock)
{
    long delay = 5;
    int trial = 0;

    check_case = "order of arrival";
    if (npes > 64)
        return;
    while (trial < TRIALS && delay <= 320) {
        if (orderly_trial(lock, trial, delay)) {
            trial++;
        } else {
            trial = 0;
            delay *= 2;
        }
    }
    CHECK(trial == TRIALS);
    check_all_clear();
}

/* ---- trying ---- */

/* All try at once and one gets it. Those that fail are in no queue: after the release the lock is
 * free for any PE. */
static void check_try(long *lock)
{
    static long taken;

    check_case = "test_lock";
    for (int round = 0; round < 40; round++) {
        taken = 0;
        shmem_barrier_all();
        int held = shmem_test_lock(lock);
        CHECK(held == 0 || held == 1);
        if (!held)
            shmem_long_atomic_inc(&taken, 0);
        shmem_barrier_all();
        CHECK(shmem_long_atomic_fetch(&taken, 0) == 1);
        if (held)
            CHECK(shmem_test_lock(lock) == 1);
        shmem_barrier_all();
        if (!held)
            shmem_clear_lock(lock);
        shmem_barrier_all();
        if (me == round % npes) {
            CHECK(shmem_test_lock(lock) == 0);
            shmem_clear_lock(lock);
            shmem_set_lock(lock);
            shmem_clear_lock(lock);
        }
        shmem_barrier_all();
    }
    check_all_clear();
}

/* ---- many ---- */

/* Each PE holds two locks at a time, always in the same order, so that no PEs wait in a circle;
 * each lock protects a number of its own on a PE of its own. */
static void check_many(void)
{
    static long counts[2 * LOCKS], adds[2 * LOCKS];
    unsigned state = 12345u + (unsigned)me;

    check_case = "many locks";
    memset(counts, 0, sizeof counts);
    memset(adds, 0, sizeof adds);
    shmem_barrier_all();
    for (int round = 0; round < PAIRS; round++) {
        int chosen[2];
        state = state * 1103515245u + 12345u;
        chosen[0] = (int)(state >> 16) % LOCKS;
        chosen[1] = LOCKS + (int)(state >> 22) % LOCKS;
        shmem_set_lock(&static_locks[chosen[0]]);
        shmem_set_lock(&heap_locks[chosen[1] - LOCKS]);
        for (int i = 0; i < 2; i++) {
            int at = chosen[i], pe = at % npes;
            shmem_long_p(&counts[at], shmem_long_g(&counts[at], pe) + 1, pe);
            shmem_long_atomic_inc(&adds[at], pe);
        }
        shmem_clear_lock(&static_locks[chosen[0]]);
        shmem_clear_lock(&heap_locks[chosen[1] - LOCKS]);
    }
    shmem_barrier_all();
    long all = 0;
    for (int i = 0; i < 2 * LOCKS; i++) {
        CHECK(counts[i] == adds[i]);
        all += shmem_long_g(&counts[i], i % npes);
    }
    CHECK(all == 2L * PAIRS * npes);
    check_all_clear();
}

/* The memory of a lock that was used is ordinary memory again, and can become a lock again. */
static void check_reuse(void)
{
    check_case = "reuse";
    for (int round = 0; round < 5; round++) {
        long *lock = shmem_calloc(3, sizeof *lock);
        for (int i = 0; i < 20; i++) {
            shmem_set_lock(&lock[i % 3]);
            shmem_clear_lock(&lock[i % 3]);
        }
        shmem_barrier_all();
        CHECK(lock[0] == 0 && lock[1] == 0 && lock[2] == 0);
        memset(lock, 0x5a, 3 * sizeof *lock);
        shmem_free(lock);
    }
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    heap_locks = shmem_calloc(LOCKS, sizeof *heap_locks);
    check_exclusion(&static_locks[3], WAIT, "set_lock, static");
    check_exclusion(&heap_locks[5], WAIT, "set_lock, heap");
    check_exclusion(&static_locks[7], TRY, "test_lock alone");
    check_exclusion(&heap_locks[9], MIX, "set_lock and test_lock");
    check_order(&static_locks[0]);
    check_order(&heap_locks[LOCKS - 1]);
    check_try(&static_locks[1]);
    check_try(&heap_locks[1]);
    check_many();
    check_reuse();
    shmem_free(heap_locks);
    int status = check_end("locks");
    shmem_finalize();
    return status;
}
