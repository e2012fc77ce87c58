/* The symmetric heap's allocator: hands out offsets 0..size-1 of a range that it never sees. It
 * knows no address, no PE and no clock, so the same calls give the same offsets on every PE, and no
 * store of the user, local or remote, can damage its records, which are in ordinary memory.
 *
 * Two-level segregated fit over block records in slabs: allocating and releasing take constant time
 * and free neighbours are joined at once. Not thread-safe: the caller serialises. */
#ifndef SY_CORE_ALLOCATOR_H
#define SY_CORE_ALLOCATOR_H

#include <stdint.h>

/* Every block begins at a multiple of this many bytes, enough for any C type. */
#define SY_ALLOCATOR_GRANULE 16

/* Failures are negative errno values, and leave all live blocks as they were.
 *
 * -ENOMEM: no free block fits. The same on every PE, since all hold the same blocks.
 *
 * -ENOBUFS: this process has no memory for another block record. Other PEs may have succeeded. If
 * they undo their call (release after alloc, resize back to the old size), all are equal again, and
 * later calls give the same offsets everywhere.
 *
 * -EINVAL: an argument is not what is written here, or the offset is not the first of a live block:
 * released twice, or never handed out. */
struct sy_allocator;

struct sy_allocator_stats {
    uint64_t size;         /* bytes that are managed */
    uint64_t used;         /* bytes in live blocks, their rounding included */
    uint64_t peak;         /* the most that `used` has been */
    uint64_t largest_free; /* bytes of the largest free block: an alloc of this size succeeds */
    uint64_t live_blocks;
    uint64_t free_blocks;
    uint64_t metadata; /* bytes of ordinary memory that the records take */
};

/* Manages `size` bytes, at most INT64_MAX; 0 is allowed, and every alloc then fails. NULL if there
 * is no memory for the first records. */
struct sy_allocator *sy_allocator_new(uint64_t size);

/* Gives back the records; live blocks need not be released before. NULL: no action. */
void sy_allocator_free(struct sy_allocator *allocator);

/* Writes to *offset where a block of at least `size` bytes (not 0) begins. `align` is a power of
 * two or 0; less than the granule means the granule. An address is as aligned as its offset only if
 * the range itself begins at such an address. Fails only when no free block could hold the request:
 * the search takes constant time, and only before it refuses it looks at each block of about that
 * size. */
int sy_allocator_alloc(struct sy_allocator *allocator, uint64_t size, uint64_t align,
                       uint64_t *offset);

/* Ends the life of the block that begins at `offset`. Needs no memory. */
int sy_allocator_release(struct sy_allocator *allocator, uint64_t offset);

/* Makes the block at `offset` hold `size` bytes (not 0) without moving it. -ENOMEM: what follows it
 * is in use, so the caller has to allocate, copy and release. */
int sy_allocator_resize(struct sy_allocator *allocator, uint64_t offset, uint64_t size);

/* The bytes that the live block at `offset` was asked for; 0: there is none. */
uint64_t sy_allocator_size_of(const struct sy_allocator *allocator, uint64_t offset);

/* Visits all live blocks, in no order: where each begins, and the bytes asked for. */
typedef void sy_allocator_visit(uint64_t offset, uint64_t asked, void *arg);
void sy_allocator_walk(const struct sy_allocator *allocator, sy_allocator_visit *visit, void *arg);

struct sy_allocator_stats sy_allocator_stats(const struct sy_allocator *allocator);

#endif
