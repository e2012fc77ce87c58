/* Operations of all kinds towards the next PE with pauses of random length between them, in which
 * no thread of the program polls; every value and every addition is checked. pauses ROUNDS
 * [threads] */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "tests/conformance/check.h"

enum { WORDS = 4096, LARGE = 50000 };

static long words[WORDS], sum, added, old[8], here[LARGE / 8], there[LARGE / 8];

static uint64_t random_next(void)
{
    static uint64_t state;

    state = (state + (uint64_t)shmem_my_pe() + 1) * UINT64_C(6364136223846793005) + 1;
    return state >> 33;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Up to 0.13 ms. */
static void compute(void)
{
    uint64_t end = now() + random_next() % (1 << 17);

    while (now() < end)
        ;
}

static void put_some(int pe)
{
    long first = (long)(random_next() % (WORDS - 8));

    for (long i = first; i < first + 8; i++)
        shmem_long_p(&words[i], i, pe);
}

static void put_large(int pe)
{
    for (long i = 0; i < LARGE / 8; i++)
        here[i] = i;
    shmem_putmem_nbi(there, here, LARGE, pe);
}

static void get_large(int pe)
{
    static long copy[LARGE / 8];

    put_large(pe);
    shmem_quiet();
    shmem_getmem(copy, there, LARGE, pe);
    CHECK(!memcmp(copy, here, LARGE));
}

static void operate(int pe)
{
    uint64_t choice = random_next() % 64;

    if (choice < 30) {
        put_some(pe);
    } else if (choice < 45) {
        shmem_long_atomic_add(&sum, 1, pe);
        added++;
    } else if (choice < 60) {
        shmem_long_atomic_fetch_add_nbi(&old[choice % 8], &sum, 1, pe);
        added++;
    } else if (choice < 62) {
        put_large(pe);
    } else {
        get_large(pe);
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    int level;

    shmem_init_thread(argc > 2 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &level);
    int me = shmem_my_pe(), pes = shmem_n_pes(), next = (me + 1) % pes;
    for (long i = 0; i < rounds; i++) {
        for (uint64_t n = random_next() % 8; n; n--)
            operate(next);
        compute();
        if (random_next() % 16 == 0)
            shmem_quiet();
    }
    shmem_barrier_all();
    CHECK(sum == shmem_long_g(&added, (me + pes - 1) % pes));
    for (long i = 0; i < WORDS; i++)
        CHECK(words[i] == 0 || words[i] == i);
    shmem_barrier_all();
    int status = check_end("pauses");
    shmem_finalize();
    return status;
}
