/* Files without a name, and those in which the kernel tells a number or of a process. */
#ifndef SY_UTIL_FILE_H
#define SY_UTIL_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

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

#define SY_PROCESS_NAME 64

/* The parent of a process, and its own name, from /proc; 0: the parent is not in this namespace of
 * processes, or the process is gone, and then the name is empty. The name may contain anything, so
 * the fields after it are counted from its closing parenthesis. */
static inline pid_t sy_file_parent(pid_t pid, char name[SY_PROCESS_NAME])
{
    char path[32], text[512] = "";
    int parent = 0;

    *name = '\0';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    if (!begin || !end || end < begin || sscanf(end + 1, " %*c %d", &parent) != 1)
        return 0;
    snprintf(name, SY_PROCESS_NAME, "%.*s", (int)(end - begin - 1), begin + 1);
    return parent;
}

#endif
