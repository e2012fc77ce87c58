/* Fails unless tool.c sees its calls: those by name and, where the language has them, those by
 * type. */
#include <stdio.h>
#include <shmem.h>

extern long tool_calls __attribute__((weak));
static long word;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    shmem_long_p(&word, 1, me);
    shmem_p(&word, 2, me);
    shmem_quiet();
    int right = &tool_calls && tool_calls == 1002 && word == 2;
    if (!right)
        fprintf(stderr, "the tool saw %ld\n", &tool_calls ? tool_calls : -1);
    shmem_finalize();
    return !right;
}
