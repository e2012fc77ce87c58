/* The prototypes of all extensions, included by shmemx.h with SY_API(name) as the name itself and
 * by pshmemx.h once more with the profiling name, as shmem/chapters.h is. Included alone, this and
 * each chapter give shmemx.h. */
#ifndef SY_API
#include "../shmemx.h"
#else

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#include "groups.h"
#include "opencl.h"
#include "spaces.h"
#include "streams.h"

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
