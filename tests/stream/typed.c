/* Every routine on streams, of every type, with values that tell what it has done. Each PE writes
 * to the next one in a circle, so that one PE alone writes to each object. */
#include <shmemx.h>

#include "tests/conformance/check.h"

enum { N = 5, MOST = 8 /* PEs */ };

static int me, npes, next, prev;
static shmemx_stream_t stream, second;

/* The job meets on the stream. */
static void meet(void)
{
    CHECK(!shmemx_barrier_all_on_stream(stream));
}

static void sync(void)
{
    CHECK(!shmemx_stream_synchronize(stream));
    CHECK(shmemx_stream_query(stream) == 1);
}

/* clang-format off */

/* ---- transfers ---- */

#define ALL(CONDITION) for (int i = 0; i < N; i++) CHECK(CONDITION)

#define RMA(NAME, TYPE) \
    static void rma_##NAME(void) \
    { \
        static TYPE dest[2 * N], source[N], got[2 * N]; \
        static uint64_t signal; \
        check_case = #NAME; \
        for (int i = 0; i < N; i++) \
            source[i] = (TYPE)(10 * me + i + 1); \
        meet(); \
        shmemx_##NAME##_put_on_stream(dest, source, N, next, stream); \
        shmemx_##NAME##_get_on_stream(got, dest, N, next, stream); \
        meet(); \
        sync(); \
        ALL(dest[i] == (TYPE)(10 * prev + i + 1) && got[i] == source[i]); \
        meet(); \
        shmemx_##NAME##_p_on_stream(&dest[1], (TYPE)(me + 100), next, stream); \
        shmemx_##NAME##_g_on_stream(&got[1], &dest[1], next, stream); \
        meet(); \
        sync(); \
        CHECK(dest[1] == (TYPE)(prev + 100) && got[1] == (TYPE)(me + 100)); \
        meet(); \
        shmemx_##NAME##_iput_on_stream(dest, source, 2, 1, N, next, stream); \
        shmemx_##NAME##_iget_on_stream(got, dest, 1, 2, N, next, stream); \
        meet(); \
        sync(); \
        ALL(dest[2 * i] == (TYPE)(10 * prev + i + 1) && got[i] == source[i]); \
        meet(); \
        shmemx_##NAME##_ibput_on_stream(dest + 1, source, 4, 2, 2, 2, next, stream); \
        shmemx_##NAME##_ibget_on_stream(got + 1, dest + 1, 2, 4, 2, 2, next, stream); \
        meet(); \
        sync(); \
        for (int i = 0; i < 4; i++) \
            CHECK(dest[1 + i / 2 * 4 + i % 2] == (TYPE)(10 * prev + i + 1) && \
                  got[1 + i] == source[i]); \
        meet(); \
        shmemx_##NAME##_put_signal_on_stream(dest, source, N, &signal, 3, SHMEM_SIGNAL_ADD, next, \
                                             stream); \
        shmemx_signal_wait_until_on_stream(&signal, SHMEM_CMP_EQ, 3, second); \
        CHECK(!shmemx_stream_synchronize(second)); \
        ALL(dest[i] == (TYPE)(10 * prev + i + 1)); \
    }
SY_RMA_TYPES(RMA)

#define SIZED(SIZE, BYTES) \
    static void sized_##SIZE(void) \
    { \
        static _Alignas(16) unsigned char dest[N * BYTES], source[N * BYTES], got[N * BYTES]; \
        static uint64_t signal; \
        check_case = #SIZE; \
        for (int i = 0; i < N * BYTES; i++) \
            source[i] = (unsigned char)(50 * me + i + 1); \
        meet(); \
        shmemx_put##SIZE##_on_stream(dest, source, N, next, stream); \
        shmemx_get##SIZE##_on_stream(got, dest, N, next, stream); \
        meet(); \
        sync(); \
        for (int i = 0; i < N * BYTES; i++) \
            CHECK(dest[i] == (unsigned char)(50 * prev + i + 1) && got[i] == source[i]); \
        memset(dest, 0, sizeof dest); \
        meet(); \
        shmemx_put##SIZE##_signal_on_stream(dest, source, N, &signal, 7, SHMEM_SIGNAL_SET, next, \
                                            stream); \
        shmemx_signal_wait_until_on_stream(&signal, SHMEM_CMP_NE, 0, second); \
        CHECK(!shmemx_stream_synchronize(second)); \
        for (int i = 0; i < N * BYTES; i++) \
            CHECK(dest[i] == (unsigned char)(50 * prev + i + 1)); \
    }
SY_SIZES_AND_MEM(SIZED)

#define STRIDED(SIZE, BYTES) \
    static void strided_##SIZE(void) \
    { \
        static _Alignas(16) unsigned char dest[2 * N * BYTES], source[N * BYTES], got[N * BYTES]; \
        check_case = #SIZE; \
        for (int i = 0; i < N * BYTES; i++) \
            source[i] = (unsigned char)(50 * me + i + 1); \
        meet(); \
        shmemx_iput##SIZE##_on_stream(dest, source, 2, 1, N, next, stream); \
        shmemx_iget##SIZE##_on_stream(got, dest, 1, 2, N, next, stream); \
        meet(); \
        sync(); \
        for (int i = 0; i < N * BYTES; i++) \
            CHECK(dest[i / BYTES * 2 * BYTES + i % BYTES] == (unsigned char)(50 * prev + i + 1) && \
                  got[i] == source[i]); \
        meet(); \
        shmemx_ibput##SIZE##_on_stream(dest + BYTES, source, 4, 2, 2, 2, next, stream); \
        shmemx_ibget##SIZE##_on_stream(got + BYTES, dest + BYTES, 2, 4, 2, 2, next, stream); \
        meet(); \
        sync(); \
        for (int i = 0; i < 4 * BYTES; i++) \
            CHECK(dest[BYTES + i / (2 * BYTES) * 4 * BYTES + i % (2 * BYTES)] == \
                      (unsigned char)(50 * prev + i + 1) && \
                  got[BYTES + i] == source[i]); \
    }
SY_SIZES(STRIDED)

static void signals(void)
{
    static uint64_t signal;

    check_case = "signals";
    meet();
    shmemx_signal_set_on_stream(&signal, 5, next, stream);
    shmemx_fence_on_stream(stream);
    shmemx_signal_add_on_stream(&signal, 2, next, stream);
    shmemx_fence_on_stream(stream);
    shmemx_signal_op_on_stream(&signal, 3, SHMEM_SIGNAL_ADD, next, stream);
    shmemx_quiet_on_stream(stream);
    shmemx_pe_quiet_on_stream(&next, 1, stream);
    shmemx_signal_wait_until_on_stream(&signal, SHMEM_CMP_GE, 10, stream);
    sync();
    CHECK(signal == 10);
}

/* ---- atomic operations ---- */

#define EXTENDED(NAME, TYPE) \
    static void extended_##NAME(void) \
    { \
        static TYPE word; \
        TYPE got[3]; \
        check_case = #NAME; \
        meet(); \
        shmemx_##NAME##_atomic_set_on_stream(&word, (TYPE)5, next, stream); \
        shmemx_##NAME##_atomic_fetch_on_stream(&got[0], &word, next, stream); \
        shmemx_##NAME##_atomic_swap_on_stream(&got[1], &word, (TYPE)7, next, stream); \
        shmemx_##NAME##_atomic_fetch_on_stream(&got[2], &word, next, stream); \
        sync(); \
        CHECK(got[0] == 5 && got[1] == 5 && got[2] == 7); \
    }
SY_EXTENDED_AMO_TYPES(EXTENDED)

#define STANDARD(NAME, TYPE) \
    static void standard_##NAME(void) \
    { \
        static TYPE word; \
        TYPE got[5]; \
        check_case = #NAME; \
        meet(); \
        shmemx_##NAME##_atomic_inc_on_stream(&word, next, stream); \
        shmemx_##NAME##_atomic_add_on_stream(&word, (TYPE)10, next, stream); \
        shmemx_##NAME##_atomic_fetch_inc_on_stream(&got[0], &word, next, stream); \
        shmemx_##NAME##_atomic_fetch_add_on_stream(&got[1], &word, (TYPE)4, next, stream); \
        shmemx_##NAME##_atomic_compare_swap_on_stream(&got[2], &word, (TYPE)1, (TYPE)2, next, stream); \
        shmemx_##NAME##_atomic_compare_swap_on_stream(&got[3], &word, (TYPE)16, (TYPE)2, next, stream); \
        shmemx_##NAME##_atomic_fetch_on_stream(&got[4], &word, next, stream); \
        sync(); \
        CHECK(got[0] == 11 && got[1] == 12 && got[2] == 16 && got[3] == 16 && got[4] == 2); \
    }
SY_STANDARD_AMO_TYPES(STANDARD)

#define BITWISE(NAME, TYPE) \
    static void bitwise_##NAME(void) \
    { \
        static TYPE word = 12; \
        TYPE got[4]; \
        check_case = #NAME; \
        meet(); \
        shmemx_##NAME##_atomic_and_on_stream(&word, (TYPE)10, next, stream); \
        shmemx_##NAME##_atomic_fetch_or_on_stream(&got[0], &word, (TYPE)1, next, stream); \
        shmemx_##NAME##_atomic_or_on_stream(&word, (TYPE)16, next, stream); \
        shmemx_##NAME##_atomic_fetch_xor_on_stream(&got[1], &word, (TYPE)8, next, stream); \
        shmemx_##NAME##_atomic_xor_on_stream(&word, (TYPE)1, next, stream); \
        shmemx_##NAME##_atomic_fetch_and_on_stream(&got[2], &word, (TYPE)0, next, stream); \
        shmemx_##NAME##_g_on_stream(&got[3], &word, next, stream); \
        sync(); \
        CHECK(got[0] == 8 && got[1] == 25 && got[2] == 16 && got[3] == 0); \
    }
SY_BITWISE_AMO_TYPES(BITWISE)

/* ---- waits ---- */

#define WAIT(NAME, TYPE) \
    static void wait_##NAME(void) \
    { \
        static TYPE word = 1, seen[2]; \
        check_case = #NAME; \
        meet(); \
        shmemx_##NAME##_wait_on_stream(&word, 1, second); \
        shmemx_##NAME##_g_on_stream(&seen[0], &word, me, second); \
        shmemx_##NAME##_wait_until_on_stream(&word, SHMEM_CMP_LT, 0, second); \
        shmemx_##NAME##_g_on_stream(&seen[1], &word, me, second); \
        sync(); \
        CHECK(shmemx_stream_query(second) == 0); \
        meet(); \
        shmemx_##NAME##_p_on_stream(&word, (TYPE)2, next, stream); \
        meet(); \
        sync(); \
        shmemx_##NAME##_wait_until_on_stream(&word, SHMEM_CMP_GE, 2, stream); \
        if ((TYPE)-1 < (TYPE)1) { \
            CHECK(shmemx_stream_query(second) == 0); \
            meet(); \
            shmemx_##NAME##_p_on_stream(&word, (TYPE)-3, next, stream); \
            CHECK(!shmemx_stream_synchronize(second)); \
            CHECK(seen[1] == (TYPE)-3); \
        } \
        sync(); \
        CHECK(seen[0] == 2 || seen[0] == (TYPE)-3); \
    }
#define WAIT_SIGNED(NAME, TYPE) WAIT(NAME, TYPE)
WAIT_SIGNED(short, short)
WAIT_SIGNED(int, int)
WAIT_SIGNED(long, long)
WAIT_SIGNED(longlong, long long)
WAIT_SIGNED(int32, int32_t)
WAIT_SIGNED(int64, int64_t)
WAIT_SIGNED(ptrdiff, ptrdiff_t)

/* Of an unsigned type the largest value is not less than another. */
#define WAIT_UNSIGNED(NAME, TYPE) \
    static void wait_##NAME(void) \
    { \
        static TYPE word = 1; \
        check_case = #NAME; \
        meet(); \
        shmemx_##NAME##_wait_on_stream(&word, 1, second); \
        shmemx_##NAME##_wait_until_on_stream(&word, SHMEM_CMP_GT, (TYPE)-2, second); \
        CHECK(shmemx_stream_query(second) == 0); \
        meet(); \
        shmemx_##NAME##_p_on_stream(&word, (TYPE)-1, next, stream); \
        CHECK(!shmemx_stream_synchronize(second)); \
        sync(); \
        CHECK(word == (TYPE)-1); \
    }
WAIT_UNSIGNED(ushort, unsigned short)
WAIT_UNSIGNED(uint, unsigned int)
WAIT_UNSIGNED(ulong, unsigned long)
WAIT_UNSIGNED(ulonglong, unsigned long long)
WAIT_UNSIGNED(uint32, uint32_t)
WAIT_UNSIGNED(uint64, uint64_t)
WAIT_UNSIGNED(size, size_t)

#define SETS(NAME, TYPE) \
    static void sets_##NAME(void) \
    { \
        static TYPE words[4]; \
        static const TYPE values[4] = {4, 1, 6, 7}; \
        static const int status[4] = {0, 1, 0, 0}, none[4] = {1, 1, 1, 1}; \
        size_t index[4] = {9, 9, 9, 9}, indices[2][4], count[4] = {9, 9, 9, 9}; \
        check_case = #NAME; \
        meet(); \
        shmemx_##NAME##_wait_until_any_on_stream(words, 4, status, SHMEM_CMP_EQ, 6, &index[0], second); \
        shmemx_##NAME##_wait_until_some_on_stream(words, 4, indices[0], status, SHMEM_CMP_EQ, 6, \
                                                  &count[0], second); \
        shmemx_##NAME##_wait_until_any_vector_on_stream(words, 4, status, SHMEM_CMP_GE, values, \
                                                        &index[1], second); \
        shmemx_##NAME##_wait_until_some_vector_on_stream(words, 4, indices[1], status, SHMEM_CMP_GE, \
                                                         values, &count[1], second); \
        shmemx_##NAME##_wait_until_all_vector_on_stream(words, 4, status, SHMEM_CMP_EQ, values, second); \
        shmemx_##NAME##_wait_until_all_on_stream(words, 4, status, SHMEM_CMP_GT, 3, second); \
        shmemx_##NAME##_wait_until_any_on_stream(words, 4, none, SHMEM_CMP_EQ, 6, &index[2], second); \
        shmemx_##NAME##_wait_until_some_on_stream(words, 0, indices[0], NULL, SHMEM_CMP_EQ, 6, &count[2], \
                                                  second); \
        shmemx_##NAME##_wait_until_all_on_stream(words, 4, none, SHMEM_CMP_EQ, 1, second); \
        meet(); \
        shmemx_##NAME##_p_on_stream(&words[2], 6, next, stream); \
        meet(); \
        sync(); \
        CHECK(shmemx_stream_query(second) == 0); \
        meet(); \
        shmemx_##NAME##_p_on_stream(&words[0], 4, next, stream); \
        shmemx_##NAME##_p_on_stream(&words[3], 7, next, stream); \
        CHECK(!shmemx_stream_synchronize(second)); \
        sync(); \
        CHECK(index[0] == 2 && count[0] == 1 && indices[0][0] == 2 && index[1] != 1 && index[1] < 4); \
        CHECK(count[1] >= 1 && count[1] <= 3 && index[2] == SIZE_MAX && count[2] == 0 && words[1] == 0); \
    }
SY_STANDARD_AMO_TYPES(SETS)

/* ---- collective routines ---- */

#define DATA(NAME, TYPE) \
    static void data_##NAME(void) \
    { \
        static TYPE to[5][2 * N * MOST], from[2 * N * MOST]; \
        int at = 0; \
        check_case = #NAME; \
        for (int i = 0; i < 2 * N * MOST; i++) \
            from[i] = (TYPE)(40 * me + i); \
        CHECK(!shmemx_##NAME##_broadcast_on_stream(SHMEM_TEAM_WORLD, to[0], from, N, npes - 1, stream)); \
        CHECK(!shmemx_##NAME##_fcollect_on_stream(SHMEM_TEAM_WORLD, to[1], from, N, stream)); \
        CHECK(!shmemx_##NAME##_collect_on_stream(SHMEM_TEAM_WORLD, to[2], from, (size_t)me + 1, stream)); \
        CHECK(!shmemx_##NAME##_alltoall_on_stream(SHMEM_TEAM_WORLD, to[3], from, 2, stream)); \
        CHECK(!shmemx_##NAME##_alltoalls_on_stream(SHMEM_TEAM_WORLD, to[4], from, 2, 1, N, stream)); \
        sync(); \
        ALL(to[0][i] == (TYPE)(40 * (npes - 1) + i)); \
        for (int pe = 0; pe < npes; pe++) { \
            ALL(to[1][pe * N + i] == (TYPE)(40 * pe + i)); \
            for (int i = 0; i <= pe; i++) \
                CHECK(to[2][at++] == (TYPE)(40 * pe + i)); \
            for (int i = 0; i < 2; i++) \
                CHECK(to[3][2 * pe + i] == (TYPE)(40 * pe + 2 * me + i)); \
            ALL(to[4][2 * (pe * N + i)] == (TYPE)(40 * pe + me * N + i)); \
        } \
        meet(); \
    }
SY_RMA_TYPES(DATA)

static void data_mem(void)
{
    static unsigned char to[5][2 * N * MOST], from[2 * N * MOST];
    int at = 0;

    check_case = "mem";
    for (int i = 0; i < 2 * N * MOST; i++)
        from[i] = (unsigned char)(40 * me + i);
    CHECK(!shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, to[0], from, N, npes - 1, stream));
    CHECK(!shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, to[1], from, N, stream));
    CHECK(!shmemx_collectmem_on_stream(SHMEM_TEAM_WORLD, to[2], from, (size_t)me + 1, stream));
    CHECK(!shmemx_alltoallmem_on_stream(SHMEM_TEAM_WORLD, to[3], from, 2, stream));
    CHECK(!shmemx_alltoallsmem_on_stream(SHMEM_TEAM_WORLD, to[4], from, 2, 1, N, stream));
    sync();
    ALL(to[0][i] == (unsigned char)(40 * (npes - 1) + i));
    for (int pe = 0; pe < npes; pe++) {
        ALL(to[1][pe * N + i] == (unsigned char)(40 * pe + i));
        for (int i = 0; i <= pe; i++)
            CHECK(to[2][at++] == (unsigned char)(40 * pe + i));
        for (int i = 0; i < 2; i++)
            CHECK(to[3][2 * pe + i] == (unsigned char)(40 * pe + 2 * me + i));
        ALL(to[4][2 * (pe * N + i)] == (unsigned char)(40 * pe + me * N + i));
    }
    meet();
}

/* Element i of PE pe; small, so that products are exact. */
#define VALUE(TYPE, PE) (TYPE)(1 + ((PE) + i) % 3)

#define REDUCE(NAME, TYPE, OP, STEP) \
    static void OP##_##NAME(void) \
    { \
        static TYPE dest[N], source[N]; \
        check_case = #NAME " " #OP; \
        for (int i = 0; i < N; i++) \
            source[i] = VALUE(TYPE, me); \
        CHECK(!shmemx_##NAME##_##OP##_reduce_on_stream(SHMEM_TEAM_WORLD, dest, source, N, stream)); \
        sync(); \
        for (int i = 0; i < N; i++) { \
            TYPE into = VALUE(TYPE, 0); \
            for (int pe = 1; pe < npes; pe++) { \
                const TYPE with = VALUE(TYPE, pe); \
                into = (TYPE)(STEP); \
            } \
            CHECK(dest[i] == into); \
        } \
    }
#define BITWISE_REDUCE(NAME, TYPE) \
    REDUCE(NAME, TYPE, and, into & with) \
    REDUCE(NAME, TYPE, or, into | with) \
    REDUCE(NAME, TYPE, xor, into ^ with)
SY_BITWISE_REDUCE_TYPES(BITWISE_REDUCE)
#define COMPARE_REDUCE(NAME, TYPE) \
    REDUCE(NAME, TYPE, max, into < with ? with : into) \
    REDUCE(NAME, TYPE, min, with < into ? with : into)
SY_COMPARE_REDUCE_TYPES(COMPARE_REDUCE)

#define ARITHMETIC_REDUCE(NAME, TYPE) \
    REDUCE(NAME, TYPE, sum, into + with) \
    REDUCE(NAME, TYPE, prod, into * with) \
    static void scan_##NAME(void) \
    { \
        static TYPE in[N], ex[N], source[N]; \
        check_case = #NAME " scan"; \
        for (int i = 0; i < N; i++) \
            source[i] = VALUE(TYPE, me); \
        CHECK(!shmemx_##NAME##_sum_inscan_on_stream(SHMEM_TEAM_WORLD, in, source, N, stream)); \
        CHECK(!shmemx_##NAME##_sum_exscan_on_stream(SHMEM_TEAM_WORLD, ex, source, N, stream)); \
        sync(); \
        for (int i = 0; i < N; i++) { \
            TYPE sum = 0; \
            for (int pe = 0; pe < me; pe++) \
                sum = (TYPE)(sum + VALUE(TYPE, pe)); \
            CHECK(ex[i] == sum && in[i] == (TYPE)(sum + VALUE(TYPE, me))); \
        } \
    }
SY_ARITHMETIC_REDUCE_TYPES(ARITHMETIC_REDUCE)

/* ---- all of them ---- */

#define RUN_RMA(NAME, TYPE) rma_##NAME(), data_##NAME();
#define RUN_SIZED(SIZE, BYTES) sized_##SIZE();
#define RUN_STRIDED(SIZE, BYTES) strided_##SIZE();
#define RUN_EXTENDED(NAME, TYPE) extended_##NAME();
#define RUN_STANDARD(NAME, TYPE) standard_##NAME(), sets_##NAME();
#define RUN_BITWISE(NAME, TYPE) bitwise_##NAME();
#define RUN_WAIT(NAME, TYPE) wait_##NAME(), shmemx_stream_destroy(second), make_second();
#define RUN_AND(NAME, TYPE) and_##NAME(), or_##NAME(), xor_##NAME();
#define RUN_MAX(NAME, TYPE) max_##NAME(), min_##NAME();
#define RUN_SUM(NAME, TYPE) sum_##NAME(), prod_##NAME(), scan_##NAME();

static void make_second(void)
{
    CHECK(!shmemx_stream_create(SHMEM_TEAM_WORLD, NULL, &second));
}

int main(int argc, char **argv)
{
    int provided;

    shmem_init_thread(argc > 1 && !strcmp(argv[1], "serialized") ? SHMEM_THREAD_SERIALIZED
                                                                : SHMEM_THREAD_FUNNELED,
                      &provided);
    me = shmem_my_pe(), npes = shmem_n_pes();
    next = (me + 1) % npes, prev = (me + npes - 1) % npes;
    CHECK(!shmemx_stream_create(SHMEM_TEAM_WORLD, NULL, &stream));
    make_second();
    SY_RMA_TYPES(RUN_RMA)
    SY_SIZES_AND_MEM(RUN_SIZED)
    SY_SIZES(RUN_STRIDED)
    signals();
    data_mem();
    SY_EXTENDED_AMO_TYPES(RUN_EXTENDED)
    SY_STANDARD_AMO_TYPES(RUN_STANDARD)
    SY_BITWISE_AMO_TYPES(RUN_BITWISE)
    SY_WAIT_TYPES(RUN_WAIT)
    SY_BITWISE_REDUCE_TYPES(RUN_AND)
    SY_COMPARE_REDUCE_TYPES(RUN_MAX)
    SY_ARITHMETIC_REDUCE_TYPES(RUN_SUM)
    check_case = "";
    CHECK(!shmemx_sync_all_on_stream(stream));
    CHECK(!shmemx_team_sync_on_stream(SHMEM_TEAM_WORLD, stream));
    CHECK(!shmemx_barrier_on_stream(SHMEM_TEAM_WORLD, stream));
    sync();
    shmemx_stream_destroy(second);
    shmemx_stream_destroy(stream);
    int status = check_end("stream typed");
    shmem_finalize();
    return status;
}
