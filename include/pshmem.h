/* The profiling interface (10): every routine once more under the name that a tool calls after it
 * has replaced the routine, which is the routine's own name with a p before it: pshmem_long_put,
 * pstart_pes, p_my_pe. Everything of shmem.h is included. */
#ifndef SY_PSHMEM_H
#define SY_PSHMEM_H

#include "shmem.h"

#define SY_API(name) SY_DIRECT p##name
#include "shmem/chapters.h"
#undef SY_API

#endif
