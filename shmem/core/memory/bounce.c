#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "core/issue.h"
#include "core/memory/bounce.h"
#include "core/memory/staged.h"
#include "core/memory/windows.h"
#include "core/wait/wait.h"

#define CLAIMS 2 /* that can be had at a time */
#define SLOTS  (CLAIMS * SY_BOUNCE_SLOTS)

/* The bounce buffers, at the end of the control window. */
struct buffers {
    char slot[SLOTS][SY_BOUNCE_BYTES];
    uint64_t claimed; /* a bit for each claim */
};

_Static_assert(sizeof(struct buffers) <= SY_CONTROL_BOUNCE, "it has room in the control window");

#define BOUNCE_OFFSET (SY_CONTROL_SPACE - SY_CONTROL_BOUNCE)

struct command {
    uint64_t offset, length; /* of the device's window */
    uint32_t slot;
    uint32_t in;
};

/* The offset that commands for a window go to: the first line behind its end. In the next one are
 * the bytes that tell of slots. */
static uint64_t bounce_behind(unsigned window)
{
    return (sy_windows.entry[window].own.length + SY_LINE - 1) / SY_LINE * SY_LINE;
}

/* ---- the PE that transfers ---- */

static struct sy_amo bounce_word(const struct sy_bounce *bounce, enum sy_amo_op op,
                                 uint64_t operand, uint64_t *result)
{
    return (struct sy_amo){.pe = bounce->pe,
                           .window = SY_WINDOW_CONTROL,
                           .offset = BOUNCE_OFFSET + offsetof(struct buffers, claimed),
                           .op = op,
                           .width = sizeof(uint64_t),
                           .operand = operand,
                           .result = result};
}

void sy_bounce_claim(struct sy_bounce *bounce, const char *what, shmem_ctx_t ctx, int pe)
{
    uint64_t since = 0;

    *bounce = (struct sy_bounce){.what = what, .ctx = ctx, .pe = pe};
    for (unsigned claim = 0;; claim = (claim + 1) % CLAIMS) {
        uint64_t held = 0;
        const struct sy_amo amo = bounce_word(bounce, SY_AMO_OR, 1u << claim, &held);
        sy_issue_amo(what, ctx, &amo, SY_BLOCKING | SY_PROMPT);
        bounce->first = claim * SY_BOUNCE_SLOTS;
        if (!(held >> claim & 1))
            break;
        sy_wait_rest(&since, what);
    }
    sy_wait_over(since);
}

void sy_bounce_release(const struct sy_bounce *bounce)
{
    const struct sy_amo amo = bounce_word(bounce, SY_AMO_AND,
                                          ~(UINT64_C(1) << bounce->first / SY_BOUNCE_SLOTS), NULL);

    sy_issue_amo(bounce->what, bounce->ctx, &amo, SY_PROMPT);
}

struct sy_transfer sy_bounce_slot(const struct sy_bounce *bounce, unsigned slot, void *local,
                                  size_t length)
{
    return (struct sy_transfer){.pe = bounce->pe,
                                .window = SY_WINDOW_CONTROL,
                                .offset = BOUNCE_OFFSET + (bounce->first + slot) * SY_BOUNCE_BYTES,
                                .local = local,
                                .length = length};
}

void sy_bounce_ask(const struct sy_bounce *bounce, unsigned slot, unsigned window, bool in,
                   uint64_t offset, size_t length)
{
    struct command command = {offset, length, bounce->first + slot, in};
    const struct sy_transfer t = {.pe = bounce->pe,
                                  .window = window,
                                  .offset = bounce_behind(window),
                                  .local = &command,
                                  .length = sizeof command};

    sy_issue_put(bounce->what, bounce->ctx, &t, SY_BLOCKING | SY_PROMPT);
}

void sy_bounce_inquire(const struct sy_bounce *bounce, unsigned slot, unsigned window, char *over)
{
    const struct sy_transfer t = {.pe = bounce->pe,
                                  .window = window,
                                  .offset = bounce_behind(window) + SY_LINE + bounce->first + slot,
                                  .local = over,
                                  .length = 1};

    sy_issue_get(bounce->what, bounce->ctx, &t, SY_PROMPT);
}

/* ---- the PE whose device it is ---- */

/* The copies between slots and devices. Only the PE that has claimed a slot names it, but for one
 * that breaks the rules, and requests come by several threads: hence the lock. */
static struct {
    pthread_mutex_t lock;
    struct sy_device_copying copying; /* ticket NULL: none, or it is over */
} at_slot[SLOTS] = {[0 ... SLOTS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

int sy_bounce_command(unsigned window, uint64_t offset, const void *bytes, size_t length)
{
    struct command command;
    struct buffers *buffers = (struct buffers *)(sy_windows.entry[SY_WINDOW_CONTROL].own.base +
                                                 BOUNCE_OFFSET);

    if (offset != bounce_behind(window) || length != sizeof command)
        return -EFAULT;
    memcpy(&command, bytes, sizeof command);
    if (command.slot >= SLOTS || command.length > SY_BOUNCE_BYTES ||
        !sy_staged_has_room(window, command.offset, (size_t)command.length))
        return -EFAULT; /* a command is not followed to another one */
    pthread_mutex_lock(&at_slot[command.slot].lock);
    int rc = at_slot[command.slot].copying.ticket
                 ? -EFAULT
                 : sy_staged_begin(window, command.in & 1, command.offset,
                                   buffers->slot[command.slot], (size_t)command.length,
                                   &at_slot[command.slot].copying);
    pthread_mutex_unlock(&at_slot[command.slot].lock);
    return rc;
}

int sy_bounce_answer(unsigned window, uint64_t offset, void *over, size_t length)
{
    uint64_t slot = offset - bounce_behind(window) - SY_LINE;

    if (slot >= SLOTS || length != 1)
        return -EFAULT;
    pthread_mutex_lock(&at_slot[slot].lock);
    *(char *)over = sy_staged_ended(&at_slot[slot].copying, false);
    pthread_mutex_unlock(&at_slot[slot].lock);
    return 0;
}

void sy_bounce_end(unsigned window)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        pthread_mutex_lock(&at_slot[slot].lock);
        if (at_slot[slot].copying.window == window)
            sy_staged_ended(&at_slot[slot].copying, true);
        pthread_mutex_unlock(&at_slot[slot].lock);
    }
}
