/* The socket at which PEs are awaited, while the job starts. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/tree/state.h"
#include "util/auth.h"

enum { BACKLOG = 4096, TRIES = 200 };

/* ---- where ---- */

/* Loopback only, or all addresses of both families; IPv4 where there is no IPv6. */
static int make_socket(bool one_host, struct sockaddr_storage *address)
{
    struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)address;
    struct sockaddr_in *a4 = (struct sockaddr_in *)address;
    int fd = -1, on = 1, off = 0;

    memset(address, 0, sizeof *address);
    if (!one_host)
        fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        a6->sin6_family = AF_INET6;
        a6->sin6_addr = in6addr_any;
    } else {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        a4->sin_family = AF_INET;
        a4->sin_addr.s_addr = htonl(one_host ? INADDR_LOOPBACK : INADDR_ANY);
    }
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return fd;
}

static int try_port(bool one_host, uint16_t port)
{
    struct sockaddr_storage address;
    int fd = make_socket(one_host, &address), code;

    if (fd < 0)
        return -errno;
    sy_tree_address_set_port(&address, port);
    if (bind(fd, (struct sockaddr *)&address, sy_tree_address_length(&address)) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    code = errno;
    close(fd);
    return -code;
}

/* Returns the socket, or -errno. Ports of a range are tried from a random one on, so that jobs that
 * start at once do not all try the same. */
static int listen_somewhere(bool one_host, uint16_t port, struct sy_error *err)
{
    const char *range = sy_tree.host->start ? sy_tree.host->start->ports : "";
    unsigned first, last, start = 0;
    int used = 0, fd = -EADDRINUSE;

    if (port || !*range) {
        fd = try_port(one_host, port);
        if (fd < 0)
            sy_tree.host->fail(err, -fd, "cannot listen on port %u: %s", port, strerror(-fd));
        return fd;
    }
    if (sscanf(range, "%u:%u%n", &first, &last, &used) != 2 || range[used] || first < 1 ||
        last > 65535 || first > last)
        return sy_tree.host->fail(err, EINVAL, "SHMEM_CONTROL_PORT_RANGE=%s is not FIRST:LAST",
                                  range);
    if (sy_auth_random(&start, sizeof start) != 0)
        start = 0;
    for (unsigned i = 0; i <= last - first && i < TRIES && fd == -EADDRINUSE; i++)
        fd = try_port(one_host, (uint16_t)(first + (start + i) % (last - first + 1)));
    if (fd < 0)
        sy_tree.host->fail(err, -fd, "cannot listen on a port of SHMEM_CONTROL_PORT_RANGE=%s: %s",
                           range, strerror(-fd));
    return fd;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;

    getsockname(fd, (struct sockaddr *)&address, &length);
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

static int loopback(uint16_t port, struct tree_addresses *out)
{
    struct sockaddr_in *a4 = (struct sockaddr_in *)&out->entry[0];

    memset(out, 0, sizeof *out);
    out->host = sy_tree_host_identity();
    a4->sin_family = AF_INET;
    a4->sin_port = htons(port);
    a4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out->count = 1;
    return 0;
}

int sy_tree_listen_open(bool one_host, uint16_t port, struct tree_addresses *out,
                        struct sy_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

    sy_tree.listener = listen_somewhere(one_host, port, err);
    if (sy_tree.listener < 0)
        return sy_tree.listener;
    port = port_of(sy_tree.listener);
    int rc = one_host
                 ? loopback(port, out)
                 : sy_tree_addresses_local(sy_tree.host->start ? sy_tree.host->start->networks : "",
                                           port, out, err);
    if (rc)
        return rc;
    if (epoll_ctl(sy_tree.epoll, EPOLL_CTL_ADD, sy_tree.listener, &event) != 0)
        return sy_tree.host->fail(err, errno, "epoll: %s", strerror(errno));
    return 0;
}

void sy_tree_listen_close(void)
{
    if (sy_tree.listener >= 0)
        close(sy_tree.listener);
    sy_tree.listener = -1;
}

/* ---- strangers and PEs ---- */

/* Room for a new one: what has waited longest without proving anything. PEs need a moment only. */
static void drop_oldest(void)
{
    struct tree_link *oldest = NULL;

    for (struct tree_link *link = sy_tree.links; link; link = link->next)
        if (link->state == TREE_LINK_HELLO)
            oldest = link; /* new ones are put in front */
    if (oldest)
        sy_tree_link_close(oldest);
}

void sy_tree_accept(void)
{
    while (sy_tree.listener >= 0) {
        int fd = accept4(sy_tree.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && sy_tree.pending) {
            drop_oldest();
            continue;
        }
        if (fd < 0)
            return;
        if (sy_tree.pending >= TREE_PENDING)
            drop_oldest();
        if (!sy_tree_link_new(fd, TREE_LINK_HELLO))
            close(fd);
    }
}

/* ---- opening ---- */

int sy_tree_prepare(const struct sy_host *host, struct sy_error *err)
{
    sy_tree.host = host;
    sy_tree.listener = -1;
    sy_tree.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (sy_tree.epoll < 0)
        return host->fail(err, errno, "epoll: %s", strerror(errno));
    if (gethostname(sy_tree.host_name, sizeof sy_tree.host_name - 1) != 0)
        strcpy(sy_tree.host_name, "unknown-host");
    return 0;
}

int sy_tree_listen(const struct sy_host *host, bool one_host, uint16_t port,
                   struct tree_beacon *beacon, struct sy_error *err)
{
    int rc = sy_tree_prepare(host, err);

    if (rc)
        return rc;
    rc = sy_auth_random(beacon->secret, TREE_SECRET);
    if (rc)
        return host->fail(err, -rc, "no random numbers: %s", strerror(-rc));
    rc = sy_tree_listen_open(one_host, port, &sy_tree.listens, err);
    beacon->root = sy_tree.listens;
    return rc;
}
