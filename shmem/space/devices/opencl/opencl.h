/* What the plugin uses of OpenCL, declared here so that neither its headers nor its library are
 * needed to build: the library is loaded when a space is first asked for. Names and values are
 * those of the OpenCL 3.0 specification, without the prefix of the functions.
 *
 * opencl.c   the device: pools, and what they are made in
 * library.c  the library and what it finds */
#ifndef SY_SPACE_OPENCL_H
#define SY_SPACE_OPENCL_H

#include <stddef.h>
#include <stdint.h>
#include <switchyard/device.h>

typedef struct cl_object *cl_object; /* cl_platform_id, cl_device_id, cl_context, ... */

enum {
    CL_PLATFORM_NAME = 0x0902,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
    CL_DEVICE_SVM_CAPABILITIES = 0x1053,
    CL_CONTEXT_DEVICES = 0x1081,
    CL_EVENT_STATUS = 0x11D3, /* CL_EVENT_COMMAND_EXECUTION_STATUS: 0 done, below it an error */
    CL_MAP_READ = 1,
    CL_MAP_WRITE_INVALIDATE = 4,
    CL_MEM_READ_WRITE = 1,
    CL_DEVICE_TYPE_CPU = 2,
    CL_SVM_FINE_GRAIN_BUFFER = 2, /* a bit of the device's capabilities */
    CL_SVM_ATOMICS = 8,
    CL_MEM_SVM_FINE_GRAIN_BUFFER = 1 << 10,
    CL_MEM_SVM_ATOMICS = 1 << 11
};

#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

struct opencl_library {
    int (*GetPlatformIDs)(unsigned, cl_object *, unsigned *);
    int (*GetPlatformInfo)(cl_object, unsigned, size_t, void *, size_t *);
    int (*GetDeviceIDs)(cl_object, uint64_t, unsigned, cl_object *, unsigned *);
    int (*GetDeviceInfo)(cl_object, unsigned, size_t, void *, size_t *);
    cl_object (*CreateContext)(const intptr_t *, unsigned, const cl_object *, void *, void *,
                               int *);
    int (*RetainContext)(cl_object);
    int (*ReleaseContext)(cl_object);
    int (*GetContextInfo)(cl_object, unsigned, size_t, void *, size_t *);
    cl_object (*CreateCommandQueue)(cl_object, cl_object, uint64_t, int *);
    int (*ReleaseCommandQueue)(cl_object);
    int (*Finish)(cl_object);
    int (*Flush)(cl_object);
    int (*WaitForEvents)(unsigned, const cl_object *);
    int (*GetEventInfo)(cl_object, unsigned, size_t, void *, size_t *);
    int (*ReleaseEvent)(cl_object);
    cl_object (*CreateBuffer)(cl_object, uint64_t, size_t, void *, int *);
    int (*ReleaseMemObject)(cl_object);
    int (*EnqueueReadBuffer)(cl_object, cl_object, unsigned, size_t, size_t, void *, unsigned,
                             const cl_object *, cl_object *);
    int (*EnqueueWriteBuffer)(cl_object, cl_object, unsigned, size_t, size_t, const void *,
                              unsigned, const cl_object *, cl_object *);
    void *(*EnqueueMapBuffer)(cl_object, cl_object, unsigned, uint64_t, size_t, size_t, unsigned,
                              const cl_object *, cl_object *, int *);
    int (*EnqueueUnmapMemObject)(cl_object, cl_object, void *, unsigned, const cl_object *,
                                 cl_object *);
    int (*EnqueueFillBuffer)(cl_object, cl_object, const void *, size_t, size_t, size_t, unsigned,
                             const cl_object *, cl_object *);
    void *(*SVMAlloc)(cl_object, uint64_t, size_t, unsigned); /* NULL before OpenCL 2.0 */
    void (*SVMFree)(cl_object, void *);
};

/* Most devices that are looked at. */
#define OPENCL_DEVICES 64

/* A device and what it says of itself. */
struct opencl_device {
    cl_object id;
    uint64_t type, memory, largest, svm;
    unsigned unified; /* its memory is the host's, so that a buffer is mapped without a copy */
    char name[64], platform[64];
};

/* Loads the library: 0, or -ENODEV with words. */
int sy_opencl_load(struct opencl_library *cl, const struct sy_host *host, struct sy_error *err);

/* All devices, those that are no CPU first: how many, or -ENODEV with words. */
int sy_opencl_devices(const struct opencl_library *cl, const struct sy_host *host,
                      struct opencl_device list[OPENCL_DEVICES], struct sy_error *err);

void sy_opencl_ask(const struct opencl_library *cl, cl_object id, struct opencl_device *device);

#endif
