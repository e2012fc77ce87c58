/* When it is certain that a job cannot continue (util/rest.h). */
#include <check.h>

#include "suite.h"
#include "util/rest.h"

#define FINALIZING SY_REST_FINALIZING
#define LONG       SY_REST_LONG
#define INSIDE     SY_REST_INSIDE
#define OUTSIDE    SY_REST_OUTSIDE

START_TEST(one_leaves)
{
    struct sy_rest rest[] = {{.wait = 5, .flags = FINALIZING}, {.wait = 6}, {.wait = 7}};

    ck_assert(sy_rest_all(rest, 3));
    rest[2].wait = 0; /* it computes */
    ck_assert(!sy_rest_all(rest, 3));
}
END_TEST

START_TEST(nobody_leaves)
{
    struct sy_rest rest[] = {{.wait = 5, .flags = LONG}, {.wait = 6}};

    ck_assert(!sy_rest_all(rest, 2));
    rest[1].flags = LONG;
    ck_assert(sy_rest_all(rest, 2));
}
END_TEST

/* Where only the library can end the waits, nothing from outside matters. */
START_TEST(all_inside)
{
    struct sy_rest rest[] = {{.wait = 5, .flags = INSIDE}, {.wait = 6}};

    ck_assert(!sy_rest_all(rest, 2));
    rest[1].flags = INSIDE | OUTSIDE;
    ck_assert(sy_rest_all(rest, 2));
}
END_TEST

/* A handler of one PE may write to the variable that another one waits for. */
START_TEST(one_is_open)
{
    struct sy_rest rest[] = {{.wait = 5, .flags = INSIDE | LONG | OUTSIDE | FINALIZING},
                             {.wait = 6, .flags = LONG}};

    ck_assert(!sy_rest_all(rest, 2));
    rest[0].flags &= ~(unsigned)OUTSIDE;
    ck_assert(sy_rest_all(rest, 2));
}
END_TEST

/* The end of a job whose last messages are in flight. */
START_TEST(all_leave)
{
    struct sy_rest rest[] = {{.wait = 5, .flags = FINALIZING | LONG},
                             {.wait = 6, .flags = FINALIZING | LONG}};

    ck_assert(!sy_rest_all(rest, 2));
    rest[0] = (struct sy_rest){.gone = true};
    ck_assert(sy_rest_all(rest, 2));
    rest[1] = rest[0];
    ck_assert(!sy_rest_all(rest, 2));
}
END_TEST

START_TEST(one_has_gone)
{
    struct sy_rest rest[] = {{.gone = true}, {.wait = 6}};

    ck_assert(sy_rest_all(rest, 2));
    sy_rest_ask(rest, 2);
    rest[1].wait = 6;
    ck_assert(sy_rest_confirmed(rest, 2));
}
END_TEST

START_TEST(answers)
{
    struct sy_rest rest[] = {{.wait = 5, .flags = FINALIZING}, {.wait = 6}};

    sy_rest_ask(rest, 2);
    ck_assert(!sy_rest_confirmed(rest, 2)); /* none has come */
    rest[0].wait = 5;
    ck_assert(!sy_rest_confirmed(rest, 2));
    rest[1].wait = 8; /* it has gone on, and waits again */
    ck_assert(!sy_rest_confirmed(rest, 2));
    rest[1].wait = 6;
    ck_assert(sy_rest_confirmed(rest, 2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rest");
    TCase *rest = tcase_create("rest");

    tcase_add_test(rest, one_leaves);
    tcase_add_test(rest, nobody_leaves);
    tcase_add_test(rest, all_inside);
    tcase_add_test(rest, one_is_open);
    tcase_add_test(rest, all_leave);
    tcase_add_test(rest, one_has_gone);
    tcase_add_test(rest, answers);
    suite_add_tcase(suite, rest);
    return suite_run(suite);
}
