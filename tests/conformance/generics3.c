/* Type-generic names with arguments that are hard on macros: array literals, whose commas the
 * preprocessor sees, pointers to volatile objects, and expressions of all kinds in either place.
 * Then the sets of short, which only the generic names have, with other sets between. */
#include "check.h"

static long cells[40];
static volatile long hot;
static int to;

struct block {
    long words[4];
    long *at;
};

static struct block block;
static uint64_t signal_word;
static volatile uint64_t hot_signal;

static int same(const long *should, size_t count)
{
    long is[40];

    shmem_quiet();
    shmem_get(is, cells, count, to);
    int equal = memcmp(is, should, count * sizeof *is) == 0;
    memset(is, 0, sizeof is);
    shmem_put(cells, is, 40, to);
    shmem_quiet();
    return equal;
}

#define SAME(COUNT, ...) CHECK(same((const long[]){__VA_ARGS__}, COUNT))

static void literals(void)
{
    const shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;

    shmem_put(cells, (long[]){1}, 1, to);
    SAME(1, 1);
    shmem_put(cells, (long[]){1, 2}, 2, to);
    SAME(2, 1, 2);
    shmem_put(cells, (const long[]){1, -2, 3}, 3, to);
    SAME(3, 1, -2, 3);
    shmem_put(cells, ((const long[]){4, 5, 6}), 3, to);
    SAME(3, 4, 5, 6);
    shmem_put(&cells[1], (long[3]){7, 8, 9} + 1, 2, to);
    SAME(3, 0, 8, 9);
    shmem_put(ctx, cells, (long[]){1, 2, 3}, 3, to);
    SAME(3, 1, 2, 3);
    shmem_put(SHMEM_CTX_DEFAULT, (cells), (long[]){3, 2, 1}, 3, to);
    SAME(3, 3, 2, 1);
    shmem_put(cells, (long[]){1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                              18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33},
              33, to);
    SAME(33, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
         25, 26, 27, 28, 29, 30, 31, 32, 33);
    shmem_iput(cells, (long[]){1, 2, 3}, 2, 1, 3, to);
    SAME(5, 1, 0, 2, 0, 3);
    shmem_iput(ctx, cells, (long[]){1, 2}, 2, 1, 2, to);
    SAME(3, 1, 0, 2);
    shmem_ibput(cells, (long[]){1, 2, 3, 4}, 3, 2, 2, 2, to);
    SAME(5, 1, 2, 0, 3, 4);
    shmem_put_nbi(cells, (long[]){1, 2}, 2, to);
    SAME(2, 1, 2);
    shmem_put_signal(cells, (long[]){5, 6}, 2, &signal_word, 1, SHMEM_SIGNAL_ADD, to);
    shmem_put_signal_nbi(ctx, cells + 2, (long[]){7, 8, 9}, 3, &signal_word, 1, SHMEM_SIGNAL_ADD,
                         to);
    SAME(5, 5, 6, 7, 8, 9);
    shmem_put(cells, &(long){11}, 1, to);
    SAME(1, 11);
}

static void other_types(void)
{
    static char text[4];
    static double numbers[3];
    static unsigned short shorts[3];

    shmem_put(text, (char[]){120, 121, -3}, 3, to);
    shmem_put(numbers, (double[]){1.5, -2.5, 1e300}, 3, to);
    shmem_put(shorts, (unsigned short[]){65535, 1, 2}, 3, to);
    shmem_barrier_all();
    CHECK(text[0] == 120 && text[2] == (char)-3);
    CHECK(numbers[1] == -2.5 && numbers[2] == 1e300);
    CHECK(shorts[0] == 65535 && shorts[2] == 2);
}

/* With a context, dest may begin with a parenthesis as a literal does. */
static void expressions(void)
{
    const shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    struct block *b = &block;
    long source[4] = {1, 2, 3, 4}, *from = source, *rows[2] = {block.words, cells};
    void *untyped = cells, *any = source;
    int i = 1, last = 0;

    b->at = cells;
    shmem_put(ctx, (long *)untyped, source, 2, to);
    SAME(2, 1, 2);
    shmem_put(ctx, (long *)untyped + 1, (void *)from, 2, to);
    SAME(3, 0, 1, 2);
    shmem_put(ctx, (b)->at, any, last ? 1 : 2, to);
    SAME(2, 1, 2);
    shmem_put(ctx, (rows)[1], last ? from : source + 1, 3 - i, to);
    SAME(2, 2, 3);
    shmem_put(ctx, (*b).at, from++, i++, to);
    CHECK(i == 2 && from == source + 1);
    SAME(1, 1);
    shmem_put(ctx, (i ? cells : cells + 1), &source[i], 2, to);
    SAME(2, 3, 4);
    shmem_put(ctx, (cells) + 1, (long[]){1, 2}, 2, to);
    SAME(3, 0, 1, 2);
    shmem_put((long *)untyped, (long *)any, 1, to);
    SAME(1, 1);
    shmem_p(ctx, (long *)untyped, i == 2, to);
    SAME(1, 1);
    shmem_p((b)->at, (short)5, to);
    SAME(1, 5);
    shmem_iput(ctx, (b)->at, source, 2, 1, 2, to);
    SAME(3, 1, 0, 2);
}

static void volatiles(void)
{
    volatile long *where = &hot;
    const volatile long *source = &hot;
    static volatile int flags[3], none;
    long mine = 4;

    shmem_p(where, 3L, to);
    shmem_quiet();
    CHECK(shmem_g(source, to) == 3);
    shmem_put(where, &mine, 1, to);
    shmem_put(SHMEM_CTX_DEFAULT, &hot, (const volatile long *)&mine, 1, to);
    shmem_quiet();
    shmem_get(&mine, &hot, 1, to);
    CHECK(mine == 4 && shmem_atomic_fetch(source, to) == 4);
    shmem_atomic_add(SHMEM_CTX_DEFAULT, where, 1, to);
    CHECK(shmem_atomic_fetch_inc(where, to) == 5);
    shmem_put_signal(where, &mine, 1, &hot_signal, 7, SHMEM_SIGNAL_SET, to);
    shmem_barrier_all();
    shmem_wait_until(where, SHMEM_CMP_EQ, 4);
    CHECK(shmem_test(&hot, SHMEM_CMP_EQ, 4) == 1 && hot_signal == 7);
    for (int i = 0; i < 3; i++)
        shmem_atomic_set(&flags[i], i + 1, to);
    shmem_wait_until_all(flags, 3, NULL, SHMEM_CMP_GT, 0);
    CHECK(shmem_wait_until_any(flags, 3, (int[]){1, 1, 0}, SHMEM_CMP_GE, 1) == 2);
    CHECK(shmem_test_all_vector(flags, 3, NULL, SHMEM_CMP_EQ, (int[]){1, 2, 3}) == 1);
    shmem_max_reduce(SHMEM_TEAM_WORLD, &none, &flags[1], 1);
    CHECK(none == 2);
    shmem_broadcast(SHMEM_TEAM_WORLD, &none, flags, 1, 0);
}

/* A set of short that all satisfy, between calls for its first variable. */
static void short_sets(void)
{
    static short ready[5];
    int seen[5] = {0}, all = 1;

    for (int i = 0; i < 1000; i++) {
        CHECK(shmem_test_any(ready, 1, NULL, SHMEM_CMP_EQ, 0) == 0);
        size_t index = shmem_test_any(ready, 5, NULL, SHMEM_CMP_EQ, 0);
        CHECK(index < 5);
        seen[index % 5] = 1;
    }
    for (int i = 0; i < 5; i++)
        all &= seen[i];
    CHECK(all);
}

int main(void)
{
    shmem_init();
    to = (shmem_my_pe() + 1) % shmem_n_pes();
    literals();
    CHECK(shmem_g(&signal_word, to) == 2);
    other_types();
    expressions();
    volatiles();
    short_sets();
    int status = check_end("generics3");
    shmem_finalize();
    return status;
}
