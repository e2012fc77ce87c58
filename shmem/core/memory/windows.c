/* The tables of windows.h. Knows nothing of transports: it is told where peers' memory is. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory/memory.h"
#include "core/memory/windows.h"
#include "util/error.h"

struct sy_windows sy_windows;
/* Pages at the beginning of the address space are never mapped. */
#define NOT_CTX ((uintptr_t)4095)

struct sy_hot sy_hot = {.not_ctx = UINTPTR_MAX};

static int npes_open;

/* Pages of a table that are never written cost nothing, which matters at many thousand PEs. */
static char **windows_new_table(int npes)
{
    void *table = mmap(NULL, (size_t)npes * sizeof(char *), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return table == MAP_FAILED ? NULL : table;
}

static void windows_add(char *base, size_t length, int fd, uint64_t fd_offset)
{
    sy_windows.entry[sy_windows.count++].own = (struct sy_window){
        .base = base, .length = length, .fd = fd, .fd_offset = fd_offset};
}

int sy_windows_open(int pe, int npes, struct sy_error *err)
{
    const struct sy_memory *memory = &sy_memory;

    sy_windows.count = 0;
    npes_open = npes;
    windows_add(memory->heap, memory->heap_length, memory->fd, memory->heap_offset);
    windows_add(memory->control, SY_CONTROL_SPACE, memory->fd, 0);
    for (unsigned i = 0; i < sy_statics.ranges; i++)
        windows_add(sy_statics.range[i].base, sy_statics.range[i].length,
                    sy_statics.mapped ? memory->fd : -1, sy_statics.range[i].fd_offset);
    for (unsigned i = 0; i < sy_windows.count; i++) {
        sy_windows.entry[i].peer = windows_new_table(npes);
        if (!sy_windows.entry[i].peer)
            return sy_fail(err, ENOMEM, "no memory for a table of %d PEs", npes);
        sy_windows_set_peer(i, pe, sy_windows.entry[i].own.base);
    }
    return 0;
}

void sy_windows_set_peer(unsigned window, int pe, void *base)
{
    sy_windows.entry[window].peer[pe] = base;
}

void sy_windows_close(void)
{
    sy_windows_hot(0, false);
    for (unsigned i = 0; i < sy_windows.count; i++)
        if (sy_windows.entry[i].peer)
            munmap(sy_windows.entry[i].peer, (size_t)npes_open * sizeof(char *));
    if (sy_windows.late)
        munmap(sy_windows.late, (size_t)npes_open);
    memset(&sy_windows, 0, sizeof sy_windows);
}

/* ---- what is mapped when it is used ---- */

int sy_windows_set_late(int pe, void (*map)(int pe))
{
    if (!sy_windows.late) {
        void *late = mmap(NULL, (size_t)npes_open, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (late == MAP_FAILED)
            return -ENOMEM;
        sy_windows.late = late;
    }
    sy_windows.late[pe] = 1;
    sy_windows.map = map;
    return 0;
}

bool sy_windows_has(unsigned window, int pe)
{
    return sy_windows.entry[window].peer[pe] || (sy_windows.late && sy_windows.late[pe]);
}

char *sy_windows_first_use(unsigned window, int pe)
{
    if (sy_windows.late[pe]) {
        sy_windows.late[pe] = 0;
        sy_windows.map(pe);
    }
    return sy_windows.entry[window].peer[pe];
}

void sy_windows_hot(int npes, bool enable)
{
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

int sy_windows_find(const void *address, unsigned *window, uint64_t *offset)
{
    for (unsigned i = 0; i < sy_windows.count; i++) {
        if (i == SY_WINDOW_CONTROL)
            continue;
        uint64_t at = (uint64_t)((uintptr_t)address - (uintptr_t)sy_windows.entry[i].own.base);
        if (at < sy_windows.entry[i].own.length) {
            *window = i;
            *offset = at;
            return 0;
        }
    }
    return -EFAULT;
}

void *sy_windows_memory(int pe, unsigned window, uint64_t offset, size_t length)
{
    if (window >= sy_windows.count || pe < 0 || pe >= npes_open)
        return NULL;
    const struct sy_window_entry *entry = &sy_windows.entry[window];
    if (offset > entry->own.length || length > entry->own.length - offset)
        return NULL;
    char *base = sy_windows_peer(window, pe);
    return base ? base + offset : NULL;
}
