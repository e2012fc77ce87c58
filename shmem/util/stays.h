/* Libraries that stay loaded until the process ends, because something in them, or called by them,
 * may run until then: a driver's threads, handlers at exit, a destructor with a last word. */
#ifndef SY_UTIL_STAYS_H
#define SY_UTIL_STAYS_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* Loads a library, or finds it loaded: its handle, or NULL with dlerror. */
static inline void *sy_stays_open(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* A function of a library, and the pointer to it. */
struct sy_stays_function {
    const char *name;
    void *pointer;
};

/* Finds functions in a loaded library. NULL, or the name of one that it lacks. */
static inline const char *sy_stays_find(void *handle, const struct sy_stays_function *functions,
                                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(handle, functions[i].name);
        if (!found)
            return functions[i].name;
        memcpy(functions[i].pointer, &found, sizeof found);
    }
    return NULL;
}

/* The same as sy_stays_open for the loaded file that has `inside`, a function or a variable. scope:
 * RTLD_GLOBAL, for others to find what is in it by name, or RTLD_LOCAL to leave that as it is. */
static inline void sy_stays(const void *inside, int scope)
{
    Dl_info file;

    if (dladdr(inside, &file) && file.dli_fname)
        dlopen(file.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE | scope);
}

#endif
