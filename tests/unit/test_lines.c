/* oshrun's line splitter: however bytes arrive and are taken, every byte comes out once, in order,
 * and only whole lines do unless a line is too long. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/launcher/stdio/lines.h"
#include "suite.h"

static void put(struct sy_lines *lines, const char *text, size_t length)
{
    while (length) {
        size_t room;
        char *space = sy_lines_space(lines, &room);

        ck_assert_uint_gt(room, 0);
        if (room > length)
            room = length;
        memcpy(space, text, room);
        sy_lines_filled(lines, room);
        text += room;
        length -= room;
    }
}

static void put_text(struct sy_lines *lines, const char *text)
{
    put(lines, text, strlen(text));
}

static void expect(struct sy_lines *lines, const char *text, bool inside)
{
    size_t length;
    const char *ready = sy_lines_ready(lines, &length);

    ck_assert_uint_eq(length, strlen(text));
    ck_assert(length == 0 || memcmp(ready, text, length) == 0);
    sy_lines_taken(lines, length);
    ck_assert_int_eq(lines->inside, inside);
}

START_TEST(whole_lines_only)
{
    struct sy_lines lines = {0};

    expect(&lines, "", false);
    put_text(&lines, "one");
    expect(&lines, "", false);
    put_text(&lines, " line\ntwo");
    expect(&lines, "one line\n", false);
    put_text(&lines, "\n\n\nthree");
    expect(&lines, "two\n\n\n", false);
    put_text(&lines, "\n");
    expect(&lines, "three\n", false);
    expect(&lines, "", false);
    sy_lines_free(&lines);
}
END_TEST

START_TEST(unfinished_line_at_the_end)
{
    struct sy_lines lines = {0};

    put_text(&lines, "one\nend");
    expect(&lines, "one\n", false);
    sy_lines_end(&lines);
    expect(&lines, "end", true);
    sy_lines_free(&lines);
}
END_TEST

START_TEST(zero_bytes_are_bytes)
{
    struct sy_lines lines = {0};
    size_t length;

    put(&lines, "a\0b\n\0", 5);
    ck_assert(memcmp(sy_lines_ready(&lines, &length), "a\0b\n", 4) == 0);
    ck_assert_uint_eq(length, 4);
    sy_lines_free(&lines);
}
END_TEST

START_TEST(raw_does_not_wait)
{
    struct sy_lines lines = {.raw = true};

    put_text(&lines, "prompt");
    expect(&lines, "prompt", true);
    put_text(&lines, " more\nx");
    expect(&lines, " more\nx", true);
    put_text(&lines, "\n");
    expect(&lines, "\n", false);
    sy_lines_free(&lines);
}
END_TEST

START_TEST(taken_in_parts)
{
    struct sy_lines lines = {0};
    size_t length;

    put_text(&lines, "abc\ndef\ng");
    sy_lines_taken(&lines, 2);
    ck_assert(lines.inside);
    sy_lines_taken(&lines, 2);
    ck_assert(!lines.inside);
    ck_assert(memcmp(sy_lines_ready(&lines, &length), "def\n", 4) == 0);
    ck_assert_uint_eq(length, 4);
    sy_lines_taken(&lines, 4);
    put_text(&lines, "h\n");
    expect(&lines, "gh\n", false);
    sy_lines_free(&lines);
}
END_TEST

/* The longest line that comes out whole, and the first that does not. */
START_TEST(long_lines)
{
    struct sy_lines lines = {0};
    char *text = malloc(SY_LINE_MAX);
    size_t length;

    memset(text, 'x', SY_LINE_MAX);
    put(&lines, text, SY_LINE_MAX - 1);
    sy_lines_ready(&lines, &length);
    ck_assert_uint_eq(length, 0);
    put_text(&lines, "\n");
    sy_lines_ready(&lines, &length);
    ck_assert_uint_eq(length, SY_LINE_MAX);
    sy_lines_taken(&lines, length);
    ck_assert(!lines.inside);

    put(&lines, text, SY_LINE_MAX);
    sy_lines_ready(&lines, &length);
    ck_assert_uint_eq(length, SY_LINE_MAX);
    sy_lines_taken(&lines, length);
    ck_assert(lines.inside);
    /* The rest of such a line is not held back, the line that follows it is. */
    put_text(&lines, "rest");
    expect(&lines, "rest", true);
    put_text(&lines, "!\nnext");
    expect(&lines, "!\n", false);
    put_text(&lines, "\n");
    expect(&lines, "next\n", false);
    ck_assert_uint_le(lines.room, 2 * SY_LINE_MAX);
    sy_lines_free(&lines);
    free(text);
}
END_TEST

static unsigned next_random(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 8;
}

/* A stream of lines of random lengths, in random pieces, taken in random pieces. */
START_TEST(random_pieces)
{
    enum { TOTAL = 6000000 };
    unsigned seed = (unsigned)_i + 1;
    char *in = malloc(TOTAL), *out = malloc(TOTAL);
    struct sy_lines lines = {0};
    size_t written = 0, taken = 0, length;
    size_t line_max = _i % 3 == 0 ? 100 : _i % 3 == 1 ? 100000 : 3000000;

    for (size_t i = 0, left = 0; i < TOTAL; i++) {
        if (!left)
            left = next_random(&seed) % line_max + 1;
        in[i] = --left ? (char)('a' + i % 26) : '\n';
    }
    while (written < TOTAL) {
        size_t room, piece = next_random(&seed) % 200000 + 1;
        char *space = sy_lines_space(&lines, &room);
        const char *ready;

        if (piece > room)
            piece = room;
        if (piece > TOTAL - written)
            piece = TOTAL - written;
        memcpy(space, in + written, piece);
        sy_lines_filled(&lines, piece);
        written += piece;
        if (written == TOTAL)
            sy_lines_end(&lines);
        while ((ready = sy_lines_ready(&lines, &length)), length) {
            size_t some = next_random(&seed) % length + 1;

            memcpy(out + taken, ready, some);
            sy_lines_taken(&lines, some);
            taken += some;
            ck_assert_int_eq(lines.inside, in[taken - 1] != '\n');
        }
        ck_assert_uint_lt(lines.end - lines.start, SY_LINE_MAX);
        ck_assert(written == TOTAL || line_max > SY_LINE_MAX || !lines.inside);
    }
    ck_assert_uint_eq(taken, TOTAL);
    ck_assert(memcmp(in, out, TOTAL) == 0);
    sy_lines_free(&lines);
    free(in);
    free(out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lines");
    TCase *lines = tcase_create("lines");

    tcase_add_test(lines, whole_lines_only);
    tcase_add_test(lines, unfinished_line_at_the_end);
    tcase_add_test(lines, zero_bytes_are_bytes);
    tcase_add_test(lines, raw_does_not_wait);
    tcase_add_test(lines, taken_in_parts);
    tcase_add_test(lines, long_lines);
    tcase_add_loop_test(lines, random_pieces, 0, 9);
    suite_add_tcase(suite, lines);
    return suite_run(suite);
}
