/* Loads libev: see libev.h. A static executable has it linked in, and only what it uses of it. */
#define SY_LIBEV_ITSELF
#include "util/libev.h"

#ifdef SY_BUILTIN_PLUGIN

#define DIRECT(name) .name##_function = ev_##name,
struct sy_libev sy_libev = {SY_LIBEV_FUNCTIONS(DIRECT)};

int sy_libev_open(struct sy_error *err)
{
    (void)err;
    return 0;
}

#else

#include <dlfcn.h>
#include <errno.h>

#include "util/error.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define FILE_NAME  "libev.so." TEXT(EV_VERSION_MAJOR)

struct sy_libev sy_libev;

int sy_libev_open(struct sy_error *err)
{
    void *handle = sy_libev.run_function ? NULL : dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);

    if (sy_libev.run_function)
        return 0;
    if (!handle)
        return sy_fail(err, ENOENT, "%s; install libev (Debian: libev4)", dlerror());
#define LOOK_UP(name)                                                                              \
    sy_libev.name##_function = (__typeof__(ev_##name) *)dlsym(handle, "ev_" #name);                \
    if (!sy_libev.name##_function)                                                                 \
        return sy_fail(err, ENOENT, FILE_NAME " has no ev_" #name);
    SY_LIBEV_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return 0;
}

#endif
