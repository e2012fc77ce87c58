/* The tables of windows.h. Knows nothing of transports: it is told where peers' memory is. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory/memory.h"
#include "core/memory/windows.h"
#include "util/error.h"

struct sy_windows sy_windows;
/* Pages at the beginning of the address space are never mapped. */
#define NOT_CTX ((uintptr_t)4095)

struct sy_hot sy_hot = {.not_ctx = UINTPTR_MAX};
_Thread_local struct sy_hot_own sy_hot_own;
_Atomic uint32_t sy_windows_version;

static int npes_open;
static bool hot_threads;
static atomic_bool hot_taken; /* with several threads: one has chosen the space of sy_hot */

/* Pages of a table that are never written cost nothing, which matters at many thousand PEs. */
static char **windows_new_table(int npes)
{
    void *table = mmap(NULL, (size_t)npes * sizeof(char *), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return table == MAP_FAILED ? NULL : table;
}

/* ---- ranges of addresses ---- */

/* The program's addresses, sorted, without overlaps. Read without a lock, again where the version
 * has changed meanwhile or is odd. What is read of a change that is under way is wrong, but within
 * the array: the members are read by acquire, so before the version is read again, and written by
 * release, so after it has become odd. */
static struct {
    _Atomic unsigned count;
    struct {
        _Atomic uintptr_t base;
        _Atomic size_t length;
        _Atomic unsigned window;
    } at[SY_REGIONS];
} ranges;

#define READ(member)         atomic_load_explicit(&ranges.member, memory_order_acquire)
#define WRITE(member, value) atomic_store_explicit(&ranges.member, value, memory_order_release)

/* How many ranges begin at the address or before it. */
static unsigned windows_ranges_upto(uintptr_t address)
{
    unsigned low = 0, high = READ(count);

    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (READ(at[middle].base) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void windows_move_range(unsigned to, unsigned from)
{
    WRITE(at[to].base, READ(at[from].base));
    WRITE(at[to].length, READ(at[from].length));
    WRITE(at[to].window, READ(at[from].window));
}

static void windows_add_range(uintptr_t base, size_t length, unsigned window)
{
    unsigned place = windows_ranges_upto(base), count = READ(count);

    atomic_fetch_add_explicit(&sy_windows_version, 1, memory_order_relaxed);
    for (unsigned i = count; i > place; i--)
        windows_move_range(i, i - 1);
    WRITE(at[place].base, base);
    WRITE(at[place].length, length);
    WRITE(at[place].window, window);
    WRITE(count, count + 1);
    atomic_fetch_add_explicit(&sy_windows_version, 1, memory_order_release);
}

static void windows_remove_range(unsigned window)
{
    unsigned count = READ(count), place = 0;

    while (place < count && READ(at[place].window) != window)
        place++;
    if (place == count)
        return;
    atomic_fetch_add_explicit(&sy_windows_version, 1, memory_order_relaxed);
    for (unsigned i = place; i + 1 < count; i++)
        windows_move_range(i, i + 1);
    WRITE(count, count - 1);
    atomic_fetch_add_explicit(&sy_windows_version, 1, memory_order_release);
}

int sy_windows_find(const void *address, unsigned *window, uint64_t *offset)
{
    uint32_t version;
    bool found;

    do {
        version = atomic_load_explicit(&sy_windows_version, memory_order_acquire);
        unsigned place = windows_ranges_upto((uintptr_t)address);
        found = place > 0;
        if (found) {
            *window = READ(at[place - 1].window);
            *offset = (uintptr_t)address - READ(at[place - 1].base);
            found = *offset < READ(at[place - 1].length);
        }
    } while (version % 2 ||
             atomic_load_explicit(&sy_windows_version, memory_order_relaxed) != version);
    return found ? 0 : -EFAULT;
}

bool sy_windows_overlap(const void *base, size_t length)
{
    uintptr_t first = (uintptr_t)base;
    uint32_t version;
    bool any;

    do {
        version = atomic_load_explicit(&sy_windows_version, memory_order_acquire);
        unsigned place = windows_ranges_upto(first + length - 1);
        any = place > 0 && first < READ(at[place - 1].base) + READ(at[place - 1].length);
    } while (version % 2 ||
             atomic_load_explicit(&sy_windows_version, memory_order_relaxed) != version);
    return any;
}
#undef READ
#undef WRITE

/* ---- windows ---- */

int sy_windows_add(unsigned window, const struct sy_region *own, int pe, bool found)
{
    struct sy_window_entry *entry = &sy_windows.entry[window];

    entry->own = *own;
    entry->peer = windows_new_table(npes_open);
    if (!entry->peer)
        return -ENOMEM;
    entry->peer[pe] = own->kind == SY_REGION_DEVICE ? NULL : own->base;
    if (found && own->length)
        windows_add_range((uintptr_t)own->base, own->length, window);
    return 0;
}

void sy_windows_remove(unsigned window)
{
    struct sy_window_entry *entry = &sy_windows.entry[window];

    if (__atomic_load_n(&sy_hot.space.window, __ATOMIC_RELAXED) == window)
        __atomic_store_n(&sy_hot.space.length, 0, __ATOMIC_RELEASE);
    windows_remove_range(window);
    if (entry->peer)
        munmap(entry->peer, (size_t)npes_open * sizeof(char *));
    *entry = (struct sy_window_entry){.peer = NULL};
}

static int windows_add_constants(int pe)
{
    int rc = 0;

    for (unsigned i = 0; i < sy_statics.constants && !rc; i++) {
        unsigned window = sy_windows.count + i;
        const struct sy_region own = {
            .base = sy_statics.constant[i].base, .length = sy_statics.constant[i].length, .fd = -1};
        if (window == SY_WINDOWS_START)
            break;
        rc = sy_windows_add(window, &own, pe, true);
        for (int other = 0; other < npes_open && !rc; other++)
            sy_windows_set_peer(window, other, own.base);
        sy_windows.constants = i + 1;
    }
    return rc;
}

int sy_windows_open(int pe, int npes, struct sy_error *err)
{
    const struct sy_memory *memory = &sy_memory;
    const struct sy_region heap = {.base = memory->heap,
                                   .length = memory->heap_length,
                                   .fd = memory->heap_fd,
                                   .fd_offset = memory->heap_offset},
                           control = {.base = memory->control,
                                      .length = SY_CONTROL_SPACE,
                                      .fd = memory->fd};
    npes_open = npes;
    int rc = sy_windows_add(SY_WINDOW_HEAP, &heap, pe, true);

    if (!rc)
        rc = sy_windows_add(SY_WINDOW_CONTROL, &control, pe, false);
    sy_windows.count = SY_WINDOW_DATA;
    for (unsigned i = 0; i < sy_statics.ranges && !rc; i++) {
        struct sy_region data = {.base = sy_statics.range[i].base,
                                 .length = sy_statics.range[i].length,
                                 .fd = sy_statics.mapped ? memory->fd : -1,
                                 .fd_offset = sy_statics.range[i].fd_offset};
        rc = sy_windows_add(sy_windows.count++, &data, pe, true);
    }
    if (!rc)
        rc = windows_add_constants(pe);
    return rc ? sy_fail(err, -rc, "no memory for a table of %d PEs", npes) : 0;
}

void sy_windows_set_peer(unsigned window, int pe, void *base)
{
    sy_windows.entry[window].peer[pe] = base;
}

void sy_windows_close(void)
{
    sy_windows_hot(0, false, false);
    for (unsigned i = 0; i < sy_windows.count + sy_windows.constants; i++)
        sy_windows_remove(i);
    if (sy_windows.late)
        munmap(sy_windows.late, (size_t)npes_open);
    memset(&sy_windows, 0, sizeof sy_windows);
}

/* ---- what is mapped when it is used ---- */

enum { LATE = 1, BEING_MAPPED };

int sy_windows_set_late(int pe, void (*map)(int pe))
{
    if (!sy_windows.late) {
        void *late = mmap(NULL, (size_t)npes_open, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (late == MAP_FAILED)
            return -ENOMEM;
        sy_windows.late = late;
    }
    sy_windows.late[pe] = LATE;
    sy_windows.map = map;
    return 0;
}

bool sy_windows_has(unsigned window, int pe)
{
    return sy_windows.entry[window].peer[pe] || (sy_windows.late && sy_windows.late[pe]);
}

/* Any thread may be the first. Who finds the flag at 0 finds the addresses, which are set before.
 * If the mapping ends the job its reports may come here again, with the mutex held. */
char *sy_windows_first_use(unsigned window, int pe)
{
    static pthread_mutex_t mapping = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    char *flag = &sy_windows.late[pe];

    if (__atomic_load_n(flag, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&mapping);
        if (*flag == LATE) {
            __atomic_store_n(flag, BEING_MAPPED, __ATOMIC_RELAXED);
            sy_windows.map(pe);
            __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&mapping);
    }
    return sy_windows.entry[window].peer[pe];
}

void sy_windows_hot(int npes, bool enable, bool threads)
{
    hot_threads = threads;
    hot_taken = false;
    sy_hot = (struct sy_hot){
        .carries = sy_hot.carries, .looks = sy_hot.looks, .not_ctx = UINTPTR_MAX};
    if (!enable)
        return;
    const struct sy_window_entry *heap = &sy_windows.entry[SY_WINDOW_HEAP];
    sy_hot.heap.base = (uintptr_t)heap->own.base;
    sy_hot.heap.length = heap->own.length;
    sy_hot.heap.peer = heap->peer;
    if (sy_windows.count > SY_WINDOW_DATA) {
        const struct sy_window_entry *data = &sy_windows.entry[SY_WINDOW_DATA];
        sy_hot.data.base = (uintptr_t)data->own.base;
        sy_hot.data.length = data->own.length;
        sy_hot.data.peer = data->peer;
    }
    sy_hot.not_ctx = NOT_CTX;
    sy_hot.npes = (unsigned)npes;
}

/* Turns the inline paths off by a number of PEs of 0, at which every one of them looks first. */
void sy_windows_slow(bool slow)
{
    unsigned npes = sy_hot.heap.peer && !slow ? (unsigned)npes_open : 0;

    __atomic_store_n(&sy_hot.npes, npes, __ATOMIC_RELAXED);
}

/* Whether a thread has chosen a space, or else this one does. */
static bool windows_hot_taken(void)
{
    return atomic_load_explicit(&hot_taken, memory_order_relaxed) ||
           atomic_exchange(&hot_taken, true);
}

/* Has the inline path find a space: this thread's, or that of all. There the length is written
 * last, for threads that look meanwhile. */
void sy_windows_hot_space(unsigned window)
{
    const struct sy_window_entry *entry = &sy_windows.entry[window];
    uint32_t version = atomic_load_explicit(&sy_windows_version, memory_order_acquire);
    const struct sy_hot_space space = {.base = (uintptr_t)entry->own.base,
                                       .length = entry->own.length,
                                       .peer = entry->peer,
                                       .absent = entry->absent,
                                       .window = window};

    if (sy_hot_leaves(0) || entry->own.kind == SY_REGION_DEVICE)
        return;
    if (hot_threads && windows_hot_taken()) {
        if (version % 2 == 0)
            sy_hot_own = (struct sy_hot_own){version, space};
        return;
    }
    __atomic_store_n(&sy_hot.space.window, window, __ATOMIC_RELAXED);
    sy_hot.space.absent = space.absent;
    sy_hot.space.peer = space.peer;
    __atomic_store_n(&sy_hot.space.base, space.base, __ATOMIC_RELAXED);
    __atomic_store_n(&sy_hot.space.length, space.length, __ATOMIC_RELEASE);
}

void *sy_windows_own(uint64_t window, uint64_t offset, size_t length)
{
    if (window >= SY_REGIONS)
        return NULL;
    const struct sy_region *own = &sy_windows.entry[window].own;
    return own->base && offset <= own->length && length <= own->length - offset
               ? (char *)own->base + offset
               : NULL;
}

void *sy_windows_memory(int pe, unsigned window, uint64_t offset, size_t length)
{
    if (window >= SY_REGIONS || pe < 0 || pe >= npes_open || sy_windows_constant(window))
        return NULL;
    if (!sy_windows.entry[window].peer || !sy_windows_own(window, offset, length))
        return NULL;
    char *base = sy_windows_peer(window, pe);
    return base ? base + offset : NULL;
}

int sy_windows_mapped(const void *address, unsigned *window, uint64_t *offset)
{
    for (unsigned w = 0; w < SY_REGIONS; w++) {
        const struct sy_window_entry *entry = &sy_windows.entry[w];
        for (int pe = 0; entry->peer && pe < npes_open; pe++) {
            *offset = (uintptr_t)address - (uintptr_t)entry->peer[pe];
            *window = w;
            if (entry->peer[pe] && *offset < entry->own.length)
                return pe;
        }
    }
    return -1;
}
