/* See callsite.h. The outermost frame of this library is the routine, the next one the program.
 *
 * A thunk that ends in a call of the core leaves no frame: the compiler makes it a jump. Then the
 * outermost frame is an inner function, but the program's own call instruction still tells which
 * routine was meant. */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/callsite.h"
#include "core/start/world.h"
#include "util/symbol.h"

enum { FRAMES = 40 };

struct stack {
    void *frame[FRAMES];
    int count;
    int outermost; /* of this library's frames; -1: none */
    Dl_info at;    /* that one */
};

static const char *routine_of(const Dl_info *info)
{
    const char *name = info->dli_sname;

    if (!name)
        return NULL;
    if (!strncmp(name, "pshmem", 6) || !strncmp(name, "pstart_pes", 10) || !strncmp(name, "psh", 3))
        name++;
    return strncmp(name, "sh", 2) && strncmp(name, "start_pes", 9) ? NULL : name;
}

static void look(struct stack *stack)
{
    Dl_info own, info;

    stack->count = backtrace(stack->frame, FRAMES);
    stack->outermost = -1;
    if (!dladdr(&sy_world, &own))
        return;
    for (int i = 0; i < stack->count; i++) {
        if (!dladdr((char *)stack->frame[i] - 1, &info) || info.dli_fbase != own.dli_fbase)
            continue;
        stack->outermost = i;
        stack->at = info;
    }
}

#ifdef __x86_64__
/* What a call instruction before `end` calls: directly, through a slot of the global offset table,
 * or through an entry of the procedure linkage table, which jumps through such a slot. NULL: it is
 * none of these. */
static const void *slot_target(const unsigned char *after, const unsigned char *displacement)
{
    int32_t distance;
    const void *target;

    memcpy(&distance, displacement, sizeof distance);
    memcpy(&target, after + distance, sizeof target);
    return target;
}

static const void *call_target(const unsigned char *end)
{
    static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    int32_t distance;

    if (end[-6] == 0xff && end[-5] == 0x15)
        return slot_target(end, end - 4);
    if (end[-5] != 0xe8)
        return NULL;
    memcpy(&distance, end - 4, sizeof distance);
    const unsigned char *entry = end + distance;
    if (!memcmp(entry, endbr, sizeof endbr))
        entry += sizeof endbr;
    entry += *entry == 0xf2;
    return entry[0] == 0xff && entry[1] == 0x25 ? slot_target(entry + 6, entry + 2)
                                                : end + distance;
}
#else
static const void *call_target(const unsigned char *end)
{
    (void)end;
    return NULL;
}
#endif

/* The routine that the call before the return address `end` names. */
static const char *called_routine(const void *end)
{
    const void *target = call_target(end);
    Dl_info info;

    return target && dladdr(target, &info) ? routine_of(&info) : NULL;
}

const char *sy_callsite_routine(const char *otherwise)
{
    const char *name = NULL;
    struct stack stack;

    if (sy_world.exiting)
        return "its exit handler, as shmem_finalize (exit status 0)";
    look(&stack);
    if (stack.outermost >= 0)
        name = routine_of(&stack.at);
    if (!name && stack.outermost >= 0 && stack.outermost + 1 < stack.count)
        name = called_routine(stack.frame[stack.outermost + 1]);
    return name ? name : otherwise;
}

/* A thread of the library was called by the C library, and an exit handler is not called by the
 * program. */
static bool is_system(const void *address)
{
    Dl_info c, info;

    return !dladdr((const char *)address - 1, &info) || !info.dli_fbase ||
           (dladdr((void *)(uintptr_t)&strlen, &c) && c.dli_fbase == info.dli_fbase);
}

void sy_callsite_text(char *text, size_t room)
{
    struct stack stack;

    *text = '\0';
    if (sy_world.exiting)
        return;
    look(&stack);
    int caller = stack.outermost + 1;
    if (stack.outermost < 0 || caller >= stack.count || is_system(stack.frame[caller]) ||
        !sy_symbol_text(stack.frame[caller], true, text, room))
        *text = '\0';
}

void sy_callsite_prepare(void)
{
    void *frame[1];

    backtrace(frame, 1);
}
