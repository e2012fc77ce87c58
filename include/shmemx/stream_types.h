/* Types and constants of streams. */
#ifndef SY_SHMEMX_STREAM_TYPES_H
#define SY_SHMEMX_STREAM_TYPES_H

#include <stddef.h>

/* Handles can be assigned and compared. */
typedef struct sy_stream *shmemx_stream_t;
typedef struct sy_event *shmemx_event_t;
#define SHMEMX_STREAM_INVALID ((shmemx_stream_t)0)
#define SHMEMX_EVENT_INVALID  ((shmemx_event_t)0)

/* What a stream is to be; zeros are a stream as without a configuration. */
typedef struct {
    size_t depth; /* the most operations that wait in it; 0: 65536 */
} shmemx_stream_config_t;

#endif
