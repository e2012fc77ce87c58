/* The operations of streams, for the routines of the interface: each adds one, of the meaning and
 * with the arguments of the blocking routine. PE numbers are those of the stream's team. */
#ifndef SY_STREAM_OPS_H
#define SY_STREAM_OPS_H

#include "coll/reduce_kernels.h"
#include "stream/stream.h"

/* ---- transfer.c; lengths and strides in bytes ---- */

enum sy_stream_transfer {
    SY_STREAM_PUT,        /* these five have `dest` and `source` in front */
    SY_STREAM_PUT_SIGNAL, /* with length 0 the signal is all that is sent */
    SY_STREAM_GET,
    SY_STREAM_IPUT,
    SY_STREAM_IGET,
    SY_STREAM_P,
    SY_STREAM_UPDATE, /* an atomic operation without a result */
    SY_STREAM_FETCH,  /* with one */
    SY_STREAM_FENCE,
    SY_STREAM_QUIET,
    SY_STREAM_PE_QUIET /* of the `length` PEs at `source` */
};

/* *to is copied, with the value of a p. */
void sy_stream_transfer(struct sy_stream *stream, const char *routine, enum sy_stream_transfer what,
                        const union sy_stream_to *to, int pe);

/* ---- wait.c ---- */

enum sy_stream_wait { SY_STREAM_WAIT_ALL, SY_STREAM_WAIT_ANY, SY_STREAM_WAIT_SOME };

/* size: bytes of a variable. *result: the index of any, or how many `indices` there are of some. */
void sy_stream_wait(struct sy_stream *stream, const char *routine, enum sy_stream_wait what,
                    struct sy_set set, size_t size, size_t *indices, size_t *result);

/* ---- together.c: 0, or -1 where there is no such team ---- */

int sy_stream_together(struct sy_stream *stream, const char *routine, shmem_team_t team,
                       struct sy_stream_data data);

/* A function of the program. 0, or -1 for want of memory. */
int sy_stream_call(struct sy_stream *stream, const char *routine, void (*fn)(void *), void *arg);

#endif
