#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/net/interfaces.h"
#include "util/net/io.h"

enum { SLICE = 1000 /* milliseconds */ };

/* Milliseconds for poll(), rounded up, so that a wait does not end early and begin anew. */
static int io_slice(double seconds)
{
    if (seconds <= 0)
        return 0;
    return seconds * 1000 >= SLICE ? SLICE : (int)(seconds * 1000) + 1;
}

/* A second at a time: one that took much longer shows that the process was stopped. */
int sy_net_wait(int fd, short events, double *deadline)
{
    struct pollfd wait = {.fd = fd, .events = events};

    for (;;) {
        double start = sy_clock(), late;
        int slice = io_slice(*deadline - start), ready = poll(&wait, 1, slice), error = errno;

        if (ready > 0)
            return 0;
        if (ready < 0 && error != EINTR)
            return -error;
        late = sy_clock() - start - slice / 1000.;
        if (late > 1)
            *deadline += late;
        if (ready == 0 && sy_clock() >= *deadline)
            return -ETIMEDOUT;
    }
}

int sy_net_send(int fd, const void *data, size_t length, double *deadline)
{
    const char *at = data;

    while (length) {
        ssize_t n = send(fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        int rc = 0;

        if (n >= 0) {
            at += n;
            length -= (size_t)n;
        } else if (errno == EAGAIN) {
            rc = sy_net_wait(fd, POLLOUT, deadline);
        } else if (errno != EINTR) {
            rc = -errno;
        }
        if (rc)
            return rc;
    }
    return 0;
}

ssize_t sy_net_receive_some(int fd, void *data, size_t length, int flags, double *deadline)
{
    for (;;) {
        ssize_t n = recv(fd, data, length, MSG_DONTWAIT | flags);
        int rc = 0;

        if (n > 0)
            return n;
        if (n == 0)
            return -ECONNRESET;
        if (errno == EAGAIN)
            rc = sy_net_wait(fd, POLLIN, deadline);
        else if (errno != EINTR)
            rc = -errno;
        if (rc)
            return rc;
    }
}

int sy_net_receive(int fd, void *data, size_t length, double *deadline)
{
    char *at = data;

    while (length) {
        ssize_t n = sy_net_receive_some(fd, at, length, 0, deadline);

        if (n < 0)
            return (int)n;
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

int sy_net_begin(int fd, const struct sockaddr_storage *to)
{
    return connect(fd, (const struct sockaddr *)to, sy_socket_length(to)) && errno != EINPROGRESS
               ? -errno
               : 0;
}

int sy_net_connect(const struct sockaddr_storage *to)
{
    int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

    if (fd < 0)
        return -errno;
    rc = sy_net_begin(fd, to);
    if (rc)
        close(fd);
    return rc ? rc : fd;
}

int sy_net_connected(int fd)
{
    int code = 0;
    socklen_t length = sizeof code;

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) ? -errno : -code;
}
