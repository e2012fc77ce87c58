/* Finds libpmix: see library.h. */
#include <dlfcn.h>
#include <errno.h>

#include "bootstrap/pmix/library.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/stays.h"

int sy_pmix_library_open(struct pmix_library *library, struct sy_error *err)
{
    const struct sy_stays_function wanted[] = {
        {"PMIx_Init", &library->init},
        {"PMIx_Finalize", &library->finalize},
        {"PMIx_Abort", &library->abort},
        {"PMIx_Put", &library->put},
        {"PMIx_Commit", &library->commit},
        {"PMIx_Get_nb", &library->get},
        {"PMIx_Error_string", &library->error_string},
    };
    /* RTLD_GLOBAL: PMIx's own plugins would not find its symbols otherwise. */
    void *handle = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    const char *why = handle ? NULL : dlerror(),
               *lacks = handle ? sy_stays_find(handle, wanted, SY_COUNT(wanted)) : NULL;

    if (handle && !lacks)
        return 0;
    return lacks ? sy_fail(err, ENOENT, "libpmix.so.2 has no %s", lacks)
                 : sy_fail(err, ENOENT, "%s", why ? why : "it cannot be loaded");
}
