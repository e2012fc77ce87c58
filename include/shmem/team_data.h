/* Collective routines that move or combine data of a team (9.10.5 to 9.10.10); collectives.h says
 * what they have in common. Included there, and once more by shmemx/streams.h for those on streams,
 * with SY_TEAM_ROUTINE(NAME, PARAMETERS) as the prototype of such a routine. */
#ifndef SY_TEAM_ROUTINE
#include "../shmem.h"
#else

/* clang-format off */

/* alltoall (9.10.5): dest and source are blocks of nelems elements, one for each PE of the team;
 * block j of PE i goes to block i of PE j.
 * alltoalls (9.10.6): the same with dst and sst elements from one element to the next.
 * broadcast (9.10.7): copies source of PE_root to dest of all PEs, PE_root itself too. PE_root is a
 * number on the team.
 * collect, fcollect (9.10.8): joins the nelems elements of each PE in the team's order into dest of
 * all PEs. nelems is the same on all PEs for fcollect, and may differ for collect. */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_TEAM_ROUTINE(TYPENAME##_alltoall, TYPE *dest, const TYPE *source, size_t nelems) \
    SY_TEAM_ROUTINE(TYPENAME##_alltoalls, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
                    ptrdiff_t sst, size_t nelems) \
    SY_TEAM_ROUTINE(TYPENAME##_broadcast, TYPE *dest, const TYPE *source, size_t nelems, \
                    int PE_root) \
    SY_TEAM_ROUTINE(TYPENAME##_collect, TYPE *dest, const TYPE *source, size_t nelems) \
    SY_TEAM_ROUTINE(TYPENAME##_fcollect, TYPE *dest, const TYPE *source, size_t nelems)
SY_RMA_TYPES(SY_DECLARE)
#undef SY_DECLARE

SY_TEAM_ROUTINE(alltoallmem, void *dest, const void *source, size_t nelems)
SY_TEAM_ROUTINE(alltoallsmem, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                size_t nelems)
SY_TEAM_ROUTINE(broadcastmem, void *dest, const void *source, size_t nelems, int PE_root)
SY_TEAM_ROUTINE(collectmem, void *dest, const void *source, size_t nelems)
SY_TEAM_ROUTINE(fcollectmem, void *dest, const void *source, size_t nelems)

/* Reductions (9.10.9): element i of dest on all PEs becomes the combination of element i of source
 * over all PEs, for nreduce elements; dest may be source. Arithmetic of integers wraps around.
 * Every PE gets the same bits. */
#define SY_REDUCE(NAME, TYPE) \
    SY_TEAM_ROUTINE(NAME##_reduce, TYPE *dest, const TYPE *source, size_t nreduce)

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_REDUCE(TYPENAME##_and, TYPE) \
    SY_REDUCE(TYPENAME##_or, TYPE) \
    SY_REDUCE(TYPENAME##_xor, TYPE)
SY_BITWISE_REDUCE_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_REDUCE(TYPENAME##_max, TYPE) \
    SY_REDUCE(TYPENAME##_min, TYPE)
SY_COMPARE_REDUCE_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* Sums and products, and scans (9.10.10): element i of dest becomes the sum of element i of source
 * over the PEs up to this one, in the team's order, with this one (inscan) or without it (exscan: 0
 * on the first PE); dest may be source. */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_REDUCE(TYPENAME##_sum, TYPE) \
    SY_REDUCE(TYPENAME##_prod, TYPE) \
    SY_TEAM_ROUTINE(TYPENAME##_sum_inscan, TYPE *dest, const TYPE *source, size_t nelems) \
    SY_TEAM_ROUTINE(TYPENAME##_sum_exscan, TYPE *dest, const TYPE *source, size_t nelems)
SY_ARITHMETIC_REDUCE_TYPES(SY_DECLARE)
#undef SY_DECLARE
#undef SY_REDUCE

/* clang-format on */

#endif
