/* See file.h. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "util/file.h"

int sy_file_set_length(int fd, uint64_t length)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;

    sigaction(SIGXFSZ, &ignore, &before);
    int rc = ftruncate(fd, (off_t)length) ? -errno : 0;
    sigaction(SIGXFSZ, &before, NULL);
    return rc;
}
