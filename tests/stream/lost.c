/* A libOpenCL.so.1 whose commands fail: of a marker it says that what is before it has, as a driver
 * does whose device is lost. It has what a stream of a queue needs; its objects are zeros. Built by
 * stream.test. */
#include <stddef.h>

typedef void notify(void *event, int status, void *data);

static void *object[4];

int clEnqueueMarkerWithWaitList(void *queue, unsigned count, void **list, void **event)
{
    (void)queue, (void)count, (void)list;
    *event = object;
    return 0;
}

int clEnqueueBarrierWithWaitList(void *queue, unsigned count, void **list, void **event)
{
    (void)queue, (void)count, (void)list, (void)event;
    return 0;
}

int clSetEventCallback(void *event, int when, notify *fn, void *data)
{
    (void)when;
    fn(event, -5, data);
    return 0;
}

void *clCreateUserEvent(void *context, int *status)
{
    *status = 0;
    return context;
}

int clSetUserEventStatus(void *event, int status)
{
    (void)event, (void)status;
    return 0;
}

int clReleaseEvent(void *event)
{
    (void)event;
    return 0;
}

int clFlush(void *queue)
{
    (void)queue;
    return 0;
}

int clRetainCommandQueue(void *queue)
{
    (void)queue;
    return 0;
}

int clReleaseCommandQueue(void *queue)
{
    (void)queue;
    return 0;
}

int clGetCommandQueueInfo(void *queue, unsigned what, size_t room, void **value, size_t *size)
{
    (void)what, (void)room, (void)size;
    *value = queue;
    return 0;
}

int clGetPlatformIDs(unsigned room, void **platforms, unsigned *count)
{
    (void)room, (void)count;
    *platforms = object;
    return 0;
}
