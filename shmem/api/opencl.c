/* OpenCL (shmemx.h): thunks over space/ and stream/. */
#include <errno.h>

#include "api/alias.h"
#include "core/start/world.h"
#include "core/team.h"
#include "space/space.h"
#include "stream/stream.h"

/* Asks the space's device for its handles: 0, or -EINVAL where it is another kind of device. */
static int opencl_handle(shmemx_space_t space, struct sy_opencl_handle *handle)
{
    struct sy_space *of = sy_space_of(space);

    if (!of || of->type != SHMEMX_DEVICE_GPU)
        return -EINVAL;
    return of->device->table->handle(of->device->self, of->pool, handle, sizeof *handle) ==
                   sizeof *handle
               ? 0
               : -EINVAL;
}

int pshmemx_space_opencl_context(shmemx_space_t space, void **context, void **device)
{
    struct sy_opencl_handle handle;
    int rc = opencl_handle(space, &handle);

    if (rc)
        return rc;
    *context = handle.context;
    *device = handle.device;
    return 0;
}
SY_ALIAS(shmemx_space_opencl_context);

int pshmemx_space_opencl_buffer(shmemx_space_t space, const void *ptr, void **mem, size_t *offset)
{
    struct sy_opencl_handle handle;
    unsigned window;
    uint64_t at;
    int rc = opencl_handle(space, &handle);

    if (rc)
        return rc;
    if (sy_windows_find(ptr, &window, &at) || sy_space_in(window) != sy_space_of(space))
        return -EFAULT;
    *mem = handle.buffer;
    *offset = at;
    return 0;
}
SY_ALIAS(shmemx_space_opencl_buffer);

int pshmemx_stream_from_opencl(void *queue, shmemx_stream_t *stream)
{
    sy_world_need("shmemx_stream_from_opencl");
    *stream = SHMEMX_STREAM_INVALID;
    return sy_stream_from_opencl(&sy_team_world, queue, stream);
}
SY_ALIAS(shmemx_stream_from_opencl);
