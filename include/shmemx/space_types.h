/* Types and constants of memory spaces. The values belong to the binary interface (docs/abi.md). */
#ifndef SY_SHMEMX_SPACE_TYPES_H
#define SY_SHMEMX_SPACE_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of memory. There is a plugin for each that can be used (oshinfo --devices). */
typedef enum {
    SHMEMX_DEVICE_CPU = 0, /* plain memory */
    SHMEMX_DEVICE_FILE,    /* a file for each PE */
    SHMEMX_DEVICE_GPU,     /* an accelerator */
    SHMEMX_DEVICE_USER     /* memory that the program has */
} shmemx_device_type_t;

/* What a space is to be; the same on all PEs but for `base`. A structure of zeros with a size asks
 * for plain memory. */
typedef struct {
    shmemx_device_type_t device_type;
    size_t size;              /* bytes for each PE; may be rounded up */
    int flags;                /* SHMEMX_SPACE_FLAG_, joined with | */
    int device;               /* which of the devices of the type, from 1; 0: the library chooses */
    unsigned long numa_nodes; /* nodes of memory, bits; 0: none named */
    const char *name;         /* FILE: of what is kept beyond the job; else NULL */
    void *base;               /* USER: this PE's memory; GPU: a context, or NULL; else NULL */
} shmemx_space_config_t;

/* Handles can be assigned and compared. They are constants, fit for initialisers. */
typedef void *shmemx_space_t;
#define SHMEMX_SPACE_INVALID ((shmemx_space_t)0)
#define SHMEMX_SPACE_DEFAULT ((shmemx_space_t)1) /* the symmetric heap */

#define SHMEMX_SPACE_FLAG_DEFAULT         0x0000
#define SHMEMX_SPACE_FLAG_HUGE_2M         0x0001 /* pages of 2 MiB, if there are any */
#define SHMEMX_SPACE_FLAG_HUGE_1G         0x0002 /* pages of 1 GiB, if there are any */
#define SHMEMX_SPACE_FLAG_NUMA_BIND       0x0004 /* on numa_nodes alone */
#define SHMEMX_SPACE_FLAG_NUMA_INTERLEAVE 0x0008 /* page by page on numa_nodes, or on all */
#define SHMEMX_SPACE_FLAG_NUMA_LOCAL      0x0010 /* on the node that this PE runs on */
#define SHMEMX_SPACE_FLAG_LOCKED          0x0020 /* not to be paged out */
#define SHMEMX_SPACE_FLAG_RESTART         0x0040 /* FILE: go on from the last whole generation */
#define SHMEMX_SPACE_FLAG_BUFFER          0x0080 /* GPU: a buffer rather than shared memory */

/* What can be done with a space. */
typedef uint64_t shmemx_space_cap_t;
#define SHMEMX_SPACE_CAP_RMA           UINT64_C(0x0001)
#define SHMEMX_SPACE_CAP_COLLECTIVES   UINT64_C(0x0002)
#define SHMEMX_SPACE_CAP_ATOMICS       UINT64_C(0x0004)
#define SHMEMX_SPACE_CAP_DIRECT_ACCESS UINT64_C(0x0008) /* loads and stores of its members */
#define SHMEMX_SPACE_CAP_WORLD_ACCESS  UINT64_C(0x0010) /* all PEs are members */
#define SHMEMX_SPACE_CAP_IDENT_ADDR    UINT64_C(0x0020) /* the same addresses on all members */
#define SHMEMX_SPACE_CAP_DURABLE       UINT64_C(0x0040) /* shmemx_space_sync keeps it */

#endif
