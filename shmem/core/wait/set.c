#include "core/wait/set.h"

#include "core/callsite.h"
#include "core/fatal.h"

void sy_set_bad_comparison(const char *what, int cmp)
{
    sy_fatal("%s: %d is not one of the comparisons SHMEM_CMP_EQ, NE, LT, LE, GT, GE",
             sy_callsite_routine(what), cmp);
}

/* clang-format off */

#define SEARCH(CMP, OPERATOR, ...) \
    case SHMEM_CMP_##CMP: \
        for (; i < end; i++) \
            if (!(status && status[i]) && \
                __atomic_load_n(&ivars[i], __ATOMIC_ACQUIRE) OPERATOR values[i * step]) \
                break; \
        return i;

/* Returns the index, or end. */
#define DEFINE_SEARCH(TYPE) \
    static size_t first_##TYPE(const struct sy_set *set, int cmp, size_t i, size_t end) \
    { \
        const TYPE *ivars = set->ivars, *values = set->values; \
        const int *status = set->status; \
        const size_t step = set->step; \
        switch (cmp) { SY_COMPARISONS(SEARCH, ) } \
        sy_set_bad_comparison("a wait or test", cmp); \
    }
DEFINE_SEARCH(int16_t)
DEFINE_SEARCH(int32_t)
DEFINE_SEARCH(int64_t)
DEFINE_SEARCH(uint16_t)
DEFINE_SEARCH(uint32_t)
DEFINE_SEARCH(uint64_t)
#undef DEFINE_SEARCH
#undef SEARCH

/* clang-format on */

sy_set_search *const sy_set_searches[2][3] = {{first_uint16_t, first_uint32_t, first_uint64_t},
                                              {first_int16_t, first_int32_t, first_int64_t}};

/* The comparison that is true exactly where cmp is false: their numbers make pairs. */
static int wait_set_opposite(int cmp)
{
    _Static_assert(SHMEM_CMP_NE == (1 ^ SHMEM_CMP_EQ) && SHMEM_CMP_LE == (1 ^ SHMEM_CMP_GT) &&
                       SHMEM_CMP_GE == (1 ^ SHMEM_CMP_LT),
                   "a comparison and its opposite differ in the lowest bit");
    if (cmp < 0 || cmp > SHMEM_CMP_GE)
        sy_set_bad_comparison("a wait or test", cmp);
    return cmp ^ 1;
}

size_t sy_set_against(const struct sy_set *set, size_t i)
{
    return set->first(set, wait_set_opposite(set->cmp), i, set->nelems);
}

bool sy_set_is_empty(const struct sy_set *set)
{
    size_t i = 0;

    while (i < set->nelems && set->status && set->status[i])
        i++;
    return i == set->nelems;
}
