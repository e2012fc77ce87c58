/* Memory spaces: symmetric memory of a kind, made and ended while the program runs. Sizes are in
 * bytes. "Members" are the PEs of the team that belongs to the space. */
#ifndef SY_API
#include "../shmemx.h"
#else

/* Makes a space of config->size bytes on each PE that has the device; all PEs of the job call. 0,
 * with SHMEMX_SPACE_INVALID and SHMEM_TEAM_INVALID on PEs without the device; or, on all PEs, not 0
 * with both invalid: what was asked for cannot be had, or no PE has the device. */
int SY_API(shmemx_space_create)(const shmemx_space_config_t *config, shmemx_space_t *space,
                                shmem_team_t *team);

/* Ends a space, with what is allocated in it; all members call. 0; or not 0, and the space stays,
 * where some member still has its team, or one that was made from that. */
int SY_API(shmemx_space_destroy)(shmemx_space_t space);

/* As shmem_malloc and so on, in a space; all members call with the same arguments. NULL where the
 * space is SHMEMX_SPACE_INVALID, or has no room. */
void *SY_API(shmemx_space_malloc)(shmemx_space_t space, size_t size);
void *SY_API(shmemx_space_calloc)(shmemx_space_t space, size_t count, size_t size);
void *SY_API(shmemx_space_realloc)(shmemx_space_t space, void *ptr, size_t size);
void *SY_API(shmemx_space_align)(shmemx_space_t space, size_t alignment, size_t size);
void *SY_API(shmemx_space_malloc_with_hints)(shmemx_space_t space, size_t size, long hints);
void SY_API(shmemx_space_free)(shmemx_space_t space, void *ptr);

/* The team that belongs to a space, until the program ends it; then SHMEM_TEAM_INVALID. These and
 * those that follow are local, and return 0, or not 0 where there is no such space. */
int SY_API(shmemx_space_get_team)(shmemx_space_t space, shmem_team_t *team);
int SY_API(shmemx_space_get_device_type)(shmemx_space_t space, shmemx_device_type_t *type);
int SY_API(shmemx_space_get_caps)(shmemx_space_t space, shmemx_space_cap_t *caps);

/* Writes what became of what was asked for, as text for the user, at most `room` bytes with the
 * NUL.
 */
int SY_API(shmemx_space_describe)(shmemx_space_t space, char *text, size_t room);

/* The space that an address is in; a variable is in the default one. Not 0: it is in none, and
 * *space is SHMEMX_SPACE_INVALID. */
int SY_API(shmemx_get_space)(const void *ptr, shmemx_space_t *space);

/* The space whose team this is, or that this team was made from; SHMEMX_SPACE_DEFAULT for all other
 * teams. Not 0 for SHMEM_TEAM_INVALID. */
int SY_API(shmemx_team_get_space)(shmem_team_t team, shmemx_space_t *space);

/* Not 0 for a team that is not SHMEM_TEAM_INVALID. */
int SY_API(shmemx_team_is_valid)(shmem_team_t team);

/* CAP_DURABLE: writes what the space has out, on all members as one generation; all members call,
 * after their stores and puts to it are complete. 0 and *generation (which may be NULL), the new
 * one; or not 0 on all members, and the last one is what shmemx_space_generation says. */
int SY_API(shmemx_space_sync)(shmemx_space_t space, uint64_t *generation);

/* The last generation that is whole on all members; 0: none yet. */
int SY_API(shmemx_space_generation)(shmemx_space_t space, uint64_t *generation);

#endif
