/* Waits on streams: thunks over stream/ops.h, expanded over the type tables. */
#include "api/streams.h"

/* clang-format off */

#define ONE(TYPE, CMP, VALUE) \
    (struct sy_stream_set){.ivars = ivar, .count = 1, .cmp = CMP, .type = SY_STREAM_TYPE(TYPE), \
                           .value = (uint64_t)VALUE}

#define DEFINE_ONE(NAME, TYPE) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value), \
                        sy_stream_wait_all(stream, SY_ROUTINE, ONE(TYPE, cmp, cmp_value));) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait, (TYPE *ivar, TYPE cmp_value), \
                        sy_stream_wait_all(stream, SY_ROUTINE, ONE(TYPE, SHMEM_CMP_NE, cmp_value));)
SY_WAIT_TYPES(DEFINE_ONE)
#undef DEFINE_ONE
#undef ONE

#define SET(TYPE, MEMBER, VALUE) \
    (struct sy_stream_set){.ivars = ivars, .count = nelems, .status = status, .cmp = cmp, \
                           .type = SY_STREAM_TYPE(TYPE), .MEMBER = VALUE}

#define DEFINE_SETS(NAME, TYPE, END, VALUES, MEMBER, VALUE) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until_all##END, \
                        (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUES), \
                        sy_stream_wait_all(stream, SY_ROUTINE, SET(TYPE, MEMBER, VALUE));) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until_any##END, \
                        (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUES, \
                         size_t *index), \
                        sy_stream_wait_any(stream, SY_ROUTINE, SET(TYPE, MEMBER, VALUE), index);) \
    SY_DEFINE_ON_STREAM(void, NAME##_wait_until_some##END, \
                        (TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, \
                         VALUES, size_t *count), \
                        sy_stream_wait_some(stream, SY_ROUTINE, SET(TYPE, MEMBER, VALUE), indices, \
                                            count);)
#define DEFINE_BOTH(NAME, TYPE) \
    DEFINE_SETS(NAME, TYPE, , TYPE cmp_value, value, (uint64_t)cmp_value) \
    DEFINE_SETS(NAME, TYPE, _vector, const TYPE *cmp_values, values, cmp_values)
SY_STANDARD_AMO_TYPES(DEFINE_BOTH)
#undef DEFINE_BOTH

SY_DEFINE_ON_STREAM(void, signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value),
                    sy_stream_wait_all(stream, SY_ROUTINE,
                                       (struct sy_stream_set){.ivars = sig_addr, .count = 1,
                                                              .cmp = cmp,
                                                              .type = SY_STREAM_TYPE(uint64_t),
                                                              .value = cmp_value});)

/* clang-format on */
