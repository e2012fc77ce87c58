/* Symmetric windows: from a user's address to (window, offset), and from (PE, window, offset) to an
 * address in this process where that PE's memory is mapped. Each is a region that the transports
 * have attached under the same number.
 *
 * Invariants: an entry is written only before its window exists or after it is gone, when no call
 * names it. The ranges of addresses, in which sy_windows_find looks, may change at any time.
 * peer[pe] is NULL where loads and stores do not reach that PE's window, and where it has not been
 * used yet (`late`); for this PE it is the window itself. */
#ifndef SY_CORE_WINDOWS_H
#define SY_CORE_WINDOWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/host.h>

#include "core/memory/statics.h"
#include "util/bits.h"

enum {
    SY_WINDOW_HEAP,
    SY_WINDOW_CONTROL, /* the library's own; users' addresses never fall into it */
    SY_WINDOW_DATA,    /* first of the executable's data ranges, the largest */
    SY_WINDOWS_START = SY_WINDOW_DATA + SY_STATICS_RANGES /* most that are there from the start */
};

struct sy_window_entry {
    struct sy_region own;
    char **peer;                 /* npes bases in this process; NULL: there is no such window */
    struct sy_heap *heap;        /* that hands its memory out in blocks, or NULL */
    const unsigned char *absent; /* npes flags: 1 = nothing there is its counterpart */
};

struct sy_windows {
    unsigned count; /* of those that are there from the start, which come first */
    /* So many windows of the executable's constants follow, as numbers are free before
     * SY_WINDOWS_START. They are equal on all PEs that run it, so this PE's own stand for every
     * PE's, and no transport knows them. */
    unsigned constants;
    struct sy_window_entry entry[SY_REGIONS];
    char *late; /* npes flags, NULL: none. PEs whose windows are mapped when they are first used, by
                   `map`, which ends the job if it cannot. */
    void (*map)(int pe);
};

extern struct sy_windows sy_windows SY_HIDDEN;

/* A program that waits in a loop of its own reads its own memory again and again. Polling finds an
 * arrival sooner than the progress thread wakes up for it. Where nobody but the program receives
 * (SHMEM_PROGRESS=polling), any such loop may be a wait. */
enum { SY_LOOKS_MERELY, SY_LOOKS_POLL_OWN, SY_LOOKS_POLL_ALL };

/* A memory space as calls of the inline path find it. */
struct sy_hot_space {
    uintptr_t base;
    size_t length;
    char **peer;
    const unsigned char *absent;
    unsigned window;
};

/* What the inline path needs, in one cache line. Lengths are 0, so that every call takes the path
 * that checks and explains, before initialisation, after finalisation, and under SHMEM_CHECK. */
struct sy_hot {
    unsigned npes;
    /* Handles up to this are no contexts, or have to be looked up: all are under SHMEM_CHECK. */
    uintptr_t not_ctx;
    bool carries; /* some data goes through a transport's calls, so quiet and fence concern it */
    unsigned char looks; /* SY_LOOKS_: which looks at mapped memory poll transports now and then */
    struct {
        uintptr_t base;
        size_t length;
        char **peer;
    } heap, data;
    /* A memory space, or length 0, for the functions that the inline path hands over to. Where
     * several threads may be in calls it is the first space that there is, and never another one: a
     * reader of the length, by acquire, and then of the others does not mix two of them. Else it is
     * the one that was used last. */
    struct sy_hot_space space;
} __attribute__((aligned(SY_LINE)));

extern struct sy_hot sy_hot SY_HIDDEN;

/* Of the spaces behind the first one the one that this thread used last, where several threads may
 * be in calls. It holds as long as no window has come or gone since. */
struct sy_hot_own {
    uint32_t version;
    struct sy_hot_space space;
};

extern _Thread_local struct sy_hot_own sy_hot_own SY_HIDDEN
    __attribute__((tls_model("initial-exec")));

/* Changes when a window comes or goes; odd meanwhile. */
extern _Atomic uint32_t sy_windows_version SY_HIDDEN;

/* The space that an address is in, where one of the two above is that; *offset, and *room, the
 * length of the space. NULL: the slow path looks for it. */
SY_INLINE const struct sy_hot_space *sy_hot_space_of(const void *address, size_t *offset,
                                                     size_t *room)
{
    *room = __atomic_load_n(&sy_hot.space.length, __ATOMIC_ACQUIRE);
    *offset = (uintptr_t)address - __atomic_load_n(&sy_hot.space.base, __ATOMIC_RELAXED);
    if (SY_LIKELY(*offset < *room))
        return &sy_hot.space;
    *room = sy_hot_own.space.length;
    *offset = (uintptr_t)address - sy_hot_own.space.base;
    return *offset < *room && sy_hot_own.version ==
                                  atomic_load_explicit(&sy_windows_version, memory_order_acquire)
               ? &sy_hot_own.space
               : NULL;
}

/* sy_hot.carries, for any thread: a memory space that comes may make it true meanwhile. Who issues
 * there has been handed the space since. */
static inline bool sy_hot_carries(void)
{
    return __atomic_load_n(&sy_hot.carries, __ATOMIC_RELAXED);
}

/* Whether only the slow path can take a call for PE pe: there is no such PE, or all calls are to go
 * there. A memory space that another thread creates or ends may change that meanwhile, so the load
 * is atomic. Either answer is right for who has not been handed that space. GCC does not compare
 * with memory that it loads atomically, which would cost every call an instruction. */
SY_INLINE bool sy_hot_leaves(int pe)
{
#if defined __x86_64__ && defined __GCC_ASM_FLAG_OUTPUTS__ && !defined SY_THREAD_SANITIZER
    bool leaves;

    __asm__("cmpl %2, %1" : "=@ccae"(leaves) : "r"(pe), "m"(sy_hot.npes));
    return leaves;
#else
    return (unsigned)pe >= __atomic_load_n(&sy_hot.npes, __ATOMIC_RELAXED);
#endif
}

/* The address, here, of what `address` names on PE pe, for which sy_hot_leaves has said no; NULL
 * where only the slow path can tell. *elsewhere: set to true where it is in neither of the two
 * windows, else left as it is. */
SY_INLINE void *sy_window_place(const void *address, int pe, bool *elsewhere)
{
    size_t offset = (uintptr_t)address - sy_hot.heap.base;
    char *base;
    if (SY_LIKELY(offset < sy_hot.heap.length)) {
        base = sy_hot.heap.peer[(unsigned)pe];
    } else {
        offset = (uintptr_t)address - sy_hot.data.base;
        if (SY_UNLIKELY(offset >= sy_hot.data.length)) {
            *elsewhere = true;
            return NULL;
        }
        base = sy_hot.data.peer[(unsigned)pe];
    }
    return SY_LIKELY(base != NULL) ? base + offset : NULL;
}

/* The same for any number of a PE. */
SY_INLINE void *sy_window_reach_or(const void *address, int pe, bool *elsewhere)
{
    return SY_UNLIKELY(sy_hot_leaves(pe)) ? NULL : sy_window_place(address, pe, elsewhere);
}

SY_INLINE void *sy_window_reach(const void *address, int pe)
{
    bool elsewhere = false;

    return sy_window_reach_or(address, pe, &elsewhere);
}

/* Makes the tables for npes PEs from this PE's memory; peers are added by sy_windows_set_peer. */
int sy_windows_open(int pe, int npes, struct sy_error *err);
void sy_windows_set_peer(unsigned window, int pe, void *base);

/* Adds a window of this PE, at `pe`, under a number that has none, and takes it away. The program's
 * addresses are looked for in it where `found`. One thread at a time; others may be looking. 0 or
 * -ENOMEM. */
int sy_windows_add(unsigned window, const struct sy_region *own, int pe, bool found);
void sy_windows_remove(unsigned window);
void sy_windows_close(void);

/* Whether a byte of [base, base + length), which is not empty, is in a window of this PE. */
bool sy_windows_overlap(const void *base, size_t length);

/* PE pe's windows are to be mapped late. 0 or -ENOMEM. */
int sy_windows_set_late(int pe, void (*map)(int pe));

/* Whether what is in a window here has a counterpart on PE pe. */
static inline bool sy_windows_usable(unsigned window, int pe)
{
    const unsigned char *absent = sy_windows.entry[window].absent;
    return !absent || !absent[pe];
}

/* Whether a window has constants, which nobody writes. */
static inline bool sy_windows_constant(unsigned window)
{
    return window >= sy_windows.count && window < sy_windows.count + sy_windows.constants;
}

/* Whether a window of PE pe is mapped, or will be when it is used. */
bool sy_windows_has(unsigned window, int pe);

/* The base of a window of PE pe here, or NULL. */
char *sy_windows_first_use(unsigned window, int pe) __attribute__((cold));

static inline char *sy_windows_peer(unsigned window, int pe)
{
    char *base = sy_windows.entry[window].peer[pe];
    return SY_LIKELY(base || !sy_windows.late) ? base : sy_windows_first_use(window, pe);
}

/* Lets the inline path work, or not; `threads`: several threads may be in it at once. */
void sy_windows_hot(int npes, bool enable, bool threads);

/* Lets it find a window that came later, if it may. sy_windows_remove undoes that. */
void sy_windows_hot_space(unsigned window);

/* Has every call take the slow path until it is told otherwise, where the inline path is on. */
void sy_windows_slow(bool slow);

/* The window and offset of a user's address: 0, or -EFAULT if it is not symmetric. */
int sy_windows_find(const void *address, unsigned *window, uint64_t *offset);

/* The address of `length` bytes of this PE's own window, or NULL where there is no such place. */
void *sy_windows_own(uint64_t window, uint64_t offset, size_t length);

/* As struct sy_host's member: bounds-checked address of another's memory that may be written, or
 * NULL. */
void *sy_windows_memory(int pe, unsigned window, uint64_t offset, size_t length);

/* Whose window is mapped at an address of this process: a PE, or -1. For messages. */
int sy_windows_mapped(const void *address, unsigned *window, uint64_t *offset);

#endif
