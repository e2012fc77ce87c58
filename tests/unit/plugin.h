/* The table of the plugins that test_plugin opens: a kind of its own, "test". */
#ifndef SY_TESTS_PLUGIN_H
#define SY_TESTS_PLUGIN_H

#include <stddef.h>

struct test_table {
    size_t size;
    const char *name;
    int (*first)(void);
    int (*second)(void);
    long priority;
    int (*third)(void); /* added later: plugins of before do not have it */
};

#endif
