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

/* Calls go straight through the global offset table: the detour over the procedure linkage table
 * would cost as much as the rest of a small operation. */
#ifdef __has_attribute
#if __has_attribute(noplt)
#define SY_DIRECT __attribute__((noplt))
#endif
#endif
#ifndef SY_DIRECT
#define SY_DIRECT
#endif

#define SY_API(name) SY_DIRECT name
#include "shmem/chapters.h"
#undef SY_API

#include "shmem/complex.h"
#include "shmem/generics.h"

#endif
