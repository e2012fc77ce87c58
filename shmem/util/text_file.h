/* Opening text that a user names: a file, a terminal, /dev/stdin, or a pipe that a shell made. */
#ifndef SY_UTIL_TEXT_FILE_H
#define SY_UTIL_TEXT_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SY_TEXT_FILE_WRITER = 10 /* seconds that a FIFO's writer may take to come */ };

/* Waits until somebody has opened the FIFO to write to it: 0 or an error. *first becomes a byte
 * that has been read meanwhile, or EOF. */
static inline int sy_text_file_await_writer(int fd, int *first)
{
    unsigned char byte;

    *first = EOF;
    for (int i = 0; i < SY_TEXT_FILE_WRITER * 50; i++) {
        ssize_t n = read(fd, &byte, 1);
        if (n == 1)
            *first = byte;
        if (n == 1 || (n < 0 && errno == EAGAIN)) /* EAGAIN: there is a writer, and no data yet */
            return 0;
        if (n < 0 && errno != EINTR)
            return errno;
        poll(NULL, 0, 20);
    }
    return ETIMEDOUT;
}

/* As fopen(path, "re"), but for a FIFO that has no writer, which is not waited for without end:
 * errno is then ETIMEDOUT. */
static inline FILE *sy_text_file_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), first = EOF, rc = 0;
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
        rc = sy_text_file_await_writer(fd, &first);
    FILE *file = rc || fcntl(fd, F_SETFL, O_RDONLY) ? NULL : fdopen(fd, "r");
    if (!file) {
        rc = rc ? rc : errno;
        close(fd);
        errno = rc;
        return NULL;
    }
    if (first != EOF)
        ungetc(first, file);
    return file;
}

/* Why sy_text_file_open has failed. */
static inline const char *sy_text_file_why(int code)
{
    return code == ETIMEDOUT ? "it is a pipe, and nobody has written to it" : strerror(code);
}

#endif
