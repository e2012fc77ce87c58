/* Control of a profiling tool (10.1). */
#ifndef SY_API
#include "../shmem.h"
#else

/* Tells a tool that has replaced this routine how much to record; what the arguments mean is the
 * tool's business (10.1.1). The library itself does nothing. */
void SY_API(shmem_pcontrol)(int level, ...);

#endif
