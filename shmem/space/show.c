/* How the members of a space reach each other's part of it, for the user: rows of the table of
 * routes (core/route/route.h), which PE 0 writes. See space.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/group.h"
#include "core/route/route.h"
#include "core/start/world.h"
#include "space/device.h"
#include "space/space.h"

_Static_assert(SY_ROUTE_TABLE_PES * sizeof(struct sy_route_cell) <= SY_SLOT_BYTES,
               "a row has room in a slot");

void sy_space_show(unsigned window, shmemx_device_type_t type)
{
    struct sy_group world = sy_group_of_team(&sy_team_world);
    size_t npes = (size_t)sy_world.npes, row = npes * sizeof(struct sy_route_cell);
    struct sy_route_cell *all, room[SY_ROUTE_TABLE_PES];
    char title[120], number[24];

    if (!sy_routes.shown || npes > SY_ROUTE_TABLE_PES || npes == 1)
        return;
    for (int pe = 0; pe < sy_world.npes; pe++)
        room[pe] = sy_route_cell_of(window, pe);
    memcpy(sy_group_slot(&world), room, row);
    sy_group_sync(&world);
    all = sy_world.pe ? NULL : calloc(npes, row);
    for (size_t pe = 0; all && pe < npes; pe++)
        memcpy(all + pe * npes, sy_group_read_slot(&world, (int)pe, 0, row, room), row);
    sy_group_slot_done(&world);
    snprintf(title, sizeof title, "memory space of %s, PE x PE: how the other's part is reached",
             sy_device_type_text((int)type, number, sizeof number));
    if (all)
        sy_routes_show_window(all, title);
    free(all);
}
