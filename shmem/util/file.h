/* Files without a name, and those of the kernel with a number in them. */
#ifndef SY_UTIL_FILE_H
#define SY_UTIL_FILE_H

#include <stdint.h>
#include <stdio.h>

/* ftruncate, except that the process is not killed (SIGXFSZ) where `ulimit -f` forbids the length:
 * 0 or -errno, then -EFBIG. */
int sy_file_set_length(int fd, uint64_t length);

/* The number that a file such as /proc/sys/vm/overcommit_memory begins with, or `otherwise`. */
static inline long sy_file_number(const char *path, long otherwise)
{
    long number = otherwise;
    FILE *file = fopen(path, "re");

    if (!file)
        return otherwise;
    if (fscanf(file, "%ld", &number) != 1)
        number = otherwise;
    fclose(file);
    return number;
}

#endif
