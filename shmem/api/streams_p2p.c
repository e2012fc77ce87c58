/* Waits on streams: thunks over stream/ops.h, expanded over the type tables. */
#include "api/streams.h"

/* clang-format off */

#define SET(TYPE, IVARS, NELEMS, STATUS, CMP, VALUES, STEP) \
    (struct sy_set){IVARS, NELEMS, STATUS, CMP, VALUES, STEP, SY_SET_SEARCH(TYPE)}, sizeof(TYPE)
#define ONE(TYPE, CMP) SET(TYPE, ivar, 1, NULL, CMP, &cmp_value, 0)

#define DEFINE_ONE(NAME, TYPE) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value), \
                        sy_stream_wait_all(stream, SY_ROUTINE, ONE(TYPE, cmp));) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait, (TYPE *ivar, TYPE cmp_value), \
                        sy_stream_wait_all(stream, SY_ROUTINE, ONE(TYPE, SHMEM_CMP_NE));)
SY_WAIT_TYPES(DEFINE_ONE)
#undef DEFINE_ONE

#define DEFINE_SETS(NAME, TYPE, END, VALUE, ...) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until_all##END, \
                        (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUE), \
                        sy_stream_wait_all(stream, SY_ROUTINE, SETS(TYPE, __VA_ARGS__));) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until_any##END, \
                        (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUE, \
                         size_t *index), \
                        sy_stream_wait_any(stream, SY_ROUTINE, SETS(TYPE, __VA_ARGS__), index);) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until_some##END, \
                        (TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, \
                         VALUE, size_t *count), \
                        sy_stream_wait_some(stream, SY_ROUTINE, SETS(TYPE, __VA_ARGS__), indices, \
                                            count);)
#define SETS(TYPE, ...) SET(TYPE, ivars, nelems, status, cmp, __VA_ARGS__)
#define DEFINE_BOTH(NAME, TYPE) \
    DEFINE_SETS(NAME, TYPE, , TYPE cmp_value, &cmp_value, 0) \
    DEFINE_SETS(NAME, TYPE, _vector, const TYPE *cmp_values, cmp_values, 1)
SY_STANDARD_AMO_TYPES(DEFINE_BOTH)
#undef DEFINE_BOTH

SY_DEFINE_ON_STREAM(void, signal_wait_until, (uint64_t *ivar, int cmp, uint64_t cmp_value),
                    sy_stream_wait_all(stream, SY_ROUTINE, ONE(uint64_t, cmp));)

/* clang-format on */
