/* See nameless.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "util/error.h"
#include "util/file.h"
#include "util/nameless.h"

/* Where the file system knows no files without a name: one that loses its name at once. */
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

static int nameless_no_room(const char *directory, int fd, uint64_t length, int code,
                            struct sy_error *err)
{
    struct statvfs room = {.f_frsize = 0};

    fstatvfs(fd, &room);
    return sy_fail(err, code, "a file of %llu bytes in %.200s: %s%s (%llu MB are free there)",
                   (unsigned long long)length, directory, strerror(code),
                   code == EFBIG ? "; raise the limit of file sizes (ulimit -f)" : "",
                   (unsigned long long)room.f_bavail * room.f_frsize >> 20);
}

int sy_nameless_open(const char *directory, uint64_t length, bool *reserved, struct sy_error *err)
{
    int fd = nameless_make(directory);

    if (fd < 0)
        return sy_fail(err, -fd, "a file in the directory %.200s: %s", directory, strerror(-fd));
    int rc = sy_file_set_length(fd, length);
    if (!rc && fallocate(fd, 0, 0, (off_t)length))
        rc = -errno;
    *reserved = !rc;
    if (!rc || rc == -EOPNOTSUPP || rc == -ENOSYS)
        return fd;
    rc = nameless_no_room(directory, fd, length, -rc, err);
    close(fd);
    return rc;
}
