/* Communication contexts (9.5): each is a stream of operations that is ordered and completed by
 * itself. PE numbers in a routine with a context are those of the context's team. No routine here
 * is collective. */
#ifndef SY_API
#include "../shmem.h"
#else

/* Makes a context on all PEs (9.5.1), or on the PEs of a team (9.5.2). options is 0 or
 * SHMEM_CTX_SERIALIZED, PRIVATE, NOSTORE, joined with |. Returns 0; otherwise there was no room or
 * the team is SHMEM_TEAM_INVALID, and *ctx is SHMEM_CTX_INVALID. */
int SY_API(shmem_ctx_create)(long options, shmem_ctx_t *ctx);
int SY_API(shmem_team_create_ctx)(shmem_team_t team, long options, shmem_ctx_t *ctx);

/* Completes what is pending on the context and ends it (9.5.3). No operation for
 * SHMEM_CTX_INVALID. */
void SY_API(shmem_ctx_destroy)(shmem_ctx_t ctx);

/* Writes the team that the context was made on, and returns 0; for SHMEM_CTX_INVALID the team is
 * SHMEM_TEAM_INVALID and the value not 0 (9.5.4). */
int SY_API(shmem_ctx_get_team)(shmem_ctx_t ctx, shmem_team_t *team);

#endif
