/* See ending.h. MPI tells when MPI_Finalize is over, and not that it has begun. It is called once
 * in a process; so while it lasts, and before that not, an address to which one of its calls
 * returns is on the stack of the thread that has called it. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/wait/ending.h"
#include "core/wait/stall.h"
#include "util/clock.h"
#include "util/own_memory.h"
#include "util/says.h"

enum {
    WORDS = 8192,           /* read at a time */
    DEPTH = 4 * 1024 * 1024 /* bytes of the stack that are looked at */
};

/* Code of a function behind its first byte: where calls in it return to. */
struct code {
    uintptr_t begin;
    size_t length; /* 0: there is no such function */
};

static struct code wait_ending_find(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name), *found = NULL;
    Dl_info info;

    if (!function || !dladdr1(function, &info, &found, RTLD_DL_SYMENT) || !found)
        return (struct code){.length = 0};
    return (struct code){.begin = (uintptr_t)function + 1,
                         .length = ((const ElfW(Sym) *)found)->st_size};
}

/* Whether MPI_Finalize has returned. In Open MPI MPI_Finalized says so before it waits for others.
 */
static bool wait_ending_is_over(void)
{
    enum { OVER = 5 }; /* OMPI_MPI_STATE_FINALIZE_COMPLETED */
    const int32_t *state = dlsym(RTLD_DEFAULT, "ompi_mpi_state");

    return state ? __atomic_load_n(state, __ATOMIC_RELAXED) >= OVER : sy_says("MPI_Finalized");
}

/* The function that waits; that of Open MPI is one that MPI_Finalize jumps to. */
static struct code wait_ending_find_finalize(void)
{
    struct code finalize = {.length = 0};

    if (sy_says("MPI_Initialized") <= 0 || wait_ending_is_over())
        return finalize;
    finalize = wait_ending_find("ompi_mpi_finalize");
    return finalize.length ? finalize : wait_ending_find("PMPI_Finalize");
}

/* The end of the main thread's stack; 0: not known. */
static uintptr_t wait_ending_stack(uintptr_t *begin)
{
    struct sy_mapping stack;

    if (!sy_mapping_find(0, "[stack]", &stack))
        return 0;
    *begin = stack.end - stack.begin > DEPTH ? stack.end - DEPTH : stack.begin;
    return stack.end;
}

static bool wait_ending_is_on_stack(const struct code *code)
{
    static uintptr_t word[WORDS];
    uintptr_t at = 0, end = wait_ending_stack(&at);
    bool found = false;

    while (at < end && !found) {
        size_t most = (end - at) / sizeof *word,
               count = sy_own_memory_read(at, word, most < WORDS ? most : WORDS);
        for (size_t i = 0; i < count && !found; i++)
            found = word[i] - code->begin < code->length;
        at = count ? at + count * sizeof *word : end;
    }
    return found;
}

uint64_t sy_ending_since(void)
{
    static uint64_t since;
    struct code finalize = {.length = 0};

    if (!sy_stall_is_waiting(getpid())) {
        finalize = wait_ending_find_finalize();
        /* Frees what the C library says of names that are not there. In a child made by fork it
         * would be a leak, as the thread that has it is not there. */
        dlerror();
        dlerror();
    }
    if (!finalize.length || !wait_ending_is_on_stack(&finalize))
        since = 0;
    else if (!since)
        since = sy_clock_ns();
    return since;
}
