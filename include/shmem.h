/* The OpenSHMEM 1.6 programming interface, as this library provides it.
 *
 * The prototypes are in shmem/, one header for each chapter of the specification; the types that a
 * typed routine exists for are in shmem/types.h. Every name that is not the specification's begins
 * with sy_ or SY_ and is not meant to be used. */
#ifndef SY_SHMEM_H
#define SY_SHMEM_H

#include <stddef.h>
#include <stdint.h>

#include "shmem/types.h"
#include "shmem/constants.h"

#define SY_API(name) name
#include "shmem/chapters.h"
#undef SY_API

#include "shmem/generics.h"

#endif
