/* Initialisation, finalisation and re-initialisation (9.1, 9.2): nested, repeated, with everything
 * used in each phase; queries before, between and after. */
#include <limits.h>
#include <string.h>

#include "check.h"

static long mark, from_last_phase;

static int initialized(void)
{
    int value = -1;
    shmem_query_initialized(&value);
    return value;
}

/* Uses statics and heap in one phase. */
static void use(int phase)
{
    int me = shmem_my_pe(), npes = shmem_n_pes(), to = (me + 1) % npes,
        from = (me + npes - 1) % npes;
    long *block = shmem_malloc(1000 * sizeof *block);

    CHECK(block != NULL);
    shmem_long_p(&block[999], phase * 1000 + me, to);
    shmem_long_p(&mark, phase * 2000 + me, to);
    shmem_barrier_all();
    CHECK(block[999] == phase * 1000 + from);
    CHECK(mark == phase * 2000 + from);
    shmem_barrier_all();
    if (phase % 2)
        shmem_free(block);
}

static void check_queries(void)
{
    int major = 0, minor = 0, npes = shmem_n_pes();
    char name[SHMEM_MAX_NAME_LEN + 8];

    shmem_info_get_version(&major, &minor);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION && major == 1 && minor == 6);
    memset(name, '#', sizeof name);
    shmem_info_get_name(name);
    CHECK(!strcmp(name, SHMEM_VENDOR_STRING));
    CHECK(name[SHMEM_MAX_NAME_LEN] == '#');
    CHECK(shmem_pe_accessible(0) == 1 && shmem_pe_accessible(npes - 1) == 1);
    CHECK(shmem_pe_accessible(-1) == 0 && shmem_pe_accessible(npes) == 0);
    CHECK(shmem_pe_accessible(INT_MAX) == 0 && shmem_pe_accessible(INT_MIN) == 0);
    shmem_pcontrol(0);
    shmem_pcontrol(-3, "any", 17);
    CHECK(_my_pe() == shmem_my_pe() && _num_pes() == npes);
}

int main(void)
{
    int provided = -1, me = -1, npes = -1;

    CHECK(initialized() == 0);
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    CHECK(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    int level = provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) == 0);
    CHECK(provided == level);
    shmem_query_thread(&provided);
    CHECK(provided == level);
    check_queries();
    use(1);
    shmem_long_put_nbi(&mark, &(long){31}, 1, (me + 1) % npes);
    shmem_finalize();
    CHECK(mark == 31);
    CHECK(initialized() == 1);
    use(2);
    static const long last = 17;
    shmem_long_put_nbi(&from_last_phase, &last, 1, (me + 1) % npes);
    shmem_finalize();
    CHECK(from_last_phase == 17);
    CHECK(initialized() == 0);
    for (int phase = 3; phase < 10; phase++) {
        shmem_init();
        CHECK(initialized() == 1);
        CHECK(shmem_my_pe() == me && shmem_n_pes() == npes);
        shmem_query_thread(&provided);
        CHECK(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE);
        use(phase);
        shmem_finalize();
    }
    start_pes(0);
    start_pes(5);
    CHECK(initialized() == 1 && shmem_n_pes() == npes);
    use(11);
    return check_end("lifecycle"); /* start_pes needs no shmem_finalize */
}
