/* What the routines on streams share. */
#ifndef SY_API_STREAMS_H
#define SY_API_STREAMS_H

#include "api/alias.h"
#include "stream/ops.h"

/* The routine's name: it is defined as p and its name. */
#define SY_ROUTINE (__func__ + 1)

/* Defines shmemx_NAME_on_stream; the stream follows its other PARAMETERS, in parentheses. */
#define SY_DEFINE_ON_STREAM(RESULT, NAME, PARAMETERS, ...)                                         \
    SY_DEFINE(RESULT, shmemx_##NAME##_on_stream, (SY_UNWRAP PARAMETERS, shmemx_stream_t stream),   \
              __VA_ARGS__)

#endif
