/* The profiling interface's control routine (10.1.1). */
#include "api/alias.h"

/* Does nothing: the routine exists for profiling tools, which replace it. */
void pshmem_pcontrol(int level, ...)
{
    (void)level;
}
SY_ALIAS(shmem_pcontrol);
