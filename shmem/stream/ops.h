/* The operations of streams, for the routines of the interface: each adds one, of the meaning and
 * with the arguments of the blocking routine. PE numbers are those of the stream's team. */
#ifndef SY_STREAM_OPS_H
#define SY_STREAM_OPS_H

#include "coll/reduce_kernels.h"
#include "stream/stream.h"

/* ---- transfer.c; lengths and strides in bytes ---- */

void sy_stream_add_put(struct sy_stream *stream, const char *routine, void *dest,
                       const void *source, size_t length, int pe);
void sy_stream_add_get(struct sy_stream *stream, const char *routine, void *dest,
                       const void *source, size_t length, int pe);

/* One element, of 16 bytes at most, whose value is copied. */
void sy_stream_add_p(struct sy_stream *stream, const char *routine, void *dest, const void *value,
                     size_t length, int pe);

void sy_stream_add_iput(struct sy_stream *stream, const char *routine,
                        const struct sy_stream_strided *blocks, int pe);
void sy_stream_add_iget(struct sy_stream *stream, const char *routine,
                        const struct sy_stream_strided *blocks, int pe);

/* With length 0 the signal is all that is sent. */
void sy_stream_add_put_signal(struct sy_stream *stream, const char *routine, void *dest,
                              const void *source, size_t length, struct sy_stream_signal signal,
                              int pe);

void sy_stream_add_amo(struct sy_stream *stream, const char *routine, struct sy_stream_amo amo,
                       int pe);

void sy_stream_fence(struct sy_stream *stream, const char *routine);
void sy_stream_quiet(struct sy_stream *stream, const char *routine);
void sy_stream_pe_quiet(struct sy_stream *stream, const char *routine, const int *pes,
                        size_t count);

/* ---- wait.c ---- */

/* One of the integer types: its bytes, negative where it is signed. */
#define SY_STREAM_TYPE(TYPE)                                                                       \
    ((signed char)((TYPE)-1 < (TYPE)1 ? -(int)sizeof(TYPE) : (int)sizeof(TYPE)))

void sy_stream_wait_all(struct sy_stream *stream, const char *routine, struct sy_stream_set set);
void sy_stream_wait_any(struct sy_stream *stream, const char *routine, struct sy_stream_set set,
                        size_t *index);
void sy_stream_wait_some(struct sy_stream *stream, const char *routine, struct sy_stream_set set,
                         size_t *indices, size_t *count);

/* ---- together.c: 0, or -1 where there is no such team ---- */

enum sy_stream_together {
    SY_STREAM_SYNC,
    SY_STREAM_ALLTOALL,
    SY_STREAM_ALLTOALLS,
    SY_STREAM_BROADCAST,
    SY_STREAM_COLLECT,
    SY_STREAM_FCOLLECT,
    SY_STREAM_REDUCE,
    SY_STREAM_SCAN
};

int sy_stream_together(struct sy_stream *stream, const char *routine, shmem_team_t team,
                       enum sy_stream_together what, struct sy_stream_data data);

/* A function of the program. 0, or -1 for want of memory. */
int sy_stream_call(struct sy_stream *stream, const char *routine, void (*fn)(void *), void *arg);

#endif
