/* Moves the executable's writable data into a memfd, in place. See statics.h.
 *
 * Only the main executable counts: the specification (section 3) excludes objects in shared
 * libraries. Who may write: while the constructor runs there is one thread and main has not begun,
 * and between the copy and the mmap this code itself writes to nothing but its stack, also in a
 * static executable, whose libc data is part of what moves. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/memory/statics.h"
#include "util/bits.h"
#include "util/file.h"
#include "util/memfd.h"
#include "util/standard.h"

struct sy_statics sy_statics = {.fd = -1, .why = "the library's constructor has not run"};

static uint64_t page_size;

/* ---- which pages ---- */

/* file_end: where the bytes end that the executable has initial values for. Code may be in writable
 * segments too. */
static void statics_add_range(struct sy_statics *found, const ElfW(Phdr) * p, uintptr_t lo,
                              uintptr_t hi, uintptr_t file_end)
{
    if (lo < hi && found->ranges < SY_STATICS_RANGES)
        found->range[found->ranges++] = (struct sy_statics_range){
            .base = (char *)lo,
            .length = hi - lo,
            .from_file = file_end > lo ? file_end - lo : 0,
            .protection = PROT_READ | PROT_WRITE | (p->p_flags & PF_X ? PROT_EXEC : 0)};
}

/* The writable segments of the first object, which is the main program, without the part that the
 * dynamic linker makes read-only after relocation (RELRO). */
static int statics_collect_ranges(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct sy_statics *found = arg;
    uintptr_t relro_lo = 0, relro_hi = 0;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_GNU_RELRO)
            continue;
        relro_lo = (info->dlpi_addr + p->p_vaddr) & ~(page_size - 1);
        relro_hi = (info->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(page_size - 1);
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
            continue;
        uintptr_t lo = (info->dlpi_addr + p->p_vaddr) & ~(page_size - 1);
        uintptr_t hi = sy_round_up(info->dlpi_addr + p->p_vaddr + p->p_memsz, page_size);
        uintptr_t file_end = info->dlpi_addr + p->p_vaddr + p->p_filesz;
        if (relro_lo < hi && relro_hi > lo) {
            statics_add_range(found, p, lo, relro_lo, file_end);
            lo = relro_hi;
        }
        statics_add_range(found, p, lo, hi, file_end);
    }
    return 1;
}

/* Where the constants are: segments that are not written, which in many layouts have code too, and
 * RELRO. Those between which there is less than a page become one range, up to MOST in all. */
enum { MOST = 16 };
struct constants {
    struct sy_statics_range range[MOST];
    unsigned count;
};

static int statics_collect_constants(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct constants *found = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum && found->count < MOST; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;
        if (p->p_type == PT_GNU_RELRO) {
            lo &= ~(page_size - 1);
            hi &= ~(page_size - 1);
        } else if (p->p_type != PT_LOAD || p->p_flags & PF_W) {
            continue;
        }
        if (lo < hi)
            found->range[found->count++] = (struct sy_statics_range){
                .base = (char *)lo,
                .length = hi - lo,
                .protection = p->p_flags & PF_X ? PROT_EXEC : 0};
    }
    return 1;
}

static int lower_first(const void *a, const void *b)
{
    const struct sy_statics_range *x = a, *y = b;
    return (x->base > y->base) - (x->base < y->base);
}

/* What is only code is last: where linkers put pages of 64 KiB between segments there may be more
 * ranges of constants than windows for them. */
static int statics_larger_first(const void *a, const void *b)
{
    const struct sy_statics_range *x = a, *y = b;
    int code = (x->protection & PROT_EXEC) - (y->protection & PROT_EXEC);

    return code ? code : (x->length < y->length) - (x->length > y->length);
}

static void statics_find_constants(struct sy_statics *s)
{
    struct constants found = {.count = 0};
    unsigned joined = 0;

    dl_iterate_phdr(statics_collect_constants, &found);
    qsort(found.range, found.count, sizeof found.range[0], lower_first);
    for (unsigned i = 0; i < found.count; i++) {
        struct sy_statics_range *last = joined ? &found.range[joined - 1] : NULL;
        if (last && found.range[i].base < last->base + last->length + page_size) {
            size_t to = (size_t)(found.range[i].base - last->base) + found.range[i].length;
            last->length = to > last->length ? to : last->length;
            last->protection &= found.range[i].protection;
        } else {
            found.range[joined++] = found.range[i];
        }
    }
    qsort(found.range, joined, sizeof found.range[0], statics_larger_first);
    for (; s->constants < joined && s->constants < SY_STATICS_CONSTANTS; s->constants++)
        s->constant[s->constants] = found.range[s->constants];
}

/* Hashes the GNU build-id where there is one, and the shape of the program headers. */
static int statics_collect_identity(struct dl_phdr_info *info, size_t size, void *arg)
{
    uint64_t *identity = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t shape[3] = {p->p_type, p->p_vaddr, p->p_memsz};
        *identity = sy_hash(shape, sizeof shape, *identity);
        if (p->p_type == PT_NOTE)
            *identity = sy_hash((void *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, *identity);
    }
    return 1;
}

/* ---- the move ---- */

/* Copies the page at `from`; no library call, because in a static executable even memcpy's
 * indirection table is part of what is being copied. */
static inline void copy_page(uint64_t *to, const uint64_t *from)
{
    for (size_t i = 0; i < page_size / sizeof *to; i++)
        ((volatile uint64_t *)to)[i] = from[i];
}

/* Whether there is anything but zeros. */
static bool statics_has_values(const uint64_t *page)
{
    for (size_t i = 0; i < page_size / sizeof *page; i++)
        if (page[i])
            return true;
    return false;
}

/* Copies those pages of a range that are not zero to `to`, which reads as zero. A page without
 * initial values that is neither in memory nor swapped out was never touched, and is skipped
 * without being read. Without pagemap all pages are read. */
static void statics_copy_present(const struct sy_statics_range *range, char *to, int pagemap)
{
    const uint64_t there = UINT64_C(3) << 62; /* bit 63: present, bit 62: swapped */
    uint64_t entry[64];
    size_t pages = range->length / page_size;

    for (size_t first = 0; first < pages; first += SY_COUNT(entry)) {
        size_t count = pages - first < SY_COUNT(entry) ? pages - first : SY_COUNT(entry);
        off_t at = (off_t)(((uintptr_t)range->base / page_size + first) * sizeof *entry);
        if (pagemap < 0 || syscall(SYS_pread64, pagemap, entry, count * sizeof *entry, at) !=
                               (long)(count * sizeof *entry))
            for (size_t i = 0; i < count; i++)
                entry[i] = UINT64_MAX;
        for (size_t i = 0; i < count; i++) {
            size_t offset = (first + i) * page_size;
            const uint64_t *page = (const uint64_t *)(range->base + offset);
            if ((offset < range->from_file || entry[i] & there) && statics_has_values(page))
                copy_page((uint64_t *)(to + offset), page);
        }
    }
}

/* Moves one range. The mmap replaces pages by equal ones, so nothing has to be undone after it. */
static bool statics_move_range(const struct sy_statics_range *range, int fd, int pagemap)
{
    char *image = mmap(NULL, range->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                       (off_t)range->fd_offset);
    if (image == MAP_FAILED)
        return false;
    statics_copy_present(range, image, pagemap);
    long at = syscall(SYS_mmap, range->base, range->length, range->protection,
                      MAP_SHARED | MAP_FIXED, fd, (off_t)range->fd_offset);
    munmap(image, range->length);
    return at == (long)range->base;
}

/* /proc/self/task has two links of its own and one for each thread. */
static bool single_threaded(void)
{
    struct stat task;
    return stat("/proc/self/task", &task) || task.st_nlink <= 3;
}

static const char *statics_move_all(struct sy_statics *s)
{
    if (!single_threaded())
        return "the library was loaded into a process that already has threads";
    int fd = sy_memfd_create("openshmem");
    if (fd < 0)
        return "memfd_create failed";
    uint64_t end = SY_CONTROL_SPACE;
    for (unsigned i = 0; i < s->ranges; i++) {
        s->range[i].fd_offset = end;
        end += s->range[i].length;
    }
    if (sy_memfd_seal(fd) || sy_file_set_length(fd, end)) {
        close(fd);
        return "the memfd cannot hold the program's data (see ulimit -f)";
    }
    struct stat file;
    if (!fstat(fd, &file))
        memcpy(s->file, (uint64_t[]){file.st_dev, file.st_ino}, sizeof s->file);
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    /* The result is kept in locals: `s` itself may lie in a range that is about to move. */
    unsigned moved = 0;
    while (moved < s->ranges && statics_move_range(&s->range[moved], fd, pagemap))
        moved++;
    sy_file_close(&pagemap);
    bool all = moved == s->ranges;
    if (all || moved) {
        s->moved = moved;
        s->fd = fd;
        s->end = end;
    } else {
        close(fd);
    }
    return all ? NULL : "the program's data could not be mapped again";
}

/* ---- fork ---- */

/* A child that is forked without exec must have its own variables, as after any fork. The parent
 * takes the snapshot before fork, when this is the last handler to run, so the child sees the
 * values of that moment and not what the parent or other PEs write while it starts. Each thread has
 * its own: two may fork at once. */
static _Thread_local char *snapshot[SY_STATICS_RANGES];

static void statics_copy_data_extents(const struct sy_statics_range *range, char *to)
{
    off_t at = (off_t)range->fd_offset, end = at + (off_t)range->length;

    while (at < end) {
        off_t data = lseek(sy_statics.fd, at, SEEK_DATA);
        if (data < 0 || data >= end)
            return;
        off_t hole = lseek(sy_statics.fd, data, SEEK_HOLE);
        if (hole < 0 || hole > end)
            hole = end;
        /* Read through the file: a sanitizer objects to copying what lies between variables. */
        ssize_t got = pread(sy_statics.fd, to + (data - (off_t)range->fd_offset),
                            (size_t)(hole - data), data);
        if (got <= 0)
            return;
        at = data + got;
    }
}

static void statics_before_fork(void)
{
    for (unsigned i = 0; i < sy_statics.moved; i++) {
        void *copy = mmap(NULL, sy_statics.range[i].length, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        snapshot[i] = copy == MAP_FAILED ? NULL : copy;
    }
    for (unsigned i = 0; i < sy_statics.moved; i++)
        if (snapshot[i])
            statics_copy_data_extents(&sy_statics.range[i], snapshot[i]);
}

static void statics_after_fork_in_parent(void)
{
    for (unsigned i = 0; i < sy_statics.moved; i++)
        if (snapshot[i])
            munmap(snapshot[i], sy_statics.range[i].length);
}

static void statics_after_fork_in_child(void)
{
    struct sy_statics s = sy_statics; /* the original may be in a range that is replaced below */
    char *copy[SY_STATICS_RANGES];

    memcpy(copy, snapshot, sizeof copy);
    for (unsigned i = 0; i < s.moved; i++) {
        if (copy[i])
            syscall(SYS_mremap, copy[i], s.range[i].length, s.range[i].length,
                    MREMAP_MAYMOVE | MREMAP_FIXED, s.range[i].base);
        else /* there was no room: pages that the child has not written yet follow the parent's */
            syscall(SYS_mmap, s.range[i].base, s.range[i].length, s.range[i].protection,
                    MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, s.fd, (off_t)s.range[i].fd_offset);
        if (copy[i] && s.range[i].protection & PROT_EXEC)
            syscall(SYS_mprotect, s.range[i].base, s.range[i].length, s.range[i].protection);
    }
    /* Should the child become a PE itself, it has no file yet in which others find its data. */
    close(s.fd);
    sy_statics.fd = -1;
    sy_statics.moved = 0;
    sy_statics.mapped = false;
    sy_statics.end = SY_CONTROL_SPACE;
    sy_statics.why = "the process was forked after the library was loaded";
}

/* ---- start ---- */

__attribute__((constructor(101))) static void sy_statics_start(void)
{
    struct sy_statics s = {.fd = -1, .end = SY_CONTROL_SPACE};

    sy_standard_keep();
    page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    s.identity = page_size; /* where a range begins depends on it */
    dl_iterate_phdr(statics_collect_ranges, &s);
    dl_iterate_phdr(statics_collect_identity, &s.identity);
    qsort(s.range, s.ranges, sizeof s.range[0], statics_larger_first);
    statics_find_constants(&s);
    /* It is read here because main, and with it every configuration file, comes later. */
    const char *mode = secure_getenv("SHMEM_STATICS");
    if (mode && !strcasecmp(mode, "service"))
        s.why = "SHMEM_STATICS=service";
    else
        s.why = statics_move_all(&s);
    s.mapped = !s.why;
    sy_statics = s;
    if (s.fd >= 0)
        pthread_atfork(statics_before_fork, statics_after_fork_in_parent,
                       statics_after_fork_in_child);
}
