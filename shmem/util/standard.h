/* The standard descriptors of a process: 0, 1 and 2. */
#ifndef SY_UTIL_STANDARD_H
#define SY_UTIL_STANDARD_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Keeps those that are closed from becoming something else's: a file of memory or a socket that got
 * number 1 would be written to by printf. What takes their place can be neither read nor written
 * (EBADF, as before), and programs that are started do not get it. */
static inline void sy_standard_keep(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        int place = open("/", O_PATH | O_CLOEXEC);
        if (place > fd) /* another thread has taken the number */
            close(place);
    }
}

/* The status of a tool that has written its answer: 0, or `failed`, after words, where stdout
 * cannot be written. */
static inline int sy_standard_end(const char *tool, int failed)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "%s: cannot write to stdout%s%s\n", tool, errno ? ": " : "",
            errno ? strerror(errno) : "");
    return failed;
}

#endif
