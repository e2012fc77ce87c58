/* What the MPI of this process, which the library is not linked with, says of itself. */
#ifndef SY_UTIL_MPI_SAYS_H
#define SY_UTIL_MPI_SAYS_H

#include <dlfcn.h>

/* The answer of a routine with one result: MPI_Initialized, MPI_Finalized and their like. -1: there
 * is no such routine. */
static inline int sy_mpi_says(const char *name)
{
    int (*function)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, name);
    int yes = 0;

    return !function ? -1 : function(&yes) == 0 && yes;
}

#endif
