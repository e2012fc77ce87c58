/* A secret that the user has put into a file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"
#include "util/auth.h"

enum { LEAST = 32, MOST = 4096 };

/* Refuses a file that other users could have read or written. A group may read it: files of secrets
 * are so mounted into containers. */
static int secret_check(const struct sy_host *host, const char *path, const struct stat *st,
                        struct sy_error *err)
{
    if (!S_ISREG(st->st_mode))
        return host->fail(err, EINVAL, "SHMEM_SECRET_FILE=%s is not a regular file", path);
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return host->fail(err, EPERM,
                          "SHMEM_SECRET_FILE=%s belongs to user %ld, so the secret is theirs", path,
                          (long)st->st_uid);
    if (st->st_mode & (S_IRWXO | S_IWGRP))
        return host->fail(err, EPERM,
                          "SHMEM_SECRET_FILE=%s can be used by others than its owner; chmod 600 it "
                          "(in a Kubernetes volume: defaultMode: 0440)",
                          path);
    return 0;
}

static int secret_read(const struct sy_host *host, unsigned char secret[TREE_SECRET],
                       struct sy_error *err)
{
    const char *path = host->start->secret_file;
    static const unsigned char none[SY_AUTH_KEY];
    unsigned char text[MOST];
    struct stat st;
    ssize_t length = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), code = errno, rc;

    if (fd < 0)
        return host->fail(err, code, "SHMEM_SECRET_FILE=%s cannot be read: %s", path,
                          strerror(code));
    rc = fstat(fd, &st) ? host->fail(err, errno, "SHMEM_SECRET_FILE=%s: %s", path, strerror(errno))
                        : secret_check(host, path, &st, err);
    if (rc == 0)
        length = read(fd, text, sizeof text);
    if (rc == 0 && length < 0)
        rc = host->fail(err, errno, "SHMEM_SECRET_FILE=%s: %s", path, strerror(errno));
    else if (rc == 0 && length < LEAST)
        rc = host->fail(err, EINVAL,
                        "SHMEM_SECRET_FILE=%s has fewer than %d bytes; make one with: head -c 48 "
                        "/dev/urandom | base64 >FILE",
                        path, LEAST);
    close(fd);
    /* Whatever its length, 32 bytes that depend on all that has been read: MOST bytes at most. */
    if (rc == 0)
        sy_auth_mac(none, &(struct sy_auth_part){text, (size_t)length}, 1, secret);
    explicit_bzero(text, sizeof text);
    return rc;
}

int sy_tree_secret_read(struct tree_user *user, struct sy_error *err)
{
    return secret_read(user->host, user->contact.secret, err);
}

int sy_tree_secret_mix(struct tree_user *user, struct sy_error *err)
{
    unsigned char file[TREE_SECRET], mixed[TREE_SECRET];

    if (!user->host->start || !*user->host->start->secret_file)
        return 0;
    int rc = secret_read(user->host, file, err);
    if (rc)
        return rc;
    sy_tree_derive(user->contact.secret, "and a file", file, sizeof file, mixed);
    memcpy(user->contact.secret, mixed, TREE_SECRET);
    explicit_bzero(file, sizeof file);
    explicit_bzero(mixed, sizeof mixed);
    return rc;
}
