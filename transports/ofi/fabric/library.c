/* Loads libfabric when the transport is opened, not with the plugin: the libraries of the devices
 * that it depends on take longer to load than a job takes to start, and most jobs do without them.
 * It stays loaded, since providers may leave threads behind. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "transports/ofi/ofi.h"
#include "util/bits.h"
#include "util/stays.h"

#define FILE_NAME "libfabric.so.1"

struct ofi_library sy_ofi_library;

/* Libraries that libfabric brings with it (PSM) set handlers of signals as they are loaded, and end
 * a process that crashes with status 1 and without its name. The program's and this library's stay.
 */
static void *library_open(void)
{
    struct sigaction before[NSIG];
    bool known[NSIG] = {false};

    for (int i = 1; i < NSIG; i++)
        known[i] = !sigaction(i, NULL, &before[i]);
    void *handle = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    for (int i = 1; i < NSIG; i++)
        if (known[i])
            sigaction(i, &before[i], NULL);
    return handle;
}

/* The layer ofi_rxm posts 4096 buffers of 16 KiB and clears them: 70 MB a PE. This transport's own
 * messages have buffers (OFI_RECEIVES), and transfers use none. libfabric reads the variable once,
 * when it is first asked; what the user has set stays. The size has to be that of all PEs, which
 * may have used libfabric before, so it stays too. */
static void library_post_less(void)
{
    static const char name[] = "FI_OFI_RXM_MSG_RX_SIZE";
    bool own = !secure_getenv(name) && !setenv(name, "512", 0);
    struct fi_info *list = NULL;

    if (!sy_ofi_library.getinfo(FI_VERSION(1, 14), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &list))
        sy_ofi_library.freeinfo(list);
    if (own)
        unsetenv(name);
}

int sy_ofi_load(struct ofi_state *ofi, struct sy_error *err)
{
    const struct sy_stays_function functions[] = {
        {"fi_getinfo", &sy_ofi_library.getinfo},   {"fi_freeinfo", &sy_ofi_library.freeinfo},
        {"fi_dupinfo", &sy_ofi_library.dupinfo},   {"fi_fabric", &sy_ofi_library.fabric},
        {"fi_strerror", &sy_ofi_library.strerror}, {"fi_version", &sy_ofi_library.version},
    };
    void *handle = library_open();

    if (!handle)
        return ofi->host->fail(err, ENODEV, "libfabric cannot be loaded: %s", dlerror());
    const char *lacks = sy_stays_find(handle, functions, SY_COUNT(functions));

    if (lacks)
        return ofi->host->fail(err, ENODEV, "%s has no %s", FILE_NAME, lacks);
    library_post_less();
    return 0;
}
