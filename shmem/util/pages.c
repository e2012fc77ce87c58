/* See pages.h. Holds no state; topology and limits are read where they are needed, at the making of
 * memory. */
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/bits.h"
#include "util/denied.h"
#include "util/error.h"
#include "util/file.h"
#include "util/memfd.h"
#include "util/pages.h"
#include "util/proc.h"

#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT 26
#endif

#define SHIFT_2M 21
#define SHIFT_1G 30
#define HUGE     (SY_WISH_HUGE_2M | SY_WISH_HUGE_1G)
#define NUMA     (SY_WISH_NUMA_BIND | SY_WISH_NUMA_INTERLEAVE | SY_WISH_NUMA_LOCAL)

__attribute__((format(printf, 2, 3))) static void pages_got(struct sy_pages *pages, const char *fmt,
                                                            ...)
{
    size_t used = strlen(pages->got);
    va_list args;

    if (used && used + 2 < sizeof pages->got)
        used += (size_t)snprintf(pages->got + used, sizeof pages->got - used, "; ");
    va_start(args, fmt);
    vsnprintf(pages->got + used, sizeof pages->got - used, fmt, args);
    va_end(args);
}

/* ---- what the machine has ---- */

/* The nodes that have memory, as bits. Where the kernel does not say, one. */
static unsigned long pages_nodes(void)
{
    unsigned long nodes;

    sy_file_set("/sys/devices/system/node/has_memory", &nodes, 8 * sizeof nodes);
    return nodes ? nodes : 1;
}

/* Writes nodes as "0, 2". */
static const char *pages_name_nodes(unsigned long nodes, char *text, size_t room)
{
    size_t used = 0;

    *text = '\0';
    for (unsigned i = 0; i < 8 * sizeof nodes && used < room; i++)
        if (nodes >> i & 1)
            used += (size_t)snprintf(text + used, room - used, "%s%u", used ? ", " : "", i);
    return text;
}

static long pages_count(int shift, const char *which)
{
    char path[96];

    snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%llukB/%s_hugepages",
             1ull << (shift - 10), which);
    return sy_file_number(path, -1);
}

/* The huge pages of a size that nobody has or has set aside, or -1: the kernel has no such size. */
static long pages_free(int shift)
{
    long all = pages_count(shift, "free"), taken = pages_count(shift, "resv");

    return all > 0 && taken > 0 ? all - taken : all;
}

/* The word in brackets of a file such as .../shmem_enabled; "" without. */
static const char *pages_thp_mode(char *mode, size_t room)
{
    char text[SY_PROC_TEXT];
    const char *word = strchr(
        sy_proc_read("/sys/kernel/mm/transparent_hugepage/shmem_enabled", text), '[');

    snprintf(mode, room, "%.*s", word ? (int)strcspn(word + 1, "]") : 0, word ? word + 1 : "");
    return mode;
}

/* ---- wishes ---- */

static size_t pages_unit(int flags)
{
    return flags & SY_WISH_HUGE_1G   ? (size_t)1 << SHIFT_1G
           : flags & SY_WISH_HUGE_2M ? (size_t)1 << SHIFT_2M
                                     : (size_t)sysconf(_SC_PAGESIZE);
}

static int pages_check(const struct sy_pages_wish *wish, struct sy_error *err)
{
    char text[128], there[128];
    int numa = wish->flags & NUMA;
    unsigned long nodes = pages_nodes();

    if (wish->flags & ~(HUGE | NUMA | SY_WISH_LOCKED))
        return sy_fail(err, EINVAL, "flags 0x%x, of which this memory knows 0x%x",
                       (unsigned)wish->flags, HUGE | NUMA | SY_WISH_LOCKED);
    if (!wish->length || wish->length > (size_t)INT64_MAX - pages_unit(wish->flags))
        return sy_fail(err, EINVAL, "memory of %zu bytes", wish->length);
    if (numa & (numa - 1))
        return sy_fail(err, EINVAL, "more than one of bind, interleave and local");
    if (numa == SY_WISH_NUMA_BIND && !wish->numa)
        return sy_fail(err, EINVAL, "bind to nodes of memory, and none is named");
    if (wish->numa && (numa == SY_WISH_NUMA_LOCAL || !numa))
        return sy_fail(err, EINVAL,
                       "nodes of memory are named, but neither bind nor interleave is asked for");
    if (wish->numa & ~nodes)
        return sy_fail(err, EINVAL, "node of memory %s, which is not there; this host has node %s",
                       pages_name_nodes(wish->numa & ~nodes, text, sizeof text),
                       pages_name_nodes(nodes, there, sizeof there));
    return 0;
}

/* ---- huge pages ---- */

/* A sealed file of so many bytes, on pages of 1 << shift (0: small ones); -errno. */
static int pages_make_file(const char *name, size_t length, int shift)
{
    int fd = shift ? memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB |
                                            (unsigned)shift << MFD_HUGE_SHIFT)
                   : sy_memfd_create(name);
    int rc = fd >= 0 ? sy_file_set_length(fd, length) : shift ? -errno : fd;

    if (!rc)
        rc = sy_memfd_seal(fd);
    if (rc && fd >= 0)
        close(fd);
    return rc ? rc : fd;
}

char *sy_pages_map(int fd, uint64_t offset, size_t length, size_t unit, int flags, char *at)
{
    int prot = PROT_READ | PROT_WRITE;

    flags |= MAP_SHARED;
    if (at) {
        char *map = mmap(at, length, prot, flags | MAP_FIXED_NOREPLACE, fd, (off_t)offset);
        if (map == at)
            return map;
        if (map != MAP_FAILED) /* a kernel that takes the address as a hint only */
            munmap(map, length);
    }
    /* Reserve more than is needed, then map on a boundary inside. */
    char *room = mmap(NULL, length + unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1, 0);
    if (room == MAP_FAILED)
        return room;
    char *start = (char *)sy_round_up((uintptr_t)room, unit);
    char *map = mmap(start, length, prot, flags | MAP_FIXED, fd, (off_t)offset);
    if (map == MAP_FAILED) {
        int code = errno;
        munmap(room, length + unit);
        errno = code;
        return map;
    }
    if (start > room)
        munmap(room, (size_t)(start - room));
    if (start + length < room + length + unit)
        munmap(start + length, (size_t)(room + unit - start));
    return map;
}

/* Makes a pool on huge pages of a size, which the kernel sets aside now, so that they are there
 * when they are touched. 0 or -errno. */
static int pages_open_huge(const char *name, int shift, char *at, struct sy_pages *pages)
{
    size_t unit = (size_t)1 << shift;

    if (pages->length % unit)
        return -EINVAL;
    int fd = pages_make_file(name, pages->length, shift);
    if (fd < 0)
        return fd;
    char *map = sy_pages_map(fd, 0, pages->length, unit, 0, at);
    if (map == MAP_FAILED) {
        int code = errno;
        close(fd);
        return -code;
    }
    pages->fd = fd;
    pages->base = map;
    return 0;
}

static bool pages_try_huge(const char *name, int shift, char *at, struct sy_pages *pages)
{
    const char *size = shift == SHIFT_1G ? "1 GiB" : "2 MiB";
    long before = pages_free(shift);
    int rc = pages_open_huge(name, shift, at, pages);

    if (!rc)
        pages_got(pages, "%s pages", size);
    else if (before < 0)
        pages_got(pages, "this kernel has no %s pages", size);
    else
        pages_got(pages, "%ld %s pages free of %zu", before, size, pages->length >> shift);
    pages->failed |= rc != 0;
    return !rc;
}

static void pages_want_thp(struct sy_pages *pages)
{
    char mode[32];

    pages_thp_mode(mode, sizeof mode);
    if (!strcmp(mode, "never") || !strcmp(mode, "deny") || !*mode)
        pages_got(pages,
                  "small pages, since shared memory gets no transparent huge ones "
                  "(.../transparent_hugepage/shmem_enabled: %s)",
                  *mode ? mode : "not there");
    else if (madvise(pages->base, pages->length, MADV_HUGEPAGE))
        pages_got(pages, "small pages, madvise: %s", strerror(errno));
    else
        pages_got(pages, "transparent 2 MiB pages where the kernel finds them");
}

/* ---- nodes of memory, locks ---- */

/* The nodes and the policy that a wish comes to. */
static int pages_policy(const struct sy_pages_wish *wish, unsigned long there, unsigned long *nodes)
{
    unsigned cpu, node = 0;

    *nodes = wish->numa ? wish->numa : there;
    if (wish->flags & SY_WISH_NUMA_BIND)
        return MPOL_BIND;
    if (wish->flags & SY_WISH_NUMA_INTERLEAVE)
        return MPOL_INTERLEAVE;
    /* The node of this PE, not of the one that touches a page first, which may be another. */
    if (syscall(SYS_getcpu, &cpu, &node, NULL) || !(there >> node & 1))
        return MPOL_LOCAL;
    *nodes = 1ul << node;
    return MPOL_PREFERRED;
}

static void pages_place_nodes(struct sy_pages *pages, const struct sy_pages_wish *wish)
{
    static const char *const words[] = {[MPOL_PREFERRED] = "preferably on node",
                                        [MPOL_BIND] = "bound to node",
                                        [MPOL_INTERLEAVE] = "interleaved over node",
                                        [MPOL_LOCAL] = "on the node that touches it first, not"};
    unsigned long there = pages_nodes(), nodes;
    int policy = pages_policy(wish, there, &nodes);
    char text[96];

    pages_name_nodes(nodes, text, sizeof text);
    if (syscall(SYS_mbind, pages->base, pages->length, policy, policy == MPOL_LOCAL ? NULL : &nodes,
                policy == MPOL_LOCAL ? 0 : 8 * sizeof nodes + 1, 0)) {
        pages->failed = true;
        pages_got(pages, "not %s %s: mbind: %s", words[policy], text, strerror(errno));
    } else {
        pages_got(pages, "%s %s%s", words[policy], text,
                  there & (there - 1) ? "" : ", the only one of this host");
    }
}

static void pages_lock(struct sy_pages *pages)
{
    struct rlimit limit = {.rlim_cur = 0};

    if (!mlock(pages->base, pages->length)) {
        pages_got(pages, "locked");
        return;
    }
    int code = errno;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    pages->failed = true;
    if (limit.rlim_cur == RLIM_INFINITY)
        pages_got(pages, "not locked: %s", strerror(code));
    else
        pages_got(pages, "not locked: %s (ulimit -l: %llu KiB)", strerror(code),
                  (unsigned long long)limit.rlim_cur >> 10);
}

/* ---- all of it ---- */

/* Makes a pool on pages of the machine's usual size. */
static int pages_open_small(const char *name, const struct sy_pages_wish *wish, char *at,
                            struct sy_pages *pages, struct sy_error *err)
{
    size_t unit = (size_t)1 << SHIFT_2M;

    pages->fd = pages_make_file(name, pages->length, 0);
    if (pages->fd < 0)
        return sy_fail(err, -pages->fd, "a file in memory of %zu bytes: %s%s", pages->length,
                       strerror(-pages->fd),
                       pages->fd == -EFBIG ? "; raise the limit of file sizes (ulimit -f)"
                                           : sy_denied_hint(pages->fd));
    pages->base = sy_pages_map(pages->fd, 0, pages->length, unit, MAP_NORESERVE, at);
    if (pages->base == MAP_FAILED) {
        int code = errno;
        close(pages->fd);
        return sy_fail(err, code, "mapping %zu bytes: %s", pages->length, strerror(code));
    }
    if (wish->flags & HUGE)
        pages_want_thp(pages);
    return 0;
}

int sy_pages_open(const char *name, const struct sy_pages_wish *wish, char *at,
                  struct sy_pages *pages, struct sy_error *err)
{
    int rc = pages_check(wish, err);

    if (rc)
        return rc;
    *pages = (struct sy_pages){.fd = -1,
                               .length = sy_round_up(wish->length, pages_unit(wish->flags))};
    bool huge = (wish->flags & SY_WISH_HUGE_1G && pages_try_huge(name, SHIFT_1G, at, pages)) ||
                (wish->flags & HUGE && pages_try_huge(name, SHIFT_2M, at, pages));
    if (!huge)
        rc = pages_open_small(name, wish, at, pages, err);
    if (!rc && wish->flags & NUMA)
        pages_place_nodes(pages, wish);
    if (!rc && wish->flags & SY_WISH_LOCKED)
        pages_lock(pages);
    return rc;
}

void sy_pages_close(struct sy_pages *pages)
{
    munmap(pages->base, pages->length);
    close(pages->fd);
}

int sy_pages_describe(char *text, size_t room)
{
    char nodes[128], mode[32], locked[32] = "any amount";
    long large = pages_free(SHIFT_2M), huge = pages_free(SHIFT_1G);
    struct rlimit limit = {.rlim_cur = 0};

    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur != RLIM_INFINITY)
        snprintf(locked, sizeof locked, "%llu KiB", (unsigned long long)limit.rlim_cur >> 10);
    return snprintf(text, room,
                    "nodes of memory: %s\n"
                    "free huge pages: %ld of 2 MiB, %ld of 1 GiB\n"
                    "transparent huge pages in shared memory: %s\n"
                    "may be locked: %s",
                    pages_name_nodes(pages_nodes(), nodes, sizeof nodes), large < 0 ? 0 : large,
                    huge < 0 ? 0 : huge, *pages_thp_mode(mode, sizeof mode) ? mode : "no", locked);
}
