/* Finds libpmix: see library.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "bootstrap/pmix/library.h"
#include "util/bits.h"

int sy_pmix_library_open(struct pmix_library *library, struct sy_error *err)
{
    const struct {
        const char *name;
        void **function;
    } wanted[] = {
        {"PMIx_Init", (void **)&library->init},
        {"PMIx_Finalize", (void **)&library->finalize},
        {"PMIx_Abort", (void **)&library->abort},
        {"PMIx_Put", (void **)&library->put},
        {"PMIx_Commit", (void **)&library->commit},
        {"PMIx_Get_nb", (void **)&library->get},
        {"PMIx_Error_string", (void **)&library->error_string},
    };
    /* RTLD_GLOBAL: PMIx's own plugins would not find its symbols otherwise. */
    void *handle = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);

    if (!handle) {
        const char *why = dlerror();
        if (err)
            snprintf(err->text, sizeof err->text, "%s", why ? why : "it cannot be loaded");
        return -ENOENT;
    }
    for (size_t i = 0; i < SY_COUNT(wanted); i++) {
        *wanted[i].function = dlsym(handle, wanted[i].name);
        if (!*wanted[i].function) {
            if (err)
                snprintf(err->text, sizeof err->text, "libpmix.so.2 has no %s", wanted[i].name);
            return -ENOENT;
        }
    }
    return 0;
}
