/* Racing the addresses of a peer (util/net/race.c): when each is tried, and what is noted. */
#include <string.h>

#include "suite.h"
#include "util/net/interfaces.h"
#include "util/net/race.h"
#include "util/net/way.h"

#define MS UINT64_C(1000000)

static struct sy_race race_of(unsigned count)
{
    struct sy_race race = {.count = count};
    struct sy_ip ip = {.family = 4, .bytes = {10, 0, 0, 0}};

    for (unsigned i = 0; i < count; i++) {
        ip.bytes[3] = (uint8_t)(i + 1);
        sy_ip_socket(&ip, 5000, 0, &race.address[i]);
    }
    return race;
}

START_TEST(test_head_starts)
{
    struct sy_race race = race_of(3);

    ck_assert(sy_race_next(&race, 0));
    ck_assert(!sy_race_next(&race, 249 * MS));
    ck_assert(sy_race_next(&race, 250 * MS));
    ck_assert_uint_eq(race.due, 500 * MS);
    ck_assert(sy_race_next(&race, 600 * MS));
    ck_assert(!sy_race_next(&race, 700 * MS));
    ck_assert_uint_eq(race.open, 3);
    ck_assert(race.due == UINT64_MAX);
}
END_TEST

/* Thirty addresses are begun within a second and a half. */
START_TEST(test_many)
{
    struct sy_race race = race_of(30);

    for (unsigned i = 0; i < 30; i++)
        ck_assert(sy_race_next(&race, i * 50 * MS));
}
END_TEST

START_TEST(test_failure_begins_the_next)
{
    struct sy_race race = race_of(2);

    ck_assert(sy_race_next(&race, 0));
    race.open--;
    ck_assert(sy_race_next(&race, 1));
    ck_assert_uint_eq(race.begun, 2);
    race.open--;
    ck_assert(!sy_race_next(&race, 2));
    ck_assert_uint_eq(race.due, 2);
}
END_TEST

START_TEST(test_answer_puts_off)
{
    struct sy_race race = race_of(2);

    ck_assert(sy_race_next(&race, 0));
    sy_race_answered(&race, 100 * MS, 3000 * MS);
    ck_assert(!sy_race_next(&race, 3099 * MS));
    ck_assert(sy_race_next(&race, 3100 * MS));
}
END_TEST

START_TEST(test_notes)
{
    struct sy_race race = race_of(SY_RACE_MOST);
    char text[SY_RACE_TEXT];

    ck_assert_str_eq(sy_race_text(&race, text), "");
    sy_race_note(&race, 0, SY_WAY_REFUSED, "refused");
    sy_race_note(&race, 1, SY_WAY_SILENT, "silent");
    ck_assert_str_eq(sy_race_text(&race, text), "10.0.0.1:5000: refused; 10.0.0.2:5000: silent");
    ck_assert_uint_eq(race.seen, SY_WAY_REFUSED | SY_WAY_SILENT);
    for (unsigned i = 2; i < SY_RACE_MOST; i++)
        sy_race_note(&race, i, 0, "connection refused");
    sy_race_text(&race, text);
    const char *more = strstr(text, "; and ");
    ck_assert_ptr_nonnull(more);
    ck_assert_str_eq(more + strspn(more, "; and 0123456789"), "more addresses");
    sy_race_forget(&race);
    ck_assert_str_eq(sy_race_text(&race, text), "");
    ck_assert_uint_eq(race.seen, 0);
}
END_TEST

START_TEST(test_again)
{
    struct sy_race race = race_of(3);
    char text[SY_IP_TEXT];

    ck_assert(sy_race_next(&race, 0) && sy_race_next(&race, 250 * MS));
    race.open = 0;
    sy_race_note(&race, 0, SY_WAY_REFUSED, "refused");
    sy_race_again(&race, 1, 900 * MS);
    ck_assert_str_eq(sy_socket_text(&race.address[0], text), "10.0.0.2:5000");
    ck_assert_str_eq(sy_socket_text(&race.address[1], text), "10.0.0.1:5000");
    ck_assert_uint_eq(race.due, 900 * MS);
    ck_assert_uint_eq(race.seen, SY_WAY_REFUSED);
    ck_assert_str_eq(race.note, "");
    ck_assert(sy_race_next(&race, 900 * MS));
    ck_assert_uint_eq(race.begun, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("race");
    TCase *all = tcase_create("all");

    tcase_add_test(all, test_head_starts);
    tcase_add_test(all, test_many);
    tcase_add_test(all, test_failure_begins_the_next);
    tcase_add_test(all, test_answer_puts_off);
    tcase_add_test(all, test_notes);
    tcase_add_test(all, test_again);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
