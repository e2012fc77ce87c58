/* A buffer of a power of two bytes that is mapped twice, one after the other, so that any `size`
 * bytes of it are contiguous wherever they begin. Pages that are never used cost nothing. */
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

static inline char *sy_tcp_ring_at(const struct tcp_ring *ring, uint64_t position)
{
    return ring->base + (position & (ring->size - 1));
}

#endif
