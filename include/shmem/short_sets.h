/* wait_until and test on sets of short and unsigned short, for the type-generic names alone: the
 * specification has routines of these types, deprecated, for one variable only, but some programs
 * use the sets with them. Written over the routines for one variable; nothing is exported. C11. */
#ifndef SY_SHMEM_SHORT_SETS_H
#define SY_SHMEM_SHORT_SETS_H

#include "../shmem.h"
#include "chosen.h"

#if !defined __cplusplus && defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L

/* clang-format off */

#define SY_DEFINE(TYPENAME, TYPE) \
    static inline size_t sy_##TYPENAME##_test_some(volatile TYPE *ivars, size_t nelems, \
                                                   size_t *indices, const int *status, int cmp, \
                                                   TYPE cmp_value) \
    { \
        size_t found = 0; \
        for (size_t i = 0; i < nelems; i++) \
            if (!(status && status[i]) && sy_##TYPENAME##_test(&ivars[i], cmp, cmp_value)) \
                indices[found++] = i; \
        return found; \
    } \
    static inline size_t sy_##TYPENAME##_test_any(volatile TYPE *ivars, size_t nelems, \
                                                  const int *status, int cmp, TYPE cmp_value) \
    { \
        static _Thread_local uint64_t turn; /* each search begins anywhere, to be fair */ \
        turn = turn * 6364136223846793005u + 1442695040888963407u; \
        for (size_t k = 0; k < nelems; k++) { \
            size_t i = ((size_t)(turn >> 20) % nelems + k) % nelems; \
            if (!(status && status[i]) && sy_##TYPENAME##_test(&ivars[i], cmp, cmp_value)) \
                return i; \
        } \
        return SIZE_MAX; \
    } \
    static inline int sy_##TYPENAME##_test_all(volatile TYPE *ivars, size_t nelems, \
                                               const int *status, int cmp, TYPE cmp_value) \
    { \
        for (size_t i = 0; i < nelems; i++) \
            if (!(status && status[i]) && !sy_##TYPENAME##_test(&ivars[i], cmp, cmp_value)) \
                return 0; \
        return 1; \
    } \
    static inline int sy_##TYPENAME##_none(size_t nelems, const int *status) \
    { \
        for (size_t i = 0; i < nelems; i++) \
            if (!(status && status[i])) \
                return 0; \
        return 1; \
    } \
    static inline size_t sy_##TYPENAME##_wait_until_some(volatile TYPE *ivars, size_t nelems, \
                                                         size_t *indices, const int *status, \
                                                         int cmp, TYPE cmp_value) \
    { \
        size_t found = 0; \
        if (!sy_##TYPENAME##_none(nelems, status)) \
            while (!(found = sy_##TYPENAME##_test_some(ivars, nelems, indices, \
                                                       status, cmp, cmp_value))) \
                ; \
        return found; \
    } \
    static inline size_t sy_##TYPENAME##_wait_until_any(volatile TYPE *ivars, size_t nelems, \
                                                        const int *status, int cmp, \
                                                        TYPE cmp_value) \
    { \
        size_t found = SIZE_MAX; \
        if (!sy_##TYPENAME##_none(nelems, status)) \
            while ((found = sy_##TYPENAME##_test_any(ivars, nelems, \
                                                     status, cmp, cmp_value)) == SIZE_MAX) \
                ; \
        return found; \
    } \
    static inline void sy_##TYPENAME##_wait_until_all(volatile TYPE *ivars, size_t nelems, \
                                                      const int *status, int cmp, TYPE cmp_value) \
    { \
        for (size_t i = 0; i < nelems; i++) \
            if (!(status && status[i])) \
                sy_##TYPENAME##_wait_until(&ivars[i], cmp, cmp_value); \
    }
SY_DEPRECATED_WAIT_TYPES(SY_DEFINE)
#undef SY_DEFINE

/* clang-format on */

#endif

#endif
