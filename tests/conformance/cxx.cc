// The C interface used from C++: objects at namespace scope, in classes and in functions are
// symmetric, a template chooses typed routines, and handles and constants work as C++ wants them.
#include <complex>
#include <cstring>
#include <pshmem.h>
#include <shmemx.h>
#include "check.h"

namespace
{

shmem_ctx_t default_ctx = SHMEM_CTX_DEFAULT;
const shmem_ctx_t invalid_ctx = SHMEM_CTX_INVALID;
shmem_team_t world = SHMEM_TEAM_WORLD;
const shmem_team_t invalid_team = SHMEM_TEAM_INVALID;

static_assert(SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION == 6, "version");
static_assert(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN, "the name fits");

// Overloads made from the table of types, as a C++ program would make them for itself.
#define OVERLOADS(TYPENAME, TYPE)                                                                  \
    void put(TYPE *dest, const TYPE *source, size_t nelems, int pe)                                \
    {                                                                                              \
        shmem_##TYPENAME##_put(dest, source, nelems, pe);                                          \
    }                                                                                              \
    TYPE get(const TYPE *source, int pe)                                                           \
    {                                                                                              \
        return shmem_ctx_##TYPENAME##_g(default_ctx, source, pe);                                  \
    }
SY_RMA_DISTINCT_TYPES(OVERLOADS)
#define SUM_OVERLOADS(TYPENAME, TYPE)                                                              \
    int sum(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)                     \
    {                                                                                              \
        return shmem_##TYPENAME##_sum_reduce(team, dest, source, nreduce);                         \
    }
SY_COMPARE_REDUCE_DISTINCT_TYPES(SUM_OVERLOADS)

template <typename T> struct cell {
    static T values[3];
};
template <typename T> T cell<T>::values[3];

// Each PE writes to the next one and reads the next one's cells back.
template <typename T> void check_type(const char *name, int me, int to, int from)
{
    const T mine[2] = {static_cast<T>(me + 3), static_cast<T>(me + 4)};

    check_case = name;
    shmem_barrier_all();
    put(cell<T>::values, mine, 2, to);
    shmem_barrier_all();
    CHECK(cell<T>::values[0] == static_cast<T>(from + 3));
    CHECK(cell<T>::values[1] == static_cast<T>(from + 4));
    CHECK(cell<T>::values[2] == 0);
    CHECK(get(&cell<T>::values[1], to) == mine[1]);
}

// The sum of a type over all PEs, in place.
template <typename T> void check_sum(const char *name, int me, int npes)
{
    T *values = cell<T>::values;

    check_case = name;
    values[0] = static_cast<T>(me + 1);
    values[1] = 1;
    shmem_barrier_all();
    CHECK(sum(world, values, values, 2) == 0);
    CHECK(values[0] == static_cast<T>(npes * (npes + 1) / 2));
    CHECK(values[1] == static_cast<T>(npes));
    CHECK(sum(invalid_team, values, values, 1) != 0);
}

long counter;
uint64_t arrived;
long psync[SHMEM_SYNC_SIZE] = {SHMEM_SYNC_VALUE};

// Complex numbers of the C++ library have the layout of those of C.
void check_complex(int me, int npes)
{
    static std::complex<double> mine, total;
    typedef __typeof__(double _Complex) of_c;

    check_case = "complex";
    mine = std::complex<double>(me, 1);
    shmem_barrier_all();
    CHECK(shmem_complexd_sum_reduce(world, reinterpret_cast<of_c *>(&total),
                                    reinterpret_cast<const of_c *>(&mine), 1) == 0);
    CHECK(total == std::complex<double>(npes * (npes - 1) / 2, npes));

    // Without a cast.
    static std::complex<float> one, before, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    static long sync[SHMEM_REDUCE_SYNC_SIZE];
    for (long &word : sync)
        word = SHMEM_SYNC_VALUE;
    one = std::complex<float>(0, 1);
    shmem_barrier_all();
    CHECK(shmem_complexd_sum_reduce(world, &total, &mine, 1) == 0);
    CHECK(total == std::complex<double>(npes * (npes - 1) / 2, npes));
    CHECK(shmem_complexf_sum_exscan(world, &before, &one, 1) == 0);
    CHECK(before == std::complex<float>(0, static_cast<float>(me)));
    shmem_complexf_prod_to_all(&before, &one, 1, 0, 0, npes, work, sync);
    CHECK(before == std::pow(one, npes) || std::abs(before - std::pow(one, npes)) < 1e-3f);
}

// In C++ the names that C11 also has choices for are the functions.
void check_double_names(int npes)
{
    check_case = "names of two routines";
    shmem_signal_add(&arrived, 1, 0);
    if (shmem_my_pe() == 0) {
        const uint64_t all = static_cast<uint64_t>(npes);
        CHECK(shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, all) == all);
        shmem_signal_set(&arrived, 0, 0);
    }
    shmem_sync(0, 0, npes, psync);
    CHECK(shmem_team_sync(world) == 0);
}

void check_constants()
{
    int major = 0, minor = 0;
    char name[SHMEM_MAX_NAME_LEN];

    check_case = "constants";
    switch (SHMEM_CMP_GE) {
    case SHMEM_CMP_EQ:
    case SHMEM_CMP_NE:
    case SHMEM_CMP_LT:
    case SHMEM_CMP_LE:
    case SHMEM_CMP_GT:
        CHECK(!"two comparisons are the same");
        break;
    case SHMEM_CMP_GE:
        break;
    }
    CHECK(default_ctx != invalid_ctx);
    shmem_info_get_version(&major, &minor);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    shmem_info_get_name(name);
    CHECK(std::strcmp(name, SHMEM_VENDOR_STRING) == 0);
}

} // namespace

int main()
{
    static long local;
    int level = -1;

    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0);
    CHECK(level >= SHMEM_THREAD_SINGLE && level <= SHMEM_THREAD_MULTIPLE);
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    const int to = (me + 1) % npes, from = (me + npes - 1) % npes;

#define RUN(TYPENAME, TYPE) check_type<TYPE>(#TYPENAME, me, to, from);
    SY_RMA_DISTINCT_TYPES(RUN)

#define RUN_SUM(TYPENAME, TYPE) check_sum<TYPE>(#TYPENAME, me, npes);
    SY_RMA_DISTINCT_TYPES(RUN_SUM)
    check_complex(me, npes);
    check_double_names(npes);

    check_case = "counters";
    for (int pe = 0; pe < npes; pe++) {
        shmem_long_atomic_inc(&counter, pe);
        pshmem_long_atomic_inc(&local, pe);
    }
    shmem_wait_until(&counter, SHMEM_CMP_EQ, npes); // in C++ the function for long
    shmem_long_wait_until(&local, SHMEM_CMP_EQ, npes);
    CHECK(counter == npes && local == npes);
    check_constants();
    const int status = check_end("cxx");
    shmem_finalize();
    return status;
}
