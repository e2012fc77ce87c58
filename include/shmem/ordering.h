/* Memory ordering (9.12). The forms without a context act on SHMEM_CTX_DEFAULT; SHMEM_CTX_INVALID
 * is no operation. */
#ifndef SY_API
#include "../shmem.h"
#else

/* Puts, atomic operations and stores that this PE issued before are delivered to each PE before
 * those it issues after (9.12.1). Completes nothing; gets and fetched values are not ordered. */
void SY_API(shmem_fence)(void);
void SY_API(shmem_ctx_fence)(shmem_ctx_t ctx);

/* Completes all that this PE has issued, gets and fetched values too: the data are visible to every
 * PE on return (9.12.2). */
void SY_API(shmem_quiet)(void);
void SY_API(shmem_ctx_quiet)(shmem_ctx_t ctx);

/* quiet for operations on the npes PEs that target_pes lists, by their number on the context's team
 * (9.12.3). npes 0 returns at once, and target_pes may then be NULL. */
void SY_API(shmem_pe_quiet)(const int *target_pes, size_t npes);
void SY_API(shmem_ctx_pe_quiet)(shmem_ctx_t ctx, const int *target_pes, size_t npes);

/* Removed with 1.4 (F.1) and kept for programs that call them. Here caches are coherent: the
 * routines do nothing. */
void SY_API(shmem_clear_cache_inv)(void);
void SY_API(shmem_set_cache_inv)(void);
void SY_API(shmem_clear_cache_line_inv)(void *dest);
void SY_API(shmem_set_cache_line_inv)(void *dest);
void SY_API(shmem_udcflush)(void);
void SY_API(shmem_udcflush_line)(void *dest);

#endif
