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

/* Heap offsets and addresses are aligned to this, the size of a large page. */
#define HEAP_ALIGNMENT (UINT64_C(2) << 20)

/* Far from what the kernel, the dynamic linker and malloc use on 64-bit Linux. */
#define HEAP_ADDRESS ((char *)0x600000000000)

struct sy_memory sy_memory = {.fd = -1};

/* ThreadSanitizer knows certain address ranges only, and chooses one of them where no address is
 * asked for. */
#ifdef SY_THREAD_SANITIZER
#define PREFERRED_ADDRESS NULL
#else
#define PREFERRED_ADDRESS HEAP_ADDRESS
#endif

static int memory_open_control(struct sy_error *err)
{
    if (sy_memory.control)
        return 0;
    int fd = sy_statics.fd;
    if (fd < 0) {
        fd = sy_memfd_create("openshmem");
        if (fd < 0)
            return sy_fail(err, -fd, "memfd_create for the symmetric heap: %s%s", strerror(-fd),
                           sy_denied_hint(fd));
        int rc = sy_file_set_length(fd, sy_statics.end);
        if (!rc)
            rc = sy_memfd_seal(fd);
        if (rc) {
            close(fd);
            return sy_fail(err, -rc, "%llu MB for the library itself: %s%s",
                           (unsigned long long)(sy_statics.end >> 20), strerror(-rc),
                           rc == -EFBIG ? "; raise the limit of file sizes (ulimit -f)"
                                        : sy_denied_hint(rc));
        }
    }
    void *control = mmap(NULL, SY_CONTROL_SPACE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED)
        return sy_fail(err, errno, "mapping the library's control window: %s", strerror(errno));
    sy_memory.fd = fd;
    sy_memory.control = control;
    sy_memory.heap_offset = sy_round_up(sy_statics.end, HEAP_ALIGNMENT);
    return 0;
}

/* Maps the heap at the preferred address, else anywhere on a large-page boundary. */
static void *memory_map_heap(size_t length)
{
    int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_NORESERVE;
    off_t offset = (off_t)sy_memory.heap_offset;

    if (PREFERRED_ADDRESS) {
        void *at = mmap(PREFERRED_ADDRESS, length, prot, flags | MAP_FIXED_NOREPLACE, sy_memory.fd,
                        offset);
        if (at == PREFERRED_ADDRESS)
            return at;
        if (at != MAP_FAILED) /* a kernel that takes the address as a hint only */
            munmap(at, length);
    }
    /* Reserve more than is needed, then put the heap on a boundary inside. */
    char *room = mmap(NULL, length + HEAP_ALIGNMENT, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return MAP_FAILED;
    char *start = (char *)sy_round_up((uintptr_t)room, HEAP_ALIGNMENT);
    void *at = mmap(start, length, prot, flags | MAP_FIXED, sy_memory.fd, offset);
    if (at == MAP_FAILED) {
        int saved = errno;
        munmap(room, length + HEAP_ALIGNMENT);
        errno = saved;
        return MAP_FAILED;
    }
    if (start > room)
        munmap(room, (size_t)(start - room));
    munmap(start + length, HEAP_ALIGNMENT - (size_t)(start - room));
    return at;
}

static void memory_want_huge_pages(void)
{
    char mode[128] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");

    if (file) {
        if (!fgets(mode, sizeof mode, file))
            mode[0] = '\0';
        fclose(file);
    }
    mode[strcspn(mode, "\n")] = '\0';
    if (strstr(mode, "[never]") || strstr(mode, "[deny]") || !mode[0])
        sy_log(SY_LOG_WARN, "memory",
               "huge pages were asked for, but this machine gives none to shared memory "
               "(/sys/kernel/mm/transparent_hugepage/shmem_enabled: %s); small pages are used",
               mode[0] ? mode : "not there");
    else if (madvise(sy_memory.heap, sy_memory.heap_length, MADV_HUGEPAGE))
        sy_log(SY_LOG_WARN, "memory", "huge pages were asked for, but madvise refused: %s",
               strerror(errno));
}

/* Reports what could not be allocated, and which limit was in the way where it is one that users
 * meet. */
static int memory_heap_failed(int code, const char *call, size_t length, struct sy_error *err)
{
    return sy_fail(err, code,
                   "a symmetric heap of %zu bytes: %s: %s; set SHMEM_SYMMETRIC_SIZE to less, or "
                   "raise the limit (%s)",
                   length, call, strerror(code),
                   code == EFBIG ? "ulimit -f" : "ulimit -v, the machine's address space");
}

int sy_memory_open(size_t size, bool huge_pages, struct sy_error *err)
{
    int rc = memory_open_control(err);
    if (rc)
        return rc;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (size > (size_t)INT64_MAX - sy_memory.heap_offset - page)
        return memory_heap_failed(EFBIG, "its size", size, err);
    size_t length = sy_round_up(size, page);
    sy_memory.heap = NULL;
    sy_memory.heap_length = length;
    sy_memory.commit = sy_file_number("/proc/sys/vm/overcommit_memory", 0) == 2;
    if (!length)
        return 0;
    /* The file only grows: a peer may not have closed its mapping of an earlier heap yet, and must
     * not meet the end of the file. */
    if (sy_memory.file_length < sy_memory.heap_offset + length) {
        rc = sy_file_set_length(sy_memory.fd, sy_memory.heap_offset + length);
        if (rc)
            return memory_heap_failed(-rc, "ftruncate", size, err);
        sy_memory.file_length = sy_memory.heap_offset + length;
    }
    void *heap = memory_map_heap(length);
    if (heap == MAP_FAILED)
        return memory_heap_failed(errno, "mmap", size, err);
    sy_memory.heap = heap;
    if (huge_pages)
        memory_want_huge_pages();
    sy_log(SY_LOG_DEBUG, "memory", "symmetric heap of %zu bytes at %p", length, heap);
    return 0;
}

void sy_memory_close(void)
{
    if (!sy_memory.heap)
        return;
    munmap(sy_memory.heap, sy_memory.heap_length);
    if (fallocate(sy_memory.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)sy_memory.heap_offset, (off_t)sy_memory.heap_length))
        sy_log(SY_LOG_WARN, "memory", "the heap's pages could not be given back: %s",
               strerror(errno));
    sy_memory.heap = NULL;
    sy_memory.heap_length = 0;
}

int sy_memory_back(uint64_t offset, size_t length)
{
    if (!sy_memory.commit || !length)
        return 0;
    if (!fallocate(sy_memory.fd, 0, (off_t)(sy_memory.heap_offset + offset), (off_t)length))
        return 0;
    return -ENOMEM;
}
