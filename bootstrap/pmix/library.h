/* The few functions of PMIx that a start-up needs, found at run time, so that neither building nor
 * running the library needs PMIx where no launcher speaks it. The declarations are those of the
 * PMIx standard's binary interface, which libpmix.so.2 has kept since version 2: names, codes, and
 * the layout of a process name and of a value. */
#ifndef PMIX_LIBRARY_H
#define PMIX_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include <switchyard/error.h>
#include <switchyard/host.h>

#define PMIX_ANY_RANK (UINT32_MAX - 1) /* PMIX_RANK_WILDCARD: the job itself */

enum {
    PMIX_OK = 0,
    PMIX_TIMEOUT = -24, /* the server has waited for as long as it likes: 2 s */
    PMIX_NOT_FOUND = -46,
    PMIX_TYPE_STRING = 3,
    PMIX_TYPE_UINT32 = 14,
    PMIX_SCOPE_GLOBAL = 3
};

struct pmix_name {
    char space[256];
    uint32_t rank;
};

struct pmix_item {
    uint16_t type;
    union {
        char *string;
        uint32_t uint32;
        char room[64]; /* the library's own union may grow */
    } data;
};

typedef void pmix_on_item(int status, struct pmix_item *item, void *arg);

struct pmix_library {
    int (*init)(struct pmix_name *me, void *info, size_t count);
    int (*finalize)(void *info, size_t count);
    int (*abort)(int status, const char *text, struct pmix_name *who, size_t count);
    int (*put)(uint8_t scope, const char *key, struct pmix_item *item);
    int (*commit)(void);
    int (*get)(const struct pmix_name *who, const char *key, void *info, size_t count,
               pmix_on_item *done, void *arg);
    const char *(*error_string)(int status);
};

/* 0, or -ENOENT with the loader's words. The library stays loaded: it has threads. */
int sy_pmix_library_open(struct pmix_library *library, struct sy_error *err);

#endif
