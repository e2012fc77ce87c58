/* See landing.h. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "core/issue.h"
#include "core/memory/landing.h"
#include "core/memory/staged.h"
#include "core/memory/windows.h"
#include "core/wait/wait.h"

#define CLAIMS 2 /* that can be had at a time */
#define SLOTS  (CLAIMS * SY_LANDING_SLOTS)

/* The landing room, at the end of the control window. */
struct room {
    char slot[SLOTS][SY_LANDING_BYTES];
    uint64_t claimed; /* a bit for each claim */
};

_Static_assert(sizeof(struct room) <= SY_CONTROL_LANDING, "it has room in the control window");

#define ROOM_OFFSET (SY_CONTROL_SPACE - SY_CONTROL_LANDING)

struct command {
    uint64_t offset, length; /* of the device's window */
    uint32_t slot;
    uint32_t in;
};

/* The offset that commands for a window go to: the first line behind its end. In the next one are
 * the bytes that tell of slots. */
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

void sy_landing_inquire(const struct sy_landing *landing, unsigned slot, unsigned window,
                        char *over)
{
    const struct sy_transfer t = {.pe = landing->pe,
                                  .window = window,
                                  .offset = landing_behind(window) + SY_LINE + landing->first + slot,
                                  .local = over,
                                  .length = 1};

    sy_issue_get(landing->what, landing->ctx, &t, SY_PROMPT);
}

/* ---- the PE whose device it is ---- */

/* The copies between slots and devices. Only the PE that has claimed a slot names it, but for one
 * that breaks the rules, and requests come by several threads: hence the lock. */
static struct {
    pthread_mutex_t lock;
    struct sy_device_copying copying; /* ticket NULL: none, or it is over */
} at_slot[SLOTS] = {[0 ... SLOTS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

int sy_landing_command(unsigned window, uint64_t offset, const void *bytes, size_t length)
{
    struct command command;
    struct room *room = (struct room *)(sy_windows.entry[SY_WINDOW_CONTROL].own.base + ROOM_OFFSET);

    if (offset != landing_behind(window) || length != sizeof command)
        return -EFAULT;
    memcpy(&command, bytes, sizeof command);
    if (command.slot >= SLOTS || command.length > SY_LANDING_BYTES ||
        !sy_staged_has_room(window, command.offset, (size_t)command.length))
        return -EFAULT; /* a command is not followed to another one */
    pthread_mutex_lock(&at_slot[command.slot].lock);
    int rc = at_slot[command.slot].copying.ticket
                 ? -EFAULT
                 : sy_staged_begin(window, command.in & 1, command.offset, room->slot[command.slot],
                                   (size_t)command.length, &at_slot[command.slot].copying);
    pthread_mutex_unlock(&at_slot[command.slot].lock);
    return rc;
}

int sy_landing_answer(unsigned window, uint64_t offset, void *over, size_t length)
{
    uint64_t slot = offset - landing_behind(window) - SY_LINE;

    if (slot >= SLOTS || length != 1)
        return -EFAULT;
    pthread_mutex_lock(&at_slot[slot].lock);
    *(char *)over = sy_staged_ended(&at_slot[slot].copying, false);
    pthread_mutex_unlock(&at_slot[slot].lock);
    return 0;
}

void sy_landing_end(unsigned window)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        pthread_mutex_lock(&at_slot[slot].lock);
        if (at_slot[slot].copying.window == window)
            sy_staged_ended(&at_slot[slot].copying, true);
        pthread_mutex_unlock(&at_slot[slot].lock);
    }
}
