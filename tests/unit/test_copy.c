/* Copies (util/copy.h): every byte gets there and no other changes, wherever source and destination are within their
 * pages, and which places are slow. */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "util/copy.h"

enum { PAGE = 4096, MOST = 3 * PAGE, ROOM = MOST + 2 * PAGE };

static _Alignas(PAGE) unsigned char from[ROOM], to[ROOM], expected[ROOM];

static void one_copy(size_t at, size_t source, size_t length)
{
    memset(to, 0xaa, ROOM);
    memset(expected, 0xaa, ROOM);
    for (size_t i = 0; i < length; i++)
        expected[at + i] = from[source + i];
    sy_copy_bytes(to + at, from + source, length);
    ck_assert_mem_eq(to, expected, ROOM);
}

START_TEST(test_bytes)
{
    static const size_t lengths[] = {0, 1, 7, 1023, 1024, 1025, 2047, 2048, 2049, PAGE, 5000, MOST};

    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 31 + i / 251);
    for (size_t ahead = 0; ahead < 40; ahead++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            one_copy(ahead, 0, lengths[i]);
            one_copy(100, PAGE + 100 - ahead, lengths[i]);
            one_copy(0, ahead, lengths[i]);
        }
}
END_TEST

START_TEST(test_places)
{
    static const int slow[] = {1, 8, 16, 31, PAGE + 1, PAGE + 31, 1 - PAGE}, fast[] = {0, 32, 64, 2048, -1, -16, PAGE};

    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
        ck_assert(sy_copy_is_ahead((uintptr_t)slow[i], 32));
        ck_assert(!sy_copy_is_ahead((uintptr_t)fast[i], 32));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy");
    TCase *tcase = tcase_create("copy");

    tcase_add_test(tcase, test_bytes);
    tcase_add_test(tcase, test_places);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
