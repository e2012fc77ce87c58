/* What another library of this process, which this one is not linked with, says of itself. */
#ifndef SY_UTIL_SAYS_H
#define SY_UTIL_SAYS_H

#include <dlfcn.h>
#include <stdbool.h>

/* The answer of a routine with one result, as MPI_Initialized; -1: there is no such routine. */
static inline int sy_says(const char *name)
{
    int (*function)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, name);
    int yes = 0;

    return !function ? -1 : function(&yes) == 0 && yes;
}

/* Whether this process has initialised MPI, and not finalised it. */
static inline bool sy_says_initialized(void)
{
    return sy_says("MPI_Initialized") > 0 && !sy_says("MPI_Finalized");
}

#endif
