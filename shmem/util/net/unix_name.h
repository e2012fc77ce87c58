/* Names of UNIX sockets that the kernel chooses, and who is at the other end. Such names are known
 * in a network namespace, and no file has to be removed. */
#ifndef SY_UTIL_NET_UNIX_NAME_H
#define SY_UTIL_NET_UNIX_NAME_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/proc.h"

/* As one PE sends it to another. length: 0: there is none. */
struct sy_unix_name {
    uint32_t length;
    char text[12];
};

/* Whether it is one: another PE may have sent it. */
static inline bool sy_unix_is_name(const struct sy_unix_name *name)
{
    return name->length && name->length <= sizeof name->text;
}

/* Fills in the address, and returns its length. */
static inline socklen_t sy_unix_address(const struct sy_unix_name *name,
                                        struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, name->text, name->length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name->length);
}

/* Gives a socket a name. 0 or -errno. */
static inline int sy_unix_bind(int fd, struct sy_unix_name *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;

    if (bind(fd, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path)) ||
        getsockname(fd, (struct sockaddr *)&address, &length))
        return -errno;
    length -= (socklen_t)offsetof(struct sockaddr_un, sun_path);
    if (length > sizeof name->text)
        return -ENAMETOOLONG;
    memcpy(name->text, address.sun_path, length);
    name->length = length;
    return 0;
}

/* Whether this user's number is no other's. In a user namespace those whom it does not know all
 * have one number, which may be this user's too. */
static inline bool sy_unix_user_is_unique(void)
{
    unsigned others = 65534;
    char text[SY_PROC_TEXT];

    sscanf(sy_proc_read("/proc/sys/kernel/overflowuid", text), "%u", &others);
    return geteuid() != others ||
           !strcmp(sy_proc_read("/proc/self/uid_map", text), "         0          0 4294967295\n");
}

/* Whether the other end of a connection is of this process's user: 1, 0 or -errno. Where users'
 * numbers do not say: whether it may be sent signals. That does not do for a secret, since the
 * process may be gone, and its number another's. */
static inline int sy_unix_same_user(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof peer;

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length))
        return -errno;
    return peer.uid == geteuid() &&
           ((peer.pid > 0 && !kill(peer.pid, 0)) || sy_unix_user_is_unique());
}

#endif
