/* Transfers, atomic operations and ordering on streams: thunks over stream/ops.h, expanded over the
 * type tables. */
#include "api/streams.h"
#include "core/amo.h"

/* clang-format off */

/* ---- put, get, put_signal of elements of one type or size ---- */

#define DEFINE_CONTIGUOUS(PUT, GET, TYPE, BYTES) \
    SY_DEFINE_ON_STREAM(void, PUT, (TYPE *dest, const TYPE *source, size_t nelems, int pe), \
                        sy_stream_add_put(stream, SY_ROUTINE, dest, source, nelems * BYTES, pe);) \
    SY_DEFINE_ON_STREAM(void, GET, (TYPE *dest, const TYPE *source, size_t nelems, int pe), \
                        sy_stream_add_get(stream, SY_ROUTINE, dest, source, nelems * BYTES, pe);) \
    SY_DEFINE_ON_STREAM(void, PUT##_signal, \
                        (TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, \
                         uint64_t signal, int sig_op, int pe), \
                        sy_stream_add_put_signal(stream, SY_ROUTINE, dest, source, nelems * BYTES, \
                                             (struct sy_stream_signal){sig_addr, signal, sig_op}, pe);)

#define DEFINE_TYPED(NAME, TYPE) DEFINE_CONTIGUOUS(NAME##_put, NAME##_get, TYPE, sizeof(TYPE))
SY_RMA_TYPES(DEFINE_TYPED)
#undef DEFINE_TYPED

#define DEFINE_SIZED(SIZE, BYTES) DEFINE_CONTIGUOUS(put##SIZE, get##SIZE, void, BYTES)
SY_SIZES_AND_MEM(DEFINE_SIZED)
#undef DEFINE_SIZED

/* ---- p, g ---- */

#define DEFINE_ELEMENT(NAME, TYPE) \
    SY_DEFINE_ON_STREAM(void, NAME##_p, (TYPE *dest, TYPE value, int pe), \
                        sy_stream_add_p(stream, SY_ROUTINE, dest, &value, sizeof value, pe);) \
    SY_DEFINE_ON_STREAM(void, NAME##_g, (TYPE *dest, const TYPE *source, int pe), \
                        sy_stream_add_get(stream, SY_ROUTINE, dest, source, sizeof(TYPE), pe);)
SY_RMA_TYPES(DEFINE_ELEMENT)
#undef DEFINE_ELEMENT

/* ---- strided: single elements, and blocks of elements; strides are in elements ---- */

#define DEFINE_STRIDED(FUNCTION, SINGLE, BLOCKS, TYPE, BYTES) \
    SY_DEFINE_ON_STREAM(void, SINGLE, (TYPE *dest, const TYPE *source, ptrdiff_t dst, \
                                       ptrdiff_t sst, size_t nelems, int pe), \
                        FUNCTION(stream, SY_ROUTINE, \
                                 &(struct sy_stream_strided){dest, source, dst * (ptrdiff_t)BYTES, \
                                                             sst * (ptrdiff_t)BYTES, BYTES, nelems}, \
                                 pe);) \
    SY_DEFINE_ON_STREAM(void, BLOCKS, (TYPE *dest, const TYPE *source, ptrdiff_t dst, \
                                       ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
                        FUNCTION(stream, SY_ROUTINE, \
                                 &(struct sy_stream_strided){dest, source, dst * (ptrdiff_t)BYTES, \
                                                             sst * (ptrdiff_t)BYTES, \
                                                             bsize * BYTES, nblocks}, \
                                 pe);)

#define DEFINE_TYPED(NAME, TYPE) \
    DEFINE_STRIDED(sy_stream_add_iput, NAME##_iput, NAME##_ibput, TYPE, sizeof(TYPE)) \
    DEFINE_STRIDED(sy_stream_add_iget, NAME##_iget, NAME##_ibget, TYPE, sizeof(TYPE))
SY_RMA_TYPES(DEFINE_TYPED)
#undef DEFINE_TYPED

#define DEFINE_SIZED(SIZE, BYTES) \
    DEFINE_STRIDED(sy_stream_add_iput, iput##SIZE, ibput##SIZE, void, BYTES) \
    DEFINE_STRIDED(sy_stream_add_iget, iget##SIZE, ibget##SIZE, void, BYTES)
SY_SIZES(DEFINE_SIZED)
#undef DEFINE_SIZED

/* ---- atomic operations ---- */

#define BITS(TYPE, value) sy_amo_bits(&(TYPE){value}, sizeof(TYPE))

#define DEFINE_AMO(NAME, TYPE, PARAMETERS, OP, OBJECT, RESULT, OPERAND, COMPARE) \
    SY_DEFINE_ON_STREAM(void, NAME, PARAMETERS, \
                        sy_stream_add_amo(stream, SY_ROUTINE, \
                                      (struct sy_stream_amo){OP, sizeof(TYPE), (void *)OBJECT, RESULT, \
                                                             BITS(TYPE, OPERAND), BITS(TYPE, COMPARE)}, \
                                      pe);)

#define DEFINE_EXTENDED(NAME, TYPE) \
    DEFINE_AMO(NAME##_atomic_fetch, TYPE, (TYPE *fetch, const TYPE *source, int pe), SY_AMO_FETCH, \
               source, fetch, 0, 0) \
    DEFINE_AMO(NAME##_atomic_set, TYPE, (TYPE *dest, TYPE value, int pe), SY_AMO_SET, dest, NULL, \
               value, 0) \
    DEFINE_AMO(NAME##_atomic_swap, TYPE, (TYPE *fetch, TYPE *dest, TYPE value, int pe), SY_AMO_SWAP, \
               dest, fetch, value, 0)
SY_EXTENDED_AMO_TYPES(DEFINE_EXTENDED)
#undef DEFINE_EXTENDED

#define DEFINE_STANDARD(NAME, TYPE) \
    DEFINE_AMO(NAME##_atomic_compare_swap, TYPE, \
               (TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe), SY_AMO_CSWAP, dest, fetch, \
               value, cond) \
    DEFINE_AMO(NAME##_atomic_fetch_inc, TYPE, (TYPE *fetch, TYPE *dest, int pe), SY_AMO_ADD, dest, \
               fetch, 1, 0) \
    DEFINE_AMO(NAME##_atomic_inc, TYPE, (TYPE *dest, int pe), SY_AMO_ADD, dest, NULL, 1, 0) \
    DEFINE_AMO(NAME##_atomic_fetch_add, TYPE, (TYPE *fetch, TYPE *dest, TYPE value, int pe), \
               SY_AMO_ADD, dest, fetch, value, 0) \
    DEFINE_AMO(NAME##_atomic_add, TYPE, (TYPE *dest, TYPE value, int pe), SY_AMO_ADD, dest, NULL, \
               value, 0)
SY_STANDARD_AMO_TYPES(DEFINE_STANDARD)
#undef DEFINE_STANDARD

#define DEFINE_BITWISE_OP(NAME, TYPE, WORD, OP) \
    DEFINE_AMO(NAME##_atomic_fetch_##WORD, TYPE, (TYPE *fetch, TYPE *dest, TYPE value, int pe), OP, \
               dest, fetch, value, 0) \
    DEFINE_AMO(NAME##_atomic_##WORD, TYPE, (TYPE *dest, TYPE value, int pe), OP, dest, NULL, value, 0)
#define DEFINE_BITWISE(NAME, TYPE) \
    DEFINE_BITWISE_OP(NAME, TYPE, and, SY_AMO_AND) \
    DEFINE_BITWISE_OP(NAME, TYPE, or, SY_AMO_OR) \
    DEFINE_BITWISE_OP(NAME, TYPE, xor, SY_AMO_XOR)
SY_BITWISE_AMO_TYPES(DEFINE_BITWISE)
#undef DEFINE_BITWISE

/* ---- signals and ordering ---- */

#define DEFINE_SIGNAL(NAME, PARAMETERS, OP) \
    SY_DEFINE_ON_STREAM(void, NAME, PARAMETERS, \
                        sy_stream_add_put_signal(stream, SY_ROUTINE, NULL, NULL, 0, \
                                             (struct sy_stream_signal){sig_addr, signal, OP}, pe);)
DEFINE_SIGNAL(signal_op, (uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), sig_op)
DEFINE_SIGNAL(signal_add, (uint64_t *sig_addr, uint64_t signal, int pe), SHMEM_SIGNAL_ADD)
DEFINE_SIGNAL(signal_set, (uint64_t *sig_addr, uint64_t signal, int pe), SHMEM_SIGNAL_SET)

SY_DEFINE(void, shmemx_fence_on_stream, (shmemx_stream_t stream),
          sy_stream_fence(stream, SY_ROUTINE);)
SY_DEFINE(void, shmemx_quiet_on_stream, (shmemx_stream_t stream),
          sy_stream_quiet(stream, SY_ROUTINE);)
SY_DEFINE_ON_STREAM(void, pe_quiet, (const int *target_pes, size_t npes),
                    sy_stream_pe_quiet(stream, SY_ROUTINE, target_pes, npes);)

/* clang-format on */
