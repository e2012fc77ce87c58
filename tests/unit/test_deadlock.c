/* When it is certain that a job cannot continue (util/deadlock.h). */
#include <check.h>

#include "suite.h"
#include "util/deadlock.h"

#define FINALIZING SY_BLOCKED_FINALIZING
#define LONG       SY_BLOCKED_LONG
#define INSIDE     SY_BLOCKED_INSIDE
#define OUTSIDE    SY_BLOCKED_OUTSIDE
#define STREAM     SY_BLOCKED_STREAM
#define MPI        SY_BLOCKED_MPI
#define ENDING     SY_BLOCKED_ENDING

START_TEST(one_leaves)
{
    struct sy_deadlock_pe pes[] = {{.wait = 5, .flags = FINALIZING}, {.wait = 6}, {.wait = 7}};

    ck_assert(sy_deadlock_all_blocked(pes, 3));
    pes[2].wait = 0; /* it computes */
    ck_assert(!sy_deadlock_all_blocked(pes, 3));
}
END_TEST

START_TEST(nobody_leaves)
{
    struct sy_deadlock_pe pes[] = {{.wait = 5, .flags = LONG}, {.wait = 6}};

    ck_assert(!sy_deadlock_all_blocked(pes, 2));
    pes[1].flags = LONG;
    ck_assert(sy_deadlock_all_blocked(pes, 2));
}
END_TEST

/* Where only the library can end the waits, nothing from outside matters. */
START_TEST(all_inside)
{
    struct sy_deadlock_pe pes[] = {{.wait = 5, .flags = INSIDE}, {.wait = 6}};

    ck_assert(!sy_deadlock_all_blocked(pes, 2));
    pes[1].flags = INSIDE | OUTSIDE;
    ck_assert(sy_deadlock_all_blocked(pes, 2));
}
END_TEST

/* A handler of one PE may write to the variable that another one waits for. */
START_TEST(one_is_open)
{
    struct sy_deadlock_pe pes[] = {{.wait = 5, .flags = INSIDE | LONG | OUTSIDE | FINALIZING},
                                   {.wait = 6, .flags = LONG}};

    ck_assert(!sy_deadlock_all_blocked(pes, 2));
    pes[0].flags &= ~(unsigned)OUTSIDE;
    ck_assert(sy_deadlock_all_blocked(pes, 2));
}
END_TEST

/* The end of a job whose last messages are in flight. */
START_TEST(all_leave)
{
    struct sy_deadlock_pe pes[] = {{.wait = 5, .flags = FINALIZING | LONG},
                                   {.wait = 6, .flags = FINALIZING | LONG}};

    ck_assert(!sy_deadlock_all_blocked(pes, 2));
    pes[0] = (struct sy_deadlock_pe){.gone = true};
    ck_assert(sy_deadlock_all_blocked(pes, 2));
    pes[1] = pes[0];
    ck_assert(!sy_deadlock_all_blocked(pes, 2));
}
END_TEST

/* What a stream waits for has to come from another PE, and all are in shmem_finalize. */
START_TEST(one_has_a_stream)
{
    struct sy_deadlock_pe pes[] = {{.wait = 5, .flags = FINALIZING},
                                   {.wait = 6, .flags = FINALIZING | STREAM}};

    ck_assert(sy_deadlock_all_blocked(pes, 2));
    pes[0].flags |= STREAM;
    ck_assert(sy_deadlock_all_blocked(pes, 2));
    pes[1].flags |= OUTSIDE;
    ck_assert(!sy_deadlock_all_blocked(pes, 2));
}
END_TEST

START_TEST(one_has_gone)
{
    struct sy_deadlock_pe pes[] = {{.gone = true}, {.wait = 6}};

    ck_assert(sy_deadlock_all_blocked(pes, 2));
    sy_deadlock_ask(pes, 2);
    pes[1].wait = 6;
    ck_assert(sy_deadlock_confirmed(pes, 2));
}
END_TEST

START_TEST(answers)
{
    struct sy_deadlock_pe pes[] = {{.wait = 5, .flags = FINALIZING}, {.wait = 6}};

    sy_deadlock_ask(pes, 2);
    ck_assert(!sy_deadlock_confirmed(pes, 2)); /* none has come */
    pes[0].wait = 5;
    ck_assert(!sy_deadlock_confirmed(pes, 2));
    pes[1].wait = 8; /* it has gone on, and waits again */
    ck_assert(!sy_deadlock_confirmed(pes, 2));
    pes[1].wait = 6;
    ck_assert(sy_deadlock_confirmed(pes, 2));
}
END_TEST

/* A PE in MPI_Finalize goes on when all others have come there: not while one waits for it. */
START_TEST(one_ends_mpi)
{
    struct sy_deadlock_pe pes[] = {{.wait = 5, .flags = ENDING | INSIDE},
                                   {.wait = 6, .flags = INSIDE}};

    ck_assert(!sy_deadlock_all_blocked(pes, 2)); /* the other one has been there */
    pes[1].flags |= FINALIZING;
    ck_assert(!sy_deadlock_all_blocked(pes, 2));
    pes[1].flags |= MPI;
    ck_assert(sy_deadlock_all_blocked(pes, 2));
    pes[1] = pes[0];
    ck_assert(!sy_deadlock_all_blocked(pes, 2)); /* both are there */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("deadlock");
    TCase *deadlock = tcase_create("deadlock");

    tcase_add_test(deadlock, one_leaves);
    tcase_add_test(deadlock, nobody_leaves);
    tcase_add_test(deadlock, all_inside);
    tcase_add_test(deadlock, one_is_open);
    tcase_add_test(deadlock, all_leave);
    tcase_add_test(deadlock, one_has_a_stream);
    tcase_add_test(deadlock, one_has_gone);
    tcase_add_test(deadlock, answers);
    tcase_add_test(deadlock, one_ends_mpi);
    suite_add_tcase(suite, deadlock);
    return suite_run(suite);
}
