#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "util/file.h"
#include "util/signals.h"

int sy_file_set_length(int fd, uint64_t length)
{
    sigset_t before = sy_signals_block(), excess;
    int rc = ftruncate(fd, (off_t)length) ? -errno : 0;

    sigemptyset(&excess);
    sigaddset(&excess, SIGXFSZ);
    if (rc == -EFBIG)
        sigtimedwait(&excess, NULL, &(struct timespec){0});
    sy_signals_restore(before);
    return rc;
}

int sy_file_allocate(int fd, uint64_t offset, uint64_t length)
{
    sigset_t before = sy_signals_block();
    int rc = fallocate(fd, 0, (off_t)offset, (off_t)length) ? -errno : 0;

    sy_signals_restore(before);
    return rc;
}
