/* The profiling interface's control routine (10.1.1). */
#include "api/alias.h"

/* For tools that replace it; the library itself has nothing to switch. */
void pshmem_pcontrol(int level, ...)
{
    (void)level;
}
SY_ALIAS(shmem_pcontrol);
