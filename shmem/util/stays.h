/* Libraries that stay loaded until the process ends, because something in them, or called by them,
 * may run until then: a driver's threads, handlers at exit, a destructor with a last word. */
#ifndef SY_UTIL_STAYS_H
#define SY_UTIL_STAYS_H

#include <dlfcn.h>

/* Loads a library, or finds it loaded: its handle, or NULL with dlerror. */
static inline void *sy_stays_open(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* The same for the loaded file that has `inside`, a function or a variable. scope: RTLD_GLOBAL, for
 * others to find what is in it by name, or RTLD_LOCAL to leave that as it is. */
static inline void sy_stays(const void *inside, int scope)
{
    Dl_info file;

    if (dladdr(inside, &file) && file.dli_fname)
        dlopen(file.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE | scope);
}

#endif
