/* Memory spaces (shmemx.h). */
#include "api/alias.h"

int pshmemx_team_is_valid(shmem_team_t team)
{
    return team != SHMEM_TEAM_INVALID;
}
SY_ALIAS(shmemx_team_is_valid);
