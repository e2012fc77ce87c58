/* The executable's writable data (.data, .bss) as shared memory, and where its constants are.
 *
 * A constructor of the library, before main, copies the pages in use into a memfd and maps that
 * over the same addresses. From then on other processes that map the memfd see the program's
 * variables. Knows nothing of jobs, PEs or options. */
#ifndef SY_CORE_STATICS_H
#define SY_CORE_STATICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SY_STATICS_RANGES    4
#define SY_STATICS_CONSTANTS 3 /* ranges */

/* Bytes at the start of the memfd that belong to the control window. */
#define SY_CONTROL_BOUNCE (UINT64_C(9) << 20) /* the end of it: core/memory/bounce.h */
#define SY_CONTROL_WIDE   (UINT64_C(4) << 20) /* before that: core/memory/control.h */
#define SY_CONTROL_SPACE  ((UINT64_C(288) << 20) + SY_CONTROL_WIDE + SY_CONTROL_BOUNCE)

struct sy_statics_range {
    char *base;
    size_t length;      /* whole pages */
    size_t from_file;   /* so many bytes have initial values in the executable */
    int protection;     /* as for mmap */
    uint64_t fd_offset; /* where the range is in the memfd, if mapped */
};

struct sy_statics {
    struct sy_statics_range range[SY_STATICS_RANGES]; /* largest first */
    unsigned ranges;
    struct sy_statics_range constant[SY_STATICS_CONSTANTS]; /* largest first; never moved */
    unsigned constants;
    unsigned moved;    /* so many of them, from the first on, are in the memfd */
    bool mapped;       /* all are; otherwise only this process reaches the data */
    int fd;            /* the PE's memfd, or -1 until the heap makes one */
    uint64_t file[2];  /* its device and inode: a program may close what it has not opened */
    uint64_t end;      /* first free byte of the memfd */
    uint64_t identity; /* equal in two processes that run the same executable */
    const char *why;   /* why it is not mapped, a phrase; NULL if it is */
};

/* Valid from the library's constructor on. */
extern struct sy_statics sy_statics;

#endif
