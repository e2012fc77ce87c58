/* Blocks of symmetric memory: addresses over the allocator's offsets (allocator.h). The symmetric
 * heap is one such heap, each memory space has another. All is local: the caller makes sure that
 * all PEs make the same calls, and that there are barriers. */
#ifndef SY_CORE_HEAP_H
#define SY_CORE_HEAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/error.h>

#include "util/bits.h"

struct sy_heap {
    char name[32]; /* for messages */
    bool told[3];  /* reported on this PE: no such alignment; full; had here, but not elsewhere */
    char *base;
    size_t length;
    int (*back)(uint64_t offset, size_t length); /* provides memory for the range: 0 or -ENOMEM;
                                                    NULL: it is there already */
    struct sy_allocator *allocator;
    /* For sy_heap_within: all blocks by address, sorted again after blocks have changed. A thread
     * may look while another one allocates. */
    struct {
        pthread_mutex_t lock;
        bool current;
        struct sy_heap_extent {
            uint64_t offset, length;
        } * block;
        size_t count;
    } map;
};

extern struct sy_heap sy_heap SY_HIDDEN; /* the symmetric heap */

/* Begins to hand out blocks of `length` bytes at `base`. 0 or -ENOMEM with err. */
int sy_heap_open(struct sy_heap *heap, const char *name, char *base, size_t length,
                 struct sy_error *err);
void sy_heap_close(struct sy_heap *heap);

/* Whether blocks can be aligned to `alignment`, a power of two: at most the alignment of the heap
 * itself. Every block is aligned for every type. */
bool sy_heap_aligns(const struct sy_heap *heap, size_t alignment);

/* A block, or NULL where there is no room with that alignment. */
void *sy_heap_alloc(struct sy_heap *heap, size_t size, size_t alignment);

/* The size with which a block was requested. Ends the job, naming `what`, if it is no block. */
size_t sy_heap_size(struct sy_heap *heap, const char *what, const void *block);

void sy_heap_free(struct sy_heap *heap, void *block);

/* For messages and SHMEM_CHECK: how many of `length` bytes at `address` are in the block that
 * contains the address. *begin: that block, or NULL where there is none; *size: the size requested.
 * Any thread.
 */
size_t sy_heap_within(struct sy_heap *heap, const void *address, size_t length, const void **begin,
                      size_t *size);

/* Changes the size in place; false if that is not possible. */
bool sy_heap_resize(struct sy_heap *heap, void *block, size_t size);

#endif
