/* A stream that takes turns with an OpenCL queue: kernels change an array, puts on the stream take
 * it to the next PE, kernels add what has come, and the host waits once, at the end. The kernels
 * are slow, so whoever does not wait for them sees old data. Built by opencl.test, which has
 * OpenCL's headers. Arguments: flags of the space, and of the queue. */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <pthread.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 20000, STEPS = 12, TURNS = 20000 }; /* TURNS: at most */

static const char *const text =
    "__kernel void change(__global long *a, ulong at, long by)"
    "{ size_t i = at + get_global_id(0); long v = a[i];"
    "  for (int k = 0; k < 1000; k++) v = v * 5 + by; a[i] = v; }"
    "__kernel void join(__global long *a, ulong at, __global const long *b, ulong from)"
    "{ a[at + get_global_id(0)] += b[from + get_global_id(0)]; }";

static shmemx_space_t space;
static shmemx_stream_t shared;
static void *context, *device;
static cl_command_queue queue;
static cl_kernel change, join;
static int turns = TURNS / 4; /* with SY_TEST_FULL all */

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "PE %d: %s\n", shmem_my_pe(), what);
    shmem_global_exit(1);
}

static void prepare(cl_command_queue_properties how)
{
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, how, 0};
    cl_int status;

    check(!shmemx_space_opencl_context(space, &context, &device), "no context");
    queue = clCreateCommandQueueWithProperties(context, device, properties, &status);
    check(queue != NULL, "no queue");
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
    check(!clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "the kernels do not build");
    change = clCreateKernel(program, "change", &status);
    join = clCreateKernel(program, "join", &status);
    check(change && join, "no kernel");
}

/* An array as two arguments of a kernel: what holds it, and the element where it begins. */
static void argue(cl_kernel kernel, cl_uint at, long *array)
{
    cl_ulong from = 0;
    size_t offset;
    void *mem;

    check(!shmemx_space_opencl_buffer(space, array, &mem, &offset), "no buffer");
    if (mem)
        from = offset / sizeof *array;
    check(!(mem ? clSetKernelArg(kernel, at, sizeof mem, &mem)
                : clSetKernelArgSVMPointer(kernel, at, array)) &&
              !clSetKernelArg(kernel, at + 1, sizeof from, &from),
          "an argument is refused");
}

static void start(cl_kernel kernel)
{
    const size_t count = COUNT;

    check(!clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL),
          "a kernel is refused");
}

static long changed(long v, long by)
{
    for (int k = 0; k < 1000; k++)
        v = (long)((unsigned long)v * 5 + (unsigned long)by);
    return v;
}

/* What each PE's elements are in the end. */
static long expected(int me, int npes)
{
    long v[16], c[16];

    for (int pe = 0; pe < npes; pe++)
        v[pe] = pe + 1;
    for (cl_long step = 1; step <= STEPS; step++) {
        for (int pe = 0; pe < npes; pe++)
            c[pe] = changed(v[pe], step);
        for (int pe = 0; pe < npes; pe++)
            v[pe] = (long)((unsigned long)c[pe] + (unsigned long)c[(pe + npes - 1) % npes]);
    }
    return v[me];
}

static cl_uint references(cl_command_queue of)
{
    cl_uint count = 0;

    clGetCommandQueueInfo(of, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

/* Puts to this PE; it sees its own in their order. */
static void *add(void *own)
{
    static long sent[2][TURNS], got[2];
    long *mine = sent[own != NULL];
    shmemx_stream_t *stream = own ? own : &shared;

    for (int i = 0; i < turns; i++) {
        mine[i] = i + 1;
        shmemx_long_put_on_stream(&got[own != NULL], &mine[i], 1, shmem_my_pe(), *stream);
    }
    check(!shmemx_stream_synchronize(*stream) && got[own != NULL] == turns, "the puts of a thread");
    return NULL;
}

/* Two threads add to one stream, and the queue has to go on. Not on a queue out of order: a driver
 * may make each barrier there wait for every earlier command, one by one. */
static void threads(void)
{
    pthread_t other;

    if (getenv("SY_TEST_FULL"))
        turns = TURNS;
    check(!shmemx_stream_from_opencl(queue, &shared), "no stream for two threads");
    check(!pthread_create(&other, NULL, add, &shared), "no thread");
    add(NULL);
    pthread_join(other, NULL);
    shmemx_stream_destroy(shared);
}

/* A stream keeps its queue, which the program may release before, until the stream ends. */
static void released(void)
{
    static long word;
    cl_int status;
    cl_command_queue own = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    shmemx_stream_t stream;

    check(own && !shmemx_stream_from_opencl(own, &stream), "no stream of a second queue");
    check(references(own) == 2, "the stream does not keep its queue");
    clRetainCommandQueue(own); /* to look at it at the end */
    clReleaseCommandQueue(own);
    clReleaseCommandQueue(own);
    shmemx_long_p_on_stream(&word, 7, shmem_my_pe(), stream);
    check(!shmemx_stream_synchronize(stream) && word == 7, "a put with a released queue");
    clRetainCommandQueue(own);
    shmemx_stream_destroy(stream);
    for (int i = 0; i < 2000 && references(own) > 1; i++) /* the driver may still end commands */
        usleep(10000);
    check(references(own) == 1, "the stream keeps its queue after its end");
    clReleaseCommandQueue(own);
}

int main(int argc, char **argv)
{
    const shmemx_space_config_t config = {
        .device_type = SHMEMX_DEVICE_GPU, .size = 4 << 20, .flags = argc > 1 ? atoi(argv[1]) : 0};
    static uint64_t arrived;
    static long host[COUNT];
    shmemx_stream_t stream;
    shmem_team_t team;
    int level;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes;
    check(!shmemx_space_create(&config, &space, &team), "no space");
    prepare(argc > 2 ? (cl_command_queue_properties)atoi(argv[2]) : 0);
    void *const none[] = {device, context, host, (char *)queue + 3, (void *)8, NULL};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        check(shmemx_stream_from_opencl(none[i], &stream) && !stream, "no queue makes a stream");
    check(!shmemx_stream_from_opencl(queue, &stream), "no stream");
    long *a = shmemx_space_malloc(space, sizeof host), *b = shmemx_space_calloc(space, COUNT, 8);
    for (long i = 0; i < COUNT; i++)
        host[i] = me + 1;
    shmem_long_put(a, host, COUNT, me);
    shmem_barrier_all();
    argue(change, 0, a);
    argue(join, 0, a);
    argue(join, 2, b);
    for (cl_long step = 1; step <= STEPS; step++) {
        check(!clSetKernelArg(change, 2, sizeof step, &step), "an argument is refused");
        start(change);
        shmemx_long_put_on_stream(b, a, COUNT, next, stream);
        shmemx_fence_on_stream(stream);
        shmemx_signal_set_on_stream(&arrived, (uint64_t)step, next, stream);
        shmemx_signal_wait_until_on_stream(&arrived, SHMEM_CMP_GE, (uint64_t)step, stream);
        start(join);
        check(!shmemx_barrier_all_on_stream(stream), "no barrier");
    }
    shmemx_long_get_on_stream(host, a, COUNT, me, stream);
    check(!shmemx_stream_synchronize(stream) && !clFinish(queue), "the end");
    const long sum = expected(me, npes);
    for (long i = 0; i < COUNT; i++)
        check(host[i] == sum, "an element is wrong");
    shmemx_stream_destroy(stream);
    released();
    if (argc <= 2 || !atoi(argv[2]))
        threads();
    shmem_barrier_all();
    if (!me)
        printf("queues: OK\n");
    shmem_finalize();
    return 0;
}
