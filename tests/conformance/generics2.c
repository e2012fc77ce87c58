/* The type-generic routines of C11 for signals, collectives and sets of variables: every one, for
 * every type it is for and under every name of the type, with checked results. Compiled with
 * warnings as errors it also shows that each chooses the routine of the right type. generics.c has
 * the rest. */
#include <stdint.h>
#include "check.h"

#define CTX  SHMEM_CTX_DEFAULT
#define TEAM SHMEM_TEAM_WORLD

enum { MOST_PES = 64 };

static int me, npes, to,
    from; /* to: the PE this one acts on; from: the one that acts on this one */

/* True at compile time if an expression has exactly the type. */
#define HAS_TYPE(EXPRESSION, TYPE) _Generic((EXPRESSION), TYPE : 1, default : 0)

/* Handles work in initialisers at file scope, and the constants where C wants constants. */
static shmem_team_t world = SHMEM_TEAM_WORLD, shared = SHMEM_TEAM_SHARED;
static _Thread_local shmem_team_t invalid = SHMEM_TEAM_INVALID;
static long psync[SHMEM_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
_Static_assert((SHMEM_CTX_SERIALIZED & SHMEM_CTX_PRIVATE) == 0, "options are bits");
_Static_assert((SHMEM_CTX_SERIALIZED & SHMEM_CTX_NOSTORE) == 0, "options are bits");
_Static_assert((SHMEM_CTX_PRIVATE & SHMEM_CTX_NOSTORE) == 0, "options are bits");
_Static_assert(SHMEM_CTX_SERIALIZED != 0 && SHMEM_CTX_PRIVATE != 0 && SHMEM_CTX_NOSTORE != 0,
               "options are bits");
_Static_assert(SHMEM_TEAM_NUM_CONTEXTS != 0, "a mask");
_Static_assert(SHMEM_CTX_SESSION_TOTAL_OPS != 0 && SHMEM_CTX_SESSION_BATCH != 0, "masks");
_Static_assert(SHMEM_SIGNAL_SET != SHMEM_SIGNAL_ADD, "two operations");

/* The types, once more: a macro cannot be used in its own expansion, and a choice is made of the
 * tables of the library, so that what is expanded from those cannot contain a choice. */
/* clang-format off */
#define INTEGERS(X) \
    X(int, int) X(long, long) X(longlong, long long) \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t) \
    X(size, size_t) X(ptrdiff, ptrdiff_t)
#define OTHERS(X) \
    X(float, float) X(double, double) X(longdouble, long double) \
    X(short, short) X(ushort, unsigned short) \
    X(char, char) X(schar, signed char) X(uchar, unsigned char) \
    X(int8, int8_t) X(int16, int16_t) X(uint8, uint8_t) X(uint16, uint16_t)
#define MASKS(X) \
    X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) \
    X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) \
    X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)
#define COMPLEX(X) X(complexd, double _Complex) X(complexf, float _Complex)
/* clang-format on */

#define ONE(TYPENAME, TYPE) +1
_Static_assert(0 SY_BITWISE_REDUCE_TYPES(ONE) == 0 MASKS(ONE), "bitwise");
_Static_assert(0 SY_COMPARE_REDUCE_TYPES(ONE) == 0 INTEGERS(ONE) OTHERS(ONE), "compare");
_Static_assert(0 SY_ARITHMETIC_REDUCE_TYPES(ONE) == 0 INTEGERS(ONE) OTHERS(ONE) COMPLEX(ONE),
               "arithmetic");

/* Data with a signal, from arrays that are constant and that are not. */
#define SIGNAL(TYPENAME, TYPE)                                                                     \
    static void TYPENAME##_signal(void)                                                            \
    {                                                                                              \
        static TYPE cells[4];                                                                      \
        static uint64_t signals[4];                                                                \
        TYPE mine[4];                                                                              \
        const TYPE *constant = mine;                                                               \
        check_case = #TYPENAME;                                                                    \
        for (int i = 0; i < 4; i++)                                                                \
            mine[i] = (TYPE)(me + i + 1);                                                          \
        shmem_barrier_all();                                                                       \
        shmem_put_signal(cells, mine, 1, &signals[0], 5, SHMEM_SIGNAL_SET, to);                    \
        shmem_put_signal(CTX, cells + 1, constant + 1, 1, signals + 1, 6, SHMEM_SIGNAL_ADD, to);   \
        shmem_put_signal_nbi(cells + 2, constant + 2, 1, &signals[2], 7, SHMEM_SIGNAL_ADD, to);    \
        shmem_put_signal_nbi(CTX, &cells[3], mine + 3, 1, &signals[3], 8, SHMEM_SIGNAL_SET, to);   \
        for (int i = 0; i < 4; i++) {                                                              \
            uint64_t got = shmem_signal_wait_until(&signals[i], SHMEM_CMP_NE, 0);                  \
            CHECK(got == (uint64_t)i + 5);                                                         \
            CHECK(cells[i] == (TYPE)(from + i + 1));                                               \
        }                                                                                          \
        shmem_barrier_all();                                                                       \
    }
INTEGERS(SIGNAL)
OTHERS(SIGNAL)

/* Collectives that move data. */
#define MOVE(TYPENAME, TYPE)                                                                       \
    static void TYPENAME##_move(void)                                                              \
    {                                                                                              \
        static TYPE mine[MOST_PES], got[5][MOST_PES];                                              \
        const TYPE *constant = mine;                                                               \
        check_case = #TYPENAME;                                                                    \
        for (int i = 0; i < MOST_PES; i++)                                                         \
            mine[i] = (TYPE)(me + 1);                                                              \
        shmem_barrier_all();                                                                       \
        _Static_assert(HAS_TYPE(shmem_alltoall(TEAM, got[0], mine, 1), int), "a return code");     \
        CHECK(shmem_alltoall(TEAM, got[0], mine, 1) == 0);                                         \
        CHECK(shmem_alltoalls(world, &got[1][0], constant, 1, 1, 1) == 0);                         \
        CHECK(shmem_broadcast(TEAM, got[2], constant, 1, npes - 1) == 0);                          \
        CHECK(shmem_collect(TEAM, got[3], constant, 1) == 0);                                      \
        CHECK(shmem_fcollect(world, got[4], mine, 1) == 0);                                        \
        for (int i = 0; i < npes; i++) {                                                           \
            CHECK(got[0][i] == (TYPE)(i + 1) && got[1][i] == (TYPE)(i + 1));                       \
            CHECK(got[3][i] == (TYPE)(i + 1) && got[4][i] == (TYPE)(i + 1));                       \
        }                                                                                          \
        CHECK(got[2][0] == (TYPE)npes && got[2][1] == 0);                                          \
        shmem_barrier_all();                                                                       \
    }
INTEGERS(MOVE)
OTHERS(MOVE)

/* Reductions: of a bit for odd PEs and one for all. */
#define BITWISE(TYPENAME, TYPE)                                                                    \
    static void TYPENAME##_bitwise(void)                                                           \
    {                                                                                              \
        static TYPE mine, got[3];                                                                  \
        const TYPE *constant = &mine;                                                              \
        check_case = #TYPENAME;                                                                    \
        mine = (TYPE)(me % 2 ? 0x41 : 0x40);                                                       \
        shmem_barrier_all();                                                                       \
        CHECK(shmem_and_reduce(TEAM, &got[0], &mine, 1) == 0);                                     \
        CHECK(shmem_or_reduce(world, got + 1, constant, 1) == 0);                                  \
        CHECK(shmem_xor_reduce(TEAM, &got[2], constant, 1) == 0);                                  \
        CHECK(got[0] == 0x40);                                                                     \
        CHECK(got[1] == (npes > 1 ? 0x41 : 0x40));                                                 \
        CHECK(got[2] == (TYPE)((npes % 2 ? 0x40 : 0) + (npes / 2) % 2));                           \
        shmem_barrier_all();                                                                       \
    }
MASKS(BITWISE)

#define COMPARE(TYPENAME, TYPE)                                                                    \
    static void TYPENAME##_compare(void)                                                           \
    {                                                                                              \
        static TYPE mine, got[2];                                                                  \
        const TYPE *constant = &mine;                                                              \
        check_case = #TYPENAME;                                                                    \
        mine = (TYPE)(me + 3);                                                                     \
        shmem_barrier_all();                                                                       \
        CHECK(shmem_max_reduce(TEAM, &got[0], constant, 1) == 0);                                  \
        CHECK(shmem_min_reduce(world, got + 1, &mine, 1) == 0);                                    \
        CHECK(got[0] == (TYPE)(npes + 2) && got[1] == 3);                                          \
        shmem_barrier_all();                                                                       \
    }
INTEGERS(COMPARE)
OTHERS(COMPARE)

#define ARITHMETIC(TYPENAME, TYPE)                                                                 \
    static void TYPENAME##_arithmetic(void)                                                        \
    {                                                                                              \
        static TYPE one, two, got[4];                                                              \
        const TYPE *constant = &one;                                                               \
        check_case = #TYPENAME;                                                                    \
        one = 1;                                                                                   \
        two = me < 4 ? 2 : 1;                                                                      \
        shmem_barrier_all();                                                                       \
        CHECK(shmem_sum_reduce(TEAM, &got[0], constant, 1) == 0);                                  \
        CHECK(shmem_prod_reduce(world, got + 1, &two, 1) == 0);                                    \
        CHECK(shmem_sum_inscan(TEAM, &got[2], constant, 1) == 0);                                  \
        CHECK(shmem_sum_exscan(TEAM, &got[3], &one, 1) == 0);                                      \
        CHECK(got[0] == (TYPE)npes && got[1] == (TYPE)(1 << (npes < 4 ? npes : 4)));               \
        CHECK(got[2] == (TYPE)(me + 1) && got[3] == (TYPE)me);                                     \
        shmem_barrier_all();                                                                       \
    }
INTEGERS(ARITHMETIC)
OTHERS(ARITHMETIC)
COMPLEX(ARITHMETIC)

/* Sets of variables. */
#define SETS(TYPENAME, TYPE)                                                                       \
    static void TYPENAME##_tests(TYPE *cells, const TYPE *with)                                    \
    {                                                                                              \
        const int status[3] = {0, 1, 0};                                                           \
        size_t indices[3];                                                                         \
        _Static_assert(HAS_TYPE(shmem_test_any(cells, 3, status, 0, 0), size_t), "an index");      \
        _Static_assert(HAS_TYPE(shmem_test_all_vector(cells, 3, status, 0, with), int), "int");    \
        CHECK(shmem_test_all(cells, 3, NULL, SHMEM_CMP_GT, 0) == 1);                               \
        CHECK(shmem_test_any(cells, 3, status, SHMEM_CMP_EQ, 3L) == 2);                            \
        CHECK(shmem_test_some(cells, 3, indices, status, SHMEM_CMP_LT, 3) == 1);                   \
        CHECK(indices[0] == 0);                                                                    \
        CHECK(shmem_test_all_vector(cells, 3, status, SHMEM_CMP_EQ, with) == 1);                   \
        CHECK(shmem_test_any_vector(cells, 3, NULL, SHMEM_CMP_NE, with) == 1);                     \
        CHECK(shmem_test_some_vector(cells, 3, indices, NULL, SHMEM_CMP_NE, with) == 1);           \
        CHECK(indices[0] == 1);                                                                    \
    }                                                                                              \
    static void TYPENAME##_sets(void)                                                              \
    {                                                                                              \
        static TYPE cells[3];                                                                      \
        const TYPE with[3] = {1, 9, 3};                                                            \
        size_t indices[3];                                                                         \
        check_case = #TYPENAME;                                                                    \
        shmem_barrier_all();                                                                       \
        for (int i = 0; i < 3; i++)                                                                \
            shmem_atomic_set(cells + i, (TYPE)(i + 1), to);                                        \
        shmem_wait_until_all(cells, 3, NULL, SHMEM_CMP_GT, 0);                                     \
        CHECK(shmem_wait_until_any(cells, 3, NULL, SHMEM_CMP_EQ, 2) == 1);                         \
        CHECK(shmem_wait_until_some(&cells[0], 3, indices, NULL, SHMEM_CMP_EQ, 3) == 1);           \
        CHECK(indices[0] == 2);                                                                    \
        shmem_wait_until_all_vector(cells, 1, NULL, SHMEM_CMP_EQ, with);                           \
        CHECK(shmem_wait_until_any_vector(cells, 2, NULL, SHMEM_CMP_EQ, with) == 0);               \
        CHECK(shmem_wait_until_some_vector(cells, 3, indices, NULL, SHMEM_CMP_EQ, with) == 2);     \
        CHECK(indices[0] + indices[1] == 2);                                                       \
        TYPENAME##_tests(cells, with);                                                             \
        shmem_barrier_all();                                                                       \
    }
INTEGERS(SETS)

/* The choices that have a function of the same name: with the arguments of one or of the other, and
 * by the function's address. */
static void check_double_names(void)
{
    static uint64_t signal;
    static long sum;
    void (*sync)(int, int, int, long *) = shmem_sync;
    void (*add)(uint64_t *, uint64_t, int) = &shmem_signal_add;
    void (*set)(uint64_t *, uint64_t, int) = shmem_signal_set;
    shmem_ctx_t ctx = CTX;

    check_case = "names of two routines";
    _Static_assert(HAS_TYPE(shmem_sync(TEAM), int), "a return code");
    CHECK(shmem_sync(TEAM) == 0);
    CHECK(shmem_sync(invalid) != 0);
    CHECK(shmem_sync(shared) == 0);
    shmem_sync(0, 0, npes, psync);
    (shmem_sync)(0, 0, npes, psync);
    sync(0, 0, npes, psync);
    shmem_signal_set(&signal, 10, to);
    shmem_fence();
    shmem_signal_set(ctx, &signal, 20, to);
    shmem_fence();
    set(&signal, 30, to);
    shmem_fence();
    shmem_signal_add(&signal, 1, to);
    shmem_signal_add(CTX, &signal, 2, to);
    add(&signal, 4, to);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 37) == 37);
    sum = 1;
    shmem_sync(TEAM);
    CHECK(shmem_sum_reduce(shmem_sync(TEAM) ? invalid : TEAM, &sum, &sum, (size_t)1) == 0);
    CHECK(sum == npes);
    shmem_barrier_all();
}

int main(void)
{
    int status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    from = (me + npes - 1) % npes;

#define RUN_SIGNAL(TYPENAME, TYPE) TYPENAME##_signal();
    INTEGERS(RUN_SIGNAL)
    OTHERS(RUN_SIGNAL)
#define RUN_MOVE(TYPENAME, TYPE) TYPENAME##_move();
    INTEGERS(RUN_MOVE)
    OTHERS(RUN_MOVE)
#define RUN_BITWISE(TYPENAME, TYPE) TYPENAME##_bitwise();
    MASKS(RUN_BITWISE)
#define RUN_COMPARE(TYPENAME, TYPE) TYPENAME##_compare();
    INTEGERS(RUN_COMPARE)
    OTHERS(RUN_COMPARE)
#define RUN_ARITHMETIC(TYPENAME, TYPE) TYPENAME##_arithmetic();
    INTEGERS(RUN_ARITHMETIC)
    OTHERS(RUN_ARITHMETIC)
    COMPLEX(RUN_ARITHMETIC)
#define RUN_SETS(TYPENAME, TYPE) TYPENAME##_sets();
    INTEGERS(RUN_SETS)

    check_double_names();
    status = check_end("generics2");
    shmem_finalize();
    return status;
}
