/* Memory of OpenCL devices. A pool is shared virtual memory where the device has the fine-grained
 * kind: CPUs and kernels use the same addresses, so it is plain memory, without a file, of the
 * process that made it. Otherwise, or where the program asks for it, it is a buffer of the device:
 * addresses that nobody can use stand for its bytes, which are copied.
 *
 * A pool is made in a context of the program's, where it names one (`base`), else in the library's
 * own, which is one for each device and made when it is first needed. An instance is written under
 * its lock; OpenCL's functions may be called by several threads at once. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "space/devices/opencl/opencl.h"
#include "util/opencl_object.h"

#define ALIGNMENT 4096 /* of a pool, and so of blocks in it at most */

struct settings {
    int ahead, map; /* CHOICE_ */
};

enum { CHOICE_OFF, CHOICE_ON, CHOICE_AUTO };

static const struct sy_option opencl_options[] = {
    {"opencl.ahead", SY_OPTION_CHOICE, 0, offsetof(struct settings, ahead), "auto", "off|on|auto",
     0, 0, NULL,
     "Whether buffers are copied beside what the library does meanwhile; auto: by all devices but "
     "CPUs"},
    {"opencl.map", SY_OPTION_CHOICE, 0, offsetof(struct settings, map), "auto", "off|on|auto", 0, 0,
     NULL,
     "Whether large transfers map buffers, of devices that share the host's memory; auto: of CPUs"},
    {.name = NULL}};

struct opencl {
    const struct sy_host *host;
    struct settings settings;
    struct opencl_library cl;
    pthread_mutex_t lock;
    int count;
    struct opencl_device device[OPENCL_DEVICES];
    cl_object context[OPENCL_DEVICES]; /* NULL: not made yet */
};

struct opencl_pool {
    cl_object context, device, queue; /* the context is held */
    cl_object buffer;                 /* NULL: shared memory */
    void *shared;                     /* as it was given, which may be aligned to 128 bytes only */
    char *base;                       /* in it, or addresses for the buffer */
    size_t length;
};

static int opencl_fail(const struct opencl *self, struct sy_error *err, int code, const char *what,
                       int status)
{
    return self->host->fail(err, code, "%s: OpenCL's error %d", what, status);
}

static int opencl_open(const struct sy_host *host, const void *settings, void **self,
                       struct sy_error *err)
{
    struct opencl *opencl = calloc(1, sizeof *opencl);

    if (!opencl)
        return host->fail(err, ENOMEM, "no memory");
    opencl->host = host;
    opencl->settings = *(const struct settings *)settings;
    pthread_mutex_init(&opencl->lock, NULL);
    int rc = sy_opencl_load(&opencl->cl, host, err);
    if (!rc)
        rc = opencl->count = sy_opencl_devices(&opencl->cl, host, opencl->device, err);
    if (rc < 0) {
        free(opencl);
        return rc;
    }
    *self = opencl;
    return 0;
}

static void opencl_close(void *self)
{
    struct opencl *opencl = self;

    for (int i = 0; i < opencl->count; i++)
        if (opencl->context[i])
            opencl->cl.ReleaseContext(opencl->context[i]);
    pthread_mutex_destroy(&opencl->lock);
    free(opencl);
}

static int opencl_describe(void *self, char *text, size_t room)
{
    const struct opencl *opencl = self;
    int length = 0;

    for (int i = 0; i < opencl->count; i++) {
        const struct opencl_device *d = &opencl->device[i];
        size_t used = (size_t)length < room ? (size_t)length : room;
        length += snprintf(text + used, room - used, "%s%d: %s (%s), %llu MiB, %s", i ? "\n" : "",
                           i + 1, d->name, d->platform, (unsigned long long)(d->memory >> 20),
                           !(d->svm & CL_SVM_FINE_GRAIN_BUFFER) ? "buffers"
                           : d->svm & CL_SVM_ATOMICS ? "shared memory with atomic operations"
                                                     : "shared memory");
    }
    return length;
}

/* ---- pools ---- */

/* The pool is to be in the program's context, which is held from here on. */
static int opencl_choose_given(struct opencl *opencl, const struct sy_pool_config *config,
                               struct opencl_pool *pool, struct sy_error *err)
{
    const cl_object known = opencl->device[0].id;
    size_t i = config->index < 0 ? 0 : (size_t)config->index, bytes = 0;
    cl_object devices[OPENCL_DEVICES];

    if (!sy_opencl_object_may_be(config->base, known))
        return opencl->host->fail(err, EINVAL, "`base`, %p, is no OpenCL context", config->base);
    int status = opencl->cl.GetContextInfo(config->base, CL_CONTEXT_DEVICES, sizeof devices,
                                           devices, &bytes);
    if (status)
        return opencl_fail(opencl, err, EINVAL, "the devices of the context that `base` names",
                           status);
    if (i >= bytes / sizeof *devices || !sy_opencl_object_may_be(devices[i], known))
        return opencl->host->fail(err, ENODEV, "the context that `base` names has no device %zu",
                                  i + 1);
    pool->context = config->base;
    pool->device = devices[i];
    opencl->cl.RetainContext(pool->context);
    return 0;
}

/* Where a pool is to be: in the program's context, or in the library's of a device. */
static int opencl_choose(struct opencl *opencl, const struct sy_pool_config *config,
                         struct opencl_pool *pool, struct sy_error *err)
{
    int i = config->index < 0 ? config->local % opencl->count : config->index, status = 0;

    if (config->base)
        return opencl_choose_given(opencl, config, pool, err);
    if (i >= opencl->count)
        return opencl->host->fail(err, ENODEV, "there are %d OpenCL devices, not %d", opencl->count,
                                  i + 1);
    pool->device = opencl->device[i].id;
    pthread_mutex_lock(&opencl->lock);
    if (!opencl->context[i])
        opencl->context[i] = opencl->cl.CreateContext(NULL, 1, &pool->device, NULL, NULL, &status);
    pool->context = opencl->context[i];
    pthread_mutex_unlock(&opencl->lock);
    if (!pool->context)
        return opencl_fail(opencl, err, ENODEV, "a context cannot be made", status);
    opencl->cl.RetainContext(pool->context);
    return 0;
}

static int opencl_make_shared(struct opencl *opencl, const struct opencl_device *device,
                              struct opencl_pool *pool, struct sy_error *err)
{
    uint64_t flags = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER;
    size_t slack = pool->length + ALIGNMENT <= device->largest ? ALIGNMENT : 0;

    if (device->svm & CL_SVM_ATOMICS)
        flags |= CL_MEM_SVM_ATOMICS;
    pool->shared = opencl->cl.SVMAlloc(pool->context, flags, pool->length + slack, 0);
    if (!pool->shared)
        return opencl->host->fail(err, ENOMEM, "device %s does not give %zu bytes of shared memory",
                                  device->name, pool->length);
    pool->base = pool->shared;
    if (slack)
        pool->base += -(uintptr_t)pool->base % ALIGNMENT;
    memset(pool->base, 0, pool->length);
    return 0;
}

static int opencl_make_buffer(struct opencl *opencl, const struct opencl_device *device,
                              struct opencl_pool *pool, struct sy_error *err)
{
    const uint64_t zero = 0;
    int status = 0;

    pool->base = mmap(NULL, pool->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1, 0);
    if (pool->base == MAP_FAILED) {
        pool->base = NULL;
        return opencl->host->fail(err, errno, "addresses for %zu bytes: %s", pool->length,
                                  strerror(errno));
    }
    pool->buffer = opencl->cl.CreateBuffer(pool->context, CL_MEM_READ_WRITE, pool->length, NULL,
                                           &status);
    if (pool->buffer)
        status = opencl->cl.EnqueueFillBuffer(pool->queue, pool->buffer, &zero, sizeof zero, 0,
                                              pool->length, 0, NULL, NULL);
    if (!status)
        status = opencl->cl.Finish(pool->queue);
    return status ? opencl_fail(opencl, err, ENOMEM, device->name, status) : 0;
}

static void opencl_pool_destroy(void *self, void *made)
{
    struct opencl *opencl = self;
    struct opencl_pool *pool = made;

    if (pool->queue)
        opencl->cl.Finish(pool->queue);
    if (pool->buffer)
        opencl->cl.ReleaseMemObject(pool->buffer);
    if (pool->shared)
        opencl->cl.SVMFree(pool->context, pool->shared);
    if (pool->queue && pool->base)
        munmap(pool->base, pool->length);
    if (pool->queue)
        opencl->cl.ReleaseCommandQueue(pool->queue);
    if (pool->context)
        opencl->cl.ReleaseContext(pool->context);
    free(pool);
}

static int opencl_make(struct opencl *opencl, const struct sy_pool_config *config,
                       struct opencl_pool *pool, struct opencl_device *device, struct sy_error *err)
{
    const int rest = config->flags & ~SY_WISH_BUFFER;
    int status = 0, rc;

    if (rest || config->numa || (config->name && *config->name))
        return opencl->host->fail(err, EINVAL,
                                  "of the flags an OpenCL device has BUFFER only, and "
                                  "neither NUMA nodes nor a name");
    rc = opencl_choose(opencl, config, pool, err);
    if (rc)
        return rc;
    sy_opencl_ask(&opencl->cl, pool->device, device);
    if (config->length > device->largest || config->length > SIZE_MAX - 8)
        return opencl->host->fail(err, ENOMEM, "device %s gives at most %llu MiB in one piece",
                                  device->name, (unsigned long long)(device->largest >> 20));
    pool->length = (config->length + 7) / 8 * 8;
    if (device->svm & CL_SVM_FINE_GRAIN_BUFFER && !(config->flags & SY_WISH_BUFFER))
        return opencl_make_shared(opencl, device, pool, err);
    pool->queue = opencl->cl.CreateCommandQueue(pool->context, pool->device, 0, &status);
    if (!pool->queue)
        return opencl_fail(opencl, err, ENODEV, "a queue cannot be made", status);
    return opencl_make_buffer(opencl, device, pool, err);
}

/* What a pool can do. A CPU's copies take the processors that move the data, so they are not made
 * ahead. The standard leaves undefined what kernels do with a buffer of which any part is mapped; a
 * CPU's buffer stays where it is. */
static unsigned opencl_capabilities(const struct opencl *opencl, const struct opencl_pool *pool,
                                    const struct opencl_device *device)
{
    const struct settings *settings = &opencl->settings;
    bool cpu = device->type & CL_DEVICE_TYPE_CPU;
    bool ahead = settings->ahead == CHOICE_AUTO ? !cpu : settings->ahead == CHOICE_ON;
    bool map = settings->map == CHOICE_AUTO ? cpu : settings->map == CHOICE_ON;

    if (!pool->buffer)
        return 0;
    return SY_POOL_COPY | (map && device->unified ? SY_POOL_MAP : 0u) |
           (ahead ? SY_POOL_AHEAD : 0u);
}

static int opencl_pool_create(void *self, const struct sy_pool_config *config, void **made,
                              struct sy_pool_info *info, struct sy_error *err)
{
    struct opencl *opencl = self;
    struct opencl_pool *pool = calloc(1, sizeof *pool);
    struct opencl_device device = {.id = NULL};

    if (!pool)
        return opencl->host->fail(err, ENOMEM, "no memory");
    int rc = opencl_make(opencl, config, pool, &device, err);
    if (rc) {
        opencl_pool_destroy(opencl, pool);
        return rc;
    }
    info->region = (struct sy_region){.kind = pool->buffer ? SY_REGION_DEVICE : SY_REGION_CPU,
                                      .base = pool->base,
                                      .length = pool->length,
                                      .fd = -1};
    info->capabilities = opencl_capabilities(opencl, pool, &device);
    snprintf(info->got, sizeof info->got, "%s of %s", pool->buffer ? "a buffer" : "shared memory",
             device.name);
    *made = pool;
    return 0;
}

/* ---- buffers ---- */

/* The commands are waited for until they are done, so what they wrote is there for commands of
 * other queues that are enqueued after. */
static int opencl_enqueue(struct opencl *opencl, const struct opencl_pool *pool,
                          enum sy_device_way way, uint64_t offset, void *local, size_t length,
                          cl_object *event, struct sy_error *err)
{
    unsigned blocking = !event;
    int status = way == SY_DEVICE_IN
                     ? opencl->cl.EnqueueWriteBuffer(pool->queue, pool->buffer, blocking, offset,
                                                     length, local, 0, NULL, event)
                     : opencl->cl.EnqueueReadBuffer(pool->queue, pool->buffer, blocking, offset,
                                                    length, local, 0, NULL, event);

    return status ? opencl_fail(opencl, err, EIO, "a copy", status) : 0;
}

static int opencl_copy(void *self, void *made, enum sy_device_way way, uint64_t offset, void *local,
                       size_t length, struct sy_error *err)
{
    return opencl_enqueue(self, made, way, offset, local, length, NULL, err);
}

/* A ticket is the command's event. */
static int opencl_copy_begin(void *self, void *made, enum sy_device_way way, uint64_t offset,
                             void *local, size_t length, void **ticket, struct sy_error *err)
{
    struct opencl *opencl = self;
    const struct opencl_pool *pool = made;
    cl_object event = NULL;
    int rc = opencl_enqueue(opencl, pool, way, offset, local, length, &event, err);

    if (!rc)
        opencl->cl.Flush(pool->queue);
    *ticket = event;
    return rc;
}

static int opencl_copy_end(void *self, void *made, void *ticket, bool wait, struct sy_error *err)
{
    struct opencl *opencl = self;
    const cl_object event = ticket;
    int state = 0, status = wait ? opencl->cl.WaitForEvents(1, &event) : 0;

    (void)made;
    if (!status)
        status = opencl->cl.GetEventInfo(event, CL_EVENT_STATUS, sizeof state, &state, NULL);
    if (!status && state > 0)
        return -EAGAIN;
    opencl->cl.ReleaseEvent(event);
    if (!status)
        status = state;
    return status ? opencl_fail(opencl, err, EIO, "a copy", status) : 0;
}

static int opencl_map(void *self, void *made, enum sy_device_way way, uint64_t offset,
                      size_t length, void **address, struct sy_error *err)
{
    struct opencl *opencl = self;
    const struct opencl_pool *pool = made;
    int status = 0;

    *address = opencl->cl.EnqueueMapBuffer(
        pool->queue, pool->buffer, 1, way == SY_DEVICE_IN ? CL_MAP_WRITE_INVALIDATE : CL_MAP_READ,
        offset, length, 0, NULL, NULL, &status);
    return status ? opencl_fail(opencl, err, EIO, "mapping a buffer", status) : 0;
}

static int opencl_unmap(void *self, void *made, void *address, struct sy_error *err)
{
    struct opencl *opencl = self;
    const struct opencl_pool *pool = made;
    cl_object event = NULL;
    int status = opencl->cl.EnqueueUnmapMemObject(pool->queue, pool->buffer, address, 0, NULL,
                                                  &event);

    if (!status)
        status = opencl->cl.WaitForEvents(1, &event);
    if (event)
        opencl->cl.ReleaseEvent(event);
    return status ? opencl_fail(opencl, err, EIO, "unmapping a buffer", status) : 0;
}

static int opencl_write_handle(void *self, void *made, void *buffer, size_t room)
{
    const struct opencl_pool *pool = made;
    const struct sy_opencl_handle handle = {pool->context, pool->device, pool->buffer};

    (void)self;
    if (room < sizeof handle)
        return -E2BIG;
    memcpy(buffer, &handle, sizeof handle);
    return sizeof handle;
}

SY_DEVICE_PLUGIN(opencl) = {
    .size = sizeof(struct sy_device),
    .name = "opencl",
    .type = SY_DEVICE_GPU,
    .options = opencl_options,
    .settings_size = sizeof(struct settings),
    .open = opencl_open,
    .close = opencl_close,
    .describe = opencl_describe,
    .pool_create = opencl_pool_create,
    .pool_destroy = opencl_pool_destroy,
    .copy = opencl_copy,
    .handle = opencl_write_handle,
    .copy_begin = opencl_copy_begin,
    .copy_end = opencl_copy_end,
    .map = opencl_map,
    .unmap = opencl_unmap,
};
