/* See file.h. */
#include <errno.h>
#include <fcntl.h>
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

int sy_file_allocate(int fd, uint64_t offset, uint64_t length)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = fallocate(fd, 0, (off_t)offset, (off_t)length) ? -errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
