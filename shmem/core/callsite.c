/* See callsite.h. The outermost frame of this library is the routine, the next one the program.
 *
 * A thunk that ends in a call of the core, or of another routine, leaves no frame: the compiler
 * makes it a jump. Then the outermost frame is an inner function, but the program's own call
 * instruction tells which routine was meant.
 *
 * In a program with the static library both are in one file, whose symbol table has the routines'
 * names: each is defined as p and its name, so that functions of the program whose names begin like
 * those of routines are none. */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/callsite.h"
#include "core/start/world.h"
#include "util/own_memory.h"
#include "util/symbol.h"

enum { FRAMES = 40 };

struct stack {
    void *frame[FRAMES];
    int count;
    int outermost;    /* of this library's frames; -1: none */
    const char *name; /* of the routine, or NULL */
};

_Thread_local const char *sy_callsite_asked;

/* The compiler's names for parts and aliases of functions have a dot. */
static bool callsite_is_routine(const char *name)
{
    return (!strncmp(name, "psh", 3) || !strncmp(name, "pstart_pes", 10)) && !strchr(name, '.');
}

/* The name as the program wrote it. */
static const char *callsite_as_written(const char *name)
{
    if (!name)
        return NULL;
    if (callsite_is_routine(name))
        name++;
    return strncmp(name, "sh", 2) && strncmp(name, "start_pes", 9) ? NULL : name;
}

/* What dladdr says of an address of this library. It looks at all names of the library, which are
 * thousands, so each thread keeps the last answers; a handler of a signal on the thread finds a
 * whole entry or none. */
static const char *callsite_own_name(const void *address)
{
    static _Thread_local struct {
        const void *address;
        const char *name;
    } known[16];
    unsigned slot = (uintptr_t)address / 16 % 16;
    Dl_info info;

    if (known[slot].address == address)
        return known[slot].name;
    const char *name = dladdr(address, &info) ? info.dli_sname : NULL;
    known[slot].address = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    known[slot].name = name;
    atomic_signal_fence(memory_order_seq_cst);
    known[slot].address = address;
    return name;
}

/* The routine that has the address, or NULL. */
static const char *callsite_name(const void *address, bool in_program)
{
    Dl_info info;

    if (in_program)
        return callsite_as_written(sy_symbol_own(address, callsite_is_routine));
    if (sy_symbol_file(address) == sy_symbol_file(&sy_world))
        return callsite_as_written(callsite_own_name(address));
    return dladdr(address, &info) ? callsite_as_written(info.dli_sname) : NULL;
}

/* The address that a slot of the global offset table holds. displacement: where the instruction has
 * the slot's distance from `after`. What was taken for an instruction may be none, and the slot
 * anywhere: so the kernel reads it, and the code of an entry below. NULL: it is not mapped. */
static const void *callsite_slot(const unsigned char *after, const unsigned char *displacement)
{
    int32_t distance;
    uintptr_t target;

    memcpy(&distance, displacement, sizeof distance);
    return sy_own_memory_read((uintptr_t)after + (uintptr_t)distance, &target, 1) ? (void *)target
                                                                                  : NULL;
}

/* The function that the call instruction before `end` calls: directly, through a slot of the global
 * offset table, or through an entry of the procedure linkage table, which jumps through such a
 * slot. NULL: it is none of these, or the processor is no x86. */
static const void *callsite_target(const unsigned char *end)
{
    static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    union {
        uintptr_t word[2];
        unsigned char byte[2 * sizeof(uintptr_t)];
    } code;
    int32_t distance;

#ifndef __x86_64__
    return NULL;
#endif
    if (end[-5] != 0xe8 && (end[-6] != 0xff || end[-5] != 0x15))
        return NULL;
    if (end[-5] != 0xe8)
        return callsite_slot(end, end - 4);
    memcpy(&distance, end - 4, sizeof distance);
    const unsigned char *entry = end + distance, *jump = code.byte;
    if (sy_own_memory_read((uintptr_t)entry, code.word, 2) != 2)
        return NULL;
    if (!memcmp(jump, endbr, sizeof endbr))
        jump += sizeof endbr;
    jump += *jump == 0xf2;
    return jump[0] == 0xff && jump[1] == 0x25
               ? callsite_slot(entry + (jump - code.byte) + 6, jump + 2)
               : entry;
}

/* The routine that the call before the return address `end` names. */
static const char *callsite_called(const void *end, bool in_program)
{
    const void *target = callsite_target(end);

    return target ? callsite_name(target, in_program) : NULL;
}

/* From the program's frames inwards: where a routine is called, or is. */
static void callsite_look_in_program(struct stack *stack)
{
    for (int i = stack->count - 1; i >= 0 && !stack->name; i--) {
        stack->name = callsite_called(stack->frame[i], true);
        stack->outermost = i - 1;
        if (stack->name)
            break;
        stack->name = callsite_name((char *)stack->frame[i] - 1, true);
        stack->outermost = stack->name ? i : -1;
    }
}

static void callsite_look(struct stack *stack)
{
    const char *own = sy_symbol_file(&sy_world);

    stack->count = backtrace(stack->frame, FRAMES);
    stack->outermost = -1;
    stack->name = NULL;
    if (own && !*own) {
        callsite_look_in_program(stack);
        return;
    }
    for (int i = 0; own && i < stack->count; i++)
        if (sy_symbol_file((char *)stack->frame[i] - 1) == own)
            stack->outermost = i;
    if (stack->outermost >= 0 && stack->outermost + 1 < stack->count)
        stack->name = callsite_called(stack->frame[stack->outermost + 1], false);
    if (!stack->name && stack->outermost >= 0)
        stack->name = callsite_name((char *)stack->frame[stack->outermost] - 1, false);
}

const char *sy_callsite_routine(const char *otherwise)
{
    struct stack stack;

    if (sy_callsite_asked)
        return sy_callsite_asked;
    if (sy_world.exiting)
        return "its exit handler, as shmem_finalize (exit status 0)";
    callsite_look(&stack);
    return stack.name ? stack.name : otherwise;
}

/* The C library, not the program, calls the threads of this library and exit handlers. */
static bool callsite_is_system(const void *address)
{
    Dl_info c, info;

    if (sy_symbol_in_program(address))
        return false;
    return !dladdr((const char *)address - 1, &info) || !info.dli_fbase ||
           (dladdr((void *)(uintptr_t)&strlen, &c) && c.dli_fbase == info.dli_fbase);
}

void sy_callsite_text(char *text, size_t room)
{
    struct stack stack;

    *text = '\0';
    if (sy_world.exiting)
        return;
    callsite_look(&stack);
    int caller = stack.outermost + 1;
    if (stack.outermost < 0 || caller >= stack.count || callsite_is_system(stack.frame[caller]) ||
        !sy_symbol_text(stack.frame[caller], true, text, room))
        *text = '\0';
}

void sy_callsite_prepare(void)
{
    void *frame[1];

    backtrace(frame, 1);
}
