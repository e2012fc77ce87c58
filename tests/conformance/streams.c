/* Long transfers in both directions at once, with short ones and atomic operations behind them
 * (9.5, 9.6, 9.7, 9.11): all of it arrives, in the order that fences ask for. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define ROUNDS 60
#define MOST   (1u << 20)
#define SHORT  2048
#define AMOS   50

static long counter, told;
static int me, npes, to, from;
static unsigned char *there, *behind, *local;

static size_t length_of(long round)
{
    return 9000 + (size_t)round * 37777 % (MOST - 9000);
}

static unsigned char mark(long round, int pe)
{
    return (unsigned char)(round * 3 + pe);
}

static void count_up(void)
{
    for (int i = 0; i < AMOS; i++)
        shmem_long_atomic_inc(&counter, to);
}

static void put_round(long round, size_t length)
{
    memset(local, mark(round, me), length);
    shmem_putmem_nbi(there, local, length, to);
    count_up();
    shmem_putmem_nbi(behind, local, SHORT, to);
    shmem_fence();
    shmem_long_atomic_set(&told, round, to);
    shmem_long_wait_until(&told, SHMEM_CMP_GE, round);
    CHECK(there[0] == mark(round, from) && there[length / 2] == mark(round, from));
    CHECK(there[length - 1] == mark(round, from) && behind[SHORT - 1] == mark(round, from));
    shmem_barrier_all();
}

static void get_round(long round, size_t length)
{
    memset(local, 0, length);
    shmem_getmem_nbi(local, there, length, to);
    count_up();
    shmem_quiet();
    CHECK(local[0] == mark(round, me) && local[length / 2] == mark(round, me));
    CHECK(local[length - 1] == mark(round, me));
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    from = (me + npes - 1) % npes;
    there = shmem_malloc(MOST);
    behind = shmem_malloc(SHORT);
    local = malloc(MOST);
    CHECK(there && behind && local);
    for (long round = 1; round <= ROUNDS; round++) {
        put_round(round, length_of(round));
        get_round(round, length_of(round));
    }
    CHECK(counter == 2L * AMOS * ROUNDS);
    free(local);
    int status = check_end("streams");
    shmem_finalize();
    return status;
}
