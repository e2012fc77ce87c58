/* Blocks of a heap that is the same on all PEs of a team: the symmetric heap, or a memory space.
 * All make the same calls, so the allocators of all give the same answers; where one PE lacks
 * ordinary memory for its records, all give the block back and return NULL together.
 *
 * The functions are inline, so that the routine is on the stack when a report asks for what a PE
 * waits in (core/callsite.h). */
#ifndef SY_COLL_ALLOC_H
#define SY_COLL_ALLOC_H

#include <stddef.h>

#include "coll/agree.h"
#include "coll/group.h"
#include "core/memory/heap.h"
#include "core/rma.h"

/* Where blocks come from. The last two are for memory that the CPU cannot store to, or NULL. */
struct sy_arena {
    struct sy_heap *heap;
    struct sy_team *team;
    const char *larger; /* what to do when it is full, for a message */
    void (*clear)(void *block, size_t length);
    void (*copy)(void *to, const void *from, size_t length);
};

/* The call, as a structure that sy_agree hashes whole. */
#define SY_CALL(ROUTINE, ...) (&(const struct sy_call){.routine = ROUTINE, __VA_ARGS__})

#define SY_ALLOC_ANY 1 /* alignment: the heap's own suits every type */

/* Says, on the team's first PE, why NULL is returned, which many programs do not look at; once a
 * heap and reason. had: this PE could have given a block. */
void sy_alloc_tell_once(const struct sy_arena *arena, const struct sy_call *call, size_t alignment,
                        bool had) SY_COLD;

/* A block, for struct sy_call. */
static inline size_t sy_alloc_name(const struct sy_arena *arena, const void *block)
{
    return (size_t)((const char *)block - arena->heap->base) + 1;
}

/* The block, if all members have got one; else NULL, and it is given back. No member goes on with
 * NULL, to end the job perhaps, before it has been told why. */
SY_INLINE void *sy_alloc_agreed(const struct sy_arena *arena, const struct sy_call *call,
                                void *block, size_t alignment)
{
    struct sy_group group = sy_group_of_team(arena->team);

    if (sy_agree(arena->team, call, block != NULL))
        return block;
    if (block)
        sy_heap_free(arena->heap, block);
    sy_alloc_tell_once(arena, call, alignment, block != NULL);
    sy_group_sync(&group);
    return NULL;
}

/* An allocation of call->bytes, with a barrier on exit. `clear`: bytes to set to zero before the
 * others may see them. NULL where there is no room; and, without a barrier, for 0 bytes. */
SY_INLINE void *sy_alloc(const struct sy_arena *arena, const struct sy_call *call, size_t alignment,
                         size_t clear)
{
    if (!call->bytes)
        return NULL;
    void *block = sy_heap_alloc(arena->heap, call->bytes, alignment);
    if (block && clear && arena->clear)
        arena->clear(block, clear);
    else if (block && clear)
        memset(block, 0, clear);
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    return sy_alloc_agreed(arena, call, block, alignment);
}

/* Gives a block back after a barrier. The call has the routine alone. */
SY_INLINE void sy_alloc_free(const struct sy_arena *arena, struct sy_call call, void *block)
{
    sy_heap_size(arena->heap, call.routine, block);
    call.offset = sy_alloc_name(arena, block);
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    sy_agree(arena->team, &call, true);
    sy_heap_free(arena->heap, block);
}

/* Moves a block that cannot grow where it is. */
SY_INLINE void *sy_alloc_move(const struct sy_arena *arena, const struct sy_call *call, void *old,
                              size_t have)
{
    size_t size = call->bytes, keep = have < size ? have : size;
    void *block = sy_heap_alloc(arena->heap, size, SY_ALLOC_ANY);

    if (block && arena->copy)
        arena->copy(block, old, keep);
    else if (block)
        sy_copy_bytes(block, old, keep);
    block = sy_alloc_agreed(arena, call, block, SY_ALLOC_ANY);
    if (block)
        sy_heap_free(arena->heap, old);
    return block;
}

/* Makes a block hold call.bytes (not 0), which may move it. NULL where there is no room, and the
 * block stays as it is. */
SY_INLINE void *sy_alloc_resize(const struct sy_arena *arena, struct sy_call call, void *block)
{
    size_t have = sy_heap_size(arena->heap, call.routine, block);
    struct sy_group group = sy_group_of_team(arena->team);

    call.offset = sy_alloc_name(arena, block);
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    sy_group_sync(&group);
    bool resized = sy_heap_resize(arena->heap, block, call.bytes);
    if (sy_agree(arena->team, &call, resized))
        return block;
    if (resized)
        sy_heap_resize(arena->heap, block, have);
    return sy_alloc_move(arena, &call, block, have);
}

#endif
