/* Point-to-point synchronisation on several variables (9.11.2 to 9.11.7, 9.11.9 to 9.11.14): all,
 * any and some, waiting and testing, with one value and with a vector of values, for each type. A
 * row of the table is a type with its routines behind thunks of one signature; the value of a thunk
 * is the first of its vector. */
#include <stdint.h>
#include <string.h>
#include "check.h"

enum { ALL, ANY, SOME, SCOPES };
enum { SCALAR, VECTOR, FORMS };

enum { COUNT = 9, MOST_PES = 64, DATA = 20, TRIES = 300 };

typedef size_t routine(void *ivars, size_t nelems, size_t *indices, const int *status, int cmp,
                       const void *values);

struct row {
    const char *name;
    routine *wait[SCOPES][FORMS], *test[SCOPES][FORMS];
    void (*store)(void *ivars, size_t i, uint64_t value);        /* a local store */
    void (*send)(void *ivars, size_t i, uint64_t value, int pe); /* an atomic one */
    int (*holds)(uint64_t a, int cmp, uint64_t b);               /* in the type */
};

/* clang-format off */

#define THUNK(NAME, TYPE, ...) \
    static size_t NAME(void *ivars, size_t nelems, size_t *indices, const int *status, int cmp, \
                       const void *values) \
    { \
        const TYPE *cmp_values = values; \
        (void)indices; \
        __VA_ARGS__; \
    }
#define SET ivars, nelems, status, cmp
#define SOME_SET ivars, nelems, indices, status, cmp
#define THUNKS(TYPENAME, TYPE) \
    THUNK(TYPENAME##_wait_all, TYPE, \
          shmem_##TYPENAME##_wait_until_all(SET, *cmp_values); return 1) \
    THUNK(TYPENAME##_wait_any, TYPE, \
          return shmem_##TYPENAME##_wait_until_any(SET, *cmp_values)) \
    THUNK(TYPENAME##_wait_some, TYPE, \
          return shmem_##TYPENAME##_wait_until_some(SOME_SET, *cmp_values)) \
    THUNK(TYPENAME##_wait_all_vector, TYPE, \
          shmem_##TYPENAME##_wait_until_all_vector(SET, cmp_values); return 1) \
    THUNK(TYPENAME##_wait_any_vector, TYPE, \
          return shmem_##TYPENAME##_wait_until_any_vector(SET, cmp_values)) \
    THUNK(TYPENAME##_wait_some_vector, TYPE, \
          return shmem_##TYPENAME##_wait_until_some_vector(SOME_SET, cmp_values)) \
    THUNK(TYPENAME##_test_all, TYPE, \
          return (size_t)shmem_##TYPENAME##_test_all(SET, *cmp_values)) \
    THUNK(TYPENAME##_test_any, TYPE, \
          return shmem_##TYPENAME##_test_any(SET, *cmp_values)) \
    THUNK(TYPENAME##_test_some, TYPE, \
          return shmem_##TYPENAME##_test_some(SOME_SET, *cmp_values)) \
    THUNK(TYPENAME##_test_all_vector, TYPE, \
          return (size_t)shmem_##TYPENAME##_test_all_vector(SET, cmp_values)) \
    THUNK(TYPENAME##_test_any_vector, TYPE, \
          return shmem_##TYPENAME##_test_any_vector(SET, cmp_values)) \
    THUNK(TYPENAME##_test_some_vector, TYPE, \
          return shmem_##TYPENAME##_test_some_vector(SOME_SET, cmp_values)) \
    static void TYPENAME##_store(void *ivars, size_t i, uint64_t value) \
    { \
        ((TYPE *)ivars)[i] = (TYPE)value; \
    } \
    static void TYPENAME##_send(void *ivars, size_t i, uint64_t value, int pe) \
    { \
        shmem_##TYPENAME##_atomic_set((TYPE *)ivars + i, (TYPE)value, pe); \
    } \
    static int TYPENAME##_holds(uint64_t a, int cmp, uint64_t b) \
    { \
        TYPE x = (TYPE)a, y = (TYPE)b; \
        return cmp == SHMEM_CMP_EQ ? x == y : cmp == SHMEM_CMP_NE ? x != y \
               : cmp == SHMEM_CMP_LT ? x < y : cmp == SHMEM_CMP_LE ? x <= y \
               : cmp == SHMEM_CMP_GT ? x > y : x >= y; \
    }
SY_STANDARD_AMO_TYPES(THUNKS)

static const struct row rows[] = {
#define ROW(TYPENAME, TYPE) \
    {.name = #TYPENAME, \
     .wait = {{TYPENAME##_wait_all, TYPENAME##_wait_all_vector}, \
              {TYPENAME##_wait_any, TYPENAME##_wait_any_vector}, \
              {TYPENAME##_wait_some, TYPENAME##_wait_some_vector}}, \
     .test = {{TYPENAME##_test_all, TYPENAME##_test_all_vector}, \
              {TYPENAME##_test_any, TYPENAME##_test_any_vector}, \
              {TYPENAME##_test_some, TYPENAME##_test_some_vector}}, \
     .store = TYPENAME##_store, .send = TYPENAME##_send, .holds = TYPENAME##_holds},
    SY_STANDARD_AMO_TYPES(ROW)
};

/* clang-format on */

enum { ROWS = sizeof rows / sizeof rows[0] };

static int me, npes;

/* Variables of any of the types, and a second set for what needs two. */
static union {
    uint64_t align;
    unsigned char bytes[MOST_PES * 8];
} first, second;

static long data[MOST_PES][DATA]; /* what PE i sends before it changes variable i */

static const int comparisons[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_LT,
                                  SHMEM_CMP_LE, SHMEM_CMP_GT, SHMEM_CMP_GE};

/* A vector of values of a type, on the stack of its user. */
struct values {
    uint64_t cells[COUNT];
};

static struct values vector(const struct row *row, const uint64_t source[COUNT])
{
    struct values v;

    for (size_t i = 0; i < COUNT; i++)
        row->store(&v, i, source[i]);
    return v;
}

static struct values constant(const struct row *row, uint64_t value)
{
    uint64_t source[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        source[i] = value;
    return vector(row, source);
}

static void store_all(const struct row *row, void *ivars, uint64_t value)
{
    for (size_t i = 0; i < COUNT; i++)
        row->store(ivars, i, value);
}

/* What a routine returns for a set in which the variables with a 1 in `true_of` satisfy the
 * comparison. The calls that wait are made only where they return. */
static void check_answers(const struct row *row, int form, const int *status, int cmp,
                          const struct values *values, const int true_of[COUNT])
{
    size_t indices[COUNT], included = 0, satisfied = 0, found;
    int seen[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        included += !status || !status[i];
        satisfied += (!status || !status[i]) && true_of[i];
    }
    CHECK(row->test[ALL][form](&first, COUNT, NULL, status, cmp, values) ==
          (satisfied == included));
    if (satisfied == included)
        row->wait[ALL][form](&first, COUNT, NULL, status, cmp, values);
    for (int waits = 0; waits < 2; waits++) {
        routine *any = waits ? row->wait[ANY][form] : row->test[ANY][form];
        routine *some = waits ? row->wait[SOME][form] : row->test[SOME][form];

        if (waits && satisfied == 0 && included > 0)
            continue;
        found = any(&first, COUNT, NULL, status, cmp, values);
        if (satisfied == 0)
            CHECK(found == SIZE_MAX);
        else
            CHECK(found < COUNT && true_of[found] && (!status || !status[found]));
        memset(seen, 0, sizeof seen);
        found = some(&first, COUNT, indices, status, cmp, values);
        CHECK(found == satisfied);
        for (size_t i = 0; i < found && i < COUNT; i++) {
            size_t at = indices[i] < COUNT ? indices[i] : 0;
            CHECK(indices[i] < COUNT && !seen[at] && true_of[at] && (!status || !status[at]));
            seen[at] = 1;
        }
    }
}

/* All six comparisons of every pair of these, in the type's own signedness and width. */
static void check_comparisons(const struct row *row, int form)
{
    static const uint64_t samples[COUNT] = {
        0,         1, 5, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, (uint64_t)INT64_MAX + 1,
        UINT64_MAX};
    int true_of[COUNT];

    for (int c = 0; c < 6; c++)
        for (size_t shift = 0; shift < COUNT; shift++) {
            uint64_t turned[COUNT];
            for (size_t i = 0; i < COUNT; i++) {
                turned[i] = form == VECTOR ? samples[(i + shift) % COUNT] : samples[shift];
                row->store(&first, i, samples[i]);
                true_of[i] = row->holds(samples[i], comparisons[c], turned[i]);
            }
            struct values values = vector(row, turned);
            check_answers(row, form, NULL, comparisons[c], &values, true_of);
        }
}

/* An empty set: no variables, or none whose status is 0. The status is only read. */
static void check_empty(const struct row *row, int form)
{
    static const int excluded[COUNT] = {1, -1, 2, 1, 1, INT32_MIN, 1, 256, 1};
    int status[COUNT], nothing[COUNT] = {0};
    const struct values values = constant(row, 5);
    size_t indices[COUNT];

    store_all(row, &first, 5);
    memcpy(status, excluded, sizeof status);
    for (int waits = 0; waits < 2; waits++) {
        routine *const(*routines)[FORMS] = waits ? row->wait : row->test;
        for (size_t count = 0; count <= COUNT; count += COUNT) {
            void *ivars = count ? &first : NULL;
            const int *which = count ? status : NULL;
            size_t *into = count ? indices : NULL;
            const void *with = count || form == SCALAR ? &values : NULL;
            CHECK(routines[ALL][form](ivars, count, NULL, which, SHMEM_CMP_EQ, with) == 1);
            CHECK(routines[ANY][form](ivars, count, NULL, which, SHMEM_CMP_EQ, with) == SIZE_MAX);
            CHECK(routines[SOME][form](ivars, count, into, which, SHMEM_CMP_EQ, with) == 0);
        }
    }
    CHECK(memcmp(status, excluded, sizeof status) == 0);
    check_answers(row, form, status, SHMEM_CMP_EQ, &values, nothing);
}

/* Every set of included variables, every second one of which satisfies the comparison; and a single
 * one that does, at each place. */
static void check_masks(const struct row *row, int form)
{
    const struct values values = constant(row, 5);
    int status[COUNT], kept[COUNT], true_of[COUNT];

    for (int bits = 0; bits < 1 << COUNT; bits += 3) {
        for (int i = 0; i < COUNT; i++) {
            status[i] = kept[i] = bits >> i & 1 ? -1 - i : 0;
            true_of[i] = (i + bits) % 2;
            row->store(&first, (size_t)i, true_of[i] ? 5 : 4);
        }
        check_answers(row, form, status, SHMEM_CMP_EQ, &values, true_of);
        CHECK(memcmp(status, kept, sizeof status) == 0);
    }
    for (int at = 0; at < COUNT; at++) {
        for (int i = 0; i < COUNT; i++) {
            true_of[i] = i == at;
            row->store(&first, (size_t)i, i == at ? 5 : 4);
        }
        check_answers(row, form, NULL, SHMEM_CMP_GE, &values, true_of);
    }
}

static int missing(const int *seen, int count)
{
    int unseen = 0;

    for (int i = 0; i < count; i++)
        unseen += !seen[i];
    return unseen;
}

/* With all variables satisfied, a series of calls returns each of them in the end; also when the
 * calls of two series alternate, which is harder with an even number of variables. */
static void check_fairness(const struct row *row, routine *any, int series)
{
    const struct values values = constant(row, 5);
    const int count = COUNT + 1 - series;
    int seen[2][COUNT] = {{0}};

    store_all(row, &first, 5);
    store_all(row, &second, 5);
    for (int i = 0; i < TRIES; i++) {
        void *ivars = i % series ? &second : &first;
        size_t index = any(ivars, (size_t)count, NULL, NULL, SHMEM_CMP_EQ, &values);
        CHECK(index < (size_t)count);
        if (index < COUNT)
            seen[i % series][index] = 1;
    }
    for (int i = 0; i < series; i++)
        CHECK(missing(seen[i], count) == 0);
}

/* The same where each call for all variables follows a call that always returns the first: for a
 * set that begins there too, or for the same set while its status array leaves only that one, or
 * with another comparison. */
static void check_fairness_beside(const struct row *row, routine *any)
{
    enum { ALONE, LEFT_OUT, COMPARISON, WAYS };
    const struct values fives = constant(row, 5), sixes = constant(row, 6);

    store_all(row, &first, 5);
    row->store(&first, 0, 6);
    for (int way = 0; way < WAYS; way++) {
        int seen[COUNT] = {0}, status[COUNT] = {0};
        for (int i = 0; i < 20 * TRIES; i++) {
            for (int k = 1; k < COUNT; k++)
                status[k] = way == LEFT_OUT;
            CHECK(any(&first, way == ALONE ? 1 : COUNT, NULL, status,
                      way == COMPARISON ? SHMEM_CMP_GE : SHMEM_CMP_EQ, &sixes) == 0);
            memset(status, 0, sizeof status);
            size_t index = any(&first, COUNT, NULL, status, SHMEM_CMP_GE, &fives);
            CHECK(index < COUNT);
            if (index < COUNT)
                seen[index] = 1;
        }
        CHECK(missing(seen, COUNT) == 0);
    }
}

/* Every PE sends data to every PE and then changes its own variable there. */
static void send_all(const struct row *row, uint64_t value)
{
    long mine[DATA];

    for (int i = 0; i < DATA; i++)
        mine[i] = (long)value * 1000 + me;
    for (int i = 0; i < npes; i++) {
        int pe = (me + i) % npes;
        shmem_long_put(data[me], mine, DATA, pe);
        shmem_fence();
        row->send(&first, (size_t)me, value, pe);
    }
}

static void check_data(int pe, uint64_t value)
{
    CHECK(data[pe][0] == (long)value * 1000 + pe && data[pe][DATA - 1] == (long)value * 1000 + pe);
}

/* Takes the variables one by one or some at a time, as they change, and excludes those that are
 * done by their status; the data of each are there. */
static void take(const struct row *row, int scope, int form, uint64_t value)
{
    uint64_t vector_of[MOST_PES];
    size_t indices[MOST_PES];
    int status[MOST_PES] = {0};

    for (size_t i = 0; i < (size_t)npes; i++)
        row->store(vector_of, i, value);
    for (int done = 0; done < npes;) {
        size_t count = 1;
        if (scope == ALL) {
            row->wait[ALL][form](&first, (size_t)npes, NULL, NULL, SHMEM_CMP_EQ, vector_of);
            for (count = 0; count < (size_t)npes; count++)
                indices[count] = count;
        } else if (scope == ANY) {
            indices[0] = row->wait[ANY][form](&first, (size_t)npes, NULL, status, SHMEM_CMP_EQ,
                                              vector_of);
        } else {
            count = row->wait[SOME][form](&first, (size_t)npes, indices, status, SHMEM_CMP_EQ,
                                          vector_of);
        }
        CHECK(count >= 1 && count <= (size_t)(npes - done));
        for (size_t i = 0; i < count; i++) {
            size_t at = indices[i] < (size_t)npes ? indices[i] : 0;
            CHECK(indices[i] < (size_t)npes && status[at] == 0);
            status[at] = 1;
            check_data((int)at, value);
        }
        done += count ? (int)count : npes;
    }
    CHECK(row->wait[ANY][form](&first, (size_t)npes, NULL, status, SHMEM_CMP_EQ, vector_of) ==
          SIZE_MAX);
}

static void check_remote(const struct row *row, int form)
{
    for (uint64_t value = 1; value <= 6; value++) {
        for (size_t i = 0; i < (size_t)npes; i++)
            row->store(&first, i, 0);
        shmem_barrier_all();
        send_all(row, value);
        take(row, (int)(value % SCOPES), form, value);
        shmem_barrier_all();
    }
}

static void check_row(const struct row *row)
{
    static char text[100];

    check_case = text;
    for (int form = 0; form < FORMS; form++) {
        snprintf(text, sizeof text, "%s%s", row->name, form == VECTOR ? ", vector" : "");
        check_comparisons(row, form);
        check_empty(row, form);
        check_masks(row, form);
        for (int series = 1; series <= 2; series++) {
            check_fairness(row, row->test[ANY][form], series);
            check_fairness(row, row->wait[ANY][form], series);
        }
        check_fairness_beside(row, row->test[ANY][form]);
        check_fairness_beside(row, row->wait[ANY][form]);
        check_remote(row, form);
    }
}

int main(void)
{
    int status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    for (int i = 0; i < ROWS; i++)
        check_row(&rows[i]);
    status = check_end("p2p_sets");
    shmem_finalize();
    return status;
}
