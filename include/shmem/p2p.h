/* Point-to-point synchronisation (9.11): waiting for symmetric variables of this PE, which another
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

/* Several variables: ivars[0] to ivars[nelems - 1], less those whose status is not 0; status NULL
 * leaves none out. The set is empty if nelems is 0, and ivars may then be NULL, or if no status is
 * 0. In the vector forms ivars[i] is compared with cmp_values[i], which may be in any memory.
 *
 * wait_until_all (9.11.2, 5): returns when the comparison has been true of each; at once if the set
 * is empty.
 * wait_until_any (9.11.3, 6): waits until it is true of one, and returns its index; SIZE_MAX if the
 * set is empty. In a series of calls each one of which it is true has its turn.
 * wait_until_some (9.11.4, 7): waits until it is true of one at least, writes the indices of all of
 * which it is found true, each once, to indices, and returns how many; 0 if the set is empty.
 * test_all, any, some (9.11.9 to 14): the same without waiting. test_all is 1 if it is true of all,
 * which it is in an empty set, otherwise 0; test_any is SIZE_MAX and test_some 0 if it is true of
 * none. */
#define SY_SET(TYPE) TYPE *ivars, size_t nelems, const int *status, int cmp
#define SY_SOME(TYPE) TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp

#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmem_##TYPENAME##_wait_until_all)(SY_SET(TYPE), TYPE cmp_value); \
    size_t SY_API(shmem_##TYPENAME##_wait_until_any)(SY_SET(TYPE), TYPE cmp_value); \
    size_t SY_API(shmem_##TYPENAME##_wait_until_some)(SY_SOME(TYPE), TYPE cmp_value); \
    void SY_API(shmem_##TYPENAME##_wait_until_all_vector)(SY_SET(TYPE), const TYPE *cmp_values); \
    size_t SY_API(shmem_##TYPENAME##_wait_until_any_vector)(SY_SET(TYPE), const TYPE *cmp_values); \
    size_t SY_API(shmem_##TYPENAME##_wait_until_some_vector)(SY_SOME(TYPE), \
                                                             const TYPE *cmp_values); \
    int SY_API(shmem_##TYPENAME##_test_all)(SY_SET(TYPE), TYPE cmp_value); \
    size_t SY_API(shmem_##TYPENAME##_test_any)(SY_SET(TYPE), TYPE cmp_value); \
    size_t SY_API(shmem_##TYPENAME##_test_some)(SY_SOME(TYPE), TYPE cmp_value); \
    int SY_API(shmem_##TYPENAME##_test_all_vector)(SY_SET(TYPE), const TYPE *cmp_values); \
    size_t SY_API(shmem_##TYPENAME##_test_any_vector)(SY_SET(TYPE), const TYPE *cmp_values); \
    size_t SY_API(shmem_##TYPENAME##_test_some_vector)(SY_SOME(TYPE), const TYPE *cmp_values);
SY_STANDARD_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE
#undef SY_SET
#undef SY_SOME

/* Deprecated since 1.4 (9.11.1). wait: returns when the variable is no longer cmp_value. The
 * routines without a type in their name are for long; in C11 shmem_wait_until is also a choice by
 * type. */
#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmem_##TYPENAME##_wait)(TYPE *ivar, TYPE cmp_value);
SY_DEPRECATED_WAIT_CHANGE_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* clang-format on */

/* wait_until for a signal (9.11.15). Returns the value for which the comparison was true. */
uint64_t SY_API(shmem_signal_wait_until)(uint64_t *sig_addr, int cmp, uint64_t cmp_value);

void SY_API(shmem_wait)(long *ivar, long cmp_value);
void SY_API(shmem_wait_until)(long *ivar, int cmp, long cmp_value);

#endif
