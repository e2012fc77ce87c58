/* Teams (9.4): ordered sets of PEs with their own numbers, 0 to the team's size less 1.
 *
 * Creation is collective over the parent team: all its PEs call with the same arguments and get the
 * same return code, 0 if the team exists. If it is not 0, every handle that the call writes is
 * SHMEM_TEAM_INVALID. Teams can be used at once, without further synchronisation. */
#ifndef SY_API
#include "../shmem.h"
#else

/* The number of this PE on the team (9.4.1), and the team's size (9.4.2); -1 for
 * SHMEM_TEAM_INVALID. */
int SY_API(shmem_team_my_pe)(shmem_team_t team);
int SY_API(shmem_team_n_pes)(shmem_team_t team);

/* Writes those members of the team's configuration that config_mask names, 0 or
 * SHMEM_TEAM_NUM_CONTEXTS, and returns 0; with mask 0 config may be NULL. Another value, and
 * nothing written, for SHMEM_TEAM_INVALID (9.4.4). */
int SY_API(shmem_team_get_config)(shmem_team_t team, long config_mask, shmem_team_config_t *config);

/* The number on dest_team of the PE that is src_pe on src_team; -1 if it is not a member, if there
 * is no such PE, or if a team is SHMEM_TEAM_INVALID (9.4.5). */
int SY_API(shmem_team_translate_pe)(shmem_team_t src_team, int src_pe, shmem_team_t dest_team);

/* Makes a team of the size PEs start, start + stride, ... of the parent, in that order; a stride
 * below 0 counts down (9.4.6). PEs of the parent that are not members get SHMEM_TEAM_INVALID and
 * also 0. config may be NULL if config_mask is 0. */
int SY_API(shmem_team_split_strided)(shmem_team_t parent_team, int start, int stride, int size,
                                     const shmem_team_config_t *config, long config_mask,
                                     shmem_team_t *new_team);

/* Lays the parent's PEs out in rows of xrange, and makes a team of each row and of each column;
 * every PE gets its row in *xaxis_team and its column in *yaxis_team (9.4.7). */
int SY_API(shmem_team_split_2d)(shmem_team_t parent_team, int xrange,
                                const shmem_team_config_t *xaxis_config, long xaxis_mask,
                                shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                                long yaxis_mask, shmem_team_t *yaxis_team);

/* Ends a team and the contexts on it that can be shared; collective over its PEs (9.4.8). No
 * operation for SHMEM_TEAM_INVALID. */
void SY_API(shmem_team_destroy)(shmem_team_t team);

#endif
