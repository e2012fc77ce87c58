/* Kernels on memory of a space: each PE's adds to an array, which goes to the next PE, where
 * another one adds again. Built by device.test, which has OpenCL's headers. Argument: flags of the
 * space. */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100000 };

static const char *const text = "__kernel void add(__global long *a, ulong from, long by)"
                                "{ a[from + get_global_id(0)] += by; }";

static shmemx_space_t space;
static void *context, *device;
static cl_command_queue queue;
static cl_kernel kernel;

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "PE %d: %s\n", shmem_my_pe(), what);
    shmem_global_exit(1);
}

static void prepare(void)
{
    cl_int status;

    check(!shmemx_space_opencl_context(space, &context, &device), "no context");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(queue != NULL, "no queue");
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
    check(!clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "the kernel does not build");
    kernel = clCreateKernel(program, "add", &status);
    check(kernel != NULL, "no kernel");
}

/* Adds to every element, by the buffer and the place in it or by the address. */
static void add(long *array, cl_long by)
{
    const size_t count = COUNT;
    cl_ulong from = 0;
    size_t offset;
    void *mem;

    check(!shmemx_space_opencl_buffer(space, array, &mem, &offset), "no buffer");
    if (mem)
        from = offset / sizeof *array;
    check(!(mem ? clSetKernelArg(kernel, 0, sizeof mem, &mem)
                : clSetKernelArgSVMPointer(kernel, 0, array)) &&
              !clSetKernelArg(kernel, 1, sizeof from, &from) &&
              !clSetKernelArg(kernel, 2, sizeof by, &by),
          "an argument is refused");
    check(!clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL) &&
              !clFinish(queue),
          "the kernel does not run");
}

/* What is no context, or has no such device, makes no space, and a context is none the worse for
 * it.
 */
static void refused(void)
{
    static long zeros[64];
    void *const none[] = {(void *)8, (char *)context + 3, zeros, queue, device, context};
    shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_GPU, .size = 4096};
    shmemx_space_t other;
    shmem_team_t team;
    cl_uint before, after;

    check(!clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof before, &before, NULL),
          "the context is lost");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        config.base = none[i];
        config.device = none[i] == context ? 41 : 0;
        check(shmemx_space_create(&config, &other, &team) && !other, "a space in no context");
    }
    check(!clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof after, &after, NULL) &&
              before == after,
          "the context has been released");
}

int main(int argc, char **argv)
{
    const shmemx_space_config_t config = {
        .device_type = SHMEMX_DEVICE_GPU, .size = 4 << 20, .flags = argc > 1 ? atoi(argv[1]) : 0};
    static long host[COUNT];
    shmem_team_t team;
    void *none;
    size_t offset;

    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), left = (me + npes - 1) % npes;
    check(!shmemx_space_create(&config, &space, &team), "no space");
    check(shmemx_space_opencl_buffer(space, host, &none, &offset), "host memory is in the space");
    check(shmemx_space_opencl_context(SHMEMX_SPACE_DEFAULT, &none, &none),
          "the heap has a context");
    prepare();
    refused();
    long *a = shmemx_space_malloc(space, sizeof host), *b = shmemx_space_calloc(space, COUNT, 8);
    for (long i = 0; i < COUNT; i++)
        host[i] = i;
    shmem_long_put(a, host, COUNT, me);
    add(a, 1000 * (me + 1)); /* on what a put has brought */
    shmem_long_put(b, a, COUNT, (me + 1) % npes);
    shmem_barrier_all();
    add(b, 7); /* on what another PE has put */
    shmem_long_get(host, b, COUNT, me);
    for (long i = 0; i < COUNT; i++)
        check(host[i] == i + 1000 * (left + 1) + 7, "a sum is wrong");
    shmem_barrier_all();
    if (!me)
        printf("kernels: OK\n");
    shmem_finalize();
    return 0;
}
