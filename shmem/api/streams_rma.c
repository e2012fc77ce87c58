/* Transfers, atomic operations and ordering on streams: thunks over stream/ops.h, expanded over the
 * type tables. */
#include "api/lists.h"
#include "api/streams.h"
#include "core/amo.h"

/* clang-format off */

/* ---- put, get, put_signal of elements of one type or size ---- */

#define TRANSFER(WHAT, PE, ...) \
    sy_stream_transfer(stream, SY_ROUTINE, WHAT, &(union sy_stream_to){__VA_ARGS__}, PE)
#define ADD(WHAT, PE, ...) TRANSFER(WHAT, PE, .rma = {__VA_ARGS__})
#define ELEMENTS(BYTES) .dest = dest, .source = source, .length = (BYTES)

#define DEFINE_CONTIGUOUS(PUT, GET, TYPE, BYTES) \
    SY_DEFINE_ON_STREAM(void, PUT, (TYPE *dest, const TYPE *source, size_t nelems, int pe), \
                        ADD(SY_STREAM_PUT, pe, ELEMENTS(sy_bytes(nelems, BYTES)));) \
    SY_DEFINE_ON_STREAM(void, GET, (TYPE *dest, const TYPE *source, size_t nelems, int pe), \
                        ADD(SY_STREAM_GET, pe, ELEMENTS(sy_bytes(nelems, BYTES)));) \
    SY_DEFINE_ON_STREAM(void, PUT##_signal, \
                        (TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, \
                         uint64_t signal, int sig_op, int pe), \
                        ADD(SY_STREAM_PUT_SIGNAL, pe, ELEMENTS(sy_bytes(nelems, BYTES)), \
                            .signal = {sig_addr, signal, sig_op});)
SY_CONTIGUOUS

/* ---- p, g ---- */

#define DEFINE_ELEMENT(NAME, TYPE) \
    SY_DEFINE_ON_STREAM(void, NAME##_p, (TYPE *dest, TYPE value, int pe), \
                        union sy_stream_to to = {.p = {.dest = dest, .length = sizeof value}}; \
                        memcpy(to.p.value, &value, sizeof value); \
                        sy_stream_transfer(stream, SY_ROUTINE, SY_STREAM_P, &to, pe);) \
    SY_DEFINE_ON_STREAM(void, NAME##_g, (TYPE *dest, const TYPE *source, int pe), \
                        ADD(SY_STREAM_GET, pe, ELEMENTS(sizeof(TYPE)));)
SY_RMA_TYPES(DEFINE_ELEMENT)
#undef DEFINE_ELEMENT

/* ---- strided: single elements, and blocks of elements; strides are in elements ---- */

#define DEFINE_BLOCKS(WHAT, NAME, PARAMETERS, ...) \
    SY_DEFINE_ON_STREAM(void, NAME, PARAMETERS, \
                        TRANSFER(SY_STREAM_##WHAT, pe, .strided = {dest, source, __VA_ARGS__});)
#define DEFINE_STRIDED(WHAT, SINGLE, BLOCKS, TYPE, BYTES) \
    DEFINE_BLOCKS(WHAT, SINGLE, \
                  (TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
                  sy_stride(dst, BYTES), sy_stride(sst, BYTES), BYTES, nelems) \
    DEFINE_BLOCKS(WHAT, BLOCKS, \
                  (TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, \
                   size_t nblocks, int pe), \
                  sy_stride(dst, BYTES), sy_stride(sst, BYTES), sy_bytes(bsize, BYTES), nblocks)
SY_STRIDED

/* ---- atomic operations ---- */

#define DEFINE_AMO(NAME, TYPE, PARAMETERS, OP, OBJECT, RESULT, OPERAND, COMPARE) \
    SY_DEFINE_ON_STREAM(void, NAME, PARAMETERS, \
                        TRANSFER(RESULT ? SY_STREAM_FETCH : SY_STREAM_UPDATE, pe, \
                                 .amo = {OP, sizeof(TYPE), (void *)OBJECT, RESULT, \
                                         SY_BITS(TYPE, OPERAND), SY_BITS(TYPE, COMPARE)});)

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

#define DEFINE_BITWISE_AMO(NAME, TYPE, WORD, OP) \
    DEFINE_AMO(NAME##_atomic_fetch_##WORD, TYPE, (TYPE *fetch, TYPE *dest, TYPE value, int pe), OP, \
               dest, fetch, value, 0) \
    DEFINE_AMO(NAME##_atomic_##WORD, TYPE, (TYPE *dest, TYPE value, int pe), OP, dest, NULL, value, 0)
SY_BITWISE_AMOS

/* ---- signals and ordering ---- */

#define DEFINE_SIGNAL(NAME, PARAMETERS, OP) \
    SY_DEFINE_ON_STREAM(void, NAME, PARAMETERS, \
                        ADD(SY_STREAM_PUT_SIGNAL, pe, .signal = {sig_addr, signal, OP});)
DEFINE_SIGNAL(signal_op, (uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), sig_op)
DEFINE_SIGNAL(signal_add, (uint64_t *sig_addr, uint64_t signal, int pe), SHMEM_SIGNAL_ADD)
DEFINE_SIGNAL(signal_set, (uint64_t *sig_addr, uint64_t signal, int pe), SHMEM_SIGNAL_SET)

SY_DEFINE(void, shmemx_fence_on_stream, (shmemx_stream_t stream), ADD(SY_STREAM_FENCE, 0, .length = 0);)
SY_DEFINE(void, shmemx_quiet_on_stream, (shmemx_stream_t stream), ADD(SY_STREAM_QUIET, 0, .length = 0);)
SY_DEFINE_ON_STREAM(void, pe_quiet, (const int *target_pes, size_t npes),
                    ADD(SY_STREAM_PE_QUIET, 0, .source = target_pes, .length = npes);)

/* clang-format on */
