/* The profiling interface of the extensions: every routine of shmemx.h once more with a p before its
 * name. Everything of shmemx.h and pshmem.h is included. */
#ifndef SY_PSHMEMX_H
#define SY_PSHMEMX_H

#include "pshmem.h"
#include "shmemx.h"

#define SY_API(name) SY_DIRECT p##name
#include "shmemx/chapters.h"
#undef SY_API

#endif
