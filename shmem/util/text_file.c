/* Reading text that a user names: see text_file.h. */
#include "util/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads until there is no more, or one byte more than `most`: 0 or an error. patience: as poll. */
static int text_file_read_on(int fd, int patience, size_t most, char **text)
{
    struct pollfd from = {.fd = fd, .events = POLLIN};
    size_t length = 0;

    *text = malloc(most + 2); /* pages that are not written cost nothing */
    if (!*text)
        return ENOMEM;
    for (ssize_t n = 1; n && length <= most; length += n > 0 ? (size_t)n : 0) {
        int ready = poll(&from, 1, patience);
        if (!ready)
            return ETIMEDOUT;
        n = ready < 0 ? -1 : read(fd, *text + length, most + 1 - length);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
    }
    if (length > most)
        return EFBIG;
    (*text)[length] = '\0';
    return strlen(*text) == length ? 0 : EILSEQ;
}

int sy_text_file_read(const char *path, unsigned most, char **text, struct sy_error *err)
{
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : STDIN_FILENO;
    struct stat st;
    bool fifo = path && fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);

    *text = NULL;
    int rc = fd < 0 ? errno
                    : text_file_read_on(fd, fifo ? SY_TEXT_FILE_SILENCE * 1000 : -1,
                                        (size_t)most << 20, text);
    if (path && fd >= 0)
        close(fd);
    if (!rc)
        return 0;
    free(*text);
    if (rc == EFBIG)
        return sy_fail(err, rc, "it has more than %u MiB", most);
    if (rc == ETIMEDOUT)
        return sy_fail(err, rc, "it is a pipe, and nobody has written to it for %d s",
                       SY_TEXT_FILE_SILENCE);
    return sy_fail(err, rc, "%s",
                   rc == EILSEQ ? "it has bytes of 0, so it is no text" : strerror(rc));
}
