/* Memory spaces (shmemx.h): thunks over space/ and coll/alloc.h. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "api/alias.h"
#include "coll/alloc.h"
#include "core/fatal.h"
#include "core/start/world.h"
#include "space/space.h"

static bool is_invalid(shmemx_space_t space)
{
    return space == SHMEMX_SPACE_INVALID;
}

static bool is_default(shmemx_space_t space)
{
    return space == SHMEMX_SPACE_DEFAULT;
}

/* ---- creation and destruction ---- */

int pshmemx_space_create(const shmemx_space_config_t *config, shmemx_space_t *space,
                         shmem_team_t *team)
{
    struct sy_space *made;

    sy_world_need("shmemx_space_create");
    int rc = sy_space_create(config, space && team, &made);
    if (space)
        *space = made ? made->handle : SHMEMX_SPACE_INVALID;
    if (team)
        *team = made ? sy_space_team(made) : SHMEM_TEAM_INVALID;
    return rc;
}
SY_ALIAS(shmemx_space_create);

int pshmemx_space_destroy(shmemx_space_t space)
{
    sy_world_need("shmemx_space_destroy");
    if (is_invalid(space))
        return 0;
    return is_default(space) ? -EINVAL
                             : sy_space_destroy(sy_space_need("shmemx_space_destroy", space));
}
SY_ALIAS(shmemx_space_destroy);

/* ---- allocation ---- */

/* Allocates in a space that is neither invalid nor the default one. */
SY_INLINE void *spaces_allocate(shmemx_space_t space, const struct sy_call *call, size_t alignment,
                                size_t clear)
{
    sy_world_need(call->routine);
    return is_invalid(space)
               ? NULL
               : sy_alloc(&sy_space_need(call->routine, space)->arena, call, alignment, clear);
}

void *pshmemx_space_malloc(shmemx_space_t space, size_t size)
{
    if (is_default(space))
        return pshmem_malloc(size);
    return spaces_allocate(space, SY_CALL("shmemx_space_malloc", .bytes = size), SY_ALLOC_ANY, 0);
}
SY_ALIAS(shmemx_space_malloc);

void *pshmemx_space_calloc(shmemx_space_t space, size_t count, size_t size)
{
    size_t bytes = sy_bytes(count, size);

    if (is_default(space))
        return pshmem_calloc(count, size);
    return spaces_allocate(space, SY_CALL("shmemx_space_calloc", .bytes = bytes), SY_ALLOC_ANY,
                           bytes);
}
SY_ALIAS(shmemx_space_calloc);

void *pshmemx_space_align(shmemx_space_t space, size_t alignment, size_t size)
{
    if (is_default(space))
        return pshmem_align(alignment, size);
    return spaces_allocate(
        space, SY_CALL("shmemx_space_align", .bytes = size, .alignment = alignment), alignment, 0);
}
SY_ALIAS(shmemx_space_align);

void *pshmemx_space_malloc_with_hints(shmemx_space_t space, size_t size, long hints)
{
    if (is_default(space))
        return pshmem_malloc_with_hints(size, hints);
    return spaces_allocate(space,
                           SY_CALL("shmemx_space_malloc_with_hints", .bytes = size, .hints = hints),
                           SY_ALLOC_ANY, 0);
}
SY_ALIAS(shmemx_space_malloc_with_hints);

/* The space of a block, which has to be in it. */
static struct sy_space *spaces_of_block(const char *routine, shmemx_space_t space,
                                        const void *block)
{
    struct sy_space *named = sy_space_need(routine, space);
    unsigned window;
    uint64_t offset;

    if (sy_windows_find(block, &window, &offset))
        sy_fatal("%s: %p is in no memory space, nor in the symmetric heap", routine, block);
    if (window != named->window)
        sy_fatal("%s: %p is in the %s, and not in the %s, which was named", routine, block,
                 sy_windows.entry[window].heap ? sy_windows.entry[window].heap->name
                                               : "executable's data",
                 named->heap.name);
    return named;
}

void pshmemx_space_free(shmemx_space_t space, void *ptr)
{
    if (is_default(space))
        pshmem_free(ptr);
    if (!ptr || is_invalid(space) || is_default(space))
        return;
    sy_world_need("shmemx_space_free");
    struct sy_space *named = spaces_of_block("shmemx_space_free", space, ptr);
    sy_alloc_free(&named->arena, *SY_CALL("shmemx_space_free"), ptr);
}
SY_ALIAS(shmemx_space_free);

void *pshmemx_space_realloc(shmemx_space_t space, void *ptr, size_t size)
{
    if (is_default(space))
        return pshmem_realloc(ptr, size);
    if (!ptr)
        return spaces_allocate(space, SY_CALL("shmemx_space_realloc", .bytes = size), SY_ALLOC_ANY,
                               0);
    if (!size)
        pshmemx_space_free(space, ptr);
    if (!size || is_invalid(space))
        return NULL;
    sy_world_need("shmemx_space_realloc");
    struct sy_space *named = spaces_of_block("shmemx_space_realloc", space, ptr);
    return sy_alloc_resize(&named->arena, *SY_CALL("shmemx_space_realloc", .bytes = size), ptr);
}
SY_ALIAS(shmemx_space_realloc);

/* ---- queries ---- */

/* clang-format off */
#define HEAP_CAPS \
    (SHMEMX_SPACE_CAP_RMA | SHMEMX_SPACE_CAP_COLLECTIVES | SHMEMX_SPACE_CAP_ATOMICS | \
     SHMEMX_SPACE_CAP_DIRECT_ACCESS | SHMEMX_SPACE_CAP_WORLD_ACCESS)

/* OF_SPACE: what is asked for, of `of`; OF_HEAP: of the default space; OF_NONE: of no space. */
#define DEFINE_QUERY(NAME, TYPE, OF_SPACE, OF_HEAP, OF_NONE) \
    SY_DEFINE(int, shmemx_space_##NAME, (shmemx_space_t space, TYPE *answer), \
              struct sy_space *of = sy_space_of(space); \
              *answer = of ? OF_SPACE : is_default(space) ? OF_HEAP : OF_NONE; \
              return of || is_default(space) ? 0 : -EINVAL;)
DEFINE_QUERY(get_team, shmem_team_t, sy_space_team(of), SHMEM_TEAM_WORLD, SHMEM_TEAM_INVALID)
DEFINE_QUERY(get_device_type, shmemx_device_type_t, of->type, SHMEMX_DEVICE_CPU, SHMEMX_DEVICE_CPU)
DEFINE_QUERY(get_caps, shmemx_space_cap_t, of->caps, HEAP_CAPS, 0)
DEFINE_QUERY(generation, uint64_t, of->generation, 0, 0)
/* clang-format on */

int pshmemx_space_describe(shmemx_space_t space, char *text, size_t room)
{
    struct sy_space *of = sy_space_of(space);
    const struct sy_heap *heap = of ? &of->heap : is_default(space) ? &sy_heap : NULL;

    if (!heap) {
        snprintf(text, room, "%s", "");
        return -EINVAL;
    }
    snprintf(text, room, "%s of %zu bytes on each of %d PEs%s%s", heap->name, heap->length,
             of ? of->arena.team->members.size : sy_world.npes, of && *of->info.got ? ": " : "",
             of ? of->info.got : "");
    return 0;
}
SY_ALIAS(shmemx_space_describe);

int pshmemx_get_space(const void *ptr, shmemx_space_t *space)
{
    unsigned window;
    uint64_t offset;

    *space = SHMEMX_SPACE_INVALID;
    if (!ptr || !sy_world.depth || sy_windows_find(ptr, &window, &offset))
        return -EINVAL;
    struct sy_space *of = sy_space_in(window);
    *space = of ? of->handle : SHMEMX_SPACE_DEFAULT;
    return 0;
}
SY_ALIAS(shmemx_get_space);

int pshmemx_team_get_space(shmem_team_t team, shmemx_space_t *space)
{
    const struct sy_team *of = sy_team_of(team);
    struct sy_space *origin = of && of->origin ? sy_space_in(of->origin) : NULL;

    *space = origin ? origin->handle : of ? SHMEMX_SPACE_DEFAULT : SHMEMX_SPACE_INVALID;
    return of ? 0 : -EINVAL;
}
SY_ALIAS(shmemx_team_get_space);

int pshmemx_team_is_valid(shmem_team_t team)
{
    return team != SHMEM_TEAM_INVALID;
}
SY_ALIAS(shmemx_team_is_valid);

/* ---- what outlives the job ---- */

int pshmemx_space_sync(shmemx_space_t space, uint64_t *generation)
{
    sy_world_need("shmemx_space_sync");
    if (is_invalid(space) || is_default(space))
        return is_default(space) ? -EOPNOTSUPP : -EINVAL;
    return sy_space_sync(sy_space_need("shmemx_space_sync", space), generation);
}
SY_ALIAS(shmemx_space_sync);
