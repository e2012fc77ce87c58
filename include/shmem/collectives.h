/* Collective routines (9.10).
 *
 * Those with a team are called by all its PEs with the same arguments, apart from the data. dest
 * and source are symmetric and do not overlap; where that is said they may be the same array. They
 * return 0, or another value if the team is SHMEM_TEAM_INVALID; on return dest here is complete and
 * source here may be used again. Counts of 0 move nothing, and the addresses may then be NULL. The
 * routines named mem count bytes and need no alignment.
 *
 * The routines without a team and with PE_start, logPE_stride and PE_size are for the active set of
 * PE_size PEs that begins at PE_start in steps of 2 to the power of logPE_stride. They are
 * deprecated since 1.5. pSync is a symmetric array of the routine's *_SYNC_SIZE elements, on entry
 * and on return all SHMEM_SYNC_VALUE; it may be used again only when all PEs of the set have
 * returned, other than that of barrier and sync, which the same set may use at once. */
#ifndef SY_API
#include "../shmem.h"
#else

/* Waits for all PEs, after completing what this PE has issued on the default context (9.10.1). The
 * form for an active set has pSync of SHMEM_BARRIER_SYNC_SIZE elements (9.10.2). */
void SY_API(shmem_barrier_all)(void);
void SY_API(shmem_barrier)(int PE_start, int logPE_stride, int PE_size, long *pSync);

/* Waits for all PEs, and makes this PE's stores visible to them; completes no communication
 * (9.10.3, 9.10.4). The form for an active set has pSync of SHMEM_SYNC_SIZE elements; in C11 its
 * name with a team for its only argument means shmem_team_sync. */
int SY_API(shmem_team_sync)(shmem_team_t team);
void SY_API(shmem_sync)(int PE_start, int logPE_stride, int PE_size, long *pSync);
void SY_API(shmem_sync_all)(void);

/* Data of teams (9.10.5 to 9.10.10). */
#define SY_TEAM_ROUTINE(NAME, ...) int SY_API(shmem_##NAME)(shmem_team_t team, __VA_ARGS__);
#include "team_data.h"
#undef SY_TEAM_ROUTINE

/* clang-format off */

/* On active sets, deprecated since 1.5. SIZE is the element's size in bits. pSync has
 * SHMEM_ALLTOALL_, ALLTOALLS_, BCAST_ or COLLECT_SYNC_SIZE elements. PE_root is an ordinal in the
 * set, and its own dest is not written. */
#define SY_DECLARE(SIZE, BYTES) \
    void SY_API(shmem_alltoall##SIZE)(void *dest, const void *source, size_t nelems, \
                                      int PE_start, int logPE_stride, int PE_size, long *pSync); \
    void SY_API(shmem_alltoalls##SIZE)(void *dest, const void *source, ptrdiff_t dst, \
                                       ptrdiff_t sst, size_t nelems, int PE_start, \
                                       int logPE_stride, int PE_size, long *pSync); \
    void SY_API(shmem_broadcast##SIZE)(void *dest, const void *source, size_t nelems, \
                                       int PE_root, int PE_start, int logPE_stride, int PE_size, \
                                       long *pSync); \
    void SY_API(shmem_collect##SIZE)(void *dest, const void *source, size_t nelems, int PE_start, \
                                     int logPE_stride, int PE_size, long *pSync); \
    void SY_API(shmem_fcollect##SIZE)(void *dest, const void *source, size_t nelems, \
                                      int PE_start, int logPE_stride, int PE_size, long *pSync);
SY_ACTIVE_SET_SIZES(SY_DECLARE)
#undef SY_DECLARE

/* pSync has SHMEM_REDUCE_SYNC_SIZE elements, pWrk the larger of nreduce / 2 + 1 and
 * SHMEM_REDUCE_MIN_WRKDATA_SIZE. */
#define SY_TO_ALL(NAME, TYPE) \
    void SY_API(shmem_##NAME##_to_all)(TYPE *dest, const TYPE *source, int nreduce, int PE_start, \
                                       int logPE_stride, int PE_size, TYPE *pWrk, long *pSync);

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_TO_ALL(TYPENAME##_and, TYPE) \
    SY_TO_ALL(TYPENAME##_or, TYPE) \
    SY_TO_ALL(TYPENAME##_xor, TYPE)
SY_BITWISE_TO_ALL_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_TO_ALL(TYPENAME##_max, TYPE) \
    SY_TO_ALL(TYPENAME##_min, TYPE)
SY_COMPARE_TO_ALL_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_TO_ALL(TYPENAME##_sum, TYPE) \
    SY_TO_ALL(TYPENAME##_prod, TYPE)
SY_ARITHMETIC_TO_ALL_TYPES(SY_DECLARE)
#undef SY_DECLARE
#undef SY_TO_ALL

/* clang-format on */

#endif
