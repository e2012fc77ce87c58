/* What memory of a device can: transfers of every kind between it, the heap and memory of the
 * program, atomic operations where it has them, collectives. PEs, transports and which device are
 * as the environment has them. Arguments: flags of the space; "load", "wait", "amo", "end" or
 * "end strided": what programs must not do; or "refused": no PE gets such a space. */
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/check.h"

enum { COUNT = 1000, MANY = 600 << 10 }; /* longs; MANY are several pieces of whatever carries them */

static int me, npes, left, right;
static shmemx_space_t space;
static shmem_team_t team;
static shmemx_space_cap_t caps;

static void make(int flags)
{
    const shmemx_space_config_t config = {
        .device_type = SHMEMX_DEVICE_GPU, .size = (size_t)48 << 20, .flags = flags};

    CHECK(!shmemx_space_create(&config, &space, &team));
    CHECK(!shmemx_space_get_caps(space, &caps));
    CHECK(caps & SHMEMX_SPACE_CAP_RMA && caps & SHMEMX_SPACE_CAP_COLLECTIVES);
}

static void refused(int flags)
{
    const shmemx_space_config_t config = {
        .device_type = SHMEMX_DEVICE_GPU, .size = (size_t)1 << 20, .flags = flags};

    CHECK(shmemx_space_create(&config, &space, &team) != 0);
    CHECK(space == SHMEMX_SPACE_INVALID && team == SHMEM_TEAM_INVALID);
}

static void fill(long *at, long count, long seed)
{
    for (long i = 0; i < count; i++)
        at[i] = seed * 1000003 + i;
}

/* Whether `count` longs of this PE's device are those of a seed. */
static int has(const long *device, long count, long seed)
{
    long *mine = malloc((size_t)count * sizeof *mine), wrong = 0;

    shmem_getmem(mine, device, (size_t)count * sizeof *mine, me);
    for (long i = 0; i < count; i++)
        wrong += mine[i] != seed * 1000003 + i;
    free(mine);
    return !wrong;
}

static void transfers(long *a, long *b, long count)
{
    long *host = malloc((size_t)count * sizeof *host);

    fill(host, count, me);
    shmem_long_put(a, host, (size_t)count, right); /* host to device */
    shmem_barrier_all();
    CHECK(has(a, count, left));
    shmem_long_put_nbi(b, a, (size_t)count, right); /* device to device */
    shmem_barrier_all();
    CHECK(has(b, count, (left + npes - 1) % npes));
    shmem_barrier_all();
    shmem_long_get(b, a, (size_t)count, left); /* device from device */
    CHECK(has(b, count, (left + npes - 1) % npes));
    memset(host, 0, (size_t)count * sizeof *host);
    shmem_long_get_nbi(host, a, (size_t)count, right);
    shmem_quiet();
    long wrong = 0;
    for (long i = 0; i < count; i++)
        wrong += host[i] != me * 1000003L + i;
    CHECK(!wrong);
    shmem_barrier_all();
    shmem_long_put(b, a, (size_t)count, me); /* within the device */
    CHECK(has(b, count, left));
    shmem_barrier_all();
    free(host);
}

/* Gets from the device and from a variable that are under way at once, of lengths that differ. */
static void gets_beside(long *a)
{
    enum { MOST = 40000, TIMES = 6 };
    static long variable[MOST], host[MOST], got[2][TIMES][MOST];
    long wrong = 0;

    fill(variable, MOST, me);
    fill(host, MOST, me + 100);
    shmem_long_put(a, host, MOST, me);
    shmem_barrier_all();
    for (int i = 0; i < TIMES; i++) {
        shmem_long_get_nbi(got[0][i], a, (size_t)(MOST - 5000 * i), right);
        shmem_long_get_nbi(got[1][i], variable, (size_t)(MOST - 6000 * i), right);
    }
    shmem_quiet();
    for (int i = 0; i < TIMES; i++) {
        for (long k = 0; k < MOST - 5000 * i; k++)
            wrong += got[0][i][k] != (right + 100) * 1000003L + k;
        for (long k = 0; k < MOST - 6000 * i; k++)
            wrong += got[1][i][k] != right * 1000003L + k;
    }
    CHECK(!wrong);
    shmem_barrier_all();
}

/* What goes to and fro with a stride of this PE's device, of the other one's, or of both; up and
 * down, close together and far apart. */
static void strides(long *a, long *b)
{
    enum { ALL = 6000, MOST = 2 * ALL };
    static const ptrdiff_t stride[] = {1, 2, -1, -3, 700, 5000};
    static long host[MOST], back[MOST], expected[MOST];

    for (size_t i = 0; i < sizeof stride / sizeof *stride * 6; i++) {
        ptrdiff_t to = stride[i % 6], from = stride[i / 6],
                  far = labs(to) > labs(from) ? labs(to) : labs(from);
        size_t count = far > 1000 ? 3 : far > 3 ? 15 : MOST / 3 / (size_t)far;
        long *dest = b + (to < 0 ? MOST - 1 : 0), *source = a + (from < 0 ? MOST - 1 : 0);
        ptrdiff_t first = source - a;

        fill(host, MOST, me);
        shmem_long_put(a, host, MOST, me);
        memset(back, 0, sizeof back);
        shmem_long_put(b, back, MOST, me);
        shmem_barrier_all();
        shmem_long_iput(dest, source, to, from, count, right); /* device to device */
        shmem_barrier_all();
        memset(expected, 0, sizeof expected);
        for (ptrdiff_t k = 0; k < (ptrdiff_t)count; k++)
            expected[dest - b + k * to] = left * 1000003L + first + k * from;
        shmem_long_get(back, b, MOST, me);
        CHECK(!memcmp(back, expected, sizeof back));
        shmem_barrier_all();
        shmem_long_iget(dest, source, to, from, count, right); /* the other way */
        for (ptrdiff_t k = 0; k < (ptrdiff_t)count; k++)
            expected[dest - b + k * to] = right * 1000003L + first + k * from;
        shmem_long_get(back, b, MOST, me);
        CHECK(!memcmp(back, expected, sizeof back));
        memset(back, 0, sizeof back);
        shmem_long_iget(back + (dest - b), source, to, from, count, right); /* to the host */
        CHECK(!memcmp(back, expected, sizeof back));
        shmem_barrier_all();
        shmem_long_iput(dest, back + (dest - b), to, to, count, right); /* from the host */
        shmem_barrier_all();
        memset(expected, 0, sizeof expected);
        for (ptrdiff_t k = 0; k < (ptrdiff_t)count; k++)
            expected[dest - b + k * to] = me * 1000003L + first + k * from;
        shmem_long_get(back, b, MOST, me);
        CHECK(!memcmp(back, expected, sizeof back));
        shmem_barrier_all();
    }
}

/* Elements, strides and signals. The signal is in the heap, where CPUs wait for it. */
static void elements(long *a, long *b, uint64_t *signal)
{
    long host[COUNT], back[COUNT];

    shmem_long_p(a + me, 500 + me, right);
    shmem_barrier_all();
    CHECK(shmem_long_g(a + left, me) == 500 + left);
    CHECK(shmem_long_g(a + me, right) == 500 + me);
    shmem_barrier_all();
    fill(host, COUNT, me);
    shmem_long_iput(a, host, 3, 2, COUNT / 3, right);
    shmem_barrier_all();
    shmem_long_iget(back, a, 1, 3, COUNT / 3, me);
    long wrong = 0;
    for (long i = 0; i < COUNT / 3; i++)
        wrong += back[i] != left * 1000003L + 2 * i;
    CHECK(!wrong);
    shmem_long_iput(b, a, 2, 3, COUNT / 3, right); /* device to device */
    shmem_barrier_all();
    shmem_long_iget(back, b, 1, 2, COUNT / 3, me);
    for (long i = 0; i < COUNT / 3; i++)
        wrong += back[i] != (left + npes - 1) % npes * 1000003L + 2 * i;
    CHECK(!wrong);
    shmem_barrier_all();
    shmem_long_put_signal(a, host, COUNT, signal, 1, SHMEM_SIGNAL_ADD, right);
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, 1);
    CHECK(has(a, COUNT, left));
    shmem_long_put_signal(b, a, COUNT, signal, 1, SHMEM_SIGNAL_ADD, right);
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, 2);
    CHECK(has(b, COUNT, (left + npes - 1) % npes));
    shmem_barrier_all();
    *signal = 0;
}

static void atomics(long *a, int *narrow)
{
    long zero = 0, old = -1;

    shmem_long_p(a, zero, me);
    shmem_int_p(narrow, 0, me);
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++)
        for (int i = 0; i < 20; i++) {
            shmem_long_atomic_add(a, 2, pe);
            shmem_int_atomic_inc(narrow, pe);
        }
    shmem_barrier_all();
    CHECK(shmem_long_atomic_fetch(a, right) == 40L * npes);
    CHECK(shmem_int_atomic_fetch(narrow, left) == 20 * npes);
    CHECK(shmem_long_g(a, me) == 40L * npes);
    shmem_barrier_all();
    CHECK(shmem_long_atomic_compare_swap(a, 40L * npes, 7, right) == 40L * npes);
    shmem_barrier_all();
    shmem_long_atomic_fetch_add_nbi(a + 1, a, 1, me); /* the old value goes to the device too */
    shmem_quiet();
    CHECK(shmem_long_g(a + 1, me) == 7);
    shmem_long_atomic_swap_nbi(&old, a, 3, me);
    shmem_quiet();
    CHECK(old == 8);
    shmem_barrier_all();
}

static void collectives(long *a, long *b, size_t n)
{
    long *host = malloc((size_t)npes * n * sizeof *host), *back = malloc((size_t)npes * n * 8);
    long wrong = 0, all = (long)npes * (long)n;

    for (long i = 0; i < all; i++)
        host[i] = me * 10000 + i;
    shmem_long_put(a, host, (size_t)all, me);
    shmem_barrier_all();
#define LOOK(COUNT)                                                                                \
    shmem_long_get(back, b, (size_t)(COUNT), me);                                                  \
    shmem_barrier_all();                                                                           \
    for (long i = 0; i < (long)(COUNT); i++)
    CHECK(!shmem_long_broadcast(team, b, a, n, npes - 1));
    LOOK(n) wrong += back[i] != (npes - 1) * 10000 + i;
    CHECK(!wrong);
    CHECK(!shmem_long_fcollect(team, b, a, n));
    LOOK(all) wrong += back[i] != i / (long)n * 10000 + i % (long)n;
    CHECK(!wrong);
    CHECK(!shmem_long_collect(team, b, a, me ? n : 1));
    LOOK(n) wrong += back[i] != (i ? 10000 + i - 1 : 0) && npes > 1;
    CHECK(!wrong);
    CHECK(!shmem_long_alltoall(team, b, a, n));
    LOOK(all) wrong += back[i] != i / (long)n * 10000 + me * (long)n + i % (long)n;
    CHECK(!wrong);
    CHECK(!shmem_long_alltoalls(team, b, a, 2, 1, n / 2));
    LOOK(n) wrong += i % 2 == 0 && back[i] != me * (long)(n / 2) + i / 2;
    CHECK(!wrong);
    CHECK(!shmem_long_sum_reduce(team, b, a, n));
    LOOK(n) wrong += back[i] != npes * (npes - 1) / 2 * 10000 + npes * i;
    CHECK(!wrong);
    CHECK(!shmem_long_sum_inscan(team, b, a, n));
    LOOK(n) wrong += back[i] != me * (me + 1) / 2 * 10000 + (me + 1) * i;
    CHECK(!wrong);
    CHECK(!shmem_long_sum_exscan(team, b, a, n));
    LOOK(n) wrong += back[i] != me * (me - 1) / 2 * 10000 + me * i;
    CHECK(!wrong);
    CHECK(!shmem_long_max_reduce(team, a, a, n)); /* in place */
    shmem_barrier_all();
    shmem_long_get(back, a, n, right);
    for (long i = 0; i < (long)n; i++)
        wrong += back[i] != (npes - 1) * 10000 + i;
    CHECK(!wrong);
#undef LOOK
    shmem_barrier_all();
    free(host);
    free(back);
}

/* The heap goes on as before, beside the space and after it. */
static void heap_too(long *word)
{
    shmem_long_p(word, 7 + me, right);
    shmem_barrier_all();
    CHECK(*word == 7 + left);
    shmem_barrier_all();
    CHECK(shmem_long_atomic_fetch_add(word, 1, right) == 7 + me);
    shmem_barrier_all();
}

/* Blocks that are cleared, where something was, and that move as they grow. */
static void blocks(void)
{
    static long from[COUNT], zeros[COUNT];
    long *a = shmemx_space_malloc(space, sizeof from);

    fill(from, COUNT, 9);
    shmem_long_put(a, from, COUNT, me);
    shmemx_space_free(space, a);
    long *b = shmemx_space_calloc(space, COUNT, sizeof *b);
    shmem_long_get(from, b, COUNT, me);
    CHECK(b == a && !memcmp(from, zeros, sizeof from));
    fill(from, COUNT, 10);
    shmem_long_put(b, from, COUNT, me);
    void *page = shmemx_space_align(space, 4096, 100);
    CHECK(page && (uintptr_t)page % 4096 == 0);
    shmemx_space_free(space, page);
    long *fence = shmemx_space_malloc(space, sizeof *fence);
    CHECK(shmemx_space_realloc(space, b, sizeof from - sizeof *from) == b); /* of an odd size */
    long *c = shmemx_space_realloc(space, b, 100 * sizeof from);
    CHECK(c && c != b && has(c, COUNT - 1, 10));
    shmemx_space_free(space, c);
    shmemx_space_free(space, fence);
}

static void misuse(const char *what, long *a)
{
    if (!strcmp(what, "load"))
        check_count += *(volatile long *)a;
    if (!strcmp(what, "wait"))
        shmem_long_wait_until(a, SHMEM_CMP_NE, 0);
    if (!strcmp(what, "end")) /* this PE's side */
        shmem_putmem(a, (char *)a + ((size_t)48 << 20) - 8, 16, right);
    if (!strcmp(what, "end strided"))
        shmem_long_iget(a + ((size_t)6 << 20) - 4, a, 2, 1, 4, right);
    if (!strcmp(what, "amo"))
        shmem_long_atomic_inc(a, right);
    if (!strcmp(what, "shmem_set_lock"))
        shmem_set_lock(a);
    if (!strcmp(what, "shmem_test_lock"))
        shmem_test_lock(a);
    if (!strcmp(what, "shmem_clear_lock"))
        shmem_clear_lock(a);
    if (!strcmp(what, "signal")) {
        static long word;
        shmem_long_put_signal(&word, &word, 1, (uint64_t *)(void *)a, 1, SHMEM_SIGNAL_SET, right);
    }
}

int main(int argc, char **argv)
{
    int flags = argc > 1 ? atoi(argv[1]) : 0;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    right = (me + 1) % npes;
    left = (me + npes - 1) % npes;
    uint64_t *signal = shmem_calloc(1, sizeof *signal);
    long *word = shmem_calloc(1, sizeof *word);

    if (argc > 2 && !strcmp(argv[2], "refused")) {
        refused(flags);
        heap_too(word);
        return check_end("device");
    }
    for (int round = 0; round < 2; round++) {
        make(flags);
        long *a = shmemx_space_malloc(space, MANY * sizeof *a),
             *b = shmemx_space_calloc(space, MANY, sizeof *b);
        CHECK(a && b);
        CHECK(!shmemx_space_malloc(space, (size_t)40 << 20));
        CHECK(shmem_long_g(b + MANY - 1, right) == 0);
        CHECK(!(shmem_ptr(a, me)) == !(caps & SHMEMX_SPACE_CAP_DIRECT_ACCESS));
        if (argc > 2)
            misuse(argv[2], a);
        transfers(a, b, 1);
        transfers(a, b, 777);
        elements(a, b, signal);
        if (!round) { /* the second space tells whether the first one has left something */
            transfers(a + 1, b + 3, MANY - 3);
            gets_beside(a);
            strides(a, b);
            collectives(a, b, 50000);
        }
        if (caps & SHMEMX_SPACE_CAP_ATOMICS)
            atomics(a, (int *)(void *)b);
        collectives(a, b, 10);
        heap_too(word);
        shmemx_space_free(space, b);
        blocks();
        shmem_team_destroy(team);
        CHECK(!shmemx_space_destroy(space));
        heap_too(word);
    }
    shmem_free(signal);
    shmem_free(word);
    int status = check_end("device");
    shmem_finalize();
    return status;
}
