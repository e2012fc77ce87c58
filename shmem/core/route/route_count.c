/* What the transports count, for the user: see route.h. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/route/route.h"
#include "engine/message.h"
#include "util/log.h"

enum { TEXT = 1600 }; /* of a line */

static uint64_t route_count_value(const struct sy_route_transport *t,
                                  const struct sy_counter_row *row)
{
    const _Atomic uint64_t *at = (const void *)((const char *)sy_message_inside(t->table, t->self) +
                                                row->offset);

    return atomic_load_explicit(at, memory_order_relaxed);
}

void sy_route_tell_counters(const struct sy_route_transport *t, enum sy_log_level level,
                            const char *category, const char *before)
{
    char text[TEXT];
    size_t used = 0;

    if (!sy_log_enabled(level, category))
        return;
    for (const struct sy_counter_row *row = t->table->counters; row && row->name; row++) {
        uint64_t value = route_count_value(t, row);
        if (value && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, " %s=%" PRIu64, row->name,
                                     value);
    }
    if (used)
        sy_log(level, category, "%s%s:%s", before, t->plugin.name, text);
}
