/* A plugin that was built when the table was shorter, with its name in the table. The library must
 * not read what stands behind its table as a member. */
#include "plugin.h"

static int second(void)
{
    return 22;
}

static int trap(void)
{
    return -1;
}

extern __attribute__((visibility("default"))) const struct test_table shmem_test_1;
const struct test_table shmem_test_1 = {.size = offsetof(struct test_table, priority),
                                        .name = "old",
                                        .second = second,
                                        .priority = 99,
                                        .third = trap};
