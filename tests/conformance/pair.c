/* Barriers of two PEs, in which the flag of each may follow what it has put without word that this
 * has arrived (9.12): after it all of that is there, sources may be changed, and results are here;
 * and what follows on any context comes after what was before. */
#include <stdlib.h>

#include "check.h"

#define ROUNDS 120
#define MOST   ((size_t)6 << 20)  /* bytes: spread over several connections */
#define LONG   ((size_t)40 << 20) /* more than the kernel takes at once */

static const size_t sizes[] = {8, 100, 4096, 8208, 70000, 300000, MOST};
enum { SIZES = sizeof sizes / sizeof sizes[0], FORMS = 5 };

static long word, counter, signalled;
static uint64_t flag;

static unsigned char pattern(long round, int pe, size_t i)
{
    return (unsigned char)(round * 31 + pe * 7 + (long)(i ^ i >> 8));
}

static void fill(unsigned char *at, size_t length, long round, int pe)
{
    for (size_t i = 0; i < length; i++)
        at[i] = pattern(round, pe, i);
}

static int holds(const unsigned char *at, size_t length, long round, int pe)
{
    for (size_t i = 0; i < length; i++)
        if (at[i] != pattern(round, pe, i))
            return 0;
    return 1;
}

static void put(int form, unsigned char *to, const unsigned char *from, size_t length, int pe)
{
    size_t half = length / 8 * 8 / 16;

    switch (form) {
    case 0:
        shmem_putmem(to, from, length, pe);
        break;
    case 1:
        shmem_putmem_nbi(to, from, length, pe);
        break;
    case 2:
        shmem_putmem_signal_nbi(to, from, length, &flag, 1, SHMEM_SIGNAL_ADD, pe);
        break;
    case 3:
        shmem_putmem_signal(to, from, length, &flag, 1, SHMEM_SIGNAL_ADD, pe);
        break;
    default: /* the words at even places, those at odd ones, and the rest */
        shmem_iput64(to, from, 2, 2, length / 8 - half, pe);
        shmem_iput64(to + 8, from + 8, 2, 2, half, pe);
        shmem_putmem(to + length / 8 * 8, from + length / 8 * 8, length % 8, pe);
    }
}

/* Of a PE whose neighbour has put nothing, and waits in the barrier already. */
static void lend(unsigned char *to, unsigned char *from, int me)
{
    for (long round = 0; round < 3; round++) {
        fill(from, LONG, round, 0);
        if (!me)
            shmem_putmem_nbi(to, from, LONG, 1);
        shmem_barrier_all();
        memset(from, 0xff, LONG);
        CHECK(!me || holds(to, LONG, round, 0));
        shmem_barrier_all();
    }
}

int main(void)
{
    shmem_ctx_t ctx;
    long signals = 0, fetched = 0;

    shmem_init();
    int me = shmem_my_pe(), other = (me + 1) % shmem_n_pes();
    unsigned char *here = shmem_malloc(LONG), *stable = shmem_malloc(MOST);
    unsigned char *from = malloc(LONG), *back = malloc(MOST);
    CHECK(here && stable && from && back && !shmem_ctx_create(0, &ctx));
    fill(stable, MOST, -1, me);
    shmem_barrier_all();
    for (long round = 0; round < ROUNDS; round++) {
        size_t length = sizes[(round + 3 * me) % SIZES],
               theirs = sizes[(round + 3 * other) % SIZES];
        int form = (int)(round / SIZES) % FORMS;
        long before = -1;
        int asks = round % 2; /* an answer would prove that all before it has been applied */

        fill(from, length, round, me);
        if (asks)
            shmem_getmem_nbi(back, stable, length, other);
        shmem_long_p(&word, 2 * round, other);
        put(form, here, from, length, other);
        signals += form == 2 || form == 3;
        shmem_long_atomic_add(&signalled, 1, other);
        if (asks)
            shmem_long_atomic_fetch_add_nbi(&before, &counter, 1, other);
        shmem_barrier_all();
        memset(from, 0xff, length);
        CHECK(holds(here, theirs, round, other));
        CHECK(before == (asks ? fetched : -1));
        fetched += asks;
        CHECK(counter == fetched && signalled == round + 1 && flag == (uint64_t)signals);
        CHECK(!asks || holds(back, length, -1, other));
        shmem_ctx_long_p(ctx, &word, 2 * round + 1, other);
        shmem_ctx_getmem(ctx, back, here, length, other);
        CHECK(holds(back, length, round, me));
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
        CHECK(word == 2 * round + 1);
        shmem_sync_all();
    }
    lend(here, from, me);
    free(from);
    free(back);
    return check_end("pair");
}
