/* Extensions to OpenSHMEM: memory spaces (docs/spaces.md), streams (docs/streams.md), teams of
 * other libraries' groups. Names in this header and in shmemx/ begin with shmemx_ or SHMEMX_. What
 * needs MPI is in shmemx_mpi.h (docs/mpi.md). */
#ifndef SY_SHMEMX_H
#define SY_SHMEMX_H

#include "shmem.h"

#include "shmemx/space_types.h"
#include "shmemx/stream_types.h"

#define SY_API(name) SY_DIRECT name
#include "shmemx/chapters.h"
#undef SY_API

#ifdef SHMEMX_SPACES_AS_PROPOSED
#include "shmemx/proposed.h"
#endif

#endif
