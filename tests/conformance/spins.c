/* Waits that programs write themselves: loops around a routine that looks at one's own variable
 * (9.6, 9.7, 9.8, 9.11, 4.1). What others send must arrive meanwhile, and what this PE has issued
 * must leave, even where nobody but the program moves data (SHMEM_PROGRESS=polling). */
#include <stdint.h>

#include "check.h"

#define ROUNDS 20

static long word, copy;
static uint64_t sig;
static long door;
static int me, npes, to;

static void spin_on_fetch(long round)
{
    shmem_long_atomic_set(&word, round, to);
    while (shmem_long_atomic_fetch(&word, me) < round)
        ;
}

static void spin_on_compare_swap(long round)
{
    shmem_long_atomic_add(&word, 1, to);
    while (shmem_long_atomic_compare_swap(&word, round, round, me) != round)
        ;
}

static void spin_on_g(long round)
{
    shmem_long_p(&word, round, to);
    while (shmem_long_g(&word, me) < round)
        ;
}

static void spin_on_get(long round)
{
    static long source[ROUNDS + 1];
    long seen = 0;

    source[round] = round;
    shmem_long_put_nbi(&word, &source[round], 1, to);
    while (seen < round)
        shmem_long_get(&seen, &word, 1, me);
}

static void spin_on_iget(long round)
{
    long seen = 0;

    shmem_long_p(&word, round, to);
    while (seen < round)
        shmem_long_iget(&seen, &word, 1, 1, 1, me);
}

static void spin_on_fetch_nbi(long round)
{
    long seen = 0;

    shmem_long_p(&word, round, to);
    while (seen < round) {
        shmem_long_atomic_fetch_nbi(&seen, &word, me);
        shmem_quiet();
    }
}

static void spin_on_quiet(long round)
{
    shmem_long_p(&word, round, to);
    while (*(volatile long *)&word < round)
        shmem_quiet();
}

static void spin_on_signal(long round)
{
    shmem_long_put_signal(&copy, &round, 1, &sig, (uint64_t)round, SHMEM_SIGNAL_SET, to);
    while (shmem_signal_fetch(&sig) < (uint64_t)round)
        ;
    CHECK(copy == round);
}

static void spin_on_test(long round)
{
    shmem_long_atomic_set(&word, round, to);
    while (!shmem_long_test(&word, SHMEM_CMP_GE, round))
        ;
}

/* The PEs enter one after another; those that wait only try. */
static void spin_on_lock(long round)
{
    (void)round;
    while (shmem_test_lock(&door))
        ;
    shmem_long_p(&word, shmem_long_g(&word, 0) + 1, 0);
    shmem_clear_lock(&door);
    while (me == 0 && shmem_long_g(&word, 0) % npes)
        ;
}

static void run(const char *what, void (*spin)(long))
{
    check_case = what;
    word = 0;
    sig = 0;
    shmem_barrier_all();
    for (long round = 1; round <= ROUNDS; round++) {
        spin(round);
        shmem_sync_all();
    }
    if (spin != spin_on_signal && spin != spin_on_lock)
        CHECK(word == ROUNDS);
    shmem_barrier_all();
    if (spin == spin_on_lock)
        CHECK(shmem_long_g(&word, 0) == (long)ROUNDS * npes);
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    run("atomic_fetch", spin_on_fetch);
    run("atomic_compare_swap", spin_on_compare_swap);
    run("g", spin_on_g);
    run("get", spin_on_get);
    run("iget", spin_on_iget);
    run("atomic_fetch_nbi", spin_on_fetch_nbi);
    run("quiet", spin_on_quiet);
    run("signal_fetch", spin_on_signal);
    run("test", spin_on_test);
    run("test_lock", spin_on_lock);
    int status = check_end("spins");
    shmem_finalize();
    return status;
}
