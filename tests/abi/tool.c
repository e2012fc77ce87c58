/* A profiler as the specification has it (10): replaces two routines and calls the originals. Linked into
 * the program, before the library, or loaded ahead of it. */
#include <pshmem.h>

long tool_calls;

void shmem_long_p(long *dest, long value, int pe)
{
    tool_calls++;
    pshmem_long_p(dest, value, pe);
}

int shmem_my_pe(void)
{
    tool_calls += 1000;
    return pshmem_my_pe();
}
