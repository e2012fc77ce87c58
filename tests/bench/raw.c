/* Raw limits, see raw.h. This file must not call the library: it is what the library is compared
 * with. */
#include "bench/raw.h"

#include <sched.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/* Keeps the compiler from removing accesses to the memory behind a pointer. */
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

const char *raw_needs_peer(const struct bench *bench)
{
    if (bench->npes < 2)
        return "needs 2 PEs";
    return bench->peer ? NULL : "needs PEs that map each other's memory";
}

double raw_store(struct bench *bench, long n)
{
    atomic_long *word = &bench->peer->raw_word;
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        atomic_store_explicit(word, i, memory_order_relaxed);
    return bench_now() - begin;
}

double raw_load(struct bench *bench, long n)
{
    atomic_long *word = &bench->peer->raw_word;
    double begin = bench_now();
    long sum = 0;

    for (long i = 0; i < n; i++)
        sum += atomic_load_explicit(word, memory_order_relaxed);
    KEEP(sum);
    return bench_now() - begin;
}

/* The smallest function that does what shmem_long_p does for a PE of the same node. */
__attribute__((noinline)) static void store_word(long *word, long value, int pe)
{
    __asm__ volatile("" : : "r"(pe));
    *(volatile long *)word = value;
}

double raw_call_store(struct bench *bench, long n)
{
    long *words = bench->peer->words;
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        store_word(&words[i % BENCH_WORDS], i, 1);
    return bench_now() - begin;
}

double raw_fetch_add(struct bench *bench, long n)
{
    atomic_long *word = &bench->shared->raw_word;
    double begin = bench_now();
    long sum = 0;

    for (long i = 0; i < n; i++)
        sum += atomic_fetch_add(word, 1);
    KEEP(sum);
    return bench_now() - begin;
}

double raw_copy(struct bench *bench, long n)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++) {
        memcpy(bench->peer->block, bench->source, BENCH_BLOCK);
        KEEP(bench->peer->block);
    }
    return bench_now() - begin;
}

/* Copies that one PE has to make in a collective; alone, a PE copies from itself. */
static double copy_from(struct bench *bench, long n, int passes)
{
    const struct bench_shared *from = bench->peer ? bench->peer : bench->shared;
    double begin = bench_now();

    for (long i = 0; bench->me == 0 && i < n; i++) {
        for (int pass = 0; pass < passes; pass++) {
            memcpy(bench->shared->block, from->block + BENCH_HALF, BENCH_MIDDLE);
            KEEP(bench->shared->block);
        }
    }
    return bench_now() - begin;
}

double raw_copy_from(struct bench *bench, long n)
{
    return copy_from(bench, n, 1);
}

double raw_two_passes(struct bench *bench, long n)
{
    return copy_from(bench, n, 2);
}

/* Spins as long as an answer from another CPU may take, then yields. */
static void wait_for(atomic_long *word, long value)
{
    for (int spins = 0; atomic_load_explicit(word, memory_order_acquire) != value; spins++) {
        if (spins > 4096)
            sched_yield();
    }
}

double raw_round_trips(struct bench *bench, long n)
{
    atomic_long *mine = &bench->shared->raw_ping, *theirs = &bench->peer->raw_ping;
    double begin = bench_now();

    for (long i = 0; i < n; i++) {
        long trip = ++bench->raw_pings;

        if (bench->me == 0)
            atomic_store_explicit(theirs, trip, memory_order_release);
        wait_for(mine, trip);
        if (bench->me != 0)
            atomic_store_explicit(theirs, trip, memory_order_release);
    }
    return bench_now() - begin;
}

/* Where PEs share CPUs, those that wait have to yield at once. */
static void wait_in_turns(const struct bench *bench, atomic_long *word, long value)
{
    while (bench->npes > bench->cpus && atomic_load(word) != value)
        sched_yield();
    wait_for(word, value);
}

double raw_barriers(struct bench *bench, long n)
{
    atomic_long *count = &bench->first->raw_count, *generation = &bench->first->raw_generation;
    double begin = bench_now();

    if (bench->npes == 2 && bench->cpus > 1)
        return raw_round_trips(bench, n);
    for (long i = 0; i < n; i++) {
        long round = ++bench->raw_rounds;

        if (atomic_fetch_add(count, 1) + 1 == bench->npes * round)
            atomic_store(generation, round);
        else
            wait_in_turns(bench, generation, round);
    }
    return bench_now() - begin;
}

double raw_spawn(struct bench *bench, long n)
{
    char program[] = "true";
    char *arguments[] = {program, NULL};
    double begin = bench_now();
    pid_t child;

    (void)bench;
    for (long i = 0; i < n; i++) {
        if (!posix_spawnp(&child, program, NULL, NULL, arguments, environ))
            waitpid(child, NULL, 0);
    }
    return bench_now() - begin;
}
