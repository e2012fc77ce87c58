/* Streams that take turns with an OpenCL command queue. */
#ifndef SY_STREAM_OPENCL_H
#define SY_STREAM_OPENCL_H

#include "stream/stream.h"

/* queue: a cl_command_queue. 0, or -errno with words in the log. */
int sy_stream_from_opencl(struct sy_team *team, void *queue, struct sy_stream **stream);

#endif
