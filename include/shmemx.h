/* Extensions to OpenSHMEM. The library has none; names in this header begin with shmemx_ or
 * SHMEMX_. */
#ifndef SY_SHMEMX_H
#define SY_SHMEMX_H

#include "shmem.h"

#endif
