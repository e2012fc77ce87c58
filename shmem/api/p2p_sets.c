/* Point-to-point synchronisation (9.11) on several variables of this PE: all, any, some, waiting
 * and testing, with one value to compare with or one for each variable (core/wait/set.h). */
#include <stdint.h>

#include "api/alias.h"
#include "core/wait/set.h"
#include "core/wait/wait.h"

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

static size_t p2p_sets_start_of(const struct sy_set *set)
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

static size_t p2p_sets_any(const struct sy_set *set, size_t start)
{
    size_t found = sy_set_any(set, start);

    if (found != SY_SET_NONE)
        turn.next = found + 1;
    return found;
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
static void p2p_sets_wait_all(const struct sy_set *set)
{
    size_t reached = 0;

    SY_WAIT_UNTIL_IN(a_set, (reached = sy_set_against(set, reached)) == set->nelems);
}

static size_t p2p_sets_wait_any(const struct sy_set *set)
{
    struct pause pause = {.looks = sy_wait_looks};
    size_t start = p2p_sets_start_of(set), found = p2p_sets_any(set, start);

    if (found == SY_SET_NONE && sy_set_is_empty(set))
        return SY_SET_NONE;
    while (found == SY_SET_NONE) {
        p2p_sets_pause_after_look(&pause, set->nelems);
        found = p2p_sets_any(set, start);
    }
    sy_wait_over(pause.since);
    return found;
}

static size_t p2p_sets_wait_some(const struct sy_set *set, size_t *indices)
{
    struct pause pause = {.looks = sy_wait_looks};
    size_t count = sy_set_some(set, indices);

    if (!count && sy_set_is_empty(set))
        return 0;
    while (!count) {
        p2p_sets_pause_after_look(&pause, set->nelems);
        count = sy_set_some(set, indices);
    }
    sy_wait_over(pause.since);
    return count;
}

/* ---- testing ---- */

static int p2p_sets_test_all(const struct sy_set *set)
{
    int holds = sy_set_against(set, 0) == set->nelems;

    if (!holds)
        sy_wait_missed();
    return holds;
}

static size_t p2p_sets_test_any(const struct sy_set *set)
{
    size_t found = p2p_sets_any(set, p2p_sets_start_of(set));

    if (found == SY_SET_NONE)
        sy_wait_missed();
    return found;
}

static size_t p2p_sets_test_some(const struct sy_set *set, size_t *indices)
{
    size_t count = sy_set_some(set, indices);

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
    ((struct sy_set){ivars, nelems, status, cmp, VALUES, STEP, SY_SET_SEARCH(TYPE)})

#define DEFINE_SETS(NAME, TYPE) \
    DEFINE_FORM(NAME, TYPE, , TYPE cmp_value, &cmp_value, 0) \
    DEFINE_FORM(NAME, TYPE, _vector, const TYPE *cmp_values, cmp_values, 1)
SY_STANDARD_AMO_TYPES(DEFINE_SETS)
#undef DEFINE_SETS
#undef DEFINE_FORM
#undef SET

/* clang-format on */
