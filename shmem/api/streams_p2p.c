/* Waits on streams: thunks over stream/ops.h, expanded over the type tables. */
#include "api/streams.h"

/* clang-format off */

#define SET(TYPE, IVARS, NELEMS, STATUS, CMP, VALUES, STEP) \
    (struct sy_set){IVARS, NELEMS, STATUS, CMP, VALUES, STEP, SY_SET_SEARCH(TYPE)}, sizeof(TYPE)
#define WAIT(WHAT, ...) sy_stream_wait(stream, SY_ROUTINE, SY_STREAM_WAIT_##WHAT, __VA_ARGS__);
#define ONE(TYPE, CMP) SET(TYPE, ivar, 1, NULL, CMP, &cmp_value, 0)

#define DEFINE_ONE(NAME, TYPE) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value), \
                        WAIT(ALL, ONE(TYPE, cmp), NULL, NULL)) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait, (TYPE *ivar, TYPE cmp_value), \
                        WAIT(ALL, ONE(TYPE, SHMEM_CMP_NE), NULL, NULL))
SY_WAIT_TYPES(DEFINE_ONE)
#undef DEFINE_ONE

#define DEFINE_SETS(NAME, TYPE, END, VALUE, ...) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until_all##END, \
                        (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUE), \
                        WAIT(ALL, SETS(TYPE, __VA_ARGS__), NULL, NULL)) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until_any##END, \
                        (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUE, \
                         size_t *index), \
                        WAIT(ANY, SETS(TYPE, __VA_ARGS__), NULL, index)) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until_some##END, \
                        (TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, \
                         VALUE, size_t *count), \
                        WAIT(SOME, SETS(TYPE, __VA_ARGS__), indices, count))
#define SETS(TYPE, ...) SET(TYPE, ivars, nelems, status, cmp, __VA_ARGS__)
#define DEFINE_BOTH(NAME, TYPE) \
    DEFINE_SETS(NAME, TYPE, , TYPE cmp_value, &cmp_value, 0) \
    DEFINE_SETS(NAME, TYPE, _vector, const TYPE *cmp_values, cmp_values, 1)
SY_STANDARD_AMO_TYPES(DEFINE_BOTH)
#undef DEFINE_BOTH

SY_DEFINE_ON_STREAM(void, signal_wait_until, (uint64_t *ivar, int cmp, uint64_t cmp_value),
                    WAIT(ALL, ONE(uint64_t, cmp), NULL, NULL))

/* clang-format on */
