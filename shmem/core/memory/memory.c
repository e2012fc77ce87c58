/* Makes and maps this PE's symmetric memory; see memory.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/memory/memory.h"
#include "core/memory/statics.h"
#include "util/bits.h"
#include "util/denied.h"
#include "util/error.h"
#include "util/file.h"
#include "util/log.h"
#include "util/memfd.h"
#include "util/nameless.h"
#include "util/pages.h"
#include "util/parse.h"

/* Heap offsets and addresses are aligned to this, the size of a large page. */
#define HEAP_ALIGNMENT (UINT64_C(2) << 20)

/* Far from what the kernel, the dynamic linker and malloc use on 64-bit Linux. */
#define HEAP_ADDRESS ((char *)0x600000000000)

struct sy_memory sy_memory = {.fd = -1};

/* ThreadSanitizer ends a program that maps memory elsewhere than in the ranges it knows, and
 * chooses one of them where no address is asked for. Also a program built for it alone, without the
 * library, has this function. */
extern void __tsan_init(void) __attribute__((weak));

static char *memory_preferred_address(void)
{
    return __tsan_init ? NULL : HEAP_ADDRESS;
}

/* Whether a descriptor is still the memfd. A program that closes what it has not opened may have
 * its own file there by now. */
static int memory_check_file(int fd, struct sy_error *err)
{
    struct stat now;

    return !fstat(fd, &now) && now.st_dev == sy_statics.file[0] && now.st_ino == sy_statics.file[1]
               ? 0
               : sy_fail(
                     err, EBADF,
                     "the program has closed a descriptor of the library (number %d), which has "
                     "it from the start of the process on; it must not close what it has not "
                     "opened, or not before shmem_init with SHMEM_STATICS=service",
                     fd);
}

static int memory_open_control(struct sy_error *err)
{
    if (sy_memory.control)
        return memory_check_file(sy_memory.fd, err);
    int fd = sy_statics.fd;
    int rc = fd < 0 ? 0 : memory_check_file(fd, err);
    if (rc)
        return rc;
    if (fd < 0) {
        fd = sy_memfd_create("openshmem");
        if (fd < 0)
            return sy_fail(err, -fd, "memfd_create for the symmetric heap: %s%s", strerror(-fd),
                           sy_denied_hint(fd));
        rc = sy_file_set_length(fd, sy_statics.end);
        if (!rc)
            rc = sy_memfd_seal(fd);
        if (rc) {
            close(fd);
            return sy_fail(err, -rc, "%llu MB for the library itself: %s%s",
                           (unsigned long long)(sy_statics.end >> 20), strerror(-rc),
                           rc == -EFBIG ? "; raise the limit of file sizes (ulimit -f)"
                                        : sy_denied_hint(rc));
        }
        struct stat file;
        if (!fstat(fd, &file))
            memcpy(sy_statics.file, (uint64_t[]){file.st_dev, file.st_ino}, sizeof sy_statics.file);
    }
    void *control = mmap(NULL, SY_CONTROL_SPACE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED)
        return sy_fail(err, errno,
                       "mapping %d MB of the library's own: %s; raise the limit (ulimit -v)",
                       (int)(SY_CONTROL_SPACE >> 20), strerror(errno));
    sy_memory.fd = fd;
    sy_memory.control = control;
    return 0;
}

/* Reports what could not be allocated, and which limit was in the way where it is one that users
 * meet. */
static int memory_heap_failed(int code, const char *call, struct sy_error *err)
{
    return sy_fail(err, code, "%s: %s; set SHMEM_SYMMETRIC_SIZE to less, or raise the limit (%s)",
                   call, strerror(code),
                   code == EFBIG ? "ulimit -f" : "ulimit -v, the machine's address space");
}

/* Makes a heap in the memfd. The file only grows: a peer may still have a mapping of an earlier
 * heap, and must not meet the end of the file. */
static int memory_open_plain(size_t length, struct sy_error *err)
{
    uint64_t offset = sy_round_up(sy_statics.end, HEAP_ALIGNMENT);

    if (sy_memory.file_length < offset + length) {
        int rc = sy_file_set_length(sy_memory.fd, offset + length);
        if (rc)
            return memory_heap_failed(-rc, "ftruncate", err);
        sy_memory.file_length = offset + length;
    }
    char *heap = sy_pages_map(sy_memory.fd, offset, length, HEAP_ALIGNMENT, MAP_NORESERVE,
                              memory_preferred_address());
    if (heap == MAP_FAILED)
        return memory_heap_failed(errno, "mmap", err);
    sy_memory.heap = heap;
    sy_memory.heap_fd = sy_memory.fd;
    sy_memory.heap_offset = offset;
    return 0;
}

/* Makes a heap on chosen pages or nodes of memory. */
static int memory_open_pages(const struct sy_pages_wish *wish, struct sy_error *err)
{
    struct sy_pages pages;
    int rc = sy_pages_open("openshmem-heap", wish, memory_preferred_address(), &pages, err);

    if (rc)
        return rc;
    sy_memory.heap = pages.base;
    sy_memory.heap_length = pages.length;
    sy_memory.heap_fd = pages.fd;
    sy_memory.failed = pages.failed;
    snprintf(sy_memory.got, sizeof sy_memory.got, "%s", pages.got);
    return 0;
}

/* Makes a heap in a file of a directory. */
static int memory_open_file(const char *directory, size_t length, struct sy_error *err)
{
    bool reserved;
    int fd = sy_nameless_open(directory, length, &reserved, err);

    if (fd < 0)
        return fd;
    char *heap = sy_pages_map(fd, 0, length, HEAP_ALIGNMENT, MAP_NORESERVE,
                              memory_preferred_address());
    if (heap == MAP_FAILED) {
        int code = errno;
        close(fd);
        return memory_heap_failed(code, "mmap", err);
    }
    sy_memory.heap = heap;
    sy_memory.heap_fd = fd;
    sy_memory.failed = !reserved;
    snprintf(sy_memory.got, sizeof sy_memory.got, "in a file in %.160s%s", directory,
             reserved ? "" : "; its blocks are not set aside, a full disk is SIGBUS");
    return 0;
}

/* Reads nodes of memory, such as "0,2-3". */
static int memory_parse_nodes(const char *text, unsigned long *nodes)
{
    *nodes = 0;
    for (long i = 0; *text && i < 1024; i++) {
        int in = sy_parse_in_ranges(text, i);
        if (in < 0 || (in && i >= 8 * (long)sizeof *nodes))
            return -EINVAL;
        if (in)
            *nodes |= 1ul << i;
    }
    return *nodes ? 0 : -EINVAL;
}

static int memory_parse_numa(const char *text, struct sy_pages_wish *wish)
{
    static const struct {
        const char *word;
        int flag;
    } words[] = {{"bind:", SY_WISH_NUMA_BIND},
                 {"interleave:", SY_WISH_NUMA_INTERLEAVE},
                 {"interleave", SY_WISH_NUMA_INTERLEAVE},
                 {"local", SY_WISH_NUMA_LOCAL}};

    for (size_t i = 0; i < SY_COUNT(words); i++) {
        size_t length = strlen(words[i].word);
        bool names = words[i].word[length - 1] == ':';
        if (strncmp(text, words[i].word, length) != 0 || (!names && text[length]))
            continue;
        wish->flags |= words[i].flag;
        return names ? memory_parse_nodes(text + length, &wish->numa) : 0;
    }
    return *text ? -EINVAL : 0;
}

static int memory_open_heap(const struct sy_memory_wish *wish, size_t length, struct sy_error *err)
{
    struct sy_pages_wish pages = {.length = length, .flags = wish->huge};

    if (memory_parse_numa(wish->numa, &pages))
        return sy_fail(err, EINVAL,
                       "SHMEM_SYMMETRIC_NUMA=%.60s is not local, interleave, interleave:NODES or "
                       "bind:NODES, such as bind:0 or interleave:0,2-3, with NODES from 0 to 63",
                       wish->numa);
    if (*wish->directory && pages.flags)
        return sy_fail(err, EINVAL,
                       "a heap in a file (SHMEM_SYMMETRIC_FILE) has neither huge pages nor nodes "
                       "of memory; leave SHMEM_SYMMETRIC_HUGE_PAGES and SHMEM_SYMMETRIC_NUMA out");
    if (*wish->directory)
        return memory_open_file(wish->directory, length, err);
    return pages.flags ? memory_open_pages(&pages, err) : memory_open_plain(length, err);
}

int sy_memory_open(const struct sy_memory_wish *wish, struct sy_error *err)
{
    struct sy_error why = {""};
    int rc = memory_open_control(err);

    if (rc)
        return rc;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    sy_memory.heap = NULL;
    sy_memory.heap_fd = -1;
    sy_memory.heap_offset = 0;
    sy_memory.heap_length = sy_round_up(wish->size, page);
    sy_memory.commit = sy_file_number("/proc/sys/vm/overcommit_memory", 0) == 2;
    *sy_memory.got = '\0';
    if (!wish->size)
        return 0;
    rc = wish->size > INT64_MAX / 2 ? memory_heap_failed(EFBIG, "its size", &why)
                                    : memory_open_heap(wish, sy_memory.heap_length, &why);
    if (rc)
        return sy_fail(err, -rc, "a symmetric heap of %zu bytes%s: %s", wish->size,
                       *wish->directory ? " (SHMEM_SYMMETRIC_FILE)" : "", why.text);
    sy_log(SY_LOG_DEBUG, "memory", "symmetric heap of %zu bytes at %p%s%s", sy_memory.heap_length,
           (void *)sy_memory.heap, *sy_memory.got ? ": " : "", sy_memory.got);
    return 0;
}

void sy_memory_close(void)
{
    if (!sy_memory.heap)
        return;
    munmap(sy_memory.heap, sy_memory.heap_length);
    if (sy_memory.heap_fd != sy_memory.fd)
        close(sy_memory.heap_fd);
    else if (fallocate(sy_memory.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       (off_t)sy_memory.heap_offset, (off_t)sy_memory.heap_length))
        sy_log(SY_LOG_WARN, "memory", "the heap's pages could not be given back: %s",
               strerror(errno));
    sy_memory.heap = NULL;
    sy_memory.heap_length = 0;
}

int sy_memory_back(uint64_t offset, size_t length)
{
    int rc = 0;

    if (sy_memory.commit && length)
        rc = sy_file_allocate(sy_memory.heap_fd, sy_memory.heap_offset + offset, length);
    return rc ? -ENOMEM : 0;
}
