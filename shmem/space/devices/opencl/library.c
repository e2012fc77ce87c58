/* The OpenCL library and the devices that it finds: see opencl.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "space/devices/opencl/opencl.h"
#include "util/bits.h"
#include "util/secure.h"
#include "util/stays.h"

/* Drivers have threads of their own that do not end with the last object, so the library stays. */
int sy_opencl_load(struct opencl_library *cl, const struct sy_host *host, struct sy_error *err)
{
#define FUNCTION(NAME)                                                                             \
    {                                                                                              \
        "cl" #NAME, &cl->NAME                                                                      \
    }
    const struct sy_stays_function functions[] = {
        FUNCTION(GetPlatformIDs),      FUNCTION(GetPlatformInfo),  FUNCTION(GetDeviceIDs),
        FUNCTION(GetDeviceInfo),       FUNCTION(CreateContext),    FUNCTION(RetainContext),
        FUNCTION(ReleaseContext),      FUNCTION(GetContextInfo),   FUNCTION(CreateCommandQueue),
        FUNCTION(ReleaseCommandQueue), FUNCTION(Finish),           FUNCTION(Flush),
        FUNCTION(WaitForEvents),       FUNCTION(GetEventInfo),     FUNCTION(ReleaseEvent),
        FUNCTION(CreateBuffer),        FUNCTION(ReleaseMemObject), FUNCTION(EnqueueReadBuffer),
        FUNCTION(EnqueueWriteBuffer),  FUNCTION(EnqueueMapBuffer), FUNCTION(EnqueueUnmapMemObject),
        FUNCTION(EnqueueFillBuffer)};
    const struct sy_stays_function svm[] = {FUNCTION(SVMAlloc), FUNCTION(SVMFree)};

    if (sy_secure())
        return host->fail(err, ENODEV,
                          "not in a program with other rights than its user's (setuid): OpenCL "
                          "loads code that the environment names (OCL_ICD_VENDORS)");
    void *handle = sy_stays_open("libOpenCL.so.1");
    if (!handle)
        return host->fail(err, ENODEV,
                          "OpenCL's library cannot be loaded (%s); Debian's package is "
                          "ocl-icd-libopencl1, and a device needs its vendor's driver too",
                          dlerror());
    const char *lacks = sy_stays_find(handle, functions, SY_COUNT(functions));
    if (lacks)
        return host->fail(err, ENODEV, "OpenCL's library has no %s", lacks);
    sy_stays_find(handle, svm, SY_COUNT(svm));
    return 0;
}

void sy_opencl_ask(const struct opencl_library *cl, cl_object id, struct opencl_device *device)
{
    device->id = id;
    cl->GetDeviceInfo(id, CL_DEVICE_TYPE, sizeof device->type, &device->type, NULL);
    cl->GetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof device->memory, &device->memory, NULL);
    cl->GetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof device->largest, &device->largest,
                      NULL);
    if (cl->GetDeviceInfo(id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof device->unified,
                          &device->unified, NULL))
        device->unified = 0;
    if (!cl->SVMAlloc || !cl->SVMFree ||
        cl->GetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof device->svm, &device->svm, NULL))
        device->svm = 0;
    char name[256] = "";
    cl->GetDeviceInfo(id, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    memcpy(device->name, name, sizeof device->name - 1);
}

static int opencl_library_compare(const void *a, const void *b)
{
    const struct opencl_device *left = a, *right = b;
    bool first = left->type & CL_DEVICE_TYPE_CPU, second = right->type & CL_DEVICE_TYPE_CPU;

    return first != second ? first - second : (left->id > right->id) - (left->id < right->id);
}

int sy_opencl_devices(const struct opencl_library *cl, const struct sy_host *host,
                      struct opencl_device list[OPENCL_DEVICES], struct sy_error *err)
{
    cl_object platform[16] = {NULL}, device[OPENCL_DEVICES];
    unsigned platforms = 0, devices;
    int count = 0;

    if (cl->GetPlatformIDs(SY_COUNT(platform), platform, &platforms) || !platforms)
        return host->fail(err, ENODEV,
                          "no OpenCL driver is installed (pocl-opencl-icd runs OpenCL on the CPU)");
    for (unsigned p = 0; p < platforms && p < SY_COUNT(platform); p++) {
        devices = 0;
        cl->GetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, OPENCL_DEVICES, device, &devices);
        for (unsigned d = 0; d < devices && d < OPENCL_DEVICES && count < OPENCL_DEVICES; d++) {
            memset(&list[count], 0, sizeof *list);
            sy_opencl_ask(cl, device[d], &list[count]);
            cl->GetPlatformInfo(platform[p], CL_PLATFORM_NAME, sizeof list->platform - 1,
                                list[count].platform, NULL);
            count++;
        }
    }
    qsort(list, (size_t)count, sizeof *list, opencl_library_compare);
    return count ? count : host->fail(err, ENODEV, "OpenCL's drivers have found no device");
}
