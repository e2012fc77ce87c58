/* Remote memory access (9.6).
 *
 * In all routines pe is the number of the other PE, on the team of ctx in the forms with a context;
 * the forms without one use SHMEM_CTX_DEFAULT. The object on the other PE is symmetric; the one
 * here may be any memory. TYPENAME is one of SY_RMA_TYPES; SIZE is the element's size in bits, and
 * such elements need the alignment of their size; the forms named mem count bytes and need none.
 * Counts of 0 do nothing, and the addresses may then be NULL. A PE or an address that does not
 * exist is an error of the program (Annex C), which ends the job with a message. */
#ifndef SY_API
#include "../shmem.h"
#else

/* clang-format off */

/* put (9.6.1.1): copies nelems elements from source here to dest on PE pe. On return source may be
 * used again; the data arrive at the latest when a quiet or barrier completes them.
 * p (9.6.1.2): writes value to dest on PE pe; completed like put.
 * iput (9.6.1.3): put of nelems single elements, which are dst elements apart in dest and sst
 * elements apart in source; both strides are at least 1. What lies between stays untouched.
 * ibput (9.6.1.4): put of nblocks blocks of bsize elements each. dst and sst are the distances, in
 * elements, from the start of a block to the start of the next; both are at least bsize.
 *
 * get (9.6.1.5): copies nelems elements from source on PE pe to dest here; they are there on
 * return.
 * g (9.6.1.6): the value of source on PE pe.
 * iget (9.6.1.7): get of nelems single elements, with the strides of iput.
 * ibget (9.6.1.8): get of nblocks blocks of bsize elements, with the strides of ibput.
 *
 * put_nbi (9.6.2.1): starts a put. source must stay as it is until a quiet has returned.
 * get_nbi (9.6.2.2): starts a get. dest has the data when a quiet has returned; a fence does not
 * help. */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_API_CTX(void, TYPENAME##_put, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    SY_API_CTX(void, TYPENAME##_p, TYPE *dest, TYPE value, int pe) \
    SY_API_CTX(void, TYPENAME##_iput, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
               ptrdiff_t sst, size_t nelems, int pe) \
    SY_API_CTX(void, TYPENAME##_ibput, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
               ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) \
    SY_API_CTX(void, TYPENAME##_get, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    SY_API_CTX(TYPE, TYPENAME##_g, const TYPE *source, int pe) \
    SY_API_CTX(void, TYPENAME##_iget, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
               ptrdiff_t sst, size_t nelems, int pe) \
    SY_API_CTX(void, TYPENAME##_ibget, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
               ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) \
    SY_API_CTX(void, TYPENAME##_put_nbi, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    SY_API_CTX(void, TYPENAME##_get_nbi, TYPE *dest, const TYPE *source, size_t nelems, int pe)
SY_RMA_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(SIZE, BYTES) \
    SY_API_CTX(void, put##SIZE, void *dest, const void *source, size_t nelems, int pe) \
    SY_API_CTX(void, get##SIZE, void *dest, const void *source, size_t nelems, int pe) \
    SY_API_CTX(void, put##SIZE##_nbi, void *dest, const void *source, size_t nelems, int pe) \
    SY_API_CTX(void, get##SIZE##_nbi, void *dest, const void *source, size_t nelems, int pe)
SY_SIZES_AND_MEM(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(SIZE, BYTES) \
    SY_API_CTX(void, iput##SIZE, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
               size_t nelems, int pe) \
    SY_API_CTX(void, iget##SIZE, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
               size_t nelems, int pe) \
    SY_API_CTX(void, ibput##SIZE, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
               size_t bsize, size_t nblocks, int pe) \
    SY_API_CTX(void, ibget##SIZE, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
               size_t bsize, size_t nblocks, int pe)
SY_SIZES(SY_DECLARE)
#undef SY_DECLARE

/* clang-format on */

#endif
