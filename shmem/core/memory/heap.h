/* The symmetric heap: addresses over the allocator's offsets (allocator.h). Local: the caller sees
 * to it that all PEs make the same calls, and to the barriers. */
#ifndef SY_CORE_HEAP_H
#define SY_CORE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <switchyard/error.h>

int sy_heap_open(size_t length, struct sy_error *err);
void sy_heap_close(void);

/* Whether blocks can be aligned to `alignment`, a power of two: not beyond the alignment of the
 * heap itself. Every block suits every type. */
bool sy_heap_aligns(size_t alignment);

/* A block, or NULL where there is no room, or none at such an alignment. */
void *sy_heap_alloc(size_t size, size_t alignment);

/* The size that a block was asked for with; ends the job, naming `what`, if it is no block. */
size_t sy_heap_size(const char *what, const void *block);

void sy_heap_free(void *block);

/* SHMEM_CHECK: how many of `length` bytes at `address` in the heap are in the block that it is in;
 * *begin: the block, or NULL where there is none, *size: what it was asked for with. From any
 * thread. */
size_t sy_heap_within(const void *address, size_t length, const void **begin, size_t *size);

/* Changes the size without moving; false if that cannot be done. */
bool sy_heap_resize(void *block, size_t size);

#endif
