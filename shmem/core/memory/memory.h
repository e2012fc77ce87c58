/* This PE's symmetric memory: one memfd with the control window, the executable's data (statics.h)
 * and the heap, in this order; a heap on chosen pages or nodes, or in a directory, is in a file of
 * its own. Knows nothing of other PEs.
 *
 * The memfd and the control window live as long as the process, because a peer may still look at
 * them when this PE has finalized; the heap comes and goes with initialisation. Nothing has a name
 * in a file system, so nothing is left behind however the process ends. */
#ifndef SY_CORE_MEMORY_H
#define SY_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/error.h>

/* What the heap is to be. */
struct sy_memory_wish {
    size_t size;
    int huge;              /* SY_WISH_HUGE_ of device.h, or 0 */
    const char *numa;      /* SHMEM_SYMMETRIC_NUMA */
    const char *directory; /* SHMEM_SYMMETRIC_FILE */
};

struct sy_memory {
    int fd;
    uint64_t file_length;
    char *control;
    char *heap;           /* NULL when its length is 0 */
    size_t heap_length;   /* bytes, whole pages */
    int heap_fd;          /* the memfd, or a file of its own */
    uint64_t heap_offset; /* in that file */
    char got[256];        /* what became of the wishes, for the user; "": there were none */
    bool failed;          /* one was not fulfilled */
    bool commit;          /* the kernel does not overcommit: back blocks when they are allocated */
};

extern struct sy_memory sy_memory;

/* Makes the control window, if this is the first time, and a heap of at least wish->size bytes
 * that reads as zero. The heap is at the same virtual address on every PE where the kernel lets it
 * (shmem_ptr and offsets never depend on it). */
int sy_memory_open(const struct sy_memory_wish *wish, struct sy_error *err);

/* Gives the heap's pages and addresses back. */
void sy_memory_close(void);

/* Where the kernel hands out only what it can back (vm.overcommit_memory = 2), reserves memory for
 * a block so that its exhaustion is an error here and not a SIGBUS later. 0 or -ENOMEM. */
int sy_memory_back(uint64_t offset, size_t length);

#endif
