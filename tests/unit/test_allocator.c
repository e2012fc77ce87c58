/* The symmetric heap's allocator, against a model that marks each granule of the range with the
 * block that holds it. Random calls come from fixed seeds, so that a failure repeats. */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/allocator.h"
#include "suite.h"

enum {
    GRANULE = SY_ALLOCATOR_GRANULE,
    MODEL_BYTES = 16384,
    MODEL_GRANULES = MODEL_BYTES / GRANULE + 1
};

/* The linker sends calls of malloc here (--wrap). Set only around a call of the allocator, since
 * Check allocates too. */
static bool malloc_fails;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
    if (malloc_fails)
        return NULL;
    return __real_malloc(size);
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

struct model {
    struct sy_allocator *heap, *twin;
    uint64_t size, granules, random;
    uint16_t owner[MODEL_GRANULES];   /* 0: free */
    uint64_t start[512], length[512]; /* of block i + 1; length 0: no such block */
};

static void model_open(struct model *m, uint64_t size, uint64_t seed)
{
    memset(m, 0, sizeof(*m));
    m->size = size;
    m->granules = (size + GRANULE - 1) / GRANULE;
    ck_assert_uint_le(m->granules, MODEL_GRANULES);
    m->random = seed;
    m->heap = sy_allocator_new(size);
    m->twin = sy_allocator_new(size);
    ck_assert_ptr_nonnull(m->heap);
    ck_assert_ptr_nonnull(m->twin);
}

static void model_close(struct model *m)
{
    sy_allocator_free(m->heap);
    sy_allocator_free(m->twin);
}

/* The bytes from granule `first` up to the next one in use or the end of the range. */
static uint64_t model_run(const struct model *m, uint64_t first)
{
    uint64_t last = first, end;

    while (last < m->granules && !m->owner[last])
        last++;
    end = last * GRANULE;
    return (end < m->size ? end : m->size) - first * GRANULE;
}

static bool model_has_room(const struct model *m, uint64_t size, uint64_t align)
{
    uint64_t run, start;

    for (uint64_t i = 0; i < m->granules; i += run / GRANULE + 1) {
        run = m->owner[i] ? 0 : model_run(m, i);
        start = align ? (i * GRANULE + align - 1) / align * align - i * GRANULE : 0;
        if (start + size <= run)
            return true;
    }
    return false;
}

static void model_mark(struct model *m, unsigned block, uint64_t start, uint64_t length)
{
    ck_assert_uint_le(start + length, m->size);
    for (uint64_t i = start / GRANULE; i < (start + length + GRANULE - 1) / GRANULE; i++) {
        ck_assert_msg(!m->owner[i], "offset %lu was given out twice", (unsigned long)(i * GRANULE));
        m->owner[i] = (uint16_t)(block + 1);
    }
    m->start[block] = start;
    m->length[block] = length;
}

static void model_unmark(struct model *m, unsigned block)
{
    for (uint64_t i = 0; i < m->granules; i++) {
        if (m->owner[i] == block + 1)
            m->owner[i] = 0;
    }
    m->length[block] = 0;
}

static uint64_t random_size(struct model *m)
{
    uint64_t limit = 1u << (random_next(&m->random) % 14);

    return 1 + random_next(&m->random) % limit;
}

static void step_alloc(struct model *m, unsigned block)
{
    uint64_t size = random_size(m), twin_offset = 0, offset = 0;
    uint64_t align = random_next(&m->random) % 3 ? 0 : 1u << (random_next(&m->random) % 14);
    bool room = model_has_room(m, size, align);
    int code = sy_allocator_alloc(m->heap, size, align, &offset);

    ck_assert_int_eq(code, room ? 0 : -ENOMEM);
    ck_assert_int_eq(sy_allocator_alloc(m->twin, size, align, &twin_offset), code);
    ck_assert_uint_eq(twin_offset, offset);
    if (code)
        return;
    ck_assert_uint_eq(offset % GRANULE, 0);
    if (align)
        ck_assert_uint_eq(offset % align, 0);
    ck_assert_uint_eq(sy_allocator_size_of(m->heap, offset), size);
    model_mark(m, block, offset, sy_allocator_size_of(m->heap, offset));
}

static void step_resize(struct model *m, unsigned block)
{
    uint64_t size = random_size(m), start = m->start[block];
    uint64_t old = m->length[block], most;
    int code;

    model_unmark(m, block);
    most = model_run(m, start / GRANULE);
    code = sy_allocator_resize(m->heap, start, size);
    ck_assert_int_eq(code, size <= most ? 0 : -ENOMEM);
    ck_assert_int_eq(sy_allocator_resize(m->twin, start, size), code);
    if (code)
        ck_assert_uint_eq(sy_allocator_size_of(m->heap, start), old);
    else
        ck_assert_uint_eq(sy_allocator_size_of(m->heap, start), size);
    model_mark(m, block, start, sy_allocator_size_of(m->heap, start));
}

static void step_release(struct model *m, unsigned block)
{
    uint64_t start = m->start[block];

    ck_assert_int_eq(sy_allocator_release(m->heap, start), 0);
    ck_assert_int_eq(sy_allocator_release(m->twin, start), 0);
    ck_assert_int_eq(sy_allocator_release(m->heap, start), -EINVAL);
    ck_assert_uint_eq(sy_allocator_size_of(m->heap, start), 0);
    model_unmark(m, block);
}

static void model_compare(const struct model *m)
{
    struct sy_allocator_stats stats = sy_allocator_stats(m->heap);
    uint64_t used = m->size, largest = 0, runs = 0, live = 0;

    for (uint64_t i = 0; i < m->granules; i++) {
        uint64_t run = m->owner[i] ? 0 : model_run(m, i);

        largest = run > largest ? run : largest;
        runs += run > 0;
        used -= run;
        i += run / GRANULE;
    }
    for (unsigned i = 0; i < 512; i++)
        live += m->length[i] > 0;
    ck_assert_uint_eq(stats.size, m->size);
    ck_assert_uint_eq(stats.used, used);
    ck_assert_uint_eq(stats.largest_free, largest);
    ck_assert_uint_eq(stats.free_blocks, runs);
    ck_assert_uint_eq(stats.live_blocks, live);
}

static void model_walk(struct model *m, unsigned steps, unsigned blocks)
{
    for (unsigned i = 0; i < steps; i++) {
        unsigned block = (unsigned)(random_next(&m->random) % blocks);

        if (!m->length[block])
            step_alloc(m, block);
        else if (random_next(&m->random) % 3 == 0)
            step_resize(m, block);
        else
            step_release(m, block);
        model_compare(m);
    }
    for (unsigned i = 0; i < blocks; i++) {
        if (m->length[i])
            step_release(m, i);
    }
    model_compare(m);
    ck_assert_uint_eq(sy_allocator_stats(m->heap).largest_free, m->size);
    ck_assert_uint_eq(sy_allocator_stats(m->heap).used, 0);
}

static const struct {
    uint64_t size;
    unsigned steps, blocks;
} walks[] = {
    {MODEL_BYTES, 20000, 40},    {MODEL_BYTES, 20000, 500}, {MODEL_BYTES - 3, 20000, 100},
    {MODEL_BYTES + 5, 20000, 8}, {4096, 20000, 300},        {48, 2000, 3},
};

START_TEST(random_calls_agree_with_the_model)
{
    static struct model model;

    model_open(&model, walks[_i].size, 0x5bd1e995u + (uint64_t)_i);
    model_walk(&model, walks[_i].steps, walks[_i].blocks);
    model_close(&model);
}
END_TEST

START_TEST(whole_range_is_one_block)
{
    static const uint64_t sizes[] = {1, 15, 16, 17, 1000003, 64ull << 20, 3ull << 40, INT64_MAX};
    uint64_t size = sizes[_i], offset = 1;
    struct sy_allocator *heap = sy_allocator_new(size);

    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(sy_allocator_alloc(heap, size, 2 << 20, &offset), 0);
        ck_assert_uint_eq(offset, 0);
        ck_assert_uint_eq(sy_allocator_size_of(heap, 0), size);
        ck_assert_int_eq(sy_allocator_alloc(heap, 1, 0, &offset), -ENOMEM);
        ck_assert_int_eq(sy_allocator_release(heap, 0), 0);
    }
    ck_assert_int_eq(sy_allocator_alloc(heap, size + 1, 0, &offset), -ENOMEM);
    sy_allocator_free(heap);
}
END_TEST

START_TEST(empty_range_refuses_everything)
{
    struct sy_allocator *heap = sy_allocator_new(0);
    uint64_t offset;

    ck_assert_ptr_nonnull(heap);
    ck_assert_int_eq(sy_allocator_alloc(heap, 1, 0, &offset), -ENOMEM);
    ck_assert_int_eq(sy_allocator_release(heap, 0), -EINVAL);
    ck_assert_uint_eq(sy_allocator_stats(heap).largest_free, 0);
    sy_allocator_free(heap);
    sy_allocator_free(NULL);
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    struct sy_allocator *heap = sy_allocator_new(4096);
    uint64_t offset;

    ck_assert_int_eq(sy_allocator_alloc(heap, 0, 0, &offset), -EINVAL);
    ck_assert_int_eq(sy_allocator_alloc(heap, 8, 24, &offset), -EINVAL);
    ck_assert_int_eq(sy_allocator_alloc(heap, UINT64_MAX, 0, &offset), -ENOMEM);
    ck_assert_int_eq(sy_allocator_alloc(heap, UINT64_MAX - 14, 0, &offset), -ENOMEM);
    ck_assert_int_eq(sy_allocator_alloc(heap, 64, 0, &offset), 0);
    ck_assert_int_eq(sy_allocator_release(heap, offset + 16), -EINVAL);
    ck_assert_int_eq(sy_allocator_release(heap, offset + 1), -EINVAL);
    ck_assert_int_eq(sy_allocator_release(heap, UINT64_MAX), -EINVAL);
    ck_assert_int_eq(sy_allocator_resize(heap, offset + 16, 8), -EINVAL);
    ck_assert_int_eq(sy_allocator_resize(heap, offset, 0), -EINVAL);
    ck_assert_int_eq(sy_allocator_resize(heap, offset, UINT64_MAX), -ENOMEM);
    ck_assert_uint_eq(sy_allocator_size_of(heap, offset), 64);
    sy_allocator_free(heap);
    ck_assert_ptr_null(sy_allocator_new(UINT64_MAX));
}
END_TEST

START_TEST(every_alignment_is_kept)
{
    struct sy_allocator *heap = sy_allocator_new(1ull << 40);
    uint64_t offset;

    for (uint64_t align = 1; align <= 1ull << 33; align <<= 1) {
        ck_assert_int_eq(sy_allocator_alloc(heap, 24, 0, &offset), 0);
        ck_assert_int_eq(sy_allocator_alloc(heap, 100, align, &offset), 0);
        ck_assert_uint_eq(offset % align, 0);
    }
    ck_assert_int_eq(sy_allocator_alloc(heap, 1, 1ull << 40, &offset), -ENOMEM);
    ck_assert_int_eq(sy_allocator_alloc(heap, 1, 1ull << 63, &offset), -ENOMEM);
    sy_allocator_free(heap);
}
END_TEST

/* Metadata grows with the number of live blocks, and shrinks back to its initial size. */
START_TEST(many_cycles_leave_nothing)
{
    enum { BLOCKS = 20000 };
    struct sy_allocator *heap = sy_allocator_new((uint64_t)BLOCKS * 64);
    uint64_t *offsets = calloc(BLOCKS, sizeof(*offsets)), first = sy_allocator_stats(heap).metadata;
    uint64_t extra;

    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < BLOCKS; i++)
            ck_assert_int_eq(sy_allocator_alloc(heap, 64, 0, &offsets[i]), 0);
        ck_assert_int_eq(sy_allocator_alloc(heap, 1, 0, &extra), -ENOMEM);
        ck_assert_uint_lt(sy_allocator_stats(heap).metadata, first + BLOCKS * 100);
        for (unsigned i = 0; i < BLOCKS; i++)
            ck_assert_int_eq(sy_allocator_release(heap, offsets[(i * 7919u) % BLOCKS]), 0);
        ck_assert_uint_eq(sy_allocator_stats(heap).largest_free, (uint64_t)BLOCKS * 64);
        ck_assert_uint_eq(sy_allocator_stats(heap).metadata, first);
    }
    for (unsigned i = 0; i < 100000; i++) {
        ck_assert_int_eq(sy_allocator_alloc(heap, 1 + i % 5000, 0, &extra), 0);
        ck_assert_uint_eq(extra, 0);
        ck_assert_int_eq(sy_allocator_release(heap, extra), 0);
    }
    free(offsets);
    sy_allocator_free(heap);
}
END_TEST

enum { PAIR_BLOCKS = 900 };

/* Two instances with the same blocks; the poor one lacks memory for records in some calls. */
struct pair {
    struct sy_allocator *poor, *rich;
    uint64_t random, offsets[PAIR_BLOCKS];
    bool live[PAIR_BLOCKS];
    unsigned refused_allocs, refused_resizes;
};

static void pair_alloc(struct pair *p, unsigned block)
{
    uint64_t size = 1 + random_next(&p->random) % 2000, offset = 0;
    uint64_t align = 1ull << (random_next(&p->random) % 10);
    int poor, rich = sy_allocator_alloc(p->rich, size, align, &p->offsets[block]);

    malloc_fails = random_next(&p->random) % 3 > 0;
    poor = sy_allocator_alloc(p->poor, size, align, &offset);
    malloc_fails = false;
    if (poor == -ENOBUFS) {
        ck_assert_int_eq(rich, 0);
        ck_assert_int_eq(sy_allocator_release(p->rich, p->offsets[block]), 0);
        p->refused_allocs++;
        return;
    }
    ck_assert_int_eq(poor, rich);
    if (!poor)
        ck_assert_uint_eq(offset, p->offsets[block]);
    p->live[block] = !poor;
}

static void pair_resize(struct pair *p, unsigned block)
{
    uint64_t size = 1 + random_next(&p->random) % 2000, offset = p->offsets[block];
    uint64_t old = sy_allocator_size_of(p->rich, offset);
    int poor, rich = sy_allocator_resize(p->rich, offset, size);

    malloc_fails = true;
    poor = sy_allocator_resize(p->poor, offset, size);
    malloc_fails = false;
    if (poor != -ENOBUFS) {
        ck_assert_int_eq(poor, rich);
        return;
    }
    ck_assert_int_eq(rich, 0);
    ck_assert_int_eq(sy_allocator_resize(p->rich, offset, old), 0);
    p->refused_resizes++;
}

static void pair_release(struct pair *p, unsigned block)
{
    ck_assert_int_eq(sy_allocator_release(p->poor, p->offsets[block]), 0);
    ck_assert_int_eq(sy_allocator_release(p->rich, p->offsets[block]), 0);
    p->live[block] = false;
}

/* Where one instance succeeds and undoes its call, both return the same offsets from then on. */
START_TEST(lack_of_memory_can_be_undone)
{
    struct pair pair = {.random = 88172645463325252u};

    pair.poor = sy_allocator_new(1 << 20);
    pair.rich = sy_allocator_new(1 << 20);
    for (unsigned i = 0; i < 30000; i++) {
        unsigned block = (unsigned)(random_next(&pair.random) % PAIR_BLOCKS);

        if (!pair.live[block])
            pair_alloc(&pair, block);
        else if (random_next(&pair.random) % 2)
            pair_resize(&pair, block);
        else
            pair_release(&pair, block);
        ck_assert_uint_eq(sy_allocator_stats(pair.poor).used, sy_allocator_stats(pair.rich).used);
    }
    ck_assert_uint_gt(pair.refused_allocs, 0);
    ck_assert_uint_gt(pair.refused_resizes, 0);
    sy_allocator_free(pair.poor);
    sy_allocator_free(pair.rich);
}
END_TEST

START_TEST(no_memory_at_all)
{
    struct sy_allocator *heap;

    malloc_fails = true;
    heap = sy_allocator_new(4096);
    malloc_fails = false;
    ck_assert_ptr_null(heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("allocator");
    TCase *tests = tcase_create("allocator");

    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, random_calls_agree_with_the_model, 0,
                        sizeof(walks) / sizeof(walks[0]));
    tcase_add_loop_test(tests, whole_range_is_one_block, 0, 8);
    tcase_add_test(tests, empty_range_refuses_everything);
    tcase_add_test(tests, wrong_arguments_are_refused);
    tcase_add_test(tests, every_alignment_is_kept);
    tcase_add_test(tests, many_cycles_leave_nothing);
    tcase_add_test(tests, lack_of_memory_can_be_undone);
    tcase_add_test(tests, no_memory_at_all);
    return suite_run(suite);
}
