/* The place where programs older than OpenSHMEM 1.1 look for shmemx.h (F.2.1). */
#include "../shmemx.h"
