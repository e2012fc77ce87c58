/* Constants (6) and handles (7). All are constant expressions, so that they work in initialisers at
 * file scope; the numbers work in switch labels, and the versions in #if. */
#ifndef SY_SHMEM_CONSTANTS_H
#define SY_SHMEM_CONSTANTS_H

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

/* Comparisons of point-to-point synchronisation (9.11). None is 0, so that a forgotten one is seen.
 */
#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_LT 3
#define SHMEM_CMP_LE 4
#define SHMEM_CMP_GT 5
#define SHMEM_CMP_GE 6

/* Communication contexts (9.5). Handles can be assigned and compared; the structure is the
 * library's. The values that are constants are not addresses of anything. */
typedef struct sy_ctx *shmem_ctx_t;

#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)

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

#endif
