/* The type-generic routines of C11: every one, for every type it is for and under every name of the
 * type, with and without a context, with checked results. Compiled with warnings as errors it also
 * shows that each chooses the routine of the right type. */
#include <stdint.h>
#include "check.h"

#define CTX SHMEM_CTX_DEFAULT

enum { LENGTH = 12 };

static int me, to, from; /* to: the PE this one acts on; from: the one that acts on this one */

/* True at compile time if an expression has exactly the type. */
#define HAS_TYPE(EXPRESSION, TYPE) _Generic((EXPRESSION), TYPE : 1, default : 0)

/* Handles work in initialisers at file scope, and the constants where C wants constants. */
static shmem_ctx_t default_ctx = SHMEM_CTX_DEFAULT;
static _Thread_local shmem_ctx_t invalid_ctx = SHMEM_CTX_INVALID;
_Static_assert(SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION == 6, "version");
_Static_assert(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED &&
                   SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
                   SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE,
               "thread levels rise");
_Static_assert((SHMEM_MALLOC_ATOMICS_REMOTE & SHMEM_MALLOC_SIGNAL_REMOTE) == 0, "hints are bits");
_Static_assert(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN, "the name fits");

/* The types, once more: a macro cannot be used in its own expansion, and a choice is made of the
 * tables of the library, so that what is expanded from those cannot contain a choice. */
/* clang-format off */
#define INTEGERS(X) \
    X(int, int) X(long, long) X(longlong, long long) \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t) \
    X(size, size_t) X(ptrdiff, ptrdiff_t)
#define FLOATS(X) X(float, float) X(double, double)
#define SHORTS(X) X(short, short) X(ushort, unsigned short)
#define OTHERS(X) \
    X(longdouble, long double) X(char, char) X(schar, signed char) X(uchar, unsigned char) \
    X(int8, int8_t) X(int16, int16_t) X(uint8, uint8_t) X(uint16, uint16_t)
#define MASKS(X) \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)
#define OLD_INTEGERS(X) X(int, int) X(long, long) X(longlong, long long)
/* clang-format on */

#define ONE(TYPENAME, TYPE) +1
_Static_assert(0 SY_RMA_TYPES(ONE) == 0 INTEGERS(ONE) FLOATS(ONE) SHORTS(ONE) OTHERS(ONE), "RMA");
_Static_assert(0 SY_STANDARD_AMO_TYPES(ONE) == 0 INTEGERS(ONE), "standard");
_Static_assert(0 SY_EXTENDED_AMO_TYPES(ONE) == 0 INTEGERS(ONE) FLOATS(ONE), "extended");
_Static_assert(0 SY_BITWISE_AMO_TYPES(ONE) == 0 MASKS(ONE), "bitwise");
_Static_assert(0 SY_WAIT_TYPES(ONE) == 0 INTEGERS(ONE) SHORTS(ONE), "wait");
_Static_assert(0 SY_DEPRECATED_AMO_TYPES(ONE) == 0 OLD_INTEGERS(ONE), "deprecated");
_Static_assert(0 SY_DEPRECATED_EXTENDED_AMO_TYPES(ONE) == 0 OLD_INTEGERS(ONE) FLOATS(ONE), "old");

/* Remote memory access. Each PE writes its own number to the next PE, and reads it back. */
#define RMA(TYPENAME, TYPE)                                                                        \
    static TYPE TYPENAME##_cells[LENGTH];                                                          \
    static void TYPENAME##_rma_clear(void)                                                         \
    {                                                                                              \
        for (int i = 0; i < LENGTH; i++)                                                           \
            TYPENAME##_cells[i] = 0;                                                               \
        shmem_barrier_all();                                                                       \
    }                                                                                              \
    static void TYPENAME##_rma_put(TYPE *mine, const TYPE *constant)                               \
    {                                                                                              \
        TYPE *cells = TYPENAME##_cells;                                                            \
        shmem_p(cells, 1, to);                                                                     \
        shmem_p(CTX, &TYPENAME##_cells[1], 2L, to);                                                \
        shmem_put(TYPENAME##_cells + 2, mine, 1, to);                                              \
        shmem_put(CTX, cells + 3, constant + 1, 1, to);                                            \
        shmem_iput(cells + 4, mine + 2, 1, 1, 1, to);                                              \
        shmem_iput(default_ctx, cells + 5, constant + 3, 1, 1, 1, to);                             \
        shmem_ibput(cells + 6, mine + 4, 1, 1, 1, 1, to);                                          \
        shmem_ibput(CTX, cells + 7, constant + 5, 1, 1, 1, 1, to);                                 \
        shmem_put_nbi(cells + 8, mine + 6, 1, to);                                                 \
        shmem_put_nbi(CTX, cells + 9, constant + 7, 1, to);                                        \
        shmem_barrier_all();                                                                       \
    }                                                                                              \
    static void TYPENAME##_rma_get(TYPE *got)                                                      \
    {                                                                                              \
        TYPE *cells = TYPENAME##_cells;                                                            \
        const TYPE *constant = TYPENAME##_cells;                                                   \
        _Static_assert(HAS_TYPE(shmem_g(cells, 0), TYPE), "g gives the type");                     \
        _Static_assert(HAS_TYPE(shmem_g(CTX, constant, 0), TYPE), "g gives the type");             \
        got[0] = shmem_g(cells, to);                                                               \
        got[1] = shmem_g(CTX, constant + 1, to);                                                   \
        got[10] = shmem_g(constant, to);                                                           \
        got[11] = shmem_g(CTX, cells + 1, to);                                                     \
        shmem_get(got + 2, cells + 2, 1, to);                                                      \
        shmem_get(CTX, got + 3, constant + 3, 1, to);                                              \
        shmem_iget(got + 4, cells + 4, 1, 1, 1, to);                                               \
        shmem_iget(CTX, got + 5, constant + 5, 1, 1, 1, to);                                       \
        shmem_ibget(got + 6, cells + 6, 1, 1, 1, 1, to);                                           \
        shmem_ibget(CTX, got + 7, constant + 7, 1, 1, 1, 1, to);                                   \
        shmem_get_nbi(got + 8, cells + 8, 1, to);                                                  \
        shmem_get_nbi(CTX, got + 9, constant + 9, 1, to);                                          \
        shmem_quiet();                                                                             \
    }                                                                                              \
    static void TYPENAME##_rma(void)                                                               \
    {                                                                                              \
        TYPE mine[LENGTH], got[LENGTH];                                                            \
        for (int i = 0; i < LENGTH; i++)                                                           \
            mine[i] = (TYPE)(me + i + 10);                                                         \
        check_case = #TYPENAME;                                                                    \
        TYPENAME##_rma_clear();                                                                    \
        TYPENAME##_rma_put(mine, mine);                                                            \
        TYPENAME##_rma_get(got);                                                                   \
        CHECK(got[0] == 1 && got[1] == 2 && got[10] == 1 && got[11] == 2);                         \
        CHECK(TYPENAME##_cells[0] == 1 && TYPENAME##_cells[1] == 2);                               \
        for (int i = 0; i < 8; i++) {                                                              \
            CHECK(TYPENAME##_cells[i + 2] == (TYPE)(from + i + 10));                               \
            CHECK(got[i + 2] == mine[i]);                                                          \
        }                                                                                          \
        CHECK(TYPENAME##_cells[10] == 0 && TYPENAME##_cells[11] == 0);                             \
        shmem_barrier_all();                                                                       \
    }
INTEGERS(RMA)
FLOATS(RMA)
SHORTS(RMA)
OTHERS(RMA)

/* Atomic operations: each PE acts on the next one's object alone, and knows what it must find. */
#define EXTENDED(TYPENAME, TYPE)                                                                   \
    static void TYPENAME##_extended(void)                                                          \
    {                                                                                              \
        static TYPE object;                                                                        \
        const TYPE *constant = &object;                                                            \
        TYPE old[4] = {0};                                                                         \
        check_case = #TYPENAME;                                                                    \
        shmem_barrier_all();                                                                       \
        _Static_assert(HAS_TYPE(shmem_atomic_fetch(constant, 0), TYPE), "fetch gives the type");   \
        _Static_assert(HAS_TYPE(shmem_atomic_swap(&object, 0, 0), TYPE), "swap gives the type");   \
        shmem_atomic_set(&object, 3, to);                                                          \
        CHECK(shmem_atomic_fetch(&object, to) == 3);                                               \
        shmem_atomic_set(CTX, &object, 4, to);                                                     \
        CHECK(shmem_atomic_fetch(CTX, constant, to) == 4);                                         \
        CHECK(shmem_atomic_fetch(constant, to) == 4);                                              \
        CHECK(shmem_atomic_swap(&object, 5, to) == 4);                                             \
        CHECK(shmem_atomic_swap(CTX, &object, 6, to) == 5);                                        \
        shmem_atomic_fetch_nbi(&old[0], constant, to);                                             \
        shmem_atomic_fetch_nbi(CTX, &old[1], &object, to);                                         \
        shmem_quiet();                                                                             \
        CHECK(old[0] == 6 && old[1] == 6);                                                         \
        shmem_atomic_swap_nbi(&old[2], &object, 7, to);                                            \
        shmem_quiet();                                                                             \
        shmem_atomic_swap_nbi(CTX, &old[3], &object, 8, to);                                       \
        shmem_barrier_all();                                                                       \
        CHECK(old[2] == 6 && old[3] == 7 && object == 8);                                          \
        shmem_barrier_all();                                                                       \
    }
INTEGERS(EXTENDED)
FLOATS(EXTENDED)

#define STANDARD(TYPENAME, TYPE)                                                                   \
    static void TYPENAME##_standard(void)                                                          \
    {                                                                                              \
        static TYPE object;                                                                        \
        TYPE old[6] = {0};                                                                         \
        check_case = #TYPENAME;                                                                    \
        shmem_barrier_all();                                                                       \
        _Static_assert(HAS_TYPE(shmem_atomic_fetch_add(&object, 0, 0), TYPE), "gives the type");   \
        _Static_assert(HAS_TYPE(shmem_atomic_fetch_inc(CTX, &object, 0), TYPE), "the type");       \
        shmem_atomic_inc(&object, to);                                                             \
        shmem_atomic_inc(CTX, &object, to);                                                        \
        shmem_atomic_add(&object, 10, to);                                                         \
        shmem_atomic_add(CTX, &object, 10L, to);                                                   \
        shmem_quiet();                                                                             \
        CHECK(shmem_atomic_fetch_inc(&object, to) == 22);                                          \
        CHECK(shmem_atomic_fetch_inc(CTX, &object, to) == 23);                                     \
        CHECK(shmem_atomic_fetch_add(&object, 5, to) == 24);                                       \
        CHECK(shmem_atomic_fetch_add(CTX, &object, 5, to) == 29);                                  \
        CHECK(shmem_atomic_compare_swap(&object, 34, 40, to) == 34);                               \
        CHECK(shmem_atomic_compare_swap(CTX, &object, 34, 41, to) == 40);                          \
        shmem_atomic_compare_swap_nbi(&old[0], &object, 40, 50, to);                               \
        shmem_quiet();                                                                             \
        shmem_atomic_compare_swap_nbi(CTX, &old[1], &object, 40, 51, to);                          \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_inc_nbi(&old[2], &object, to);                                          \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_inc_nbi(CTX, &old[3], &object, to);                                     \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_add_nbi(&old[4], &object, 100, to);                                     \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_add_nbi(CTX, &old[5], &object, 100, to);                                \
        shmem_barrier_all();                                                                       \
        CHECK(old[0] == 40 && old[1] == 50 && old[2] == 50 && old[3] == 51);                       \
        CHECK(old[4] == 52 && old[5] == 152 && object == 252);                                     \
        shmem_barrier_all();                                                                       \
    }
INTEGERS(STANDARD)

#define BITWISE(TYPENAME, TYPE)                                                                    \
    static void TYPENAME##_bitwise(void)                                                           \
    {                                                                                              \
        static TYPE object;                                                                        \
        TYPE old[6] = {0};                                                                         \
        check_case = #TYPENAME;                                                                    \
        shmem_barrier_all();                                                                       \
        _Static_assert(HAS_TYPE(shmem_atomic_fetch_xor(&object, 0, 0), TYPE), "gives the type");   \
        shmem_atomic_or(&object, 0x0f, to);                                                        \
        shmem_atomic_or(CTX, &object, 0xf0, to);                                                   \
        shmem_quiet();                                                                             \
        CHECK(shmem_atomic_fetch_and(&object, 0x7e, to) == 0xff);                                  \
        CHECK(shmem_atomic_fetch_and(CTX, &object, 0x3c, to) == 0x7e);                             \
        CHECK(shmem_atomic_fetch_or(&object, 1, to) == 0x3c);                                      \
        CHECK(shmem_atomic_fetch_or(CTX, &object, 2, to) == 0x3d);                                 \
        CHECK(shmem_atomic_fetch_xor(&object, 0x30, to) == 0x3f);                                  \
        CHECK(shmem_atomic_fetch_xor(CTX, &object, 0x30, to) == 0x0f);                             \
        shmem_atomic_and(&object, 0x3e, to);                                                       \
        shmem_atomic_and(CTX, &object, 0x1f, to);                                                  \
        shmem_atomic_xor(&object, 0x40, to);                                                       \
        shmem_atomic_xor(CTX, &object, 0x01, to);                                                  \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_and_nbi(&old[0], &object, 0x5e, to);                                    \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_and_nbi(CTX, &old[1], &object, 0x1e, to);                               \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_or_nbi(&old[2], &object, 0x20, to);                                     \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_or_nbi(CTX, &old[3], &object, 0x01, to);                                \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_xor_nbi(&old[4], &object, 0x3f, to);                                    \
        shmem_quiet();                                                                             \
        shmem_atomic_fetch_xor_nbi(CTX, &old[5], &object, 0x03, to);                               \
        shmem_barrier_all();                                                                       \
        CHECK(old[0] == 0x5f && old[1] == 0x5e && old[2] == 0x1e && old[3] == 0x3e);               \
        CHECK(old[4] == 0x3f && old[5] == 0 && object == 3);                                       \
        shmem_barrier_all();                                                                       \
    }
MASKS(BITWISE)

/* The deprecated names of atomic operations, which take no context. */
#define DEPRECATED_EXTENDED(TYPENAME, TYPE)                                                        \
    static void TYPENAME##_deprecated_extended(void)                                               \
    {                                                                                              \
        static TYPE object;                                                                        \
        const TYPE *constant = &object;                                                            \
        check_case = #TYPENAME;                                                                    \
        shmem_barrier_all();                                                                       \
        shmem_set(&object, 3, to);                                                                 \
        CHECK(shmem_fetch(&object, to) == 3);                                                      \
        CHECK(shmem_swap(&object, 4, to) == 3);                                                    \
        CHECK(shmem_fetch(constant, to) == 4);                                                     \
        shmem_barrier_all();                                                                       \
    }
OLD_INTEGERS(DEPRECATED_EXTENDED)
FLOATS(DEPRECATED_EXTENDED)

#define DEPRECATED(TYPENAME, TYPE)                                                                 \
    static void TYPENAME##_deprecated(void)                                                        \
    {                                                                                              \
        static TYPE object;                                                                        \
        check_case = #TYPENAME;                                                                    \
        shmem_barrier_all();                                                                       \
        shmem_inc(&object, to);                                                                    \
        shmem_add(&object, 4, to);                                                                 \
        shmem_quiet();                                                                             \
        CHECK(shmem_finc(&object, to) == 5);                                                       \
        CHECK(shmem_fadd(&object, 4, to) == 6);                                                    \
        CHECK(shmem_cswap(&object, 10, 20, to) == 10);                                             \
        CHECK(shmem_cswap(&object, 10, 30, to) == 20);                                             \
        shmem_barrier_all();                                                                       \
        CHECK(object == 20);                                                                       \
        shmem_barrier_all();                                                                       \
    }
OLD_INTEGERS(DEPRECATED)

/* Point-to-point synchronisation. */
#define WAIT(TYPENAME, TYPE)                                                                       \
    static void TYPENAME##_wait_generic(void)                                                      \
    {                                                                                              \
        static TYPE object;                                                                        \
        check_case = #TYPENAME;                                                                    \
        CHECK(shmem_test(&object, SHMEM_CMP_EQ, 0) == 1);                                          \
        CHECK(shmem_test(&object, SHMEM_CMP_GT, 0) == 0);                                          \
        shmem_barrier_all();                                                                       \
        shmem_p(&object, 9, to);                                                                   \
        shmem_wait_until(&object, SHMEM_CMP_GT, 8);                                                \
        CHECK(object == 9);                                                                        \
        shmem_barrier_all();                                                                       \
    }
INTEGERS(WAIT)
SHORTS(WAIT)

/* The name of the wait_until choice is also that of a function for long, whose address can be
 * taken; a call inside a call works; and arguments are evaluated once. */
static void check_expressions(void)
{
    static long object, zero, pair[2];
    long *next = pair;
    void (*wait)(long *, int, long) = shmem_wait_until;
    void (*wait_address)(long *, int, long) = &shmem_wait_until;

    check_case = "expressions";
    CHECK(wait == wait_address);
    shmem_barrier_all();
    shmem_p(&object, shmem_g(&zero, (int)shmem_g(&zero, to)) + 5, to);
    wait(&object, SHMEM_CMP_EQ, 5);
    shmem_p(next++, 7, to);
    shmem_p(CTX, next++, 8, to);
    CHECK(next == pair + 2);
    shmem_barrier_all();
    CHECK(pair[0] == 7 && pair[1] == 8);
    CHECK(default_ctx == SHMEM_CTX_DEFAULT && default_ctx != invalid_ctx);
}

int main(void)
{
    int npes, status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    from = (me + npes - 1) % npes;

#define RUN_RMA(TYPENAME, TYPE) TYPENAME##_rma();
    INTEGERS(RUN_RMA)
    FLOATS(RUN_RMA)
    SHORTS(RUN_RMA)
    OTHERS(RUN_RMA)
#define RUN_EXTENDED(TYPENAME, TYPE) TYPENAME##_extended();
    INTEGERS(RUN_EXTENDED)
    FLOATS(RUN_EXTENDED)
#define RUN_STANDARD(TYPENAME, TYPE) TYPENAME##_standard();
    INTEGERS(RUN_STANDARD)
#define RUN_BITWISE(TYPENAME, TYPE) TYPENAME##_bitwise();
    MASKS(RUN_BITWISE)
#define RUN_DEPRECATED_EXTENDED(TYPENAME, TYPE) TYPENAME##_deprecated_extended();
    OLD_INTEGERS(RUN_DEPRECATED_EXTENDED)
    FLOATS(RUN_DEPRECATED_EXTENDED)
#define RUN_DEPRECATED(TYPENAME, TYPE) TYPENAME##_deprecated();
    OLD_INTEGERS(RUN_DEPRECATED)
#define RUN_WAIT(TYPENAME, TYPE) TYPENAME##_wait_generic();
    INTEGERS(RUN_WAIT)
    SHORTS(RUN_WAIT)

    check_expressions();
    status = check_end("generics");
    shmem_finalize();
    return status;
}
