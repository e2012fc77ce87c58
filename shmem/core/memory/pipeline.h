/* Long transfers with memory of a device, on this PE's side, on the other PE's or on both, by a
 * transport: in pieces, of which some travel while others are copied. See pipeline.c. */
#ifndef SY_CORE_PIPELINE_H
#define SY_CORE_PIPELINE_H

#include "core/memory/staged.h"
#include "core/rma.h"

#define SY_PIPELINE_PIECE ((size_t)1 << 20)

/* The shortest transfer that goes through another PE's bounce buffers. Shorter ones go in small
 * messages: claiming slots takes as long. */
#define SY_PIPELINE_LEAST ((size_t)64 << 10)

/* One side of a transfer. */
struct sy_staged_side {
    bool staged; /* in memory of a device of this PE */
    unsigned window;
    uint64_t offset;
    char *here; /* where it is not staged */
};

/* A transfer between this PE's `side` and another PE's target. */
struct sy_pipeline {
    const char *what;
    shmem_ctx_t ctx;
    const struct sy_target *target;
    const struct sy_staged_side *side;
    size_t length;
    int pe;
    bool put;
};

/* Moves all of it. A get is complete on return; of a put the source may be used again. */
void sy_pipeline_move(const struct sy_pipeline *p);

/* Whether it goes through the other PE's bounce buffers, which pays where the transport would carry
 * such a transfer in small messages. */
bool sy_pipeline_bounces(const struct sy_pipeline *p);

/* A part of a transfer between this PE's side and the target, from `done` on, as one operation of
 * the transport. */
void sy_pipeline_issue(const struct sy_pipeline *p, size_t done, char *local, size_t length,
                       unsigned flags);

/* A buffer for the pieces of a transfer of `length` bytes; given back with the same length. */
char *sy_pipeline_room(const char *what, size_t length);
void sy_pipeline_give(char *room, size_t length);

#endif
