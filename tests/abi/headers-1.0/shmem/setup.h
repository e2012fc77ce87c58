/* Library set-up, exit and query (9.1), and thread support (9.2). */
#ifndef SY_API
#include "../shmem.h"
#else

/* Starts the library (9.1.1). Collective over all PEs. May be called again, and each call needs its
 * shmem_finalize. A failure ends the job with a message. */
void SY_API(shmem_init)(void);

/* The number of this PE, 0 to npes-1 (9.1.2), and the number of PEs in the job (9.1.3). */
int SY_API(shmem_my_pe)(void);
int SY_API(shmem_n_pes)(void);

/* Ends one start (9.1.4). Collective. Each call is a barrier over all PEs that completes what is
 * pending; the last one gives back all that the library holds. The process goes on, and may start
 * the library again. */
void SY_API(shmem_finalize)(void);

/* Writes to *initialized whether the library is started: 0 before the first start and after the
 * last end, otherwise 1 (9.1.5). May be called at any time by any thread. */
void SY_API(shmem_query_initialized)(int *initialized);

/* Ends the whole job from one PE (9.1.6). status is the exit status that the launcher gives. The
 * calling process ends as if by exit(status); does not return. */
SY_NORETURN void SY_API(shmem_global_exit)(int status);

/* 1 if PE pe can be reached, 0 if not or if there is no such PE (9.1.7). */
int SY_API(shmem_pe_accessible)(int pe);

/* 1 if addr is the address of a symmetric object that can be reached on PE pe, otherwise 0 (9.1.8).
 */
int SY_API(shmem_addr_accessible)(const void *addr, int pe);

/* The address at which this process can load and store PE pe's copy of the symmetric object dest;
 * NULL where there is none, which is not an error (9.1.9). */
void *SY_API(shmem_ptr)(const void *dest, int pe);

/* shmem_ptr for the PE with the number pe on the team; NULL for SHMEM_TEAM_INVALID (9.1.10). */
void *SY_API(shmem_team_ptr)(shmem_team_t team, const void *dest, int pe);

/* Writes the version of the specification: SHMEM_MAJOR_VERSION and SHMEM_MINOR_VERSION (9.1.11). */
void SY_API(shmem_info_get_version)(int *major, int *minor);

/* Writes SHMEM_VENDOR_STRING to name, which has room for SHMEM_MAX_NAME_LEN bytes (9.1.12). */
void SY_API(shmem_info_get_name)(char *name);

/* Starts the library with the wanted thread level, one of SHMEM_THREAD_* (9.2.1). Writes the level
 * that is provided, which a later call does not change. Returns 0; where the library cannot start,
 * the job ends with a message. */
int SY_API(shmem_init_thread)(int requested, int *provided);

/* Writes the level that is provided (9.2.2). */
void SY_API(shmem_query_thread)(int *provided);

/* Deprecated since 1.2. start_pes (9.1.13) ignores npes, has no effect if the library is started,
 * and needs no shmem_finalize. */
void SY_API(start_pes)(int npes);
int SY_API(_my_pe)(void);
int SY_API(_num_pes)(void);

#endif
