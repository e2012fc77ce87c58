/* The place where programs older than OpenSHMEM 1.1 look for shmem.h (F.2.1). */
#include "../shmem.h"
