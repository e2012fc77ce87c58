/* Names of UNIX sockets that the kernel chooses, and who is at the other end. Such names are known
 * in a network namespace, and no file has to be removed. */
#ifndef SY_UTIL_NET_UNIX_NAME_H
#define SY_UTIL_NET_UNIX_NAME_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

/* Whether the other end of a connection is of this process's user: 1, 0 or -errno. */
static inline int sy_unix_same_user(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof peer;

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length))
        return -errno;
    return peer.uid == geteuid();
}

#endif
