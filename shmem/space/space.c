/* The table of spaces: see space.h. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/fatal.h"
#include "core/memory/staged.h"
#include "core/route/route.h"
#include "core/start/config.h"
#include "core/start/world.h"
#include "space/device.h"
#include "space/space.h"
#include "util/log.h"

static struct sy_space *_Atomic table[SY_REGIONS];

struct sy_space *sy_space_in(unsigned window)
{
    return atomic_load_explicit(&table[window % SY_REGIONS], memory_order_acquire);
}

/* A handle has the window in its lowest bits and a number of its own above. */
struct sy_space *sy_space_of(shmemx_space_t handle)
{
    struct sy_space *space = sy_space_in((unsigned)((uintptr_t)handle % SY_REGIONS));

    return space && space->handle == handle ? space : NULL;
}

struct sy_space *sy_space_need(const char *routine, shmemx_space_t handle)
{
    struct sy_space *space = sy_space_of(handle);

    if (SY_UNLIKELY(!space))
        sy_fatal("%s was given the space %p, which does not exist here: it was never made, was "
                 "destroyed, or this PE is no member",
                 routine, handle);
    return space;
}

void sy_space_enter(struct sy_space *space)
{
    atomic_store_explicit(&table[space->window], space, memory_order_release);
}

void sy_space_leave(struct sy_space *space)
{
    atomic_store_explicit(&table[space->window], NULL, memory_order_release);
}

void sy_space_free_windows(uint64_t words[SY_REGIONS / 64])
{
    for (unsigned i = 0; i < SY_REGIONS / 64; i++)
        words[i] = 0;
    for (unsigned w = SY_WINDOWS_START; w < SY_REGIONS; w++)
        if (!sy_space_in(w))
            words[w / 64] |= UINT64_C(1) << w % 64;
}

shmem_team_t sy_space_team(const struct sy_space *space)
{
    struct sy_team *first;

    sy_team_descendants(space->window, &first);
    return first ? sy_team_handle(first) : SHMEM_TEAM_INVALID;
}

void sy_spaces_close(void)
{
    for (unsigned w = SY_WINDOWS_START; w < SY_REGIONS; w++) {
        struct sy_space *space = sy_space_in(w);
        if (!space)
            continue;
        if (sy_config.check && !space->arena.team->members.me)
            sy_log(SY_LOG_WARN, "space",
                   "shmem_finalize: the %s of %zu bytes is still there; shmemx_space_destroy ends "
                   "it",
                   space->heap.name, space->heap.length);
        sy_route_region_detach(w);
        sy_staged_remove(w);
        sy_windows_remove(w);
        sy_space_leave(space);
        sy_heap_close(&space->heap);
        sy_space_end_pool(space);
        free(space);
    }
    sy_devices_close();
}
