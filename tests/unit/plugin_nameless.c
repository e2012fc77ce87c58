/* A plugin whose table has gaps and no name, so that its file names it: test_plugin installs it
 * under several names. */
#include "plugin.h"

static int first(void)
{
    return 11;
}

extern __attribute__((visibility("default"))) const struct test_table shmem_test_1;
const struct test_table shmem_test_1 = {.size = sizeof shmem_test_1, .first = first, .priority = 7};
