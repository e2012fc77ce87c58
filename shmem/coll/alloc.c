/* What alloc.h has no need of inline. */
#include "coll/alloc.h"
#include "core/start/world.h"
#include "util/log.h"

void sy_alloc_tell_once(const struct sy_arena *arena, const struct sy_call *call, size_t alignment,
                        bool had)
{
    struct sy_heap *heap = arena->heap;
    bool aligns = sy_heap_aligns(heap, alignment);
    uintptr_t base = (uintptr_t)heap->base;

    if (heap->told[aligns + had] || arena->team->members.me)
        return;
    heap->told[aligns + had] = true;
    if (had)
        sy_log(SY_LOG_WARN, "heap",
               "%s: %zu bytes of the %s can be had on PE %d, but not on all its PEs; NULL is "
               "returned. One of them lacks memory for its records, or its part does not begin at "
               "a multiple of the alignment",
               call->routine, call->bytes, heap->name, sy_world.pe);
    else if (aligns)
        sy_log(SY_LOG_WARN, "heap",
               "%s: %zu bytes do not fit into what is free of the %s of %zu bytes; NULL is "
               "returned. %s",
               call->routine, call->bytes, heap->name, heap->length, arena->larger);
    else
        sy_log(SY_LOG_WARN, "heap",
               "%s: blocks at multiples of %zu bytes cannot be had; NULL is returned. An alignment "
               "is a power of two, and here at most %zu",
               call->routine, alignment, (size_t)(base & -base));
}
