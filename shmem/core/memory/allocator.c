/* The symmetric heap's allocator, see allocator.h. Works on offsets alone; must not know where the
 * heap is mapped, nor read or write it. */
#include "core/memory/allocator.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/bits.h"

/* Free blocks are kept by size in granules. Below SPLIT granules each size has its own list; above,
 * each power of two is divided into SPLIT lists. */
enum {
    SPLIT_LOG = 5,
    SPLIT = 1 << SPLIT_LOG,
    LEVELS = 64 - 4 - SPLIT_LOG + 1,
    SLAB_BLOCKS = 126,
    BUCKETS_LOG = 7, /* of the table of live blocks, at least */
};

/* A stretch of the range, live or free. All stretches together, linked by left and right, are the
 * range. Offsets and sizes are whole granules; only the last block ends where the range does. */
struct block {
    uint64_t offset, size;
    uint64_t asked; /* for, of a live block */
    struct block *left, *right;
    struct block *next;     /* in the free list, the bucket, or the list of spare records */
    struct block *previous; /* in the free list */
    bool free;
};

struct slab {
    struct slab *next;
    struct block blocks[SLAB_BLOCKS];
};

struct sy_allocator {
    uint64_t size, used, peak, live, free;
    uint64_t levels;         /* bit i: lists[i] has a block */
    uint32_t splits[LEVELS]; /* bit j of splits[i]: lists[i][j] has one */
    struct block *lists[LEVELS][SPLIT];
    struct block **buckets; /* live blocks by offset */
    unsigned buckets_log;
    struct block *spare;
    unsigned spares;
    struct slab *slabs;
    uint64_t slab_count;
};

struct size_class {
    unsigned level, split;
};

static struct size_class allocator_class_of(uint64_t size)
{
    uint64_t granules = size / SY_ALLOCATOR_GRANULE;

    if (granules < SPLIT)
        return (struct size_class){0, (unsigned)granules};
    unsigned top = 63 - (unsigned)__builtin_clzll(granules);
    return (struct size_class){top - SPLIT_LOG + 1, (granules >> (top - SPLIT_LOG)) & (SPLIT - 1)};
}

/* The first class all of whose blocks have at least `size` bytes, a multiple of the granule. */
static struct size_class allocator_class_above(uint64_t size)
{
    uint64_t granules = size / SY_ALLOCATOR_GRANULE;

    if (granules >= SPLIT) {
        unsigned top = 63 - (unsigned)__builtin_clzll(granules);

        granules += ((uint64_t)1 << (top - SPLIT_LOG)) - 1;
    }
    return allocator_class_of(granules * SY_ALLOCATOR_GRANULE);
}

/* Moves *at to the first class from *at upwards that has a block. */
static bool allocator_class_find(const struct sy_allocator *a, struct size_class *at)
{
    uint32_t splits;
    uint64_t levels;

    if (at->level >= LEVELS)
        return false;
    splits = at->split < SPLIT ? a->splits[at->level] & (UINT32_MAX << at->split) : 0;
    if (!splits) {
        levels = a->levels & (UINT64_MAX << at->level << 1);
        if (!levels)
            return false;
        at->level = (unsigned)__builtin_ctzll(levels);
        splits = a->splits[at->level];
    }
    at->split = (unsigned)__builtin_ctz(splits);
    return true;
}

static void allocator_list_insert(struct sy_allocator *a, struct block *block)
{
    struct size_class at = allocator_class_of(block->size);
    struct block **head = &a->lists[at.level][at.split];

    block->free = true;
    block->previous = NULL;
    block->next = *head;
    if (*head)
        (*head)->previous = block;
    *head = block;
    a->splits[at.level] |= (uint32_t)1 << at.split;
    a->levels |= (uint64_t)1 << at.level;
    a->free++;
}

static void allocator_list_remove(struct sy_allocator *a, struct block *block)
{
    struct size_class at = allocator_class_of(block->size);
    struct block **head = &a->lists[at.level][at.split];

    if (block->next)
        block->next->previous = block->previous;
    if (block->previous)
        block->previous->next = block->next;
    else
        *head = block->next;
    if (!*head) {
        a->splits[at.level] &= ~((uint32_t)1 << at.split);
        if (!a->splits[at.level])
            a->levels &= ~((uint64_t)1 << at.level);
    }
    block->free = false;
    a->free--;
}

static struct block **allocator_bucket_of(const struct sy_allocator *a, uint64_t offset)
{
    uint64_t mixed = offset / SY_ALLOCATOR_GRANULE * 0x9e3779b97f4a7c15u;

    return &a->buckets[mixed >> (64 - a->buckets_log)];
}

static struct block *allocator_live_find(const struct sy_allocator *a, uint64_t offset)
{
    struct block *block = *allocator_bucket_of(a, offset);

    while (block && block->offset != offset)
        block = block->next;
    return block;
}

/* Makes the table of live blocks larger. Without memory for it the old one still serves, more
 * slowly. */
static void allocator_live_rehash(struct sy_allocator *a, unsigned buckets_log)
{
    struct block **old = a->buckets, *block, *next, **bucket;
    uint64_t old_count = (uint64_t)1 << a->buckets_log;
    struct block **larger = calloc((size_t)1 << buckets_log, sizeof(*larger));

    if (!larger)
        return;
    a->buckets = larger;
    a->buckets_log = buckets_log;
    for (uint64_t i = 0; i < old_count; i++) {
        for (block = old[i]; block; block = next) {
            next = block->next;
            bucket = allocator_bucket_of(a, block->offset);
            block->next = *bucket;
            *bucket = block;
        }
    }
    free(old);
}

static void allocator_live_insert(struct sy_allocator *a, struct block *block)
{
    if (a->live >> a->buckets_log)
        allocator_live_rehash(a, a->buckets_log + 1);
    struct block **bucket = allocator_bucket_of(a, block->offset);
    block->next = *bucket;
    *bucket = block;
    a->live++;
}

static void allocator_live_remove(struct sy_allocator *a, struct block *block)
{
    struct block **link = allocator_bucket_of(a, block->offset);

    while (*link != block)
        link = &(*link)->next;
    *link = block->next;
    a->live--;
}

static void allocator_record_return(struct sy_allocator *a, struct block *block)
{
    block->next = a->spare;
    a->spare = block;
    a->spares++;
}

/* Makes sure that `count` records can be taken. An operation asks for all that it may need before
 * its first change. */
static bool allocator_records_ready(struct sy_allocator *a, unsigned count)
{
    struct slab *slab;

    if (a->spares >= count)
        return true;
    slab = malloc(sizeof(*slab));
    if (!slab)
        return false;
    slab->next = a->slabs;
    a->slabs = slab;
    a->slab_count++;
    for (unsigned i = 0; i < SLAB_BLOCKS; i++)
        allocator_record_return(a, &slab->blocks[i]);
    return true;
}

/* A new record for [offset, offset + size), between left and what followed it. */
static struct block *allocator_record_take(struct sy_allocator *a, struct block *left,
                                           uint64_t offset, uint64_t size)
{
    struct block *block = a->spare;

    assert(block); /* allocator_records_ready came before */
    a->spare = block->next;
    a->spares--;
    block->offset = offset;
    block->size = size;
    block->left = left;
    block->right = left ? left->right : NULL;
    block->free = false;
    if (block->right)
        block->right->left = block;
    if (left)
        left->right = block;
    return block;
}

/* Joins a block and its right neighbour; neither is in a list. */
static void allocator_absorb_right(struct sy_allocator *a, struct block *block)
{
    struct block *right = block->right;

    block->size += right->size;
    block->right = right->right;
    if (block->right)
        block->right->left = block;
    allocator_record_return(a, right);
}

/* Cuts what is beyond `size` bytes off a live block and frees it. A record is ready; the right
 * neighbour is live, since free neighbours are always joined. */
static void allocator_cut_tail(struct sy_allocator *a, struct block *block, uint64_t size)
{
    struct block *tail = allocator_record_take(a, block, block->offset + size, block->size - size);

    block->size = size;
    allocator_list_insert(a, tail);
}

/* Begins anew: one free block of the whole range, and no slab but the last in the list. */
static void allocator_start_over(struct sy_allocator *a)
{
    struct slab *slab = a->slabs;

    while (slab->next) {
        a->slabs = slab->next;
        free(slab);
        slab = a->slabs;
    }
    a->slab_count = 1;
    a->spare = NULL;
    a->spares = 0;
    for (unsigned i = 0; i < SLAB_BLOCKS; i++)
        allocator_record_return(a, &slab->blocks[i]);

    memset(a->lists, 0, sizeof(a->lists));
    memset(a->splits, 0, sizeof(a->splits));
    a->levels = 0;
    a->free = 0;
    if (a->size)
        allocator_list_insert(a, allocator_record_take(a, NULL, 0, a->size));
}

struct sy_allocator *sy_allocator_new(uint64_t size)
{
    struct sy_allocator *a;

    if (size > INT64_MAX || !(a = calloc(1, sizeof(*a))))
        return NULL;
    a->size = size;
    a->buckets_log = BUCKETS_LOG;
    a->buckets = calloc((size_t)1 << BUCKETS_LOG, sizeof(*a->buckets));
    if (!a->buckets || !allocator_records_ready(a, 1)) {
        sy_allocator_free(a);
        return NULL;
    }
    allocator_start_over(a);
    return a;
}

void sy_allocator_free(struct sy_allocator *a)
{
    struct slab *slab;

    if (!a)
        return;
    while ((slab = a->slabs)) {
        a->slabs = slab->next;
        free(slab);
    }
    free(a->buckets);
    free(a);
}

/* Where in the block an object of `size` bytes could begin. */
static bool allocator_block_fits(const struct block *block, uint64_t size, uint64_t align,
                                 uint64_t *start)
{
    *start = sy_round_up(block->offset, align);
    return *start >= block->offset && *start - block->offset <= block->size &&
           size <= block->size - (*start - block->offset);
}

/* A free block for the request, or NULL. First the block of about this size that was released last,
 * then any of a class where all fit. The heads of lists are enough for these. */
static struct block *allocator_search(const struct sy_allocator *a, uint64_t size, uint64_t align,
                                      uint64_t *start)
{
    uint64_t need = sy_round_up(size, SY_ALLOCATOR_GRANULE);
    struct size_class at = allocator_class_of(size);
    struct block *block = a->lists[at.level][at.split];

    if (block && allocator_block_fits(block, size, align, start))
        return block;
    if (!__builtin_add_overflow(need, align - SY_ALLOCATOR_GRANULE, &need) && need <= a->size) {
        at = allocator_class_above(need);
        if (allocator_class_find(a, &at)) {
            block = a->lists[at.level][at.split];
            if (allocator_block_fits(block, size, align, start))
                return block;
        }
    }
    /* What is left has about the size of the request, or is large but badly aligned. */
    for (at = allocator_class_of(size); allocator_class_find(a, &at); at.split++) {
        for (block = a->lists[at.level][at.split]; block; block = block->next) {
            if (allocator_block_fits(block, size, align, start))
                return block;
        }
    }
    return NULL;
}

/* Makes [start, start + size) of a block that is in no list a block of its own. Two records are
 * ready. */
static struct block *allocator_carve(struct sy_allocator *a, struct block *block, uint64_t start,
                                     uint64_t size)
{
    uint64_t before = start - block->offset;
    struct block *front = block;

    if (before) {
        block = allocator_record_take(a, front, start, front->size - before);
        front->size = before;
        allocator_list_insert(a, front);
    }
    if (block->size > size)
        allocator_cut_tail(a, block, size);
    return block;
}

static void allocator_use(struct sy_allocator *a, uint64_t size)
{
    a->used += size;
    if (a->used > a->peak)
        a->peak = a->used;
}

int sy_allocator_alloc(struct sy_allocator *a, uint64_t size, uint64_t align, uint64_t *offset)
{
    uint64_t start;

    if (!size || (align & (align - 1)))
        return -EINVAL;
    if (size > a->size)
        return -ENOMEM;
    if (align < SY_ALLOCATOR_GRANULE)
        align = SY_ALLOCATOR_GRANULE;
    struct block *block = allocator_search(a, size, align, &start);
    if (!block)
        return -ENOMEM;

    allocator_list_remove(a, block);
    if (!allocator_records_ready(a, 2)) {
        /* Where an alloc succeeds and is undone, the block comes back as the head of its list. */
        allocator_list_insert(a, block);
        return -ENOBUFS;
    }
    block = allocator_carve(a, block, start, sy_round_up(size, SY_ALLOCATOR_GRANULE));
    block->asked = size;
    allocator_live_insert(a, block);
    allocator_use(a, block->size);
    *offset = block->offset;
    return 0;
}

int sy_allocator_release(struct sy_allocator *a, uint64_t offset)
{
    struct block *block = allocator_live_find(a, offset);

    if (!block)
        return -EINVAL;
    allocator_live_remove(a, block);
    a->used -= block->size;
    if (block->right && block->right->free) {
        allocator_list_remove(a, block->right);
        allocator_absorb_right(a, block);
    }
    if (block->left && block->left->free) {
        block = block->left;
        allocator_list_remove(a, block);
        allocator_absorb_right(a, block);
    }
    allocator_list_insert(a, block);
    if (!a->live && a->slab_count > 1) {
        allocator_live_rehash(a, BUCKETS_LOG);
        allocator_start_over(a);
    }
    return 0;
}

int sy_allocator_resize(struct sy_allocator *a, uint64_t offset, uint64_t size)
{
    struct block *block = allocator_live_find(a, offset), *right;
    uint64_t old, rounded;

    if (!block || !size)
        return -EINVAL;
    right = block->right;
    bool right_free = right && right->free;
    if (size > block->size + (right_free ? right->size : 0))
        return -ENOMEM;
    old = block->size;
    rounded = sy_round_up(size, SY_ALLOCATOR_GRANULE);
    if (rounded < old && !right_free && !allocator_records_ready(a, 1))
        return -ENOBUFS;
    if (rounded != old && right_free) {
        allocator_list_remove(a, right);
        allocator_absorb_right(a, block);
    }
    if (rounded < block->size)
        allocator_cut_tail(a, block, rounded);
    block->asked = size;
    a->used -= old;
    allocator_use(a, block->size);
    return 0;
}

uint64_t sy_allocator_size_of(const struct sy_allocator *a, uint64_t offset)
{
    const struct block *block = allocator_live_find(a, offset);

    return block ? block->asked : 0;
}

void sy_allocator_walk(const struct sy_allocator *a, sy_allocator_visit *visit, void *arg)
{
    const uint64_t buckets = (uint64_t)1 << a->buckets_log;

    for (uint64_t i = 0; i < buckets; i++)
        for (const struct block *block = a->buckets[i]; block; block = block->next)
            visit(block->offset, block->asked, arg);
}

/* The size of the largest free block: one of the highest class, each of which is looked at. */
static uint64_t allocator_largest_free(const struct sy_allocator *a)
{
    uint64_t largest = 0;
    unsigned level, split;

    if (!a->levels)
        return 0;
    level = 63 - (unsigned)__builtin_clzll(a->levels);
    split = 31 - (unsigned)__builtin_clz(a->splits[level]);
    for (const struct block *block = a->lists[level][split]; block; block = block->next)
        largest = block->size > largest ? block->size : largest;
    return largest;
}

struct sy_allocator_stats sy_allocator_stats(const struct sy_allocator *a)
{
    uint64_t tables = sizeof(*a) + (sizeof(*a->buckets) << a->buckets_log);

    return (struct sy_allocator_stats){
        .size = a->size,
        .used = a->used,
        .peak = a->peak,
        .largest_free = allocator_largest_free(a),
        .live_blocks = a->live,
        .free_blocks = a->free,
        .metadata = tables + a->slab_count * sizeof(struct slab),
    };
}
