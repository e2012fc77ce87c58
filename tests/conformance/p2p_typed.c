/* Point-to-point synchronisation on one variable (9.11.1, 9.11.8): wait_until and test of each type
 * with all six operators, in the type's own signedness and width, and the deprecated waits. A row
 * of the table is a type with its routines behind thunks of one signature. */
#include <stdint.h>
#include "check.h"

static int me, npes, to; /* to: the PE whose variable this PE changes */

/* Values that matter in a comparison; each type takes what fits it by conversion. */
static const unsigned long long samples[] = {
    0,
    1,
    5,
    0x7f,
    0x80,
    0x7fff,
    0x8000,
    0xffff,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xfffffffffffffffe,
    0xffffffffffffffff,
};

enum { SAMPLES = sizeof samples / sizeof samples[0], DATA = 100 };

/* What the PE that waits reads once its wait ends, sent before the change of the variable. */
static long data[DATA];

static const int comparisons[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_LT,
                                  SHMEM_CMP_LE, SHMEM_CMP_GT, SHMEM_CMP_GE};

enum { COMPARISONS = sizeof comparisons / sizeof comparisons[0] };

/* Each step changes a variable from one value to another, so that its comparison becomes true. */
static const struct step {
    int from, to, cmp, value;
} steps[] = {
    {5, 7, SHMEM_CMP_EQ, 7}, {5, 7, SHMEM_CMP_NE, 5}, {5, 7, SHMEM_CMP_GT, 5},
    {5, 7, SHMEM_CMP_GE, 7}, {5, 3, SHMEM_CMP_LT, 5}, {5, 3, SHMEM_CMP_LE, 3},
};

enum { STEPS = sizeof steps / sizeof steps[0] };

struct row {
    const char *name;
    void (*compare)(void);            /* the local checks of test and wait_until */
    void (*reset)(int value);         /* a local store */
    void (*change)(int value);        /* on PE to */
    void (*wait)(int cmp, int value); /* wait_until, and then test */
};

/* A change that PE `to` may wait for: an atomic operation where the type has one. */
#define CHANGE_BY_SET(TYPENAME, TYPE)                                                              \
    static void TYPENAME##_change(int value)                                                       \
    {                                                                                              \
        shmem_##TYPENAME##_atomic_set(&TYPENAME##_variable, (TYPE)value, to);                      \
    }
#define CHANGE_BY_P(TYPENAME, TYPE)                                                                \
    static void TYPENAME##_change(int value)                                                       \
    {                                                                                              \
        shmem_##TYPENAME##_p(&TYPENAME##_variable, (TYPE)value, to);                               \
    }

#define VARIABLE(TYPENAME, TYPE) static TYPE TYPENAME##_variable;
SY_WAIT_TYPES(VARIABLE)
SY_STANDARD_AMO_TYPES(CHANGE_BY_SET)
SY_DEPRECATED_WAIT_TYPES(CHANGE_BY_P)

#define THUNKS(TYPENAME, TYPE)                                                                     \
    static int TYPENAME##_holds(int cmp, TYPE a, TYPE b)                                           \
    {                                                                                              \
        return cmp == SHMEM_CMP_EQ   ? a == b                                                      \
               : cmp == SHMEM_CMP_NE ? a != b                                                      \
               : cmp == SHMEM_CMP_LT ? a < b                                                       \
               : cmp == SHMEM_CMP_LE ? a <= b                                                      \
               : cmp == SHMEM_CMP_GT ? a > b                                                       \
                                     : a >= b;                                                     \
    }                                                                                              \
    static void TYPENAME##_compare_pair(TYPE a, TYPE b)                                            \
    {                                                                                              \
        TYPENAME##_variable = a;                                                                   \
        for (int i = 0; i < COMPARISONS; i++) {                                                    \
            int holds = TYPENAME##_holds(comparisons[i], a, b);                                    \
            int got = shmem_##TYPENAME##_test(&TYPENAME##_variable, comparisons[i], b);            \
            CHECK(got == holds);                                                                   \
            if (got && holds)                                                                      \
                shmem_##TYPENAME##_wait_until(&TYPENAME##_variable, comparisons[i], b);            \
        }                                                                                          \
        CHECK(TYPENAME##_variable == a);                                                           \
    }                                                                                              \
    static void TYPENAME##_compare(void)                                                           \
    {                                                                                              \
        for (int i = 0; i < SAMPLES; i++)                                                          \
            for (int j = 0; j < SAMPLES; j++)                                                      \
                TYPENAME##_compare_pair((TYPE)samples[i], (TYPE)samples[j]);                       \
    }                                                                                              \
    static void TYPENAME##_reset(int value)                                                        \
    {                                                                                              \
        TYPENAME##_variable = (TYPE)value;                                                         \
    }                                                                                              \
    static void TYPENAME##_wait_for(int cmp, int value)                                            \
    {                                                                                              \
        shmem_##TYPENAME##_wait_until(&TYPENAME##_variable, cmp, (TYPE)value);                     \
        CHECK(shmem_##TYPENAME##_test(&TYPENAME##_variable, cmp, (TYPE)value) == 1);               \
    }
SY_WAIT_TYPES(THUNKS)

/* The deprecated waits for a variable that is no longer the value; every step is a change. */
#define WAIT_CHANGE(TYPENAME, TYPE)                                                                \
    static void TYPENAME##_wait_change(int cmp, int value)                                         \
    {                                                                                              \
        (void)cmp, (void)value;                                                                    \
        shmem_##TYPENAME##_wait(&TYPENAME##_variable, 5);                                          \
        CHECK(TYPENAME##_variable != 5);                                                           \
    }
SY_DEPRECATED_WAIT_CHANGE_TYPES(WAIT_CHANGE)

static void untyped_wait(int cmp, int value)
{
    (void)cmp, (void)value;
    shmem_wait(&long_variable, 5);
    CHECK(long_variable != 5);
}

/* The function shmem_wait_until, which in C11 is hidden behind the selection of the same name. */
static void untyped_wait_until(int cmp, int value)
{
    (shmem_wait_until)(&long_variable, cmp, value);
    CHECK(shmem_long_test(&long_variable, cmp, value) == 1);
}

static const struct row rows[] = {
#define ROW(TYPENAME, TYPE)                                                                        \
    {#TYPENAME, TYPENAME##_compare, TYPENAME##_reset, TYPENAME##_change, TYPENAME##_wait_for},
    SY_WAIT_TYPES(ROW)
#define DEPRECATED_ROW(TYPENAME, TYPE)                                                             \
    {#TYPENAME "_wait", NULL, TYPENAME##_reset, TYPENAME##_change, TYPENAME##_wait_change},
        SY_DEPRECATED_WAIT_CHANGE_TYPES(DEPRECATED_ROW){"shmem_wait", NULL, long_reset, long_change,
                                                        untyped_wait},
    {"shmem_wait_until", NULL, long_reset, long_change, untyped_wait_until},
};

/* Each PE sends data, orders them before the change of its target's variable, and waits for a
 * change of its own. */
static void check_step(const struct row *row, const struct step *step, long stamp)
{
    long mine[DATA];
    int complete = 1;

    for (int i = 0; i < DATA; i++)
        mine[i] = stamp + i;
    row->reset(step->from);
    shmem_barrier_all();
    shmem_long_put(data, mine, DATA, to);
    shmem_fence();
    row->change(step->to);
    row->wait(step->cmp, step->value);
    for (int i = 0; i < DATA; i++)
        complete &= data[i] == stamp + i;
    CHECK(complete);
    shmem_barrier_all();
}

/* A change by an atomic operation of the waiting PE itself, and by one that only adds. */
static void check_own_change(void)
{
    static long counter;

    counter = 0;
    shmem_barrier_all();
    shmem_long_atomic_set(&counter, 1, me);
    shmem_long_wait_until(&counter, SHMEM_CMP_GE, 1);
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++)
        shmem_long_atomic_inc(&counter, pe);
    shmem_long_wait_until(&counter, SHMEM_CMP_EQ, 1 + npes);
    CHECK(counter == 1 + npes);
    shmem_barrier_all();
}

int main(void)
{
    long stamp = 0;
    int status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_case = rows[i].name;
        if (rows[i].compare)
            rows[i].compare();
        for (int j = 0; j < STEPS; j++)
            check_step(&rows[i], &steps[j], stamp += DATA);
    }
    check_case = "own changes";
    check_own_change();
    status = check_end("p2p_typed");
    shmem_finalize();
    return status;
}
