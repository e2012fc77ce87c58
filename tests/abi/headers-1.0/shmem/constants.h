/* Constants (6) and handles (7). All are constant expressions, so that they work in initialisers at
 * file scope; the numbers work in switch labels, and the versions in #if. Compiled programs and
 * other languages have the values: they are part of the binary interface (docs/abi.md) and stay. */
#ifndef SY_SHMEM_CONSTANTS_H
#define SY_SHMEM_CONSTANTS_H

#include <stddef.h>

/* The version of the specification, and the library's name: a string of at most SHMEM_MAX_NAME_LEN
 * bytes with its NUL (9.1.11, 9.1.12). */
#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN  256
#define SHMEM_VENDOR_STRING "Switchyard OpenSHMEM 0.1.0"

/* What threads may do, in rising order (9.2). */
#define SHMEM_THREAD_SINGLE     0
#define SHMEM_THREAD_FUNNELED   1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE   3

/* Hints of shmem_malloc_with_hints, to be joined with | (9.3.5). */
#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE  (1L << 1)

/* Comparisons of point-to-point synchronisation (9.11). */
#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_GT 2
#define SHMEM_CMP_LE 3
#define SHMEM_CMP_LT 4
#define SHMEM_CMP_GE 5

/* How a signal operation changes the signal (9.8). */
#define SHMEM_SIGNAL_SET 1
#define SHMEM_SIGNAL_ADD 2

/* Teams (9.4). Handles can be assigned and compared; the structure is the library's. The values
 * that are constants are not addresses of anything. For languages that have no macros the library
 * exports constant variables of the handles' names. */
typedef struct sy_team *shmem_team_t;

#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD   ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED  ((shmem_team_t)2)

/* What a team is asked for at its creation, and the mask that says which members count (9.4.3):
 * how many contexts the program means to create on it. */
typedef struct {
    int num_contexts;
} shmem_team_config_t;

#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)

/* Communication contexts (9.5): handles as those of teams. */
typedef struct sy_ctx *shmem_ctx_t;

#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)

/* Options of a context, to be joined with | (9.5.1). */
#define SHMEM_CTX_PRIVATE    (1L << 0)
#define SHMEM_CTX_SERIALIZED (1L << 1)
#define SHMEM_CTX_NOSTORE    (1L << 2)

/* What a session may know beforehand, and the mask that says which members count (9.9.1): the most
 * operations that it will issue. Then the option of a session (9.9.2). */
typedef struct {
    size_t total_ops;
} shmem_ctx_session_config_t;

#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)
#define SHMEM_CTX_SESSION_BATCH     (1L << 0)

/* The work arrays of collective routines on active sets (9.10), deprecated since 1.5: the elements
 * of pSync, each of which has the value SHMEM_SYNC_VALUE before a call and after it, and the least
 * number of elements of pWrk. An array of SHMEM_SYNC_SIZE serves every routine. The sizes are part
 * of programs, so they have room for what the library may come to need. */
#define SHMEM_SYNC_VALUE              0L
#define SHMEM_SYNC_SIZE               32
#define SHMEM_BARRIER_SYNC_SIZE       32
#define SHMEM_BCAST_SYNC_SIZE         32
#define SHMEM_COLLECT_SYNC_SIZE       32
#define SHMEM_ALLTOALL_SYNC_SIZE      32
#define SHMEM_ALLTOALLS_SYNC_SIZE     32
#define SHMEM_REDUCE_SYNC_SIZE        32
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 16

/* Names deprecated since 1.3 (F.2.8). */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN  SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ        SHMEM_CMP_EQ
#define _SHMEM_CMP_NE        SHMEM_CMP_NE
#define _SHMEM_CMP_LT        SHMEM_CMP_LT
#define _SHMEM_CMP_LE        SHMEM_CMP_LE
#define _SHMEM_CMP_GT        SHMEM_CMP_GT
#define _SHMEM_CMP_GE        SHMEM_CMP_GE

#define _SHMEM_SYNC_VALUE              SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE       SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE         SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE       SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE        SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

#endif
