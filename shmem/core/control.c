/* See control.h: the control windows of PEs that this process cannot map. */
#include "core/control.h"
#include "core/rma.h"

static uint64_t offset_of(const void *mine)
{
    return (uint64_t)((const char *)mine - sy_windows.entry[SY_WINDOW_CONTROL].own.base);
}

void sy_control_add(int pe, void *mine, uint64_t value)
{
    struct sy_route_transport *route = sy_route_to(pe);
    struct sy_amo amo = {.pe = pe,
                         .window = SY_WINDOW_CONTROL,
                         .offset = offset_of(mine),
                         .op = SY_AMO_ADD,
                         .width = 8,
                         .operand = value};

    while (sy_rma_again(route->table->amo(route->ctx, &amo, 0), "synchronisation", pe))
        ;
}

void sy_control_get(int pe, void *dest, const void *mine, size_t length)
{
    struct sy_route_transport *route = sy_route_to(pe);
    struct sy_transfer t = {.pe = pe,
                            .window = SY_WINDOW_CONTROL,
                            .offset = offset_of(mine),
                            .local = dest,
                            .length = length};

    while (sy_rma_again(route->table->get(route->ctx, &t, SY_BLOCKING), "exchange", pe))
        ;
}
