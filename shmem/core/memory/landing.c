/* See landing.h. */
#include <errno.h>
#include <string.h>

#include "core/issue.h"
#include "core/memory/landing.h"
#include "core/memory/staged.h"
#include "core/memory/windows.h"
#include "core/wait/wait.h"

#define CLAIMS 2 /* that can be had at a time */

/* The landing room, at the end of the control window. */
struct room {
    char slot[CLAIMS * SY_LANDING_SLOTS][SY_LANDING_BYTES];
    uint64_t claimed; /* a bit for each claim */
};

_Static_assert(sizeof(struct room) <= SY_CONTROL_LANDING, "it has room in the control window");

#define ROOM_OFFSET (SY_CONTROL_SPACE - SY_CONTROL_LANDING)

struct command {
    uint64_t offset, length; /* of the device's window */
    uint32_t slot;
    uint32_t in;
};

/* The offset that commands for a window go to: the first line behind its end. */
static uint64_t landing_behind(unsigned window)
{
    return (sy_windows.entry[window].own.length + SY_LINE - 1) / SY_LINE * SY_LINE;
}

/* ---- the PE that transfers ---- */

static struct sy_amo landing_word(const struct sy_landing *landing, enum sy_amo_op op,
                                  uint64_t operand, uint64_t *result)
{
    return (struct sy_amo){.pe = landing->pe,
                           .window = SY_WINDOW_CONTROL,
                           .offset = ROOM_OFFSET + offsetof(struct room, claimed),
                           .op = op,
                           .width = sizeof(uint64_t),
                           .operand = operand,
                           .result = result};
}

void sy_landing_claim(struct sy_landing *landing, const char *what, shmem_ctx_t ctx, int pe)
{
    uint64_t since = 0;

    *landing = (struct sy_landing){.what = what, .ctx = ctx, .pe = pe};
    for (unsigned claim = 0;; claim = (claim + 1) % CLAIMS) {
        uint64_t held = 0;
        const struct sy_amo amo = landing_word(landing, SY_AMO_OR, 1u << claim, &held);
        sy_issue_amo(what, ctx, &amo, SY_BLOCKING | SY_PROMPT);
        landing->first = claim * SY_LANDING_SLOTS;
        if (!(held >> claim & 1))
            break;
        sy_wait_rest(&since, what);
    }
    sy_wait_over(since);
}

void sy_landing_release(const struct sy_landing *landing)
{
    const struct sy_amo amo = landing_word(
        landing, SY_AMO_AND, ~(UINT64_C(1) << landing->first / SY_LANDING_SLOTS), NULL);

    sy_issue_amo(landing->what, landing->ctx, &amo, SY_PROMPT);
}

struct sy_transfer sy_landing_slot(const struct sy_landing *landing, unsigned slot, void *local,
                                   size_t length)
{
    return (struct sy_transfer){.pe = landing->pe,
                                .window = SY_WINDOW_CONTROL,
                                .offset = ROOM_OFFSET + (landing->first + slot) * SY_LANDING_BYTES,
                                .local = local,
                                .length = length};
}

void sy_landing_ask(const struct sy_landing *landing, unsigned slot, unsigned window, bool in,
                    uint64_t offset, size_t length)
{
    struct command command = {offset, length, landing->first + slot, in};
    const struct sy_transfer t = {.pe = landing->pe,
                                  .window = window,
                                  .offset = landing_behind(window),
                                  .local = &command,
                                  .length = sizeof command};

    sy_issue_put(landing->what, landing->ctx, &t, SY_BLOCKING | SY_PROMPT);
}

/* ---- the PE whose device it is ---- */

int sy_landing_command(unsigned window, uint64_t offset, const void *bytes, size_t length)
{
    struct command command;
    struct room *room = (struct room *)(sy_windows.entry[SY_WINDOW_CONTROL].own.base + ROOM_OFFSET);

    if (offset != landing_behind(window) || length != sizeof command)
        return -EFAULT;
    memcpy(&command, bytes, sizeof command);
    if (command.slot >= CLAIMS * SY_LANDING_SLOTS || command.length > SY_LANDING_BYTES ||
        !sy_staged_has_room(window, command.offset, (size_t)command.length))
        return -EFAULT; /* a command is not followed to another one */
    return sy_staged_copy(window, command.in & 1, command.offset, room->slot[command.slot],
                          (size_t)command.length);
}
