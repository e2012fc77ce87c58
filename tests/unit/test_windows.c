/* The table of addresses: windows are found whatever the order in which they come and go, and while
 * another thread adds and takes away others. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/memory/memory.h"
#include "core/memory/windows.h"
#include "tests/unit/suite.h"

struct sy_memory sy_memory = {.fd = -1};
struct sy_statics sy_statics;

enum { HEAP = 1 << 20, EACH = 1 << 12, MOST = 64 };

static char heap[HEAP], room[2 * MOST * EACH];

static void open_windows(void)
{
    struct sy_error err;

    sy_memory.heap = heap;
    sy_memory.heap_length = sizeof heap;
    ck_assert_int_eq(sy_windows_open(1, 4, &err), 0);
}

/* Region i is at every second place, so that there are gaps. */
static char *place(unsigned i)
{
    return room + (size_t)i * 2 * EACH;
}

static void add(unsigned i)
{
    struct sy_region region = {.base = place(i), .length = EACH, .fd = -1};

    ck_assert_int_eq(sy_windows_add(SY_WINDOWS_START + i, &region, 1, true), 0);
}

static unsigned found_at(const void *address, uint64_t *offset)
{
    unsigned window = 0;

    return sy_windows_find(address, &window, offset) ? UINT32_MAX : window;
}

START_TEST(ranges)
{
    bool there[MOST] = {false};
    uint64_t offset;

    open_windows();
    srand(7);
    for (int step = 0; step < 5000; step++) {
        unsigned i = (unsigned)rand() % MOST;
        if (there[i])
            sy_windows_remove(SY_WINDOWS_START + i);
        else
            add(i);
        there[i] = !there[i];
        for (unsigned k = 0; k < MOST; k++) {
            unsigned expected = there[k] ? SY_WINDOWS_START + k : UINT32_MAX;
            ck_assert_uint_eq(found_at(place(k), &offset), expected);
            ck_assert(!there[k] || offset == 0);
            ck_assert_uint_eq(found_at(place(k) + EACH - 1, &offset), expected);
            ck_assert_uint_eq(found_at(place(k) + EACH, &offset), UINT32_MAX);
        }
    }
    ck_assert_uint_eq(found_at(heap, &offset), SY_WINDOW_HEAP);
    ck_assert_uint_eq(found_at(heap + HEAP - 8, &offset), SY_WINDOW_HEAP);
    ck_assert_uint_eq(offset, HEAP - 8);
    sy_windows_close();
    ck_assert_uint_eq(found_at(heap, &offset), UINT32_MAX);
}
END_TEST

/* What a PE says of an address is checked against the window, and against there being one. */
START_TEST(memory)
{
    open_windows();
    unsigned window = SY_WINDOWS_START + 3;
    ck_assert_ptr_null(sy_windows_memory(1, window, 0, 1));
    add(3);
    ck_assert_ptr_eq(sy_windows_memory(1, window, 8, EACH - 8), place(3) + 8);
    ck_assert_ptr_null(sy_windows_memory(1, window, 8, EACH - 7));
    ck_assert_ptr_null(sy_windows_memory(1, window, UINT64_MAX, 2));
    ck_assert_ptr_null(sy_windows_memory(2, window, 0, 1)); /* not mapped */
    ck_assert_ptr_null(sy_windows_memory(4, window, 0, 1));
    ck_assert_ptr_null(sy_windows_memory(1, SY_REGIONS, 0, 1));
    sy_windows_set_peer(window, 2, heap);
    ck_assert_ptr_eq(sy_windows_memory(2, window, 16, 1), heap + 16);
    sy_windows_remove(window);
    ck_assert_ptr_null(sy_windows_memory(1, window, 0, 1));
    sy_windows_close();
}
END_TEST

static _Atomic bool stop;
static _Atomic unsigned wrong, looks;

static void *look(void *arg)
{
    uint64_t offset;

    (void)arg;
    while (!atomic_load(&stop)) {
        if (found_at(heap + 24, &offset) != SY_WINDOW_HEAP || offset != 24)
            atomic_fetch_add(&wrong, 1);
        if (found_at(place(MOST - 1) + 5, &offset) != SY_WINDOWS_START + MOST - 1 || offset != 5)
            atomic_fetch_add(&wrong, 1);
        if (found_at(place(0) + EACH, &offset) != UINT32_MAX)
            atomic_fetch_add(&wrong, 1);
        atomic_fetch_add(&looks, 1);
    }
    return NULL;
}

START_TEST(meanwhile)
{
    pthread_t thread;

    open_windows();
    add(MOST - 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, look, NULL), 0);
    for (unsigned round = 0; round < 2000 || atomic_load(&looks) < 1000; round++) {
        add(round % (MOST - 1));
        sy_windows_remove(SY_WINDOWS_START + round % (MOST - 1));
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(atomic_load(&wrong), 0);
    sy_windows_close();
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("windows");
    Suite *suite = suite_create("windows");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, ranges);
    tcase_add_test(cases, memory);
    tcase_add_test(cases, meanwhile);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
