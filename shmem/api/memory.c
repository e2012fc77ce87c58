/* The symmetric heap (9.3). All PEs make the same calls, so the allocators of all PEs give the same
 * answers; where one PE lacks ordinary memory for its records, all give the block back and return
 * NULL together. */
#include <stdint.h>
#include <string.h>

#include "api/alias.h"
#include "coll/agree.h"
#include "coll/sync.h"
#include "core/memory/heap.h"
#include "core/memory/memory.h"
#include "core/rma.h"
#include "core/start/world.h"
#include "util/bits.h"
#include "util/log.h"

#define ANY 1 /* alignment: the heap's own suits every type */

/* Many programs do not check the result. */
static void api_memory_tell_once(const char *routine, size_t size, size_t alignment)
{
    static bool told[2];
    bool aligns = sy_heap_aligns(alignment);
    uintptr_t heap = (uintptr_t)sy_memory.heap;

    if (told[aligns] || sy_world.pe)
        return;
    told[aligns] = true;
    if (aligns)
        sy_log(
            SY_LOG_WARN, "heap",
            "%s: %zu bytes do not fit into what is free of the symmetric heap of %zu bytes; NULL "
            "is returned. SHMEM_SYMMETRIC_SIZE makes the heap larger",
            routine, size, sy_windows.entry[SY_WINDOW_HEAP].own.length);
    else
        sy_log(SY_LOG_WARN, "heap",
               "%s: blocks at multiples of %zu bytes cannot be had; NULL is returned. An alignment "
               "is a power of two, and here at most %zu",
               routine, alignment, (size_t)(heap & -heap));
}

/* An allocation with its barrier on exit. `clear`: bytes to set to zero before the others may see
 * them. (Inline, so that the routine is on the stack when a report asks for what a PE waits in:
 * core/callsite.h.) */
SY_INLINE void *api_memory_allocate(const struct sy_call *call, size_t alignment, size_t clear)
{
    sy_world_need(call->routine);
    if (!call->bytes)
        return NULL;
    void *block = sy_heap_alloc(call->bytes, alignment);
    if (block && clear)
        memset(block, 0, clear);
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    if (sy_agree(call, block != NULL))
        return block;
    if (block)
        sy_heap_free(block);
    api_memory_tell_once(call->routine, call->bytes, alignment);
    return NULL;
}

/* The call, as a structure that sy_agree hashes whole. */
#define CALL(ROUTINE, ...) (&(const struct sy_call){.routine = ROUTINE, __VA_ARGS__})

void *pshmem_malloc(size_t size)
{
    return api_memory_allocate(CALL("shmem_malloc", .bytes = size), ANY, 0);
}
SY_ALIAS(shmem_malloc);

/* All memory of this library takes atomics and signals alike. */
void *pshmem_malloc_with_hints(size_t size, long hints)
{
    return api_memory_allocate(CALL("shmem_malloc_with_hints", .bytes = size, .hints = hints), ANY,
                               0);
}
SY_ALIAS(shmem_malloc_with_hints);

void *pshmem_align(size_t alignment, size_t size)
{
    return api_memory_allocate(CALL("shmem_align", .bytes = size, .alignment = alignment),
                               alignment, 0);
}
SY_ALIAS(shmem_align);

void *pshmem_calloc(size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    return api_memory_allocate(CALL("shmem_calloc", .bytes = bytes), ANY, bytes);
}
SY_ALIAS(shmem_calloc);

/* A block, for struct sy_call. */
static size_t name_of(const void *block)
{
    return (size_t)((const char *)block - sy_memory.heap) + 1;
}

void pshmem_free(void *ptr)
{
    if (!ptr)
        return;
    sy_world_need("shmem_free");
    sy_heap_size("shmem_free", ptr);
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    sy_agree(CALL("shmem_free", .offset = name_of(ptr)), true);
    sy_heap_free(ptr);
}
SY_ALIAS(shmem_free);

/* Moves a block that cannot grow where it is. */
static void *api_memory_move_block(const struct sy_call *call, void *old, size_t have)
{
    size_t size = call->bytes;
    void *block = sy_heap_alloc(size, ANY);

    if (block)
        memcpy(block, old, have < size ? have : size);
    if (sy_agree(call, block != NULL)) {
        sy_heap_free(old);
        return block;
    }
    if (block)
        sy_heap_free(block);
    api_memory_tell_once("shmem_realloc", size, ANY);
    return NULL;
}

void *pshmem_realloc(void *ptr, size_t size)
{
    if (!ptr)
        return api_memory_allocate(CALL("shmem_realloc", .bytes = size), ANY, 0);
    if (!size) {
        pshmem_free(ptr);
        return NULL;
    }
    sy_world_need("shmem_realloc");
    size_t have = sy_heap_size("shmem_realloc", ptr);
    const struct sy_call *call = CALL("shmem_realloc", .bytes = size, .offset = name_of(ptr));
    sy_barrier_world();
    bool resized = sy_heap_resize(ptr, size);
    if (sy_agree(call, resized))
        return ptr;
    if (resized)
        sy_heap_resize(ptr, have);
    return api_memory_move_block(call, ptr, have);
}
SY_ALIAS(shmem_realloc);

/* ---- deprecated since 1.2 ---- */

void *pshmalloc(size_t size)
{
    return api_memory_allocate(CALL("shmalloc", .bytes = size), ANY, 0);
}
SY_ALIAS(shmalloc);

void pshfree(void *ptr)
{
    pshmem_free(ptr);
}
SY_ALIAS(shfree);

void *pshrealloc(void *ptr, size_t size)
{
    return pshmem_realloc(ptr, size);
}
SY_ALIAS(shrealloc);

void *pshmemalign(size_t alignment, size_t size)
{
    return api_memory_allocate(CALL("shmemalign", .bytes = size, .alignment = alignment), alignment,
                               0);
}
SY_ALIAS(shmemalign);
