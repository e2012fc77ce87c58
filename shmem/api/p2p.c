/* Point-to-point synchronisation (9.11) on one variable of this PE. */
#include <stdint.h>

#include "api/alias.h"
#include "core/wait/set.h"
#include "core/wait/wait.h"

/* clang-format off */

/* The variable is changed by atomics and single stores of others; the acquire load makes what they
 * ordered before it visible. The comparison is in the variable's own type. */
#define LOAD __atomic_load_n(ivar, __ATOMIC_ACQUIRE)
#define HOLDS(CMP, OPERATOR, ...) case SHMEM_CMP_##CMP: return LOAD OPERATOR value;
#define AWAIT(CMP, OPERATOR, ROUTINE) \
    case SHMEM_CMP_##CMP: SY_WAIT_UNTIL_IN(ROUTINE, LOAD OPERATOR value); return;

#define DEFINE_TEST(NAME, TYPE) \
    static inline int holds_##NAME(TYPE *ivar, int cmp, TYPE value) \
    { \
        switch (cmp) { SY_COMPARISONS(HOLDS, ) } \
        sy_set_bad_comparison("a wait or test", cmp); \
    } \
    static inline void wait_until_##NAME(TYPE *ivar, int cmp, TYPE value) \
    { \
        switch (cmp) { SY_COMPARISONS(AWAIT, "shmem_" #NAME "_wait_until") } \
        sy_set_bad_comparison("a wait or test", cmp); \
    } \
    SY_DEFINE(int, shmem_##NAME##_test, (TYPE *ivar, int cmp, TYPE cmp_value), \
              int holds = holds_##NAME(ivar, cmp, cmp_value); \
              if (!holds) \
                  sy_wait_missed(); \
              return holds;) \
    SY_DEFINE(void, shmem_##NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value), \
              wait_until_##NAME(ivar, cmp, cmp_value);)
SY_WAIT_TYPES(DEFINE_TEST)
#undef DEFINE_TEST
#undef AWAIT
#undef HOLDS
#undef LOAD

/* ---- signals ---- */

#define AWAIT(CMP, OPERATOR, ...) \
    case SHMEM_CMP_##CMP: \
        SY_WAIT_UNTIL_IN("shmem_signal_wait_until", \
                         (value = __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE)) OPERATOR cmp_value); \
        return value;

/* The value that satisfied the comparison is what is returned; the signal may change at once. */
uint64_t pshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    uint64_t value;

    switch (cmp) { SY_COMPARISONS(AWAIT, ) }
    sy_set_bad_comparison("a wait or test", cmp);
}
SY_ALIAS(shmem_signal_wait_until);
#undef AWAIT

/* ---- deprecated since 1.4 ---- */

#define DEFINE_WAIT(NAME, TYPE) \
    SY_DEFINE(void, shmem_##NAME##_wait, (TYPE *ivar, TYPE cmp_value), \
              wait_until_##NAME(ivar, SHMEM_CMP_NE, cmp_value);)
SY_DEPRECATED_WAIT_CHANGE_TYPES(DEFINE_WAIT)
#undef DEFINE_WAIT

SY_DEFINE(void, shmem_wait, (long *ivar, long cmp_value),
          wait_until_long(ivar, SHMEM_CMP_NE, cmp_value);)
SY_DEFINE(void, shmem_wait_until, (long *ivar, int cmp, long cmp_value),
          wait_until_long(ivar, cmp, cmp_value);)

/* clang-format on */
