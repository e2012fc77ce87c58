/* The windows of other PEs, when routes have been chosen: which are mapped here, and the keys by
 * which transports reach the others. See route.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fatal.h"
#include "core/memory/windows.h"
#include "core/route/route_check.h"
#include "core/route/route_job.h"
#include "core/start/boot.h"
#include "core/start/world.h"
#include "util/error.h"

/* Maps the windows of a PE that is used for the first time (SY_REACH_LATE). */
static void route_window_map_late(int pe)
{
    struct sy_route_transport *t = sy_route_to(pe);

    for (unsigned w = 0; w < sy_windows.count; w++) {
        bool usable = sy_windows_usable(w, pe);
        void *base = usable ? t->table->mem_pointer(t->self, pe, w) : NULL;
        if (usable && !base && sy_windows.entry[w].own.length)
            sy_fatal("the memory of PE %d, which this PE uses for the first time, cannot be mapped "
                     "any more by transport %s",
                     pe, t->plugin.name);
        sy_windows_set_peer(w, pe, base);
    }
}

void sy_route_enter_windows(int pe)
{
    struct sy_route_transport *t = sy_route_to(pe);

    if (t->table->reach(t->self, pe) & SY_REACH_LATE &&
        !sy_windows_set_late(pe, route_window_map_late)) {
        sy_routes.maps = true;
        return;
    }
    for (unsigned w = 0; w < sy_windows.count; w++) {
        bool usable = sy_windows_usable(w, pe);
        void *base = NULL;
        if (usable && (t->table->reach(t->self, pe) & SY_REACH_MAP))
            base = t->table->mem_pointer(t->self, pe, w);
        sy_windows_set_peer(w, pe, base);
        sy_routes.maps = sy_routes.maps || base;
        if (usable && !base && sy_windows.entry[w].own.length)
            t->carries = sy_hot.carries = true;
    }
}

static enum sy_route_how route_window_how(const struct sy_route_transport *t, unsigned window,
                                          int pe)
{
    const struct sy_window_entry *entry = &sy_windows.entry[window];

    if (!t || !entry->peer || !entry->own.length || !sy_windows_usable(window, pe))
        return SY_ROUTE_NOT;
    if (sy_windows_has(window, pe))
        return SY_ROUTE_MAPPED;
    if (t->table->registered && t->table->registered(t->self, pe, window))
        return SY_ROUTE_REGISTERED;
    return entry->own.kind == SY_REGION_DEVICE ? SY_ROUTE_STAGED : SY_ROUTE_SERVED;
}

struct sy_route_cell sy_route_cell_of(unsigned window, int pe)
{
    const struct sy_route_transport *t = sy_route_to(pe);

    return (struct sy_route_cell){.transport = t ? t->place : SY_TRANSPORT_NONE,
                                  .how = (uint8_t)route_window_how(t, window, pe),
                                  .how_data = (uint8_t)route_window_how(t, SY_WINDOW_DATA, pe)};
}

/* ---- keys of the windows ---- */

/* The bytes of a PE's keys for the first `transports` of the job. */
static size_t route_window_keys_length(const struct sy_route_job *job, unsigned transports)
{
    size_t length = 0;

    for (unsigned i = 0; i < transports; i++)
        length += SY_WINDOWS_START * job->kind[i].key_bytes;
    return length;
}

static void route_window_write_keys(const struct sy_route_job *job, char *mine)
{
    for (unsigned i = 0; i < job->count; i++)
        for (unsigned w = 0; w < sy_windows.count && job->kind[i].own >= 0; w++)
            memcpy(mine + route_window_keys_length(job, i) + w * job->kind[i].key_bytes,
                   sy_route_job_own(job, i)->key[w], job->kind[i].key_bytes);
}

/* Tells transport i what the PEs wrote of a window; all: nothing where it has no keys. */
static int route_window_connect(const struct sy_route_job *job, unsigned i, unsigned w,
                                const char *all, size_t stride, char *keys, struct sy_error *err)
{
    const struct sy_route_transport *t = sy_route_job_own(job, i);
    struct sy_error why = {""};

    for (size_t pe = 0; pe < (size_t)sy_world.npes && job->kind[i].key_bytes; pe++)
        memcpy(keys + pe * SY_REGION_KEY,
               all + pe * stride + route_window_keys_length(job, i) + w * job->kind[i].key_bytes,
               job->kind[i].key_bytes);
    int rc = t->table->region_connect(t->self, w, job->kind[i].key_bytes ? keys : NULL,
                                      SY_REGION_KEY, &why);
    rc = sy_route_check_step("region_connect", rc, &why);
    return rc ? sy_fail(err, -rc, "transport %s: %s", t->plugin.name, why.text) : 0;
}

int sy_route_connect_windows(const struct sy_route_job *job, double seconds, struct sy_error *err)
{
    size_t npes = (size_t)sy_world.npes, stride = route_window_keys_length(job, job->count);
    char *mine = calloc(1, stride + 1), *all = calloc(npes, stride + 1),
         *keys = calloc(npes, stride ? SY_REGION_KEY : 1);
    int rc = mine && all && keys ? 0 : sy_fail(err, ENOMEM, "no memory for %zu PEs' keys", npes);

    if (!rc && stride) {
        route_window_write_keys(job, mine);
        rc = sy_boot->allgather(sy_boot_self, "exchange of keys", mine, all, stride, seconds, err);
    }
    for (unsigned i = 0; i < job->count; i++)
        for (unsigned w = 0; w < sy_windows.count && job->kind[i].own >= 0 && !rc; w++)
            rc = route_window_connect(job, i, w, all, stride, keys, err);
    free(mine);
    free(all);
    free(keys);
    return rc;
}
