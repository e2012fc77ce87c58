/* The symmetric heap (9.3). Each routine is collective: all PEs call it with the same arguments,
 * and get addresses of the same object. Sizes are in bytes. */
#ifndef SY_API
#include "../shmem.h"
#else

/* Allocates size bytes, aligned for every type; a barrier over all PEs before it returns (9.3.1).
 * NULL if size is 0, without a barrier, or if the heap has no room. */
void *SY_API(shmem_malloc)(size_t size);

/* Gives a block back, after a barrier over all PEs (9.3.2). NULL: no action, no barrier. */
void SY_API(shmem_free)(void *ptr);

/* Changes the size of a block, which may move; the contents up to the smaller size are kept
 * (9.3.3). Barriers before the old block may be reused and after. ptr NULL is shmem_malloc; size 0
 * is shmem_free and gives NULL. If the heap has no room: NULL, and the old block stays as it is. */
void *SY_API(shmem_realloc)(void *ptr, size_t size);

/* shmem_malloc with an alignment in bytes, a power of two (9.3.4). NULL if the alignment is another
 * number. */
void *SY_API(shmem_align)(size_t alignment, size_t size);

/* shmem_malloc with hints on the use: 0 or SHMEM_MALLOC_*, joined with | (9.3.5). */
void *SY_API(shmem_malloc_with_hints)(size_t size, long hints);

/* Allocates count elements of size bytes, all bytes 0 (9.3.6). NULL as shmem_malloc, or if the
 * product is too large. */
void *SY_API(shmem_calloc)(size_t count, size_t size);

/* Names deprecated since 1.2. */
void *SY_API(shmalloc)(size_t size);
void SY_API(shfree)(void *ptr);
void *SY_API(shrealloc)(void *ptr, size_t size);
void *SY_API(shmemalign)(size_t alignment, size_t size);

#endif
