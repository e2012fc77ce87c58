/* PEs that compute and make no call take part in what others want of them, and what they have
 * issued themselves arrives, whatever the others do meanwhile (4.1, 3.1). Each case would hang, or
 * end after 20 seconds with failures, if that depended on a call. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define ROUNDS 20
#define MANY   ((size_t)4 << 20) /* bytes: more than is under way at once */

static volatile long released, back, over; /* by puts to a PE that makes no call */
static long done, counter, word;
static int me, npes, last;
static char *there, *here; /* symmetric; private */

/* A put, to what the compiler does not take for constant. */
static void tell(volatile long *what, long value, int pe)
{
    shmem_long_p((long *)(uintptr_t)what, value, pe);
}

/* Computes, without a call of the library, for as long as a test may hang. */
static void compute_until(volatile long *what, long value)
{
    struct timespec t, begin;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 0; i < 100 && *what < value; i++)
            ;
        clock_gettime(CLOCK_MONOTONIC, &t);
    } while (*what < value && t.tv_sec - begin.tv_sec < 20);
    CHECK(*what >= value);
}

/* Long enough for the progress thread of a PE that computes to go to sleep. */
static void let_sleep(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 15000000}, NULL);
}

static void begin(void)
{
    released = back = over = done = 0;
    shmem_barrier_all();
}

/* PE 0 puts to PE 1 and then exchanges messages with the last PE, which answers at once. */
static void among_short_gets(long round)
{
    if (me == 0) {
        tell(&released, round, 1);
        while (shmem_long_g(&done, last) < round)
            ;
    } else if (me == 1) {
        compute_until(&released, round);
        shmem_long_p(&done, round, last);
    } else if (me == last) {
        shmem_long_wait_until(&done, SHMEM_CMP_GE, round);
    }
}

/* PE 0 waits for PE 1 and serves all others meanwhile. */
static void among_requests(long round)
{
    if (me == 0) {
        CHECK(shmem_long_g(&word, 1) == 0);
        CHECK(shmem_long_atomic_fetch(&word, 1) == 0);
        for (int pe = 1; pe < npes; pe++)
            tell(pe == 1 ? &released : &over, round, pe);
    } else if (me == 1) {
        compute_until(&released, round);
    } else {
        while (over < round)
            shmem_long_atomic_fetch_add(&counter, 1, 0);
    }
}

/* Neither PE makes a call after its put. */
static void both_compute(long round)
{
    if (me == 0) {
        tell(&released, round, 1);
        compute_until(&back, round);
    } else if (me == 1) {
        compute_until(&released, round);
        tell(&back, round, 0);
    }
}

static void fill(long round)
{
    for (size_t i = 0; i < MANY; i++)
        here[i] = (char)((size_t)round + i / 512);
}

static void check_all(const char *what, long round)
{
    size_t wrong = 0;

    for (size_t i = 0; i < MANY; i++)
        wrong += what[i] != (char)((size_t)round + i / 512);
    CHECK(wrong == 0);
}

/* Long transfers with a PE that computes. */
static void long_blocking(long round)
{
    if (me == 0) {
        fill(round);
        shmem_putmem(there, here, MANY, 1);
        shmem_quiet();
        memset(here, 0, MANY);
        shmem_getmem(here, there, MANY, 1);
        check_all(here, round);
        tell(&released, round, 1);
    } else if (me == 1) {
        compute_until(&released, round);
    }
}

/* The same from a PE that computes as soon as it has issued the transfers. */
static void long_left_alone(long round)
{
    if (me == 0) {
        fill(round);
        shmem_putmem_nbi(there, here, MANY, 1);
        shmem_fence();
        tell(&released, round, 1);
        compute_until(&back, round);
        shmem_quiet();
    } else if (me == 1) {
        compute_until(&released, round);
        check_all(there, round);
        tell(&back, round, 0);
    }
}

static void rounds(void (*once)(long round), long count)
{
    begin();
    for (long round = 1; round <= count && !check_failed; round++) {
        if (me == 0)
            let_sleep();
        once(round);
    }
    shmem_barrier_all();
}

/* PE 1's first message from PE 0. */
static void first_contact(void)
{
    if (me == 0) {
        let_sleep();
        CHECK(shmem_long_g(&word, 1) == 0);
        tell(&released, 1, 1);
    } else if (me == 1) {
        compute_until(&released, 1);
    }
}

static void run(void)
{
    first_contact();
    there = shmem_malloc(MANY);
    here = malloc(MANY);
    if (npes > 2)
        rounds(among_short_gets, ROUNDS);
    rounds(among_requests, ROUNDS);
    rounds(both_compute, ROUNDS);
    rounds(long_blocking, ROUNDS / 4);
    rounds(long_left_alone, ROUNDS / 4);
    free(here);
    shmem_free(there);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    last = npes - 1;
    if (npes > 1)
        run();
    else
        CHECK(me == 0); /* nobody to serve */
    int status = check_end("computing");
    shmem_finalize();
    return status;
}
