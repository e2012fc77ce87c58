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

#endif
