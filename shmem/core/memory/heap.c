#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/callsite.h"
#include "core/memory/allocator.h"
#include "core/fatal.h"
#include "core/memory/heap.h"
#include "util/error.h"

struct sy_heap sy_heap;

static void heap_change_begins(struct sy_heap *heap)
{
    pthread_mutex_lock(&heap->map.lock);
    heap->map.current = false;
}

static void heap_change_ends(struct sy_heap *heap)
{
    pthread_mutex_unlock(&heap->map.lock);
}

int sy_heap_open(struct sy_heap *heap, const char *name, char *base, size_t length,
                 struct sy_error *err)
{
    *heap = (struct sy_heap){.base = base, .length = length, .map.lock = PTHREAD_MUTEX_INITIALIZER};
    snprintf(heap->name, sizeof heap->name, "%s", name);
    heap->allocator = sy_allocator_new(length);
    return heap->allocator ? 0 : sy_fail(err, ENOMEM, "no memory for the records of a heap");
}

void sy_heap_close(struct sy_heap *heap)
{
    sy_allocator_free(heap->allocator);
    free(heap->map.block);
    *heap = (struct sy_heap){.base = NULL};
}

bool sy_heap_aligns(const struct sy_heap *heap, size_t alignment)
{
    return alignment && !(alignment & (alignment - 1)) &&
           !((uintptr_t)heap->base & (alignment - 1));
}

static bool heap_take(struct sy_heap *heap, size_t size, size_t alignment, uint64_t *offset)
{
    if (sy_allocator_alloc(heap->allocator, size, alignment, offset))
        return false;
    if (!heap->back || !heap->back(*offset, size))
        return true;
    sy_allocator_release(heap->allocator, *offset);
    return false;
}

void *sy_heap_alloc(struct sy_heap *heap, size_t size, size_t alignment)
{
    uint64_t offset;

    heap_change_begins(heap);
    bool taken = heap_take(heap, size, alignment, &offset), fits = sy_heap_aligns(heap, alignment);
    if (taken && !fits) /* others, whose heap begins elsewhere, have got it and give it back too */
        sy_allocator_release(heap->allocator, offset);
    heap_change_ends(heap);
    return taken && fits ? heap->base + offset : NULL;
}

static uint64_t heap_offset_of(struct sy_heap *heap, const char *what, const void *block)
{
    uint64_t offset = (uint64_t)((const char *)block - heap->base);
    const void *begin;
    size_t size;

    if (SY_LIKELY(sy_allocator_size_of(heap->allocator, offset)))
        return offset;
    sy_heap_within(heap, block, 0, &begin, &size);
    if (begin)
        sy_fatal("%s: %p is within the block of %zu bytes at %p of the %s; only the address where "
                 "a block begins stands for it",
                 sy_callsite_routine(what), block, size, begin, heap->name);
    sy_fatal(
        "%s: %p is not a block of the %s; it was not returned by an allocation routine for it, "
        "or has been freed already",
        sy_callsite_routine(what), block, heap->name);
}

size_t sy_heap_size(struct sy_heap *heap, const char *what, const void *block)
{
    return sy_allocator_size_of(heap->allocator, heap_offset_of(heap, what, block));
}

void sy_heap_free(struct sy_heap *heap, void *block)
{
    uint64_t offset = heap_offset_of(heap, "shmem_free", block);

    heap_change_begins(heap);
    sy_allocator_release(heap->allocator, offset);
    heap_change_ends(heap);
}

static bool heap_resize_at(struct sy_heap *heap, uint64_t offset, size_t size)
{
    uint64_t before = sy_allocator_size_of(heap->allocator, offset);

    if (sy_allocator_resize(heap->allocator, offset, size))
        return false;
    if (!heap->back || !heap->back(offset, size))
        return true;
    sy_allocator_resize(heap->allocator, offset, before);
    return false;
}

bool sy_heap_resize(struct sy_heap *heap, void *block, size_t size)
{
    uint64_t offset = heap_offset_of(heap, "shmem_realloc", block);

    heap_change_begins(heap);
    bool resized = heap_resize_at(heap, offset, size);
    heap_change_ends(heap);
    return resized;
}

/* ---- SHMEM_CHECK ---- */

static void heap_map_add(uint64_t offset, uint64_t asked, void *arg)
{
    struct sy_heap *heap = arg;

    heap->map.block[heap->map.count++] = (struct sy_heap_extent){offset, asked};
}

static int heap_map_order(const void *a, const void *b)
{
    const struct sy_heap_extent *x = a, *y = b;

    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool heap_map_renew(struct sy_heap *heap)
{
    uint64_t blocks = sy_allocator_stats(heap->allocator).live_blocks;
    struct sy_heap_extent *block = realloc(heap->map.block, (blocks + 1) * sizeof *block);

    if (!block)
        return false;
    heap->map.block = block;
    heap->map.count = 0;
    sy_allocator_walk(heap->allocator, heap_map_add, heap);
    qsort(heap->map.block, heap->map.count, sizeof *heap->map.block, heap_map_order);
    return heap->map.current = true;
}

/* The last block that begins at the offset or before it. */
static const struct sy_heap_extent *heap_map_find(const struct sy_heap *heap, uint64_t offset)
{
    size_t low = 0, high = heap->map.count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (heap->map.block[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &heap->map.block[low - 1] : NULL;
}

size_t sy_heap_within(struct sy_heap *heap, const void *address, size_t length, const void **begin,
                      size_t *size)
{
    uint64_t offset = (uint64_t)((const char *)address - heap->base);
    size_t within = 0;

    *begin = NULL;
    *size = 0;
    pthread_mutex_lock(&heap->map.lock);
    bool known = heap->map.current || heap_map_renew(heap);
    const struct sy_heap_extent *block = known ? heap_map_find(heap, offset) : NULL;
    if (block && offset - block->offset < block->length) {
        *begin = heap->base + block->offset;
        *size = block->length;
        within = block->length - (offset - block->offset);
    }
    pthread_mutex_unlock(&heap->map.lock);
    return !known || within > length ? length : within;
}
