/* Point-to-point synchronisation (9.11): waiting for a symmetric variable of this PE, which another
 * PE, a thread of this PE or this thread itself changes by an atomic operation or a signal.
 *
 * cmp is one of SHMEM_CMP_*; the comparison is ivar cmp cmp_value, in the type of the variable.
 * Data that were ordered before the change by their sender are there on return. Another cmp is an
 * error of the program (Annex C), which ends the job with a message. */
#ifndef SY_API
#include "../shmem.h"
#else

/* clang-format off */

/* wait_until (9.11.1): returns when the comparison is true.
 * test (9.11.8): 1 if it is true, otherwise 0; does not wait. */
#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmem_##TYPENAME##_wait_until)(TYPE *ivar, int cmp, TYPE cmp_value); \
    int SY_API(shmem_##TYPENAME##_test)(TYPE *ivar, int cmp, TYPE cmp_value);
SY_WAIT_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* Deprecated since 1.4 (9.11.1). wait: returns when the variable is no longer cmp_value. The
 * routines without a type in their name are for long; in C11 shmem_wait_until is a selection, too. */
#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmem_##TYPENAME##_wait)(TYPE *ivar, TYPE cmp_value);
SY_DEPRECATED_WAIT_CHANGE_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* clang-format on */

void SY_API(shmem_wait)(long *ivar, long cmp_value);
void SY_API(shmem_wait_until)(long *ivar, int cmp, long cmp_value);

#endif
