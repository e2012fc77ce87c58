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

/* The layer ofi_rxm keeps buffers for 4096 messages of 16 KiB, and clears them all: 70 MB a PE.
 * Transfers do not use them, and this transport's own messages are smaller and posted for.
 * libfabric reads these variables once, when it is first asked; what the user has set stays. */
static void library_size_buffers(void)
{
    static const struct {
        const char *name, *value;
    } sizes[] = {{"FI_OFI_RXM_BUFFER_SIZE", "8192"}, {"FI_OFI_RXM_MSG_RX_SIZE", "512"}};
    _Static_assert(OFI_MESSAGE <= 8192, "one message fits a buffer");
    bool own[SY_COUNT(sizes)];
    struct fi_info *list = NULL;

    for (size_t i = 0; i < SY_COUNT(sizes); i++)
        own[i] = !getenv(sizes[i].name) && !setenv(sizes[i].name, sizes[i].value, 0);
    if (!sy_ofi_library.getinfo(FI_VERSION(1, 14), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &list))
        sy_ofi_library.freeinfo(list);
    for (size_t i = 0; i < SY_COUNT(sizes); i++)
        if (own[i])
            unsetenv(sizes[i].name);
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
    library_size_buffers();
    return 0;
}
