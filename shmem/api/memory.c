/* The symmetric heap (9.3): thunks over coll/alloc.h. */

#include "api/alias.h"
#include "coll/alloc.h"
#include "core/start/world.h"

static const struct sy_arena symmetric = {.heap = &sy_heap,
                                          .team = &sy_team_world,
                                          .larger = "SHMEM_SYMMETRIC_SIZE makes the heap larger"};

SY_INLINE void *memory_allocate(const struct sy_call *call, size_t alignment, size_t clear)
{
    sy_world_need(call->routine);
    return sy_alloc(&symmetric, call, alignment, clear);
}

void *pshmem_malloc(size_t size)
{
    return memory_allocate(SY_CALL("shmem_malloc", .bytes = size), SY_ALLOC_ANY, 0);
}
SY_ALIAS(shmem_malloc);

/* All memory of this library takes atomics and signals alike. */
void *pshmem_malloc_with_hints(size_t size, long hints)
{
    return memory_allocate(SY_CALL("shmem_malloc_with_hints", .bytes = size, .hints = hints),
                           SY_ALLOC_ANY, 0);
}
SY_ALIAS(shmem_malloc_with_hints);

void *pshmem_align(size_t alignment, size_t size)
{
    return memory_allocate(SY_CALL("shmem_align", .bytes = size, .alignment = alignment), alignment,
                           0);
}
SY_ALIAS(shmem_align);

void *pshmem_calloc(size_t count, size_t size)
{
    size_t bytes = sy_bytes(count, size);

    return memory_allocate(SY_CALL("shmem_calloc", .bytes = bytes), SY_ALLOC_ANY, bytes);
}
SY_ALIAS(shmem_calloc);

void pshmem_free(void *ptr)
{
    if (!ptr)
        return;
    sy_world_need("shmem_free");
    sy_alloc_free(&symmetric, *SY_CALL("shmem_free"), ptr);
}
SY_ALIAS(shmem_free);

void *pshmem_realloc(void *ptr, size_t size)
{
    if (!ptr)
        return memory_allocate(SY_CALL("shmem_realloc", .bytes = size), SY_ALLOC_ANY, 0);
    if (!size) {
        pshmem_free(ptr);
        return NULL;
    }
    sy_world_need("shmem_realloc");
    return sy_alloc_resize(&symmetric, *SY_CALL("shmem_realloc", .bytes = size), ptr);
}
SY_ALIAS(shmem_realloc);

/* ---- deprecated since 1.2 ---- */

void *pshmalloc(size_t size)
{
    return memory_allocate(SY_CALL("shmalloc", .bytes = size), SY_ALLOC_ANY, 0);
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
    return memory_allocate(SY_CALL("shmemalign", .bytes = size, .alignment = alignment), alignment,
                           0);
}
SY_ALIAS(shmemalign);
