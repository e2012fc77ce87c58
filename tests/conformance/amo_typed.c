/* Atomic memory operations (9.7): each routine of each type, in its forms with and without a
 * context, blocking and not, and under its deprecated name. A row of the table is one routine
 * behind a thunk that carries values as bits, so that one model and one set of checks serve all of
 * them. */
#include <stdint.h>
#include <string.h>
#include "check.h"

enum operation { FETCH, SET, SWAP, CSWAP, INC, ADD, AND, OR, XOR };

/* Acts on the object at dest on PE pe. Returns the old value if the routine gives it, otherwise 0.
 */
typedef uint64_t amo(void *dest, uint64_t value, uint64_t cond, int pe);

struct row {
    const char *name;
    size_t width; /* bytes of the object */
    enum operation operation;
    int fetches; /* gives the old value */
    amo *call;
};

/* Values to bits and back, without a conversion, for the integers and the floating types alike. */
#define BITS(TYPENAME, TYPE)                                                                       \
    static TYPE TYPENAME##_of(uint64_t bits)                                                       \
    {                                                                                              \
        uint32_t low = (uint32_t)bits;                                                             \
        TYPE value;                                                                                \
        memcpy(&value, sizeof value == 4 ? (void *)&low : (void *)&bits, sizeof value);            \
        return value;                                                                              \
    }                                                                                              \
    static uint64_t TYPENAME##_bits(TYPE value)                                                    \
    {                                                                                              \
        uint32_t low = 0;                                                                          \
        uint64_t bits = 0;                                                                         \
        memcpy(sizeof value == 4 ? (void *)&low : (void *)&bits, &value, sizeof value);            \
        return sizeof value == 4 ? low : bits;                                                     \
    }
SY_EXTENDED_AMO_TYPES(BITS)

/* A thunk around a call that gives the old value, one that gives nothing, and one that leaves the
 * old value in `old` for the next quiet. */
#define FETCHING(NAME, TYPENAME, TYPE, CALL)                                                       \
    static uint64_t NAME(void *dest, uint64_t bits, uint64_t cond_bits, int pe)                    \
    {                                                                                              \
        TYPE value = TYPENAME##_of(bits), cond = TYPENAME##_of(cond_bits), *object = dest;         \
        (void)value, (void)cond;                                                                   \
        return TYPENAME##_bits(CALL);                                                              \
    }
#define SILENT(NAME, TYPENAME, TYPE, CALL)                                                         \
    static uint64_t NAME(void *dest, uint64_t bits, uint64_t cond_bits, int pe)                    \
    {                                                                                              \
        TYPE value = TYPENAME##_of(bits), *object = dest;                                          \
        (void)value, (void)cond_bits;                                                              \
        CALL;                                                                                      \
        return 0;                                                                                  \
    }
#define DELAYED(NAME, TYPENAME, TYPE, CALL)                                                        \
    static uint64_t NAME(void *dest, uint64_t bits, uint64_t cond_bits, int pe)                    \
    {                                                                                              \
        TYPE value = TYPENAME##_of(bits), cond = TYPENAME##_of(cond_bits), *object = dest;         \
        TYPE old = TYPENAME##_of(0);                                                               \
        (void)value, (void)cond;                                                                   \
        CALL;                                                                                      \
        shmem_quiet();                                                                             \
        return TYPENAME##_bits(old);                                                               \
    }

/* clang-format off */

/* The four forms of a routine that fetches, and the two of one that does not. What follows OP are
 * the arguments after the object, with a comma before each. */
#define FETCHING_FORMS(T, TYPE, OP, ...) \
    FETCHING(T##_##OP, T, TYPE, shmem_##T##_atomic_##OP(object __VA_ARGS__, pe)) \
    FETCHING(ctx_##T##_##OP, T, TYPE, \
             shmem_ctx_##T##_atomic_##OP(SHMEM_CTX_DEFAULT, object __VA_ARGS__, pe)) \
    DELAYED(T##_##OP##_nbi, T, TYPE, shmem_##T##_atomic_##OP##_nbi(&old, object __VA_ARGS__, pe)) \
    DELAYED(ctx_##T##_##OP##_nbi, T, TYPE, \
            shmem_ctx_##T##_atomic_##OP##_nbi(SHMEM_CTX_DEFAULT, &old, object __VA_ARGS__, pe))
#define SILENT_FORMS(T, TYPE, OP, ...) \
    SILENT(T##_##OP, T, TYPE, shmem_##T##_atomic_##OP(object __VA_ARGS__, pe)) \
    SILENT(ctx_##T##_##OP, T, TYPE, \
           shmem_ctx_##T##_atomic_##OP(SHMEM_CTX_DEFAULT, object __VA_ARGS__, pe))

#define EXTENDED_THUNKS(T, TYPE) \
    FETCHING_FORMS(T, TYPE, fetch, ) \
    SILENT_FORMS(T, TYPE, set, , value) \
    FETCHING_FORMS(T, TYPE, swap, , value)
SY_EXTENDED_AMO_TYPES(EXTENDED_THUNKS)

#define STANDARD_THUNKS(T, TYPE) \
    FETCHING_FORMS(T, TYPE, compare_swap, , cond, value) \
    FETCHING_FORMS(T, TYPE, fetch_inc, ) \
    SILENT_FORMS(T, TYPE, inc, ) \
    FETCHING_FORMS(T, TYPE, fetch_add, , value) \
    SILENT_FORMS(T, TYPE, add, , value)
SY_STANDARD_AMO_TYPES(STANDARD_THUNKS)

#define BITWISE_THUNKS(T, TYPE) \
    FETCHING_FORMS(T, TYPE, fetch_and, , value) \
    SILENT_FORMS(T, TYPE, and, , value) \
    FETCHING_FORMS(T, TYPE, fetch_or, , value) \
    SILENT_FORMS(T, TYPE, or, , value) \
    FETCHING_FORMS(T, TYPE, fetch_xor, , value) \
    SILENT_FORMS(T, TYPE, xor, , value)
SY_BITWISE_AMO_TYPES(BITWISE_THUNKS)

#define DEPRECATED_EXTENDED_THUNKS(T, TYPE) \
    FETCHING(old_##T##_fetch, T, TYPE, shmem_##T##_fetch(object, pe)) \
    SILENT(old_##T##_set, T, TYPE, shmem_##T##_set(object, value, pe)) \
    FETCHING(old_##T##_swap, T, TYPE, shmem_##T##_swap(object, value, pe))
SY_DEPRECATED_EXTENDED_AMO_TYPES(DEPRECATED_EXTENDED_THUNKS)

#define DEPRECATED_THUNKS(T, TYPE) \
    FETCHING(old_##T##_cswap, T, TYPE, shmem_##T##_cswap(object, cond, value, pe)) \
    FETCHING(old_##T##_finc, T, TYPE, shmem_##T##_finc(object, pe)) \
    SILENT(old_##T##_inc, T, TYPE, shmem_##T##_inc(object, pe)) \
    FETCHING(old_##T##_fadd, T, TYPE, shmem_##T##_fadd(object, value, pe)) \
    SILENT(old_##T##_add, T, TYPE, shmem_##T##_add(object, value, pe))
SY_DEPRECATED_AMO_TYPES(DEPRECATED_THUNKS)

#define ROW(NAME, TYPE, OPERATION, FETCHES) {#NAME, sizeof(TYPE), OPERATION, FETCHES, NAME},
#define FETCHING_ROWS(T, TYPE, OP, OPERATION) \
    ROW(T##_##OP, TYPE, OPERATION, 1) \
    ROW(ctx_##T##_##OP, TYPE, OPERATION, 1) \
    ROW(T##_##OP##_nbi, TYPE, OPERATION, 1) \
    ROW(ctx_##T##_##OP##_nbi, TYPE, OPERATION, 1)
#define SILENT_ROWS(T, TYPE, OP, OPERATION) \
    ROW(T##_##OP, TYPE, OPERATION, 0) \
    ROW(ctx_##T##_##OP, TYPE, OPERATION, 0)

static const struct row rows[] = {
#define EXTENDED_ROWS(T, TYPE) \
    FETCHING_ROWS(T, TYPE, fetch, FETCH) \
    SILENT_ROWS(T, TYPE, set, SET) \
    FETCHING_ROWS(T, TYPE, swap, SWAP)
    SY_EXTENDED_AMO_TYPES(EXTENDED_ROWS)
#define STANDARD_ROWS(T, TYPE) \
    FETCHING_ROWS(T, TYPE, compare_swap, CSWAP) \
    FETCHING_ROWS(T, TYPE, fetch_inc, INC) \
    SILENT_ROWS(T, TYPE, inc, INC) \
    FETCHING_ROWS(T, TYPE, fetch_add, ADD) \
    SILENT_ROWS(T, TYPE, add, ADD)
    SY_STANDARD_AMO_TYPES(STANDARD_ROWS)
#define BITWISE_ROWS(T, TYPE) \
    FETCHING_ROWS(T, TYPE, fetch_and, AND) \
    SILENT_ROWS(T, TYPE, and, AND) \
    FETCHING_ROWS(T, TYPE, fetch_or, OR) \
    SILENT_ROWS(T, TYPE, or, OR) \
    FETCHING_ROWS(T, TYPE, fetch_xor, XOR) \
    SILENT_ROWS(T, TYPE, xor, XOR)
    SY_BITWISE_AMO_TYPES(BITWISE_ROWS)
#define DEPRECATED_EXTENDED_ROWS(T, TYPE) \
    ROW(old_##T##_fetch, TYPE, FETCH, 1) \
    ROW(old_##T##_set, TYPE, SET, 0) \
    ROW(old_##T##_swap, TYPE, SWAP, 1)
    SY_DEPRECATED_EXTENDED_AMO_TYPES(DEPRECATED_EXTENDED_ROWS)
#define DEPRECATED_ROWS(T, TYPE) \
    ROW(old_##T##_cswap, TYPE, CSWAP, 1) \
    ROW(old_##T##_finc, TYPE, INC, 1) \
    ROW(old_##T##_inc, TYPE, INC, 0) \
    ROW(old_##T##_fadd, TYPE, ADD, 1) \
    ROW(old_##T##_add, TYPE, ADD, 0)
    SY_DEPRECATED_AMO_TYPES(DEPRECATED_ROWS)
};

/* clang-format on */

static int me, npes;

static uint64_t trim(const struct row *row, uint64_t bits)
{
    return row->width == 4 ? (uint32_t)bits : bits;
}

static uint64_t model(const struct row *row, uint64_t old, uint64_t value, uint64_t cond)
{
    switch (row->operation) {
    case FETCH:
        return old;
    case SET:
    case SWAP:
        return value;
    case CSWAP:
        return old == cond ? value : old;
    case INC:
        return trim(row, old + 1);
    case ADD:
        return trim(row, old + value);
    case AND:
        return old & value;
    case OR:
        return old | value;
    case XOR:
        return old ^ value;
    }
    return 0;
}

/* The objects are the middle of three, whose neighbours must not change. */
struct object {
    uint64_t before, word, after;
};

static const struct object untouched = {0xa5a5a5a5a5a5a5a5, 0, 0x5a5a5a5a5a5a5a5a};

static void store(const struct row *row, struct object *object, uint64_t bits)
{
    uint32_t words[2] = {(uint32_t)bits, 0xc5c5c5c5};

    *object = untouched;
    memcpy(&object->word, row->width == 4 ? (void *)words : (void *)&bits, sizeof object->word);
}

static uint64_t load(const struct row *row, const struct object *object)
{
    uint32_t words[2];
    uint64_t bits = object->word;

    memcpy(words, &bits, sizeof words);
    if (row->width == 4)
        CHECK(words[1] == 0xc5c5c5c5);
    CHECK(object->before == untouched.before && object->after == untouched.after);
    return row->width == 4 ? words[0] : bits;
}

/* Each PE applies the routine once to its target's object; both ends are compared with the model.
 */
static void check_effect(const struct row *row, struct object *object, int pe)
{
    static const struct {
        uint64_t old, value, cond;
    } cases[] = {
        {0, 1, 0},
        {5, 9, 4},
        {UINT64_MAX, 1, UINT64_MAX},
        {0x7fffffff7fffffff, 2, 0x7fffffff7fffffff},
        {0x8000000080000000, 0x8000000080000000, 0}, /* of width 4: -0.0 */
        {0x8000000000000000, 0x7ff8dead7fc0beef,
         1}, /* -0.0; quiet NaNs with a payload, both widths */
        {0x123456789abcdef0, 0xfedcba9876543210, 0x123456789abcdef0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t old = trim(row, cases[i].old), value = trim(row, cases[i].value),
                 cond = trim(row, cases[i].cond), got;

        store(row, object, old);
        shmem_barrier_all();
        got = row->call(&object->word, value, cond, pe);
        if (row->fetches)
            CHECK(got == old);
        shmem_barrier_all();
        CHECK(load(row, object) == model(row, old, value, cond));
    }
}

/* Whether the contest with this routine counts up, in steps of what each call adds. */
static int counts(const struct row *row)
{
    return row->operation == CSWAP || row->operation == INC || row->operation == ADD;
}

static uint64_t step(const struct row *row)
{
    return row->operation == ADD ? 3 : 1;
}

enum { ROUNDS = 15 }; /* odd, so that repeated xor has an effect */

/* The value that PE pe uses in a round of the contest; no two are the same. */
static uint64_t stake(int pe, int round)
{
    return (uint64_t)pe * ROUNDS + (uint64_t)round + 1;
}

/* The bit that PE pe sets, clears or flips in a round. */
static uint64_t bit(const struct row *row, int pe, int round)
{
    return UINT64_C(1) << (((unsigned)pe * 5 + (unsigned)round) % (8 * row->width));
}

/* Adds 1 by compare-and-swap and returns the value before. */
static uint64_t increment(const struct row *row, struct object *object)
{
    uint64_t expected = 0, got;

    while ((got = row->call(&object->word, expected + 1, expected, 0)) != expected)
        expected = got;
    return got;
}

/* What one PE does in the contest. Returns the sum of the old values that it got. */
static uint64_t contend(const struct row *row, struct object *object)
{
    uint64_t sum = 0, seen = 0;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t value = stake(me, round), got;

        if (row->operation == ADD)
            value = step(row);
        else if (row->operation == AND)
            value = trim(row, ~bit(row, me, round));
        else if (row->operation == OR || row->operation == XOR)
            value = bit(row, me, round);
        got = row->operation == CSWAP ? increment(row, object)
                                      : row->call(&object->word, value, 0, 0);
        if (row->operation == SET)
            shmem_fence(); /* so that the last one is the last */
        if (row->fetches && counts(row)) {
            CHECK(round == 0 || got > seen);
            seen = got;
        }
        sum += got;
    }
    return sum;
}

/* What the contest must leave in the object, which begins with 0, or with ones for AND. SET leaves
 * the last value of one of the PEs; SWAP is judged by its sum. For both, the value found decides.
 */
static uint64_t outcome(const struct row *row, uint64_t found)
{
    uint64_t bits = row->operation == AND ? trim(row, UINT64_MAX) : 0;
    int last = 0;

    for (int pe = 0; pe < npes; pe++)
        for (int round = 0; round < ROUNDS; round++) {
            if (row->operation == AND)
                bits &= ~bit(row, pe, round);
            else if (row->operation == OR)
                bits |= bit(row, pe, round);
            else if (row->operation == XOR)
                bits ^= bit(row, pe, round);
            else if (counts(row))
                bits += step(row);
            last |= found == stake(pe, ROUNDS - 1);
        }
    if (row->operation == SET)
        return last ? found : ~found;
    return row->operation == SWAP ? found : bits;
}

/* All PEs apply the routine to the object of PE 0 at once. */
static void check_contention(const struct row *row, struct object *object)
{
    static uint64_t sum;
    uint64_t total = (uint64_t)npes * ROUNDS, found;

    if (row->operation == FETCH)
        return;
    sum = 0;
    store(row, object, row->operation == AND ? UINT64_MAX : 0);
    shmem_barrier_all();
    shmem_uint64_atomic_add(&sum, contend(row, object), 0);
    shmem_barrier_all();
    if (me == 0) {
        found = load(row, object);
        CHECK(found == outcome(row, found));
        if (row->operation == SWAP) /* every value but the last was taken out once */
            CHECK(sum + found == total * (total + 1) / 2);
        if (row->fetches && counts(row)) /* every value on the way was seen once */
            CHECK(sum == step(row) * (total * (total - 1) / 2));
    }
}

/* The old and the new names act on one object as one set of atomic operations, with each other and
 * with those of the owner. */
static void check_mixed(void)
{
    static long counter;
    long old, seen, late;

    counter = 0;
    shmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++) {
        shmem_long_inc(&counter, 0);
        shmem_long_atomic_inc(&counter, 0);
        shmem_long_add(&counter, 2, 0);
        shmem_long_atomic_add(&counter, 3, 0);
        shmem_long_finc(&counter, 0);
        shmem_long_atomic_fetch_inc(&counter, 0);
        shmem_long_fadd(&counter, 4, 0);
        shmem_long_atomic_fetch_add_nbi(&late, &counter, 5, 0);
        for (seen = shmem_long_fetch(&counter, 0);
             (old = shmem_long_cswap(&counter, seen, seen + 1, 0)) != seen;)
            seen = old;
        for (seen = shmem_long_atomic_fetch(&counter, 0);
             (old = shmem_long_atomic_compare_swap(&counter, seen, seen + 1, 0)) != seen;)
            seen = old;
    }
    shmem_barrier_all();
    CHECK(shmem_long_fetch(&counter, 0) == 20L * ROUNDS * npes);
    shmem_barrier_all();
}

int main(void)
{
    static struct object static_object;
    struct object *heap_object;
    int status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    heap_object = shmem_malloc(sizeof *heap_object);
    CHECK(heap_object != NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_case = rows[i].name;
        check_effect(&rows[i], &static_object, (me + 1) % npes);
        check_effect(&rows[i], heap_object, me);
        check_contention(&rows[i], i % 2 ? heap_object : &static_object);
    }
    check_case = "mixed names";
    check_mixed();
    shmem_free(heap_object);
    status = check_end("amo_typed");
    shmem_finalize();
    return status;
}
