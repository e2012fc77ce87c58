/* OpenCL: memory spaces of its devices (docs/opencl.md), and its command queues as streams. The
 * handles are OpenCL's own, as void pointers, so that its headers are not needed. */
#ifndef SY_API
#include "../shmemx.h"
#else

/* The cl_context and the cl_device_id in which a space has been made on this PE. They are the
 * library's; a program that keeps one longer than the space retains it. 0; or not 0 where this is
 * no space of an OpenCL device, or this PE no member. */
int SY_API(shmemx_space_opencl_context)(shmemx_space_t space, void **context, void **device);

/* Where a place in such a space is for a kernel: the cl_mem, and the byte in it. In shared virtual
 * memory *mem is NULL, and ptr itself is what a kernel takes. 0, or not 0 as above, or where ptr is
 * not in the space. */
int SY_API(shmemx_space_opencl_buffer)(shmemx_space_t space, const void *ptr, void **mem,
                                       size_t *offset);

/* Makes a stream of the team of all PEs that takes turns with a cl_command_queue: each operation
 * begins when the commands that have been enqueued there before are complete, and commands that are
 * enqueued later begin when it is complete. The stream retains the queue until it ends; it may be
 * in order or not. 0; otherwise *stream is SHMEMX_STREAM_INVALID, and the log says why. */
int SY_API(shmemx_stream_from_opencl)(void *queue, shmemx_stream_t *stream);

#endif
