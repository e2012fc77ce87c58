/* Memory spaces: symmetric memory of a kind, made and ended while the program runs. */
#ifndef SY_API
#include "../shmemx.h"
#else

/* Not 0 for a team that is not SHMEM_TEAM_INVALID. */
int SY_API(shmemx_team_is_valid)(shmem_team_t team);

#endif
