/* See control.h: the control windows of PEs that this process cannot map. */
#include "core/memory/control.h"
#include "core/rma.h"

static const char what[] = "collective routine";

uint64_t sy_control_offset(const void *mine)
{
    return (uint64_t)((const char *)mine - sy_windows.entry[SY_WINDOW_CONTROL].own.base);
}

static struct sy_amo control_word(int pe, enum sy_amo_op op, const void *mine, uint64_t value)
{
    return (struct sy_amo){.pe = pe,
                           .window = SY_WINDOW_CONTROL,
                           .offset = sy_control_offset(mine),
                           .op = op,
                           .width = sizeof value,
                           .operand = value};
}

void sy_control_update(int pe, enum sy_amo_op op, void *mine, uint64_t value)
{
    const struct sy_amo amo = control_word(pe, op, mine, value);

    sy_fence(&sy_ctx_control);
    sy_issue_amo(what, &sy_ctx_control, &amo, SY_PROMPT);
}

void sy_control_raise(int pe, void *mine, uint64_t value)
{
    if (!sy_issue_raise(what, &sy_ctx_control, pe, SY_WINDOW_CONTROL, sy_control_offset(mine),
                        value))
        sy_control_update(pe, SY_AMO_SET, mine, value);
}

void sy_control_get(int pe, void *dest, const void *mine, size_t length)
{
    const struct sy_transfer t = {.pe = pe,
                                  .window = SY_WINDOW_CONTROL,
                                  .offset = sy_control_offset(mine),
                                  .local = dest,
                                  .length = length};

    sy_issue_get(what, &sy_ctx_control, &t, SY_BLOCKING);
}

void sy_control_put(int pe, unsigned window, uint64_t offset, const void *source, size_t length,
                    enum sy_amo_op op, void *mine, uint64_t value, unsigned flags)
{
    const struct sy_transfer t = {
        .pe = pe, .window = window, .offset = offset, .local = (void *)source, .length = length};
    const struct sy_amo amo = control_word(pe, op, mine, value);

    sy_issue_put_signal(what, &sy_ctx_control, &t, &amo, flags);
}

bool sy_control_keeps(int pe)
{
    const struct sy_route_transport *route = sy_route_to(pe);

    return route && route->table->capabilities & SY_KEEPS;
}
