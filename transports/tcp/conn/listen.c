/* Listening, and accepting. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transports/tcp/conn/pending.h"
#include "util/auth.h"
#include "util/denied.h"
#include "util/file.h"
#include "util/net/machine.h"

#define ACCEPTED 64                      /* connections at a time, before others have their turn */
#define DRAINED  256                     /* before attempts begin */
#define PAUSE    (100 * TCP_MILLISECOND) /* when descriptors or memory are short */

/* ---- accepting ---- */

static int listen_events(struct tcp_net *net, uint32_t events)
{
    int rc = 0;

    for (unsigned i = 0; i < net->listeners; i++)
        rc |= sy_tcp_watch_change(&net->listener[i], events);
    return rc;
}

/* Stops accepting for a while; new connections wait in the kernel's queue. */
static void listen_pause(struct tcp_net *net)
{
    net->paused = sy_tcp_until(net, sy_tcp_now() + PAUSE);
    listen_events(net, 0);
}

static uint64_t listen_timer(struct tcp_net *net, uint64_t now)
{
    if (net->paused && now >= net->paused) {
        net->paused = 0;
        if (listen_events(net, EPOLLIN))
            listen_pause(net);
    }
    return net->paused ? net->paused : UINT64_MAX;
}

/* accept() has failed. True: it is worth another try at once. If no descriptor is left, which
 * accept() says before it looks for a connection, one is taken from a stranger, or else the reserve
 * is: the connection would otherwise stay in the queue and keep this PE busy. */
static bool listen_accept_failed(struct tcp_net *net, int listener, int code)
{
    bool descriptors = code == EMFILE || code == ENFILE;
    struct pollfd waiting = {.fd = listener, .events = POLLIN};

    if (descriptors && poll(&waiting, 1, 0) <= 0)
        return false;
    if (descriptors && sy_tcp_incoming_evict(net))
        return true;
    if (descriptors && net->reserve >= 0) {
        sy_file_close(&net->reserve);
        net->full = sy_tcp_now();
        return true;
    }
    if (descriptors || code == ENOBUFS || code == ENOMEM)
        listen_pause(net);
    return code == EINTR || code == ECONNABORTED;
}

/* Accepts one connection. True: there may be more. */
static bool listen_accept_one(struct tcp_net *net, int listener)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    int fd = accept4(listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return listen_accept_failed(net, listener, errno);
    struct tcp_pending *pending = sy_tcp_incoming_open(net, fd, &address);
    if (!pending) {
        close(fd);
        listen_pause(net);
        return false;
    }
    sy_tcp_pending_congest(net, fd, &address, true);
    sy_count(&net->counters->accepted, 1);
    sy_tcp_pending_event(&pending->watch, EPOLLIN);
    return true;
}

static void listen_on_listener(struct tcp_watch *watch, uint32_t events)
{
    struct tcp_net *net = watch->owner;

    (void)events;
    for (unsigned i = 0; i < ACCEPTED && listen_accept_one(net, watch->fd); i++)
        ;
}

static void listen_accept(struct tcp_net *net)
{
    for (unsigned i = 0; i < net->listeners; i++)
        for (unsigned k = 0;
             k < DRAINED && !net->paused && listen_accept_one(net, net->listener[i].fd); k++)
            ;
}

/* ---- listening ---- */

static void listen_tell(struct tcp_net *net, const struct sy_bound *bound, unsigned count)
{
    char text[SY_IP_TEXT], all[300] = "";
    struct sockaddr_storage address;
    size_t used = 0;

    for (unsigned i = 0; i < count && used < sizeof all; i++) {
        sy_ip_socket(&bound[i].ip, bound[i].port, 0, &address);
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "",
                                 sy_socket_text(&address, text));
    }
    net->host->log(SY_LOG_INFO, "tcp", "listens on %s", all);
}

/* Chooses addresses and listens on them: how many, or -errno. */
static int listen_on_chosen(struct tcp_net *net, struct sy_bound *bound, struct sy_error *err)
{
    const struct sy_interface **chosen;
    size_t count;
    int rc = sy_interfaces_list(&net->mine, &net->mine_count);

    if (rc)
        return net->host->fail(err, -rc, "the list of network interfaces: %s%s", strerror(-rc),
                               sy_denied_hint(rc));
    rc = sy_interfaces_choose("SHMEM_TCP_INTERFACES", net->settings->interfaces,
                              net->settings->family, net->mine, net->mine_count, &chosen, &count,
                              err);
    if (!rc && count > TCP_ENDPOINTS) {
        chosen[TCP_ENDPOINTS - 1] = chosen[count - 1]; /* loopback, if any */
        count = TCP_ENDPOINTS;
    }
    if (!rc)
        rc = sy_interfaces_listen(chosen, count, "SHMEM_TCP_PORT_RANGE", net->settings->port_range,
                                  net->settings->socket_buffer, bound, err);
    free(chosen);
    return rc;
}

/* Tries the system calls that every connection needs. If one is forbidden this says so; later it
 * would look like a network that does not answer. */
static int listen_try_calls(struct tcp_net *net, int listener, struct sy_error *err)
{
    const char *call = "accept4";
    int code = 0, option, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    socklen_t length = sizeof option;
    unsigned char nonce[16];

    if (fd >= 0)
        close(fd); /* a stranger: nobody knows the port yet */
    else if (*sy_denied_hint(errno))
        code = errno;
    if (!code) {
        call = "getsockopt";
        code = getsockopt(listener, SOL_SOCKET, SO_ERROR, &option, &length) ? errno : 0;
    }
    if (!code) {
        call = "getrandom";
        code = -sy_auth_random(nonce, sizeof nonce);
    }
    return code ? net->host->fail(err, code, "%s: %s%s", call, strerror(code), sy_denied_hint(code))
                : 0;
}

/* Opens and listens. sy_tcp_net_close is safe whatever this returns. */
static int listen_open(struct tcp_net *net, struct sy_error *err)
{
    struct sy_bound bound[TCP_ENDPOINTS];
    int rc = sy_tcp_turns_open(net, err), count;

    count = rc ? rc : listen_on_chosen(net, bound, err);
    if (count < 0)
        return count;
    net->listeners = (unsigned)count;
    net->record = (struct tcp_record){.machine = sy_machine_network(), .count = (unsigned)count};
    for (int i = 0; i < count; i++) {
        net->listener[i] = (struct tcp_watch){
            .fd = bound[i].fd, .event = listen_on_listener, .owner = net};
        sy_tcp_pending_tune(net, bound[i].fd);
        sy_tcp_pending_congest_listener(net, bound[i].fd);
        net->record.endpoint[i] = (struct tcp_endpoint){bound[i].ip, bound[i].port};
    }
    rc = count ? listen_try_calls(net, bound[0].fd, err) : 0;
    if (!rc)
        rc = sy_tcp_record_advertise(net->host, &net->record, net->settings->advertise,
                                     bound[0].port, err);
    for (int i = 0; i < count && !rc; i++) {
        rc = sy_tcp_watch_add(net->set, &net->listener[i], EPOLLIN);
        if (rc)
            net->host->fail(err, -rc, "watching a listening socket: %s", strerror(-rc));
    }
    if (rc)
        return rc;
    sy_tcp_incoming_reserve(net);
    listen_tell(net, bound, net->listeners);
    return 0;
}

int sy_tcp_net_open(const struct tcp_conn_user *user, struct tcp_net **opened, struct sy_error *err)
{
    struct tcp_net *net = calloc(1, sizeof *net);

    if (!net)
        return user->host->fail(err, ENOMEM, "no memory for connections");
    net->user = *user;
    net->host = user->host;
    net->settings = user->settings;
    net->counters = user->counters;
    net->set = user->set;
    net->reserve = -1;
    net->wake = UINT64_MAX;
    sy_tcp_incoming_init(net);
    int rc = listen_open(net, err);
    if (rc)
        sy_tcp_net_close(net);
    else
        *opened = net;
    return rc;
}

void sy_tcp_net_close(struct tcp_net *net)
{
    if (!net)
        return;
    sy_tcp_attempts_end(net);
    sy_tcp_incoming_close(net);
    sy_tcp_turns_close(net);
    for (unsigned i = 0; i < net->listeners; i++) {
        sy_tcp_watch_remove(&net->listener[i]);
        close(net->listener[i].fd);
    }
    sy_file_close(&net->reserve);
    free(net->mine);
    free(net);
}

size_t sy_tcp_net_address(struct tcp_net *net, void *buffer, size_t room)
{
    return sy_tcp_record_write(&net->record, buffer, room);
}

unsigned sy_tcp_address_ways(const void *one, size_t one_size, const void *other, size_t other_size,
                             bool beside)
{
    struct tcp_record a, b;

    if (!sy_tcp_record_read(&a, one, one_size) || !sy_tcp_record_read(&b, other, other_size))
        return 0;
    unsigned ways = (sy_tcp_record_outward(&b) ? TCP_WAY_THERE : 0u) |
                    (sy_tcp_record_outward(&a) ? TCP_WAY_BACK : 0u);
    bool known = a.machine && b.machine, near = known ? a.machine == b.machine : !ways && beside;
    return near ? TCP_WAY_THERE | TCP_WAY_BACK | TCP_WAY_NEAR : ways;
}

uint64_t sy_tcp_net_timers(struct tcp_net *net, uint64_t now)
{
    if (now >= net->wake) {
        sy_tcp_attempts_timer(net, now);
        if (sy_tcp_turns_wait(net))
            listen_accept(net); /* sets limits too, which are looked at behind it */
        uint64_t next = sy_tcp_earlier(listen_timer(net, now), sy_tcp_incoming_timer(net, now));
        next = sy_tcp_earlier(next, sy_tcp_turns_timer(net, now));
        /* With thousands of attempts, not one look at all of them for each. */
        net->wake = sy_tcp_earlier(next, sy_tcp_attempts_deadline(net));
        if (net->wake < now + TCP_MILLISECOND)
            net->wake = now + TCP_MILLISECOND;
    }
    return net->wake == UINT64_MAX ? UINT64_MAX : net->wake - now;
}
