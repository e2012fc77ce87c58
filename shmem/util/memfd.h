/* Memory that is passed to other processes as a descriptor: files without a name. They are sealed
 * so that no process can shorten one: that would kill all others that have it mapped (SIGBUS). */
#ifndef SY_UTIL_MEMFD_H
#define SY_UTIL_MEMFD_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

/* Makes an empty file; -errno. It cannot be executed, as vm.memfd_noexec may demand; kernels before
 * 6.3 do not know the flag. */
static inline int sy_memfd_create(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd < 0 ? -errno : fd;
}

/* From now on it does not shrink; it may grow, as the symmetric heap does when the library is
 * started again with a larger one. No other seal can be added. 0 or -errno. */
static inline int sy_memfd_seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) ? -errno : 0;
}

/* Whether only a process that could kill this one anyway can shorten the file. Such a file is in a
 * file system, where nothing can be sealed (of a tmpfs file the kernel says that it is sealed
 * against seals), but has no name and belongs to this user: only a process that may trace a holder
 * of the descriptor can open it. */
static inline bool sy_memfd_is_private(const struct stat *info)
{
    return S_ISREG(info->st_mode) && !info->st_nlink && info->st_uid == geteuid() &&
           !(info->st_mode & 077);
}

/* Whether another process's descriptor is such a file, of `length` bytes at least. */
static inline bool sy_memfd_is_safe(int fd, uint64_t length)
{
    struct stat info;
    int seals = fcntl(fd, F_GET_SEALS);

    return !fstat(fd, &info) &&
           ((seals >= 0 && seals & F_SEAL_SHRINK) || sy_memfd_is_private(&info)) &&
           info.st_size >= 0 && (uint64_t)info.st_size >= length;
}

#endif
