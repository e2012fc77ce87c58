/* Descriptors, the length and the blocks of a file, and files in which the kernel tells numbers. */
#ifndef SY_UTIL_FILE_H
#define SY_UTIL_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ftruncate, except that the process is not killed (SIGXFSZ) where `ulimit -f` forbids the length:
 * 0 or -errno, then -EFBIG. */
int sy_file_set_length(int fd, uint64_t length);

/* Sets blocks aside for a part of a file, without holes: 0 or -errno. No signal is taken meanwhile:
 * a tmpfs gives up at the first one and frees what it has set aside. */
int sy_file_allocate(int fd, uint64_t offset, uint64_t length);

/* Closes a descriptor, unless it is none (below 0), and forgets it. */
static inline void sy_file_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

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

/* The number behind `name`, such as "oom_kill ", in a file of a name and a number a line; or 0. */
static inline long sy_file_count(const char *path, const char *name)
{
    char line[128];
    long number = 0;
    FILE *file = fopen(path, "re");

    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            sscanf(line + strlen(name), "%ld", &number);
    if (file)
        fclose(file);
    return number;
}

/* Reads a list such as "0-3,7", the first line of a file: the numbers in it below `end`, a multiple
 * of the bits of a word, as bits of `set`. Without such a file there are none. */
static inline void sy_file_set(const char *path, unsigned long *set, unsigned end)
{
    const unsigned word = 8 * sizeof *set;
    FILE *file = fopen(path, "re");
    unsigned first, last;

    memset(set, 0, end / 8);
    while (file && fscanf(file, "%u", &first) == 1) {
        if (fscanf(file, "-%u", &last) != 1)
            last = first;
        for (; first <= last && first < end; first++)
            set[first / word] |= 1ul << first % word;
        if (fgetc(file) != ',')
            break;
    }
    if (file)
        fclose(file);
}

#endif
