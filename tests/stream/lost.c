/* A libOpenCL.so.1 whose commands fail: of a marker it says that what is before it has, as a driver
 * does whose device is lost; or, where LOST names a function without its cl, that one fails, and a
 * name of none has all go well. It has what a stream of a queue needs; its objects are zeros.
 * Loaded before the program it also has malloc and calloc fail. Built by stream.test. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void notify(void *event, int status, void *data);

enum { CL_OUT_OF_RESOURCES = -5 };

static void *object[4];

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);

/* Allocations of this thread until one fails, or 0; user events that have been made and not set. */
_Thread_local int lost_allocation;
_Atomic int lost_events;

/* 1: the next user event makes it 2 when it is set, and returns later. */
_Atomic int lost_finish;

void *malloc(size_t size)
{
    return lost_allocation && !--lost_allocation ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return lost_allocation && !--lost_allocation ? NULL : __libc_calloc(count, size);
}

/* What a function answers. */
static int answer(const char *function)
{
    const char *lost = getenv("LOST");

    return lost && !strcmp(lost, function) ? CL_OUT_OF_RESOURCES : 0;
}

int clEnqueueMarkerWithWaitList(void *queue, unsigned count, void **list, void **event)
{
    (void)queue, (void)count, (void)list;
    *event = object;
    return answer("EnqueueMarkerWithWaitList");
}

int clEnqueueBarrierWithWaitList(void *queue, unsigned count, void **list, void **event)
{
    (void)queue, (void)count, (void)list, (void)event;
    return answer("EnqueueBarrierWithWaitList");
}

int clSetEventCallback(void *event, int when, notify *fn, void *data)
{
    int status = answer("SetEventCallback");

    (void)when;
    if (!status)
        fn(event, getenv("LOST") ? 0 : CL_OUT_OF_RESOURCES, data);
    return status;
}

void *clCreateUserEvent(void *context, int *status)
{
    *status = answer("CreateUserEvent");
    lost_events++;
    return *status ? NULL : context;
}

int clSetUserEventStatus(void *event, int status)
{
    (void)event, (void)status;
    lost_events--;
    if (lost_finish == 1) {
        lost_finish = 2;
        usleep(100000);
    }
    return answer("SetUserEventStatus");
}

int clRetainEvent(void *event)
{
    (void)event;
    return answer("RetainEvent");
}

int clReleaseEvent(void *event)
{
    (void)event;
    return 0;
}

int clFlush(void *queue)
{
    (void)queue;
    return answer("Flush");
}

int clRetainCommandQueue(void *queue)
{
    (void)queue;
    return answer("RetainCommandQueue");
}

int clReleaseCommandQueue(void *queue)
{
    (void)queue;
    return 0;
}

int clGetCommandQueueInfo(void *queue, unsigned what, size_t room, void **value, size_t *size)
{
    static int calls; /* two of which make the stream */

    (void)what, (void)room, (void)size;
    *value = queue;
    return ++calls > 2 ? answer("GetCommandQueueInfo") : 0;
}

int clGetPlatformIDs(unsigned room, void **platforms, unsigned *count)
{
    (void)room, (void)count;
    *platforms = object;
    return 0;
}
