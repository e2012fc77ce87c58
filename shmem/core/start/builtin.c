/* Plugins linked into the library: none in libsma.so, where all are files; those that any job needs
 * in libsma.a, since a static executable cannot load files. The build names them (SY_BUILTINS), as
 * X(kind, name) words, so this file names none. */
#include <stddef.h>
#include <switchyard/bootstrap.h>
#include <switchyard/device.h>
#include <switchyard/transport.h>

#include "util/plugin.h"

#ifdef SY_BUILTINS
#define SY_SYMBOL_transport    SY_TRANSPORT_SYMBOL
#define SY_SYMBOL_bootstrap    SY_BOOTSTRAP_SYMBOL
#define SY_SYMBOL_device       SY_DEVICE_SYMBOL
#define SY_DECLARE(kind, name) extern const struct sy_##kind SY_SYMBOL_##kind(name);
SY_BUILTINS(SY_DECLARE)
#undef SY_DECLARE
#define SY_ROW(kind, name) {#kind, #name, &SY_SYMBOL_##kind(name)},
#endif

const struct sy_builtin sy_builtins[] = {
#ifdef SY_BUILTINS
    SY_BUILTINS(SY_ROW)
#endif
        {NULL, NULL, NULL},
};
