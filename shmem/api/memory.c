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

/* clang-format off */
#define DEFINE_MALLOC(NAME) \
    SY_DEFINE(void *, NAME, (size_t size), \
              return memory_allocate(SY_CALL(#NAME, .bytes = size), SY_ALLOC_ANY, 0);)
#define DEFINE_ALIGN(NAME) \
    SY_DEFINE(void *, NAME, (size_t alignment, size_t size), \
              return memory_allocate(SY_CALL(#NAME, .bytes = size, .alignment = alignment), \
                                     alignment, 0);)
DEFINE_MALLOC(shmem_malloc)
DEFINE_ALIGN(shmem_align)
/* clang-format on */

/* All memory of this library takes atomics and signals alike. */
void *pshmem_malloc_with_hints(size_t size, long hints)
{
    return memory_allocate(SY_CALL("shmem_malloc_with_hints", .bytes = size, .hints = hints),
                           SY_ALLOC_ANY, 0);
}
SY_ALIAS(shmem_malloc_with_hints);

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

/* clang-format off */
DEFINE_MALLOC(shmalloc)
DEFINE_ALIGN(shmemalign)
SY_DEFINE(void, shfree, (void *ptr), pshmem_free(ptr);)
SY_DEFINE(void *, shrealloc, (void *ptr, size_t size), return pshmem_realloc(ptr, size);)
/* clang-format on */
