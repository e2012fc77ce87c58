/* Parsing: which texts are valid, and their values. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/bits.h"
#include "util/list.h"
#include "util/parse.h"
#include "suite.h"

static const struct {
    const char *text;
    size_t bytes;
} sizes[] = {
    {"0", 0},
    {"1", 1},
    {"0k", 0},
    {"007", 7},
    {"20", 20},
    {"20k", 20480},
    {"20K", 20480},
    {"20m", 20971520},
    {"20M", 20971520},
    {"2g", (size_t)2 << 30},
    {"2G", (size_t)2 << 30},
    {"3t", (size_t)3 << 40},
    {"3T", (size_t)3 << 40},
    /* what follows the multiplier is ignored */
    {"20MB", 20971520},
    {"20kk", 20480},
    {"20k ", 20480},
    {"20MiB", 20971520},
    /* fractions, rounded up to a whole byte */
    {".5m", 524288},
    {"0.5m", 524288},
    {"5.m", 5242880},
    {"3.1M", 3250586},
    {"1.5", 2},
    {"0.1", 1},
    {"1.0", 1},
    {"0.000000000000000000", 0},
    {"1.000000000000000000000000000000000001", 2},
    {"0.0009765625k", 1},
    {"0.0009765626k", 2},
    {"1.9999999999999999999999999t", (size_t)2 << 40},
    {"18446744073709551615", SIZE_MAX},
    {"16777215.999999t", 18446744073708452105u}, /* 2^64 - 1099511.627776 */
    {"1e6", 1000000},
    {"1.5E+3", 1500},
    {".25e1k", 2560},
    {"0e99", 0},
    {"17179869183g", SIZE_MAX - ((size_t)1 << 30) + 1},
};

static const char *const bad_sizes[] = {
    "", "abc", "m", "-1", "+1", "20x", "nan", "inf", "infinity", "0x10", "1e",   "1e-3", "1e20", " 1", "1 ", ".",
    ".m", "-0", "-.5", "1,5", "1 k", "..5", "1.5.", "--1", "1.5x", "0b1", "20\t",
    "18446744073709551616", "16777216t", "17179869184g",
    "99999999999999999999999999999999999999999999", "18446744073709551615.5",
    /* just below 2^64, which is what they are rounded up to */
    "16777215.999999999999999999t", "16777215.9999999999999999999999t"};

START_TEST(test_sizes)
{
    for (size_t i = 0; i < SY_COUNT(sizes); i++) {
        size_t bytes = 12345;
        ck_assert_msg(sy_parse_size(sizes[i].text, &bytes) == 0, "%s is refused", sizes[i].text);
        ck_assert_msg(bytes == sizes[i].bytes, "%s is %zu, not %zu", sizes[i].text, bytes,
                      sizes[i].bytes);
    }
}
END_TEST

START_TEST(test_bad_sizes)
{
    for (size_t i = 0; i < SY_COUNT(bad_sizes); i++) {
        size_t bytes = 12345;
        ck_assert_msg(sy_parse_size(bad_sizes[i], &bytes) == -EINVAL, "\"%s\" is taken as %zu",
                      bad_sizes[i], bytes);
        ck_assert_uint_eq(bytes, 12345);
    }
}
END_TEST

START_TEST(test_bools)
{
    static const char *const off[] = {"0", "no", "off", "false", "", "NO", "Off", "FALSE"};
    static const char *const on[] = {"1", "yes", "on", "true", "YES", "On", "TRUE"};
    static const char *const bad[] = {"2", "y", "n", "enable", " 1", "1 ", "01", "of", "truee"};
    bool value;

    for (size_t i = 0; i < SY_COUNT(off); i++) {
        value = true;
        ck_assert_int_eq(sy_parse_bool(off[i], &value), 0);
        ck_assert_msg(!value, "%s is on", off[i]);
    }
    for (size_t i = 0; i < SY_COUNT(on); i++) {
        value = false;
        ck_assert_int_eq(sy_parse_bool(on[i], &value), 0);
        ck_assert_msg(value, "%s is off", on[i]);
    }
    for (size_t i = 0; i < SY_COUNT(bad); i++)
        ck_assert_msg(sy_parse_bool(bad[i], &value) == -EINVAL, "%s is taken", bad[i]);
}
END_TEST

START_TEST(test_ints)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "0x1",
                                      "1k",
                                      "abc",
                                      "11",
                                      "-6",
                                      "99999999999999999999",
                                      "-99999999999999999999"};
    long value = 77;

    ck_assert_int_eq(sy_parse_int("-5", -5, 10, &value), 0);
    ck_assert_int_eq(value, -5);
    ck_assert_int_eq(sy_parse_int("10", -5, 10, &value), 0);
    ck_assert_int_eq(value, 10);
    ck_assert_int_eq(sy_parse_int("9223372036854775807", 0, LONG_MAX, &value), 0);
    ck_assert(value == LONG_MAX);
    value = 77;
    for (size_t i = 0; i < SY_COUNT(bad); i++)
        ck_assert_msg(sy_parse_int(bad[i], -5, 10, &value) == -EINVAL, "%s is taken", bad[i]);
    ck_assert_int_eq(value, 77);
}
END_TEST

START_TEST(test_seconds)
{
    static const char *const bad[] = {"",   ".",   "-1", "+1", "inf", "nan",
                                      "1s", "1e",  " 1", "1 ", "1,5",
                                      "e3", "1e-", "1e3s", "1e999"};
    char huge[401];
    double value = 77;

    ck_assert_int_eq(sy_parse_seconds("120", &value), 0);
    ck_assert(value == 120.0);
    ck_assert_int_eq(sy_parse_seconds("2.5", &value), 0);
    ck_assert(value == 2.5);
    ck_assert_int_eq(sy_parse_seconds(".3", &value), 0);
    ck_assert(value == .3);
    ck_assert_int_eq(sy_parse_seconds("1.5e2", &value), 0);
    ck_assert(value == 150.0);
    ck_assert_int_eq(sy_parse_seconds("1E-05", &value), 0); /* as Python writes it to JSON */
    ck_assert(value == 1. / 100000);
    ck_assert_int_eq(sy_parse_seconds("2e+1", &value), 0);
    ck_assert(value == 20.0);
    ck_assert_int_eq(sy_parse_seconds("0", &value), 0);
    ck_assert(value == 0.0);
    ck_assert_int_eq(sy_parse_seconds("99999999999999999999", &value), 0);
    ck_assert(value == SY_SECONDS_MAX);
    value = 77;
    for (size_t i = 0; i < SY_COUNT(bad); i++)
        ck_assert_msg(sy_parse_seconds(bad[i], &value) == -EINVAL, "%s is taken", bad[i]);
    memset(huge, '9', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    ck_assert_int_eq(sy_parse_seconds(huge, &value), -EINVAL);
    huge[0] = '.'; /* a fraction that long ends as infinity divided by infinity */
    ck_assert_int_eq(sy_parse_seconds(huge, &value), -EINVAL);
    ck_assert(value == 77);
}
END_TEST

START_TEST(test_ranges)
{
    static const char *const bad[] = {"a",    "1,",    ",1", "1,,2", "1-",  "-1",
                                      "4-3",  "1-2-3", " 1", "1 ",   "1;2", "99999999999999999999",
                                      "0,4-x"};

    ck_assert_int_eq(sy_parse_in_ranges("", 5), 1);
    ck_assert_int_eq(sy_parse_in_ranges("5", 5), 1);
    ck_assert_int_eq(sy_parse_in_ranges("5", 4), 0);
    ck_assert_int_eq(sy_parse_in_ranges("0,4-7", 0), 1);
    ck_assert_int_eq(sy_parse_in_ranges("0,4-7", 3), 0);
    ck_assert_int_eq(sy_parse_in_ranges("0,4-7", 4), 1);
    ck_assert_int_eq(sy_parse_in_ranges("0,4-7", 7), 1);
    ck_assert_int_eq(sy_parse_in_ranges("0,4-7", 8), 0);
    ck_assert_int_eq(sy_parse_in_ranges("3-3", 3), 1);
    for (size_t i = 0; i < SY_COUNT(bad); i++)
        ck_assert_msg(sy_parse_in_ranges(bad[i], 1) == -EINVAL, "%s is taken", bad[i]);
}
END_TEST

static const char *const words[] = {"SYMMETRIC_SIZE", "TRANSPORTS", "DEBUG", "INFO",
                                    "LOG_LEVEL",      "CHECK",      "shm"};

static void expect_near(const char *word, const char *nearest)
{
    const char *found = sy_nearest(word, words, SY_COUNT(words));

    if (nearest)
        ck_assert_msg(found && !strcmp(found, nearest), "%s: %s", word, found ? found : "(none)");
    else
        ck_assert_msg(!found, "%s: %s", word, found ? found : "(none)");
}

START_TEST(test_nearest)
{
    char long_word[200];

    expect_near("SYMETRIC_SIZE", "SYMMETRIC_SIZE");   /* left out */
    expect_near("SYMMMETRIC_SIZE", "SYMMETRIC_SIZE"); /* too many */
    expect_near("SYMMETRIC_ZISE", "SYMMETRIC_SIZE");  /* changed */
    expect_near("TRANPSORTS", "TRANSPORTS");          /* swapped */
    expect_near("TRANSPORT", "TRANSPORTS");
    expect_near("transports", "TRANSPORTS"); /* another case is no difference */
    expect_near("LOGLEVEL", "LOG_LEVEL");
    expect_near("CHEKC", "CHECK");
    expect_near("smh", "shm");
    expect_near("IFNO", "INFO");
    expect_near("SOMETHING_ELSE", NULL);
    expect_near("FOO", NULL);
    expect_near("x", NULL);
    expect_near("", NULL);
    memset(long_word, 'x', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    expect_near(long_word, NULL);
    ck_assert_ptr_null(sy_nearest("INFO", words, 0));
}
END_TEST

/* ---- lists of PEs (util/list.h) ---- */

/* The list of every `step`-th of `count` PEs, on hosts of `a_host` PEs each, or 0 for none named. */
static void expect_list(size_t room, int count, int step, int a_host, const char *expected)
{
    static const char *const hosts[] = {"h0", "h1", "h2"};
    char text[SY_LIST_TEXT];
    struct sy_list list = sy_list_begin(text, room);

    for (int pe = 0; pe < count; pe += step)
        sy_list_add_on(&list, pe, a_host ? hosts[pe / a_host] : NULL);
    ck_assert_str_eq(sy_list_end(&list), expected);
    ck_assert_uint_lt(strlen(text), room);
}

START_TEST(test_lists)
{
    expect_list(SY_LIST_TEXT, 0, 1, 0, "no PE");
    expect_list(SY_LIST_TEXT, 1, 1, 0, "PE 0");
    expect_list(SY_LIST_TEXT, 2048, 1, 0, "PEs 0-2047");
    expect_list(SY_LIST_TEXT, 5, 2, 0, "PEs 0, 2, 4");
    expect_list(SY_LIST_TEXT, 2048, 2, 0,
                "PEs 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 1012 more");
    expect_list(64, 20000, 1000, 0, "PEs 0, 1000, 2000, 3000, 4000, 5000, 6000 and 13 more");
    expect_list(SY_LIST_TEXT, 5, 1, 2, "PEs 0-1 (host h0), 2-3 (host h1), 4 (host h2)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parse");
    TCase *all = tcase_create("all");

    tcase_add_test(all, test_sizes);
    tcase_add_test(all, test_bad_sizes);
    tcase_add_test(all, test_bools);
    tcase_add_test(all, test_ints);
    tcase_add_test(all, test_seconds);
    tcase_add_test(all, test_ranges);
    tcase_add_test(all, test_nearest);
    tcase_add_test(all, test_lists);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
