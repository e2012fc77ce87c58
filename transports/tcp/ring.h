/* Memory that comes from the kernel and costs nothing where it is not used: rings and tables.
 *
 * A ring is a buffer of a power of two bytes that is mapped twice, one after the other, so that any
 * `size` bytes of it are contiguous wherever they begin. */
#ifndef TCP_RING_H
#define TCP_RING_H

#include <stddef.h>
#include <stdint.h>

struct tcp_ring {
    char *base;
    size_t size;
};

/* size: rounded up to a power of two and to pages. 0 or -errno. */
int sy_tcp_ring_open(struct tcp_ring *ring, size_t size);
void sy_tcp_ring_close(struct tcp_ring *ring);

/* Nobody needs what is in it: the pages go back to the kernel. The ring can be used as before. */
void sy_tcp_ring_trim(const struct tcp_ring *ring);

/* Zeroed memory that begins with a page; NULL: none. Trimming makes it zero again. */
void *sy_tcp_table_open(size_t bytes);
void sy_tcp_table_close(void *table, size_t bytes);
void sy_tcp_table_trim(void *table, size_t bytes);

static inline char *sy_tcp_ring_at(const struct tcp_ring *ring, uint64_t position)
{
    return ring->base + (position & (ring->size - 1));
}

#endif
