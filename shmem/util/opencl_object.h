/* Whether a handle that the program gave can be an object of OpenCL. OpenCL itself reads what a
 * handle points to, so one that points nowhere crashes the process in it. */
#ifndef SY_UTIL_OPENCL_OBJECT_H
#define SY_UTIL_OPENCL_OBJECT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

/* Reads the word at an address, by the kernel, which answers where there is none. False: there is
 * none. Where the kernel is not to be asked, the word is 0. */
static inline bool sy_opencl_object_word(const void *address, void **word)
{
    struct iovec to = {word, sizeof *word}, from = {(void *)address, sizeof *word};

    *word = NULL;
    return (uintptr_t)address % sizeof *word == 0 &&
           (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof *word ||
            errno != EFAULT);
}

/* Objects of drivers that can be installed beside others begin with the address of a table of
 * functions (cl_khr_icd). `platform` is one that is none of the program's: where it begins with an
 * address, the handle has to as well. What is true may still be no object. */
static inline bool sy_opencl_object_may_be(const void *handle, const void *platform)
{
    void *table, *own, *entry;

    if (!handle || !sy_opencl_object_word(handle, &table))
        return false;
    return !sy_opencl_object_word(platform, &own) || !own || !sy_opencl_object_word(own, &entry) ||
           (table && sy_opencl_object_word(table, &entry));
}

#endif
