/* Sets of variables of this PE, with a value to compare with or one for each: which of them satisfy
 * their comparisons. For the routines that wait and test (9.11), and for waits on streams.
 *
 * Everything is built on one search. There is one for each width and signedness; the rest is the
 * same for all types. */
#ifndef SY_CORE_SET_H
#define SY_CORE_SET_H

#include <shmem/constants.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/bits.h"

/* CASE(NAME, OPERATOR, ...) for each comparison SHMEM_CMP_NAME; the rest is handed on. */
#define SY_COMPARISONS(CASE, ...)                                                                  \
    CASE(EQ, ==, __VA_ARGS__)                                                                      \
    CASE(NE, !=, __VA_ARGS__)                                                                      \
    CASE(LT, <, __VA_ARGS__)                                                                       \
    CASE(LE, <=, __VA_ARGS__)                                                                      \
    CASE(GT, >, __VA_ARGS__)                                                                       \
    CASE(GE, >=, __VA_ARGS__)

#define SY_SET_NONE SIZE_MAX

struct sy_set;

/* The first variable from index i on, not left out, that stands so to its value; or end. */
typedef size_t sy_set_search(const struct sy_set *set, int cmp, size_t i, size_t end);

struct sy_set {
    const void *ivars;
    size_t nelems;
    const int *status; /* NULL: none is left out */
    int cmp;
    const void *values;
    size_t step; /* 1: a value for each variable; 0: one for all */
    sy_set_search *first;
};

/* The search for an integer type of 2, 4 or 8 bytes. */
#define SY_SET_SEARCH(TYPE) (sy_set_searches[(TYPE)-1 < (TYPE)1][sizeof(TYPE) / 4])
extern sy_set_search *const sy_set_searches[2][3] SY_HIDDEN;

/* Ends the job: cmp is not one of the SHMEM_CMP_ constants. what: the routine, if it is not found
 * on the stack. */
_Noreturn void sy_set_bad_comparison(const char *what, int cmp) SY_COLD;

/* The first variable from index i on that does not satisfy its comparison, or nelems. */
size_t sy_set_against(const struct sy_set *set, size_t i);

/* Whether all are left out. */
bool sy_set_is_empty(const struct sy_set *set);

/* One that satisfies its comparison, the first in a circle from `start` on; or SY_SET_NONE. */
static inline size_t sy_set_any(const struct sy_set *set, size_t start)
{
    size_t i = set->first(set, set->cmp, start, set->nelems);

    if (i < set->nelems)
        return i;
    i = set->first(set, set->cmp, 0, start);
    return i < start ? i : SY_SET_NONE;
}

/* Writes the indices of all that satisfy their comparisons, and returns how many. */
static inline size_t sy_set_some(const struct sy_set *set, size_t *indices)
{
    size_t count = 0, i = 0;

    while ((i = set->first(set, set->cmp, i, set->nelems)) < set->nelems)
        indices[count++] = i++;
    return count;
}

#endif
