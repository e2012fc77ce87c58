/* See heap.h. */
#include <errno.h>

#include "core/allocator.h"
#include "core/fatal.h"
#include "core/heap.h"
#include "core/memory.h"
#include "util/error.h"

static struct sy_allocator *allocator;

int sy_heap_open(size_t length, struct sy_error *err)
{
    allocator = sy_allocator_new(length);
    return allocator ? 0 : sy_fail(err, ENOMEM, "no memory for the symmetric heap's records");
}

void sy_heap_close(void)
{
    sy_allocator_free(allocator);
    allocator = NULL;
}

bool sy_heap_aligns(size_t alignment)
{
    return alignment && !(alignment & (alignment - 1)) &&
           !((uintptr_t)sy_memory.heap & (alignment - 1));
}

void *sy_heap_alloc(size_t size, size_t alignment)
{
    uint64_t offset;

    if (!sy_heap_aligns(alignment) || sy_allocator_alloc(allocator, size, alignment, &offset))
        return NULL;
    if (sy_memory_back(offset, size)) {
        sy_allocator_release(allocator, offset);
        return NULL;
    }
    return sy_memory.heap + offset;
}

static uint64_t offset_of(const char *what, const void *block)
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
    return sy_allocator_size_of(allocator, offset_of(what, block));
}

void sy_heap_free(void *block)
{
    sy_allocator_release(allocator, offset_of("shmem_free", block));
}

bool sy_heap_resize(void *block, size_t size)
{
    uint64_t offset = offset_of("shmem_realloc", block);
    uint64_t before = sy_allocator_size_of(allocator, offset);

    if (sy_allocator_resize(allocator, offset, size))
        return false;
    if (!sy_memory_back(offset, size))
        return true;
    sy_allocator_resize(allocator, offset, before);
    return false;
}
