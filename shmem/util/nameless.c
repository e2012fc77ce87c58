#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "util/denied.h"
#include "util/error.h"
#include "util/file.h"
#include "util/nameless.h"

/* Makes a file and removes its name at once, where the file system has no O_TMPFILE. */
static int nameless_make_named(int directory)
{
    char name[64];

    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, ".openshmem-%ld-%u", (long)getpid(), i);
        int fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
            unlinkat(directory, name, 0);
        if (fd >= 0 || errno != EEXIST)
            return fd < 0 ? -errno : fd;
    }
    return -EEXIST;
}

static int nameless_make(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
        return -errno;
    int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -errno;
    fd = nameless_make_named(at);
    close(at);
    return fd;
}

/* The bytes that are free on the disk. Asked before blocks are set aside: a disk that is too small
 * would be full until that call gives up. */
static uint64_t nameless_room(int fd)
{
    struct statvfs room;

    return fstatvfs(fd, &room) ? UINT64_MAX : (uint64_t)room.f_bavail * room.f_frsize;
}

int sy_nameless_open(const char *directory, uint64_t length, bool *reserved, struct sy_error *err)
{
    int fd = nameless_make(directory);

    if (fd < 0)
        return sy_fail(err, -fd, "a file in the directory %.200s: %s", directory, strerror(-fd));
    uint64_t room = nameless_room(fd);
    int sized = sy_file_set_length(fd, length);
    int rc = sized ? sized : room < length ? -ENOSPC : sy_file_allocate(fd, 0, length);
    *reserved = !rc;
    if (!rc || (!sized && (rc == -EOPNOTSUPP || *sy_denied_hint(rc))))
        return fd;
    close(fd);
    return sy_fail(err, -rc, "a file of %llu bytes in %.200s: %s%s (%llu MB are free there)",
                   (unsigned long long)length, directory, strerror(-rc),
                   rc == -EFBIG ? "; raise the limit of file sizes (ulimit -f)"
                                : sy_denied_hint(rc),
                   (unsigned long long)room >> 20);
}
