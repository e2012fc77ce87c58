// The C interface used from C++: objects at namespace scope, in classes and in functions are
// symmetric, a template chooses typed routines, and handles and constants work as C++ wants them.
#include <cstring>
#include <pshmem.h>
#include <shmemx.h>
#include "check.h"

namespace
{

shmem_ctx_t default_ctx = SHMEM_CTX_DEFAULT;
const shmem_ctx_t invalid_ctx = SHMEM_CTX_INVALID;

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

long counter;

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
