/* Point-to-point synchronisation (9.11) on several variables of this PE: all, any, some, waiting
 * and testing, with one value to compare with or one for each variable.
 *
 * Everything is built on one search: the first variable from an index on whose status includes it
 * and whose comparison is true. There is one for each width and signedness; the rest is the same
 * for all types. */
#include <stdbool.h>
#include <stdint.h>

#include "api/alias.h"
#include "api/p2p.h"
#include "core/wait/wait.h"

#define NONE SIZE_MAX

struct set;
typedef size_t search(const struct set *set, int cmp, size_t from, size_t end);

struct set {
    const void *ivars;
    size_t nelems;
    const int *status; /* NULL: none is left out */
    int cmp;
    const void *values;
    size_t step; /* 1: a value for each variable; 0: one for all */
    search *first;
};

/* ---- search ---- */

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
    static size_t first_##TYPE(const struct set *set, int cmp, size_t i, size_t end) \
    { \
        const TYPE *ivars = set->ivars, *values = set->values; \
        const int *status = set->status; \
        const size_t step = set->step; \
        switch (cmp) { SY_P2P_COMPARISONS(SEARCH, ) } \
        sy_p2p_bad_comparison(cmp); \
    }
DEFINE_SEARCH(int32_t)
DEFINE_SEARCH(int64_t)
DEFINE_SEARCH(uint32_t)
DEFINE_SEARCH(uint64_t)
#undef DEFINE_SEARCH
#undef SEARCH

#define SEARCH_OF(TYPE) \
    ((TYPE)-1 > (TYPE)1 ? (sizeof(TYPE) == 4 ? first_uint32_t : first_uint64_t) \
                        : (sizeof(TYPE) == 4 ? first_int32_t : first_int64_t))

/* clang-format on */

/* The comparison that is true exactly where cmp is false: their numbers make pairs. */
static int p2p_sets_opposite(int cmp)
{
    _Static_assert(SHMEM_CMP_NE == (1 ^ SHMEM_CMP_EQ) && SHMEM_CMP_LE == (1 ^ SHMEM_CMP_GT) &&
                       SHMEM_CMP_GE == (1 ^ SHMEM_CMP_LT),
                   "a comparison and its opposite differ in the lowest bit");
    if (cmp < 0 || cmp > SHMEM_CMP_GE)
        sy_p2p_bad_comparison(cmp);
    return cmp ^ 1;
}

/* The first variable from `from` on that does not satisfy its comparison, or nelems. */
static size_t first_against(const struct set *set, size_t from)
{
    return set->first(set, p2p_sets_opposite(set->cmp), from, set->nelems);
}

static bool p2p_sets_is_empty(const struct set *set)
{
    size_t i = 0;

    while (i < set->nelems && set->status && set->status[i])
        i++;
    return i == set->nelems;
}

/* ---- turns ---- */

/* In a series of calls for one set each search begins after the variable that the call before
 * returned, so that all that satisfy the comparison are returned in turn. A call for another set
 * begins at a random index, and so does one call in eight: calls for two sets that look the same (a
 * program may write to its status array) would otherwise make each other begin at the same indices
 * for ever. The random numbers depend on nothing that the program does, so whatever stays satisfied
 * is returned in the end. Each thread has its own series. */
static _Thread_local struct {
    const void *ivars;
    const int *status;
    size_t nelems, next;
    int cmp;
    uint64_t random;
} turn;

static size_t p2p_sets_start_of(const struct set *set)
{
    turn.random = turn.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if (turn.ivars != set->ivars || turn.nelems != set->nelems || turn.status != set->status ||
        turn.cmp != set->cmp || turn.random >> 61 == 0) {
        turn.ivars = set->ivars;
        turn.status = set->status;
        turn.nelems = set->nelems;
        turn.cmp = set->cmp;
        turn.next = (size_t)(turn.random >> 20);
    }
    return set->nelems ? turn.next % set->nelems : 0;
}

static size_t p2p_sets_any(const struct set *set, size_t start)
{
    size_t i = set->first(set, set->cmp, start, set->nelems);

    if (i == set->nelems) {
        i = set->first(set, set->cmp, 0, start);
        if (i == start)
            return NONE;
    }
    turn.next = i + 1;
    return i;
}

/* Returns all variables that are satisfied, so no turns are needed. */
static size_t p2p_sets_some(const struct set *set, size_t *indices)
{
    size_t count = 0, i = 0;

    while ((i = set->first(set, set->cmp, i, set->nelems)) < set->nelems)
        indices[count++] = i++;
    return count;
}

/* ---- waiting ---- */

/* Does what SY_WAIT_UNTIL does between two looks at a word. A look at a whole set counts for
 * several. */
struct pause {
    int64_t looks;
    uint64_t since;
};

static const char a_set[] = "a wait for a set of variables";

static void p2p_sets_pause_after_look(struct pause *pause, size_t nelems)
{
    pause->looks -= 1 + (int64_t)(nelems / 8);
    if (pause->looks <= 0)
        pause->looks = sy_wait_rest(&pause->since, a_set);
}

/* Waits for one variable after the other: the comparisons need not all hold at one time. */
static void p2p_sets_wait_all(const struct set *set)
{
    size_t reached = 0;

    SY_WAIT_UNTIL_IN(a_set, (reached = first_against(set, reached)) == set->nelems);
}

static size_t p2p_sets_wait_any(const struct set *set)
{
    struct pause pause = {.looks = sy_wait_looks};
    size_t start = p2p_sets_start_of(set), found = p2p_sets_any(set, start);

    if (found == NONE && p2p_sets_is_empty(set))
        return NONE;
    while (found == NONE) {
        p2p_sets_pause_after_look(&pause, set->nelems);
        found = p2p_sets_any(set, start);
    }
    sy_wait_over(pause.since);
    return found;
}

static size_t p2p_sets_wait_some(const struct set *set, size_t *indices)
{
    struct pause pause = {.looks = sy_wait_looks};
    size_t count = p2p_sets_some(set, indices);

    if (!count && p2p_sets_is_empty(set))
        return 0;
    while (!count) {
        p2p_sets_pause_after_look(&pause, set->nelems);
        count = p2p_sets_some(set, indices);
    }
    sy_wait_over(pause.since);
    return count;
}

/* ---- testing ---- */

static int p2p_sets_test_all(const struct set *set)
{
    int holds = first_against(set, 0) == set->nelems;

    if (!holds)
        sy_wait_missed();
    return holds;
}

static size_t p2p_sets_test_any(const struct set *set)
{
    size_t found = p2p_sets_any(set, p2p_sets_start_of(set));

    if (found == NONE)
        sy_wait_missed();
    return found;
}

static size_t p2p_sets_test_some(const struct set *set, size_t *indices)
{
    size_t count = p2p_sets_some(set, indices);

    if (!count)
        sy_wait_missed();
    return count;
}

/* ---- routines ---- */

/* clang-format off */

/* The routines of one type with one value (VECTOR empty, VALUE a variable) or a value for each
 * variable (VECTOR _vector, VALUE an array). */
#define DEFINE_FORM(NAME, TYPE, VECTOR, VALUE, VALUES, STEP) \
    SY_DEFINE(void, shmem_##NAME##_wait_until_all##VECTOR, WITHOUT_INDICES(TYPE, VALUE), \
              p2p_sets_wait_all(&SET(TYPE, VALUES, STEP));) \
    SY_DEFINE(size_t, shmem_##NAME##_wait_until_any##VECTOR, WITHOUT_INDICES(TYPE, VALUE), \
              return p2p_sets_wait_any(&SET(TYPE, VALUES, STEP));) \
    SY_DEFINE(size_t, shmem_##NAME##_wait_until_some##VECTOR, WITH_INDICES(TYPE, VALUE), \
              return p2p_sets_wait_some(&SET(TYPE, VALUES, STEP), indices);) \
    SY_DEFINE(int, shmem_##NAME##_test_all##VECTOR, WITHOUT_INDICES(TYPE, VALUE), \
              return p2p_sets_test_all(&SET(TYPE, VALUES, STEP));) \
    SY_DEFINE(size_t, shmem_##NAME##_test_any##VECTOR, WITHOUT_INDICES(TYPE, VALUE), \
              return p2p_sets_test_any(&SET(TYPE, VALUES, STEP));) \
    SY_DEFINE(size_t, shmem_##NAME##_test_some##VECTOR, WITH_INDICES(TYPE, VALUE), \
              return p2p_sets_test_some(&SET(TYPE, VALUES, STEP), indices);)
#define WITHOUT_INDICES(TYPE, VALUE) \
    (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUE)
#define WITH_INDICES(TYPE, VALUE) \
    (TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, VALUE)
#define SET(TYPE, VALUES, STEP) \
    ((struct set){ivars, nelems, status, cmp, VALUES, STEP, SEARCH_OF(TYPE)})

#define DEFINE_SETS(NAME, TYPE) \
    DEFINE_FORM(NAME, TYPE, , TYPE cmp_value, &cmp_value, 0) \
    DEFINE_FORM(NAME, TYPE, _vector, const TYPE *cmp_values, cmp_values, 1)
SY_STANDARD_AMO_TYPES(DEFINE_SETS)
#undef DEFINE_SETS
#undef DEFINE_FORM
#undef SET

/* clang-format on */
