/* Streams that take turns with an OpenCL command queue: see stream.h. Before an operation a marker
 * is enqueued, which is complete when all commands before it are, and a callback reaches the point
 * that the operation waits for. After it a barrier is enqueued that waits for an event of this
 * file's, which the proxy completes. So a queue in which operations wait is flushed, and never
 * waited for here. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/callsite.h"
#include "core/fatal.h"
#include "stream/stream.h"
#include "util/bits.h"
#include "util/log.h"
#include "util/opencl_object.h"
#include "util/stays.h"

typedef struct cl_object *cl_object;

enum { CL_QUEUE_CONTEXT = 0x1090, CL_QUEUE_DEVICE = 0x1091, CL_COMPLETE = 0 };

/* OpenCL's functions. */
static struct {
    int (*EnqueueMarkerWithWaitList)(cl_object, unsigned, const cl_object *, cl_object *);
    int (*EnqueueBarrierWithWaitList)(cl_object, unsigned, const cl_object *, cl_object *);
    int (*SetEventCallback)(cl_object, int, void (*)(cl_object, int, void *), void *);
    cl_object (*CreateUserEvent)(cl_object, int *);
    int (*SetUserEventStatus)(cl_object, int);
    int (*RetainEvent)(cl_object);
    int (*ReleaseEvent)(cl_object);
    int (*Flush)(cl_object);
    int (*RetainCommandQueue)(cl_object);
    int (*ReleaseCommandQueue)(cl_object);
    int (*GetCommandQueueInfo)(cl_object, unsigned, size_t, void *, size_t *);
    int (*GetPlatformIDs)(unsigned, cl_object *, unsigned *);
} cl;

static char unusable[80]; /* why there is no OpenCL */

/* Finds OpenCL's functions, once. The program has loaded the library, since it has a queue. */
static void opencl_load(void)
{
    static const struct sy_stays_function functions[] = {
        {"clEnqueueMarkerWithWaitList", &cl.EnqueueMarkerWithWaitList},
        {"clEnqueueBarrierWithWaitList", &cl.EnqueueBarrierWithWaitList},
        {"clSetEventCallback", &cl.SetEventCallback},
        {"clCreateUserEvent", &cl.CreateUserEvent},
        {"clSetUserEventStatus", &cl.SetUserEventStatus},
        {"clRetainEvent", &cl.RetainEvent},
        {"clReleaseEvent", &cl.ReleaseEvent},
        {"clFlush", &cl.Flush},
        {"clRetainCommandQueue", &cl.RetainCommandQueue},
        {"clReleaseCommandQueue", &cl.ReleaseCommandQueue},
        {"clGetCommandQueueInfo", &cl.GetCommandQueueInfo},
        {"clGetPlatformIDs", &cl.GetPlatformIDs}};
    void *handle = sy_stays_open("libOpenCL.so.1");
    const char *lacks = handle ? sy_stays_find(handle, functions, SY_COUNT(functions)) : NULL;

    if (!handle)
        snprintf(unusable, sizeof unusable, "there is no libOpenCL.so.1");
    else if (lacks)
        snprintf(unusable, sizeof unusable, "libOpenCL.so.1 lacks %s", lacks);
}

static SY_COLD void opencl_failed(const char *routine, const char *what, int status)
{
    sy_fatal("%s: %s for the stream's OpenCL queue: OpenCL's error %d", routine, what, status);
}

/* The marker's callback, on a thread of the driver. status: negative where a command before it has
 * failed, or the device is lost. */
static void opencl_on_marker(cl_object event, int status, void *point)
{
    sy_point_reach(point, status < 0 ? status : 0);
    cl.ReleaseEvent(event);
}

static bool opencl_before(struct sy_stream *stream, const char *routine, void *queue)
{
    struct sy_point *point = sy_point_new(); /* of the gate and of the callback */
    cl_object event = NULL;

    if (!point) {
        sy_stream_failed(stream, routine, ENOMEM);
        return false;
    }
    int status = cl.EnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    if (!status)
        status = cl.SetEventCallback(event, CL_COMPLETE, opencl_on_marker, point);
    if (!status)
        status = cl.Flush(queue);
    if (status)
        opencl_failed(routine, "a marker", status);
    return !sy_stream_gate(stream, routine, point);
}

/* Called by the stream's proxy thread when the operation is complete; at once, by the program's,
 * where there is no memory. The queue would wait for ever for an event that cannot be set. */
static void opencl_complete(void *event)
{
    int status = cl.SetUserEventStatus(event, CL_COMPLETE);

    if (status)
        opencl_failed(sy_callsite_routine("shmemx_stream_from_opencl"), "setting an event", status);
    cl.ReleaseEvent(event);
}

/* The event is the stream's before the queue waits for it: a gate of another thread, whose marker
 * is behind the barrier, must not come before what sets the event. */
static void opencl_after(struct sy_stream *stream, const char *routine, void *queue)
{
    cl_object context = NULL, event = NULL;
    int status = cl.GetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);

    if (!status)
        event = cl.CreateUserEvent(context, &status);
    if (!status)
        status = cl.RetainEvent(event);
    if (status)
        opencl_failed(routine, "an event", status);
    sy_stream_tell(stream, routine, opencl_complete, event);
    status = cl.EnqueueBarrierWithWaitList(queue, 1, &event, NULL);
    if (status)
        opencl_failed(routine, "a barrier", status);
    cl.ReleaseEvent(event);
}

/* The stream has ended. */
static void opencl_end(void *queue)
{
    cl.ReleaseCommandQueue(queue);
}

/* Whether a handle can be a queue: an object that names two others. */
static bool opencl_is_queue(cl_object queue)
{
    cl_object platform, of;

    if (cl.GetPlatformIDs(1, &platform, NULL) || !sy_opencl_object_may_be(queue, platform))
        return false;
    return !cl.GetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof of, &of, NULL) &&
           sy_opencl_object_may_be(of, platform) &&
           !cl.GetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof of, &of, NULL) &&
           sy_opencl_object_may_be(of, platform);
}

int sy_stream_from_opencl(struct sy_team *team, void *queue, struct sy_stream **stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, opencl_load);
    if (*unusable || !opencl_is_queue(queue)) {
        sy_log(SY_LOG_ERROR, "stream", "shmemx_stream_from_opencl: %s",
               *unusable ? unusable : "this is not a command queue");
        return -EINVAL;
    }
    int status = cl.RetainCommandQueue(queue);
    if (status) {
        sy_log(SY_LOG_ERROR, "stream", "shmemx_stream_from_opencl: OpenCL's error %d", status);
        return -EIO;
    }
    int rc = sy_stream_create(team, 0, stream);
    if (rc)
        cl.ReleaseCommandQueue(queue);
    else
        (*stream)->foreign = (struct sy_stream_foreign){opencl_before, opencl_after, opencl_end,
                                                        queue};
    return rc;
}
