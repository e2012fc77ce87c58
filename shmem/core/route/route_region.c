/* A window that comes after the start: the routes are there, so each transport that serves some
 * attaches it. See route.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/windows.h"
#include "core/route/route.h"
#include "core/route/route_check.h"
#include "core/start/transport_stubs.h"
#include "core/start/world.h"
#include "util/error.h"

/* Whether a PE is reached by transport i. */
static bool route_region_serves(unsigned i)
{
    for (int pe = 0; pe < sy_world.npes; pe++)
        if (sy_routes.of[pe] == i)
            return true;
    return false;
}

static int route_region_fail(const struct sy_route_transport *t, const char *step, int rc,
                             struct sy_error *why, struct sy_error *err)
{
    rc = sy_route_check_step(step, rc, why);
    return rc ? sy_fail(err, -rc, "transport %s: %s", t->plugin.name, why->text) : 0;
}

int sy_route_region_attach(unsigned window, const struct sy_region *region, char *keys,
                           struct sy_error *err)
{
    int rc = 0;

    memset(keys, 0, SY_ROUTE_KEYS);
    for (unsigned i = 0; i < sy_routes.count && !rc; i++) {
        struct sy_route_transport *t = &sy_routes.transport[i];
        struct sy_error why = {""};
        if (!route_region_serves(i))
            continue;
        rc = t->table->region_attach(t->self, window, region,
                                     keys + (size_t)t->place * SY_REGION_KEY, SY_REGION_KEY, &why);
        rc = route_region_fail(t, "region_attach", rc < 0 ? rc : 0, &why, err);
    }
    return rc;
}

static int route_region_connect_one(const struct sy_route_transport *t, unsigned window,
                                    const char *all, size_t stride, char *keys,
                                    struct sy_error *err)
{
    static const char none[SY_REGION_KEY];
    struct sy_error why = {""};
    bool any = false;

    for (size_t pe = 0; pe < (size_t)sy_world.npes; pe++) {
        const char *key = all + pe * stride + (size_t)t->place * SY_REGION_KEY;
        memcpy(keys + pe * SY_REGION_KEY, key, SY_REGION_KEY);
        any = any || memcmp(key, none, sizeof none) != 0;
    }
    int rc = t->table->region_connect(t->self, window, any ? keys : NULL, SY_REGION_KEY, &why);
    return route_region_fail(t, "region_connect", rc, &why, err);
}

/* Whether a transport maps what others have. It connects first and detaches last, since the others
 * may serve to third PEs what is mapped here. */
static bool route_region_maps(const struct sy_route_transport *t)
{
    return t->table->mem_pointer != sy_transport_stubs.mem_pointer;
}

/* Enters the members' windows that are mapped; the others are reached by the transports' calls. */
static void route_region_enter(unsigned window)
{
    for (int pe = 0; pe < sy_world.npes; pe++) {
        struct sy_route_transport *t = sy_route_to(pe);
        if (!t || !sy_windows_usable(window, pe))
            continue;
        void *base = t->table->reach(t->self, pe) & SY_REACH_MAP
                         ? t->table->mem_pointer(t->self, pe, window)
                         : NULL;
        sy_windows_set_peer(window, pe, base);
        if (!base && !(t->carries && t->polled && sy_hot.carries)) { /* other threads read them */
            t->carries = true;
            t->polled = true;
            __atomic_store_n(&sy_hot.carries, true, __ATOMIC_RELAXED);
        }
    }
}

int sy_route_region_connect(unsigned window, const char *all, size_t stride, struct sy_error *err)
{
    char *keys = calloc((size_t)sy_world.npes, SY_REGION_KEY);
    int rc = keys ? 0 : sy_fail(err, ENOMEM, "no memory for the keys of %d PEs", sy_world.npes);

    for (int maps = 1; maps >= 0; maps--) {
        for (unsigned i = 0; i < sy_routes.count && !rc; i++) {
            const struct sy_route_transport *t = &sy_routes.transport[i];
            if (route_region_serves(i) && route_region_maps(t) == maps)
                rc = route_region_connect_one(t, window, all, stride, keys, err);
        }
        if (maps && !rc && sy_windows.entry[window].peer)
            route_region_enter(window);
    }
    free(keys);
    return rc;
}

void sy_route_region_detach(unsigned window)
{
    for (int maps = 0; maps <= 1; maps++)
        for (unsigned i = 0; i < sy_routes.count; i++) {
            const struct sy_route_transport *t = &sy_routes.transport[i];
            if (route_region_serves(i) && route_region_maps(t) == maps)
                t->table->region_detach(t->self, window);
        }
}
