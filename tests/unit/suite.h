/* For the mains of unit suites. */
#ifndef TESTS_UNIT_SUITE_H
#define TESTS_UNIT_SUITE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs a suite and reports its cases, as tests/driver.sh counts them; main's exit status. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner), ran = srunner_ntests_run(runner);
    TestResult **results = srunner_results(runner);
    for (int i = 0; i < ran; i++)
        if (tr_rtype(results[i]) == CK_PASS)
            printf("ok: %s, to %s:%d\n", tr_tcname(results[i]), tr_lfile(results[i]), tr_lno(results[i]));
    free(results);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
