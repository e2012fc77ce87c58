/* The first operation of a PE with each other one, of every kind: on a node with many PEs the memory of another is
 * mapped then. "threads": two threads come to each PE at the same time. PEs of other nodes reach some of them first.
 * It tests no single routine (4.1). */
#include <pthread.h>
#include <stdint.h>

#include "check.h"

enum { PES = 128, WORDS = 8, THREADS = 2 };

/* What PE p's thread t does is at [p][t] on every PE. */
static long cell[PES][THREADS];
static uint64_t mark[PES][THREADS];
static long *block; /* [PES][THREADS][WORDS] in the heap */
static uint64_t *flag;
static const long given[WORDS] = {1, 2, 3, 4, 5, 6, 7, 8};
static _Atomic long wrong; /* threads cannot share CHECK's counts */
static pthread_barrier_t together;
static int me, npes;

static void expect(int right)
{
    wrong += !right;
}

static void do_put_signal(long *mine, uint64_t *word, int pe, int later)
{
    long back[WORDS] = {0};

    if (later)
        shmem_long_put_signal_nbi(mine, given, WORDS, word, 3, SHMEM_SIGNAL_ADD, pe);
    else
        shmem_long_put_signal(mine, given, WORDS, word, 3, SHMEM_SIGNAL_SET, pe);
    shmem_quiet();
    expect(shmem_uint64_g(word, pe) == 3);
    shmem_long_get(back, mine, WORDS, pe);
    expect(!memcmp(back, given, sizeof back));
}

static void do_amo(long *one, int pe)
{
    expect(shmem_long_atomic_fetch_add(one, 5, pe) == 0);
    shmem_long_atomic_inc(one, pe);
    expect(shmem_long_atomic_compare_swap(one, 6, 9, pe) == 6);
    expect(shmem_long_g(one, pe) == 9);
}

static void do_strided(long *mine, int pe)
{
    long back[WORDS] = {0};

    shmem_long_iput(mine, given, 2, 1, WORDS / 2, pe);
    shmem_quiet();
    shmem_long_iget(back, mine, 1, 2, WORDS / 2, pe);
    expect(!memcmp(back, given, sizeof back / 2));
}

static void do_load(long *mine, int pe)
{
    long back[WORDS] = {1};
    long *there = shmem_ptr(mine, pe);

    shmem_long_get_nbi(back, mine, WORDS, pe);
    shmem_quiet();
    expect(back[0] == 0 && (!there || there[0] == 0));
}

static void first_use(int pe, int thread, int kind)
{
    long *mine = block + (me * THREADS + thread) * WORDS, *one = &cell[me][thread];

    switch (kind) {
    case 0: do_put_signal(mine, &flag[me * THREADS + thread], pe, 0); break;
    case 1: do_put_signal(mine, &mark[me][thread], pe, 1); break;
    case 2: do_amo(one, pe); break;
    case 3: do_strided(mine, pe); break;
    case 4: do_load(mine, pe); break;
    default:
        shmem_long_p(one, 7, pe);
        shmem_quiet();
        expect(shmem_long_g(one, pe) == 7);
    }
}

static void *walk(void *number)
{
    int thread = *(int *)number;

    for (int i = 1; i < npes; i++) {
        pthread_barrier_wait(&together);
        first_use((me + i) % npes, thread, (me + i + thread) % 6);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static int number[THREADS] = {0, 1};
    int threads = argc > 1 ? THREADS : 1, level;
    pthread_t second;

    (void)argv;
    shmem_init_thread(argc > 1 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &level);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    block = shmem_calloc(PES * THREADS * WORDS, sizeof *block);
    flag = shmem_calloc(PES * THREADS, sizeof *flag);
    CHECK(npes <= PES && block && flag);
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    shmem_barrier_all();
    CHECK(threads == 1 || !pthread_create(&second, NULL, walk, &number[1]));
    walk(&number[0]);
    CHECK(threads == 1 || !pthread_join(second, NULL));
    CHECK(wrong == 0);
    int status = check_end("first_uses");
    shmem_finalize();
    return status;
}
