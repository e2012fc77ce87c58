/* The symmetric heap (9.3): sizes and failures, alignment, contents, hints, barriers, reuse. The
 * program sets the heap's size itself before shmem_init, as some programs do. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define HEAP ((size_t)64 << 20)

static int me, npes, to, from;

static int all_bytes(const unsigned char *block, size_t count, int value)
{
    for (size_t i = 0; i < count; i++)
        if (block[i] != value)
            return 0;
    return 1;
}

/* The same block by every PE: data put by the neighbour lands in it. */
static void check_symmetric(unsigned char *block, size_t size)
{
    unsigned char *data = malloc(size);

    memset(data, me + 1, size);
    shmem_putmem(block, data, size, to);
    shmem_barrier_all();
    CHECK(all_bytes(block, size, from + 1));
    shmem_barrier_all();
    free(data);
}

static void check_nothing(void)
{
    /* No barrier in any of these: one PE alone calls them. */
    if (me == 0) {
        CHECK(shmem_malloc(0) == NULL);
        CHECK(shmem_calloc(0, 8) == NULL && shmem_calloc(8, 0) == NULL);
        CHECK(shmem_align(64, 0) == NULL);
        CHECK(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL);
        shmem_free(NULL);
    }
}

static void check_exhaustion(void)
{
    CHECK(shmem_malloc(SIZE_MAX) == NULL);
    CHECK(shmem_malloc(SIZE_MAX - 64) == NULL);
    CHECK(shmem_malloc(HEAP + 4096) == NULL);
    CHECK(shmem_calloc(SIZE_MAX / 2, 3) == NULL);
    unsigned char *all = shmem_malloc(HEAP);
    CHECK(all != NULL); /* a block of exactly the heap's size */
    CHECK(shmem_malloc(1) == NULL);
    all[0] = all[HEAP - 1] = 1;
    shmem_free(all);
    unsigned char *small = shmem_malloc(100);
    CHECK(small != NULL);
    check_symmetric(small, 100);
    shmem_free(small);
}

static void check_alignment(void)
{
    for (size_t alignment = sizeof(void *); alignment <= (size_t)2 << 20; alignment *= 2) {
        unsigned char *odd = shmem_malloc(24), *block = shmem_align(alignment, 1000);
        CHECK(block != NULL && (uintptr_t)block % alignment == 0);
        CHECK((uintptr_t)odd % _Alignof(max_align_t) == 0);
        check_symmetric(block, 1000);
        shmem_free(block);
        shmem_free(odd);
    }
    CHECK(shmem_align(0, 1000) == NULL);
}

static void check_realloc(void)
{
    unsigned char *a = shmem_realloc(NULL, 1000), *wall = shmem_malloc(16);

    CHECK(a != NULL);
    check_symmetric(a, 1000);
    unsigned char *b = shmem_realloc(a, 100000); /* must move: `wall` is behind it */
    CHECK(b != NULL && all_bytes(b, 1000, from + 1));
    check_symmetric(b, 100000);
    unsigned char *c = shmem_realloc(b, 50);
    CHECK(c != NULL && all_bytes(c, 50, from + 1));
    CHECK(shmem_realloc(c, HEAP * 2) == NULL);
    CHECK(all_bytes(c, 50, from + 1)); /* a failure leaves the block alone */
    check_symmetric(c, 50);
    CHECK(shmem_realloc(c, 0) == NULL);
    shmem_free(wall);
}

static void check_reuse(void)
{
    for (int i = 0; i < 2000; i++) {
        unsigned char *a = shmem_malloc(HEAP / 3), *b = shmem_malloc(HEAP / 3);
        CHECK(a && b);
        shmem_free(i % 2 ? a : b);
        shmem_free(i % 2 ? b : a);
    }
}

static void check_calloc_and_hints(void)
{
    unsigned char *dirty = shmem_malloc(5000);
    memset(dirty, 255, 5000);
    shmem_free(dirty);
    unsigned char *clean = shmem_calloc(50, 100);
    CHECK(clean != NULL && all_bytes(clean, 5000, 0));
    static const long hints[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                                 SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE,
                                 1L << 40};
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        unsigned char *block = shmem_malloc_with_hints(333, hints[i]);
        CHECK(block != NULL);
        check_symmetric(block, 333);
        shmem_free(block);
    }
    shmem_free(clean);
}

/* The barrier of an allocation completes what is pending on the default context. */
static void check_barrier(void)
{
    static long word;
    word = 0;
    shmem_barrier_all();
    shmem_long_put_nbi(&word, &(long){me + 1}, 1, to);
    void *block = shmem_malloc(8);
    CHECK(word == from + 1);
    shmem_free(block);
}

static void check_old_names(void)
{
    unsigned char *a = shmalloc(100), *b = shmemalign(4096, 100);
    CHECK(a && b && (uintptr_t)b % 4096 == 0);
    a = shrealloc(a, 200);
    CHECK(a != NULL);
    shfree(b);
    shmem_free(a); /* blocks of both kinds of names are the same */
}

int main(void)
{
    setenv("SHMEM_SYMMETRIC_SIZE", "64M", 1);
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    from = (me + npes - 1) % npes;
    check_nothing();
    check_exhaustion();
    check_alignment();
    check_realloc();
    check_reuse();
    check_calloc_and_hints();
    check_barrier();
    check_old_names();
    int status = check_end("heap");
    shmem_finalize();
    return status;
}
