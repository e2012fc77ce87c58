/* Listening, and the guests: talks with whoever connects. They sit in a table of fixed size,
 * because anybody can connect. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "transports/tcp/talk.h"
#include "transports/tcp/tcp.h"

#define GUESTS     64
#define GUEST_TIME TCP_SECOND /* that a guest with the job's key has before it makes room */
#define PAUSE      (100 * TCP_MILLISECOND) /* when places, descriptors or memory are short */
#define LOG_EVERY  (5 * TCP_SECOND)

/* Lets one line through at a time, and counts the others. */
struct limiter {
    uint64_t next;
    unsigned held;
};

static struct {
    struct tcp_interface *mine; /* all addresses of this machine */
    size_t mine_count;
    struct tcp_record record;
    struct tcp_watch listener[TCP_ENDPOINTS];
    unsigned listeners;
    int reserve;     /* a descriptor to be given up so that a connection can be turned away */
    uint64_t paused; /* until when nothing is accepted; 0: accepting */
    bool full;       /* that is for want of a place in the table */
    struct tcp_talk guest[GUESTS];
    struct limiter failed, forged, descriptors;
} net = {.reserve = -1};

static bool may_log(struct limiter *limiter, unsigned *held)
{
    uint64_t now = sy_tcp_now();

    if (now < limiter->next) {
        limiter->held++;
        return false;
    }
    *held = limiter->held;
    limiter->held = 0;
    limiter->next = now + LOG_EVERY;
    return true;
}

/* ---- guests ---- */

static void accept_events(uint32_t events)
{
    for (unsigned i = 0; i < net.listeners; i++)
        sy_tcp_watch_change(&net.listener[i], events);
}

/* New connections wait in the kernel's queue meanwhile. */
static void accept_pause(bool full)
{
    net.paused = sy_tcp_until(sy_tcp_now() + PAUSE);
    net.full = full;
    accept_events(0);
}

static void accept_again(void)
{
    net.paused = 0;
    accept_events(EPOLLIN);
}

void sy_tcp_guest_gone(struct tcp_talk *talk)
{
    talk->used = false;
    if (net.paused && net.full)
        accept_again();
}

void sy_tcp_guest_failed(struct tcp_talk *talk, const char *words)
{
    const struct tcp_greeting *hello = &talk->transcript.greeting[0];
    struct tcp_lane *lane = talk->lane;
    bool alone = lane && sy_tcp_attempt_progress((int)hello->from, hello->lane) == TCP_ATTEMPT_NONE;
    char text[TCP_IP_TEXT], why[200];
    unsigned held;

    snprintf(why, sizeof why, "%s: %s", sy_tcp_socket_text(&talk->address, text), words);
    if (may_log(&net.failed, &held))
        sy_tcp_host->log(SY_LOG_DEBUG, "tcp", "greetings with %s; %u more were not told of", why,
                         held);
    sy_tcp_talk_close(talk);
    if (alone)
        sy_tcp_lane_unreachable(lane, why);
}

void sy_tcp_guest_forged(struct tcp_talk *talk)
{
    char text[TCP_IP_TEXT];
    unsigned held;

    if (may_log(&net.forged, &held))
        sy_tcp_host->log(SY_LOG_WARN, "tcp", "turned away %s, which %s; %u more were not told of",
                         sy_tcp_socket_text(&talk->address, text), sy_tcp_verdict_words(TCP_FORGED),
                         held);
    sy_tcp_talk_close(talk);
}

void sy_tcp_guests_drop(int pe, unsigned number, const struct tcp_talk *except)
{
    for (unsigned i = 0; i < GUESTS; i++) {
        struct tcp_talk *each = &net.guest[i];
        const struct tcp_greeting *hello = &each->transcript.greeting[0];

        if (each->used && each != except && each->transcript.count && hello->from == (uint32_t)pe &&
            hello->lane == number)
            sy_tcp_talk_close(each);
    }
}

void sy_tcp_guests_cancel(const struct tcp_lane *lane)
{
    for (unsigned i = 0; i < GUESTS; i++)
        if (net.guest[i].used && net.guest[i].lane == lane)
            sy_tcp_talk_close(&net.guest[i]);
}

uint64_t sy_tcp_guests_timer(uint64_t now)
{
    uint64_t deadline;

    for (unsigned i = 0; i < GUESTS; i++)
        if (net.guest[i].used)
            sy_tcp_talk_late(&net.guest[i], now);
    if (net.paused && now >= net.paused)
        accept_again();
    deadline = net.paused ? net.paused : UINT64_MAX;
    for (unsigned i = 0; i < GUESTS; i++)
        if (net.guest[i].used && net.guest[i].deadline < deadline)
            deadline = net.guest[i].deadline;
    return deadline;
}

/* ---- accepting ---- */

/* Who makes room first: those that have not said HELLO, and of equals the oldest. */
static bool goes_before(const struct tcp_talk *a, const struct tcp_talk *b)
{
    bool a_silent = !a->transcript.count, b_silent = !b->transcript.count;

    return a_silent != b_silent ? a_silent : a->began < b->began;
}

/* A place in the table. Sockets that are held open keep nobody out: they make room. NULL: all
 * places are taken by guests that know the key and get on. */
static struct tcp_talk *find_place(uint64_t now)
{
    struct tcp_talk *first = &net.guest[0];

    for (unsigned i = 0; i < GUESTS; i++) {
        if (!net.guest[i].used)
            return &net.guest[i];
        if (goes_before(&net.guest[i], first))
            first = &net.guest[i];
    }
    if (first->transcript.count && now - first->began < GUEST_TIME)
        return NULL;
    sy_tcp_guest_failed(first, "made room for others");
    return first;
}

/* No descriptor is left: turns a connection away, which would otherwise stay in the queue and keep
 * this PE busy. The peer tries again. */
static void turn_away(int listener)
{
    struct rlimit limit = {0};
    unsigned held;
    int fd;

    if (net.reserve >= 0)
        close(net.reserve);
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close(fd);
    net.reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    getrlimit(RLIMIT_NOFILE, &limit);
    if (may_log(&net.descriptors, &held))
        sy_tcp_host->log(
            SY_LOG_WARN, "tcp",
            "connections are turned away for want of file descriptors; this process may "
            "have %llu (ulimit -n)",
            (unsigned long long)limit.rlim_cur);
}

/* One connection. True: there may be more. */
static bool accept_one(int listener)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    uint64_t now = sy_tcp_now();
    struct tcp_talk *talk = find_place(now);
    int fd = -1;

    if (!talk) {
        accept_pause(true);
        return false;
    }
    fd = accept4(listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        int code = errno;
        if (code == EMFILE || code == ENFILE)
            turn_away(listener);
        if (code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM)
            accept_pause(false);
        return code == EINTR || code == ECONNABORTED;
    }
    sy_tcp_talk_tune(fd);
    *talk = (struct tcp_talk){.watch = {fd, sy_tcp_talk_event},
                              .events = EPOLLIN,
                              .used = true,
                              .address = address,
                              .began = now,
                              .deadline = sy_tcp_until(now + TCP_GREETING_TIME)};
    if (sy_tcp_watch_add(&talk->watch, talk->events)) {
        close(fd);
        talk->used = false;
        return false;
    }
    sy_tcp_talk_event(&talk->watch, EPOLLIN);
    return true;
}

static void on_listener(struct tcp_watch *watch, uint32_t events)
{
    (void)events;
    for (unsigned i = 0; i < GUESTS && accept_one(watch->fd); i++)
        ;
}

/* ---- listening ---- */

static void tell(const struct tcp_bound *bound, unsigned count)
{
    char text[TCP_IP_TEXT], all[300] = "";
    struct sockaddr_storage address;
    size_t used = 0;

    for (unsigned i = 0; i < count && used < sizeof all; i++) {
        sy_tcp_ip_socket(&bound[i].ip, bound[i].port, 0, &address);
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "",
                                 sy_tcp_socket_text(&address, text));
    }
    sy_tcp_host->log(SY_LOG_INFO, "tcp", "listens on %s", all);
}

/* Chooses addresses and listens on them: how many, or -errno. */
static int listen_on_chosen(struct tcp_bound *bound, struct sy_error *err)
{
    const struct tcp_interface **chosen;
    size_t count;
    int rc = sy_tcp_interfaces_list(&net.mine, &net.mine_count);

    if (rc)
        return sy_tcp_host->fail(err, -rc, "the list of network interfaces: %s", strerror(-rc));
    chosen = calloc(net.mine_count + 1, sizeof *chosen);
    if (!chosen)
        return sy_tcp_host->fail(err, ENOMEM, "no memory for a list of network interfaces");
    rc = sy_tcp_interfaces_choose(sy_tcp_settings.interfaces, sy_tcp_settings.family, net.mine,
                                  net.mine_count, chosen, &count, err);
    if (!rc && count > TCP_ENDPOINTS) {
        chosen[TCP_ENDPOINTS - 1] = chosen[count - 1]; /* loopback, if any */
        count = TCP_ENDPOINTS;
    }
    if (!rc)
        rc = sy_tcp_interfaces_listen(chosen, count, sy_tcp_settings.port_range,
                                      sy_tcp_settings.socket_buffer, bound, err);
    free(chosen);
    return rc;
}

/* The first authenticator takes libcrypto a while, and shows whether it works. */
static int try_crypto(struct sy_error *err)
{
    struct tcp_transcript transcript;
    struct tcp_self self = sy_tcp_self();
    int rc = sy_tcp_say_hello(&transcript, &self, sy_tcp_host->pe, 0, 0);

    return rc ? sy_tcp_host->fail(err, -rc, "HMAC-SHA256 by libcrypto: %s", strerror(-rc)) : 0;
}

int sy_tcp_listen_open(struct sy_error *err)
{
    struct tcp_bound bound[TCP_ENDPOINTS];
    int rc = try_crypto(err), count = rc ? rc : listen_on_chosen(bound, err);

    if (count < 0) {
        sy_tcp_listen_close();
        return count;
    }
    net.listeners = (unsigned)count;
    net.record = (struct tcp_record){.machine = sy_tcp_machine(), .count = (unsigned)count};
    for (int i = 0; i < count; i++) {
        net.listener[i] = (struct tcp_watch){.fd = bound[i].fd, .event = on_listener};
        net.record.endpoint[i] = (struct tcp_endpoint){bound[i].ip, bound[i].port};
    }
    rc = sy_tcp_record_advertise(&net.record, sy_tcp_settings.advertise, bound[0].port, err);
    for (int i = 0; i < count && !rc; i++) {
        rc = sy_tcp_watch_add(&net.listener[i], EPOLLIN);
        if (rc)
            sy_tcp_host->fail(err, -rc, "watching a listening socket: %s", strerror(-rc));
    }
    if (rc) {
        sy_tcp_listen_close();
        return rc;
    }
    net.reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    tell(bound, net.listeners);
    return 0;
}

void sy_tcp_listen_close(void)
{
    sy_tcp_attempts_end();
    for (unsigned i = 0; i < GUESTS; i++)
        if (net.guest[i].used)
            sy_tcp_talk_close(&net.guest[i]);
    for (unsigned i = 0; i < net.listeners; i++) {
        sy_tcp_watch_remove(&net.listener[i]);
        close(net.listener[i].fd);
    }
    if (net.reserve >= 0)
        close(net.reserve);
    free(net.mine);
    net.mine = NULL;
    net.mine_count = 0;
    net.listeners = 0;
    net.paused = 0;
    net.reserve = -1;
}

size_t sy_tcp_listen_address(void *buffer, size_t room)
{
    return sy_tcp_record_write(&net.record, buffer, room);
}

/* A connection is possible where both are in one machine, or at least one can be called from
 * outside. */
bool sy_tcp_address_reaches(const void *one, size_t one_size, const void *other, size_t other_size)
{
    struct tcp_record a, b;

    if (!sy_tcp_record_read(&a, one, one_size) || !sy_tcp_record_read(&b, other, other_size))
        return false;
    return (a.machine && a.machine == b.machine) || sy_tcp_record_outward(&a) ||
           sy_tcp_record_outward(&b);
}

unsigned sy_tcp_listen_candidates(const struct tcp_record *peer,
                                  struct sockaddr_storage out[TCP_CANDIDATES])
{
    return sy_tcp_candidates(peer, net.record.machine, net.mine, net.mine_count, out);
}
