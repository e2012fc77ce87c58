/* See heap.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/memory/allocator.h"
#include "core/fatal.h"
#include "core/memory/heap.h"
#include "core/memory/memory.h"
#include "util/error.h"

static struct sy_allocator *allocator;

/* For sy_heap_within: all blocks by address, sorted anew when blocks have changed. A thread may
 * look while another one allocates. */
static struct {
    pthread_mutex_t lock;
    bool current;
    struct extent {
        uint64_t offset, length;
    } * block;
    size_t count;
} map = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void heap_change_begins(void)
{
    pthread_mutex_lock(&map.lock);
    map.current = false;
}

static void heap_change_ends(void)
{
    pthread_mutex_unlock(&map.lock);
}

int sy_heap_open(size_t length, struct sy_error *err)
{
    allocator = sy_allocator_new(length);
    return allocator ? 0 : sy_fail(err, ENOMEM, "no memory for the symmetric heap's records");
}

void sy_heap_close(void)
{
    sy_allocator_free(allocator);
    allocator = NULL;
    free(map.block);
    map.block = NULL;
    map.count = 0;
    map.current = false;
}

bool sy_heap_aligns(size_t alignment)
{
    return alignment && !(alignment & (alignment - 1)) &&
           !((uintptr_t)sy_memory.heap & (alignment - 1));
}

static bool heap_take(size_t size, size_t alignment, uint64_t *offset)
{
    if (sy_allocator_alloc(allocator, size, alignment, offset))
        return false;
    if (!sy_memory_back(*offset, size))
        return true;
    sy_allocator_release(allocator, *offset);
    return false;
}

void *sy_heap_alloc(size_t size, size_t alignment)
{
    uint64_t offset;

    if (!sy_heap_aligns(alignment))
        return NULL;
    heap_change_begins();
    bool taken = heap_take(size, alignment, &offset);
    heap_change_ends();
    return taken ? sy_memory.heap + offset : NULL;
}

static uint64_t heap_offset_of(const char *what, const void *block)
{
    uint64_t offset = (uint64_t)((const char *)block - sy_memory.heap);

    if (!sy_allocator_size_of(allocator, offset))
        sy_fatal(
            "%s: %p is not a block of the symmetric heap; it was not returned by an allocation "
            "routine, or has been freed already",
            what, block);
    return offset;
}

size_t sy_heap_size(const char *what, const void *block)
{
    return sy_allocator_size_of(allocator, heap_offset_of(what, block));
}

void sy_heap_free(void *block)
{
    uint64_t offset = heap_offset_of("shmem_free", block);

    heap_change_begins();
    sy_allocator_release(allocator, offset);
    heap_change_ends();
}

static bool heap_resize_at(uint64_t offset, size_t size)
{
    uint64_t before = sy_allocator_size_of(allocator, offset);

    if (sy_allocator_resize(allocator, offset, size))
        return false;
    if (!sy_memory_back(offset, size))
        return true;
    sy_allocator_resize(allocator, offset, before);
    return false;
}

bool sy_heap_resize(void *block, size_t size)
{
    uint64_t offset = heap_offset_of("shmem_realloc", block);

    heap_change_begins();
    bool resized = heap_resize_at(offset, size);
    heap_change_ends();
    return resized;
}

/* ---- SHMEM_CHECK ---- */

static void map_add(uint64_t offset, uint64_t asked, void *arg)
{
    (void)arg;
    map.block[map.count++] = (struct extent){offset, asked};
}

static int heap_map_order(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;

    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool heap_map_renew(void)
{
    uint64_t blocks = sy_allocator_stats(allocator).live_blocks;
    struct extent *block = realloc(map.block, (blocks + 1) * sizeof *block);

    if (!block)
        return false;
    map.block = block;
    map.count = 0;
    sy_allocator_walk(allocator, map_add, NULL);
    qsort(map.block, map.count, sizeof *map.block, heap_map_order);
    return map.current = true;
}

/* The last block that begins at the offset or before it. */
static const struct extent *heap_map_find(uint64_t offset)
{
    size_t low = 0, high = map.count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map.block[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &map.block[low - 1] : NULL;
}

size_t sy_heap_within(const void *address, size_t length, const void **begin, size_t *size)
{
    uint64_t offset = (uint64_t)((const char *)address - sy_memory.heap);
    size_t within = 0;

    *begin = NULL;
    *size = 0;
    pthread_mutex_lock(&map.lock);
    bool known = map.current || heap_map_renew();
    const struct extent *block = known ? heap_map_find(offset) : NULL;
    if (block && offset - block->offset < block->length) {
        *begin = sy_memory.heap + block->offset;
        *size = block->length;
        within = block->length - (offset - block->offset);
    }
    pthread_mutex_unlock(&map.lock);
    return !known || within > length ? length : within;
}
