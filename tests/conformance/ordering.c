/* Ordering and completion (9.12), barriers (9.10), and progress without the target's help (4.1). */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define WORDS  4096
#define ROUNDS 200

static long data[WORDS], flag, seen, busy_word, counter;
static int me, npes, to;

/* A PE that sees what was sent after a fence finds the data sent before it. */
static void check_fence(void)
{
    static long source[WORDS];

    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++)
            source[i] = round;
        shmem_long_put_nbi(data, source, WORDS, to);
        if (round % 2)
            shmem_fence();
        else
            shmem_ctx_fence(SHMEM_CTX_DEFAULT);
        shmem_long_atomic_set(&flag, round, to);
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
        CHECK(data[0] == round && data[WORDS / 2] == round && data[WORDS - 1] == round);
        shmem_quiet();
        shmem_sync_all();
    }
}

/* After quiet a third PE sees the data once it is notified. */
static void check_quiet_for_third(void)
{
    int third = (me + 2) % npes;

    seen = 0;
    shmem_barrier_all();
    for (long round = 1; round <= ROUNDS; round++) {
        shmem_long_put_nbi(&data[round], &(long){round * 100 + me}, 1, to);
        if (round % 3 == 0)
            shmem_quiet();
        else if (round % 3 == 1)
            shmem_pe_quiet(&to, 1);
        else
            shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, (int[]){to, me, to}, 3);
        shmem_long_atomic_set(&seen, round, third);
        shmem_long_wait_until(&seen, SHMEM_CMP_GE, round);
        int told_by = (me + 2 * npes - 2) % npes, holder = (told_by + 1) % npes;
        CHECK(shmem_long_g(&data[round], holder) == round * 100 + told_by);
        shmem_sync_all();
    }
    shmem_pe_quiet(NULL, 0);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
}

/* Two PEs each write, complete, and read the other's word: at least one must see the other's write.
 */
static void check_quiet_is_complete(void)
{
    static long mine[2], other[2];

    if (npes < 2)
        return;
    for (long round = 1; round <= 2000; round++) {
        long got = 0;
        shmem_sync_all();
        if (me < 2) {
            shmem_long_p(&mine[me], round, 1 - me);
            shmem_quiet();
            got = shmem_long_g(&mine[1 - me], me);
            shmem_long_p(&other[me], got, 0);
        }
        shmem_barrier_all();
        if (me == 0)
            CHECK(other[0] == round || other[1] == round);
    }
}

/* No PE leaves a barrier before all have entered, with random delays. */
static void check_barriers(void)
{
    srand((unsigned)me + 1);
    counter = 0;
    shmem_barrier_all();
    for (long round = 1; round <= ROUNDS; round++) {
        if (rand() % 8 == 0)
            nanosleep(&(struct timespec){.tv_nsec = rand() % 300000}, NULL);
        shmem_long_atomic_inc(&counter, 0);
        if (round % 2) {
            shmem_barrier_all();
        } else {
            shmem_quiet();
            shmem_sync_all();
        }
        CHECK(shmem_long_atomic_fetch(&counter, 0) >= round * npes);
        shmem_sync_all();
    }
}

/* A PE that computes and makes no call is still served. */
static void check_progress(void)
{
    busy_word = 0;
    shmem_barrier_all();
    if (me == npes - 1 && npes > 1) {
        struct timespec begin, now;
        volatile unsigned long work = 0;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
            for (int i = 0; i < 100000; i++)
                work = work + 1;
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec - begin.tv_sec < 60 &&
                 *(volatile long *)&busy_word < (npes - 1) * 101L);
        CHECK(busy_word == (npes - 1) * 101L);
    } else {
        for (int i = 0; i < 100; i++)
            shmem_long_atomic_add(&busy_word, 1, npes - 1);
        shmem_fence();
        CHECK(shmem_long_atomic_fetch_add(&busy_word, 1, npes - 1) >= 100);
        shmem_quiet();
    }
    shmem_barrier_all();
}

/* Routines that 1.4 removed: they leave all as it is. */
static void check_removed(void)
{
    data[0] = me;
    shmem_set_cache_inv();
    shmem_set_cache_line_inv(&data[0]);
    shmem_udcflush();
    shmem_udcflush_line(&data[0]);
    shmem_clear_cache_line_inv(&data[0]);
    shmem_clear_cache_inv();
    CHECK(data[0] == me);
    shmem_barrier_all();
    CHECK((shmem_swap)(&data[0], me + npes, to) == to);
    shmem_barrier_all();
    CHECK(data[0] == (me + npes - 1) % npes + npes);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    check_fence();
    check_quiet_for_third();
    check_quiet_is_complete();
    check_barriers();
    check_progress();
    check_removed();
    int status = check_end("ordering");
    shmem_finalize();
    return status;
}
