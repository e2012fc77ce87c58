#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transports/tcp/ring.h"
#include "util/file.h"

/* In a file, or without one where that fails. Then a kernel that is told not to promise more memory
 * than there is (vm.overcommit_memory) counts all of the ring at once. */
int sy_tcp_ring_open(struct tcp_ring *ring, size_t size)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);

    while (bytes < size)
        bytes *= 2;
    int fd = memfd_create("openshmem-tcp", MFD_CLOEXEC), code = 0;
    if (fd >= 0 && sy_file_set_length(fd, bytes))
        sy_file_close(&fd);
    char *base = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS | MAP_NORESERVE : 0), fd, 0);
    if (base == MAP_FAILED)
        code = -errno;
    else if ((fd < 0 ? mremap(base, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, base + bytes)
                     : mmap(base + bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                            0)) == MAP_FAILED) {
        code = -errno;
        munmap(base, 2 * bytes);
    }
    sy_file_close(&fd);
    if (!code)
        *ring = (struct tcp_ring){.base = base, .size = bytes};
    return code;
}

void sy_tcp_ring_close(struct tcp_ring *ring)
{
    if (ring->base)
        munmap(ring->base, 2 * ring->size);
    *ring = (struct tcp_ring){NULL, 0};
}

/* A kernel that cannot do it keeps the pages; that is no error. */
void sy_tcp_ring_trim(const struct tcp_ring *ring)
{
    madvise(ring->base, ring->size, MADV_REMOVE);
}

/* The tables of many streams lie side by side. As part of a huge page each would cost all of it. */
void *sy_tcp_table_open(size_t bytes)
{
    void *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (table == MAP_FAILED)
        return NULL;
    madvise(table, bytes, MADV_NOHUGEPAGE);
    return table;
}

void sy_tcp_table_close(void *table, size_t bytes)
{
    if (table)
        munmap(table, bytes);
}

void sy_tcp_table_trim(void *table, size_t bytes)
{
    if (table)
        madvise(table, bytes, MADV_DONTNEED);
}
