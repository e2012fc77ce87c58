/* Sessions on contexts (9.9): hints on what a program is about to issue. They change nothing but
 * speed: not the results, nor the order, nor when something is complete. */
#ifndef SY_API
#include "../shmem.h"
#else

/* Starts a session on the context (9.9.2). options is 0 or SHMEM_CTX_SESSION_BATCH; those members
 * of *config count that config_mask names, 0 or SHMEM_CTX_SESSION_TOTAL_OPS. On a context that has
 * a session the options are added and the named members replaced. No operation for
 * SHMEM_CTX_INVALID. */
void SY_API(shmem_ctx_session_start)(shmem_ctx_t ctx, long options,
                                     const shmem_ctx_session_config_t *config, long config_mask);

/* Ends the session, if there is one (9.9.3). Completes nothing. */
void SY_API(shmem_ctx_session_stop)(shmem_ctx_t ctx);

#endif
