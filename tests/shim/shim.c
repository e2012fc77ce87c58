/* A library to be preloaded that makes TCP sockets behave as badly as they may: transfers cut
 * short, interrupted, postponed, connections reset, small buffers; and connected UDP sockets too.
 * Other descriptors are left alone.
 *
 * SY_SHIM says how badly, "short=30,eintr=5" and so on, in percent of the calls unless said
 * otherwise:
 *
 *   short    at most 16 bytes are transferred, mostly 1
 *   eintr    the call is interrupted
 *   eagain   nothing can be transferred now; on sockets that do not block
 *   reset    in a million transfers so many reset the connection, as if the other side or something
 *            in between had: what is on the way in either direction is lost
 *   resets   no more than so many of them in this process; default: no limit
 *   rest     milliseconds after which all connections of the process are reset, again and again
 *   buffer   bytes of the sockets' send buffers; default: as they are
 *   rate     bytes that a socket sends in a second, as where a network limits connections
 *   queue    connections that a listening socket lets wait, besides one; default: as it is
 *   lost     the datagram does not get there
 *   twice    it gets there twice
 *   late     it gets there many datagrams later
 *   first    so many datagrams of the process are lost before one gets there
 *   key      the first 32 random bytes that the process draws from the kernel are known ones
 *   timer    timers of half a second and more expire so many milliseconds late
 *   cpus     processors that the process thinks it may use, many or few; default: as it is
 *   seed     of the pseudo-random numbers, to which the process adds its PE; default: 1
 *
 * At the end of the process a line with the counts is appended to the file SY_SHIM_REPORT. In the
 * directory SY_SHIM_RECORD each connection that the process opens leaves a file with the first
 * bytes it sent. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/shim/key.h"

#define SHIM __attribute__((visibility("default")))

#define REAL(NAME)                                                                                 \
    static __typeof__(NAME) *real;                                                                 \
    if (!real)                                                                                     \
    real = (__typeof__(NAME) *)dlsym(RTLD_NEXT, #NAME)

enum {
    SHIM_PIECES = 1024, /* most pieces of a vector that are looked at: the kernel's limit */
    RESTLESS = 256      /* descriptors that are looked at for connections to be reset at rest */
};

static struct {
    long shorten, eintr, eagain, reset, resets, buffer, rate, seed, cpus, lost, twice, late, first;
    long rest, key, queue, timer;
} badness = {.resets = -1, .seed = 1, .queue = -1};

static _Atomic long calls, shortened, interrupted, postponed, resets, datagrams, lost;
static _Atomic uint64_t stream; /* state of the pseudo-random numbers */

static bool take(const char *word, const char *name, long *value)
{
    size_t length = strlen(name);

    if (strncmp(word, name, length) != 0 || word[length] != '=')
        return false;
    *value = strtol(word + length + 1, NULL, 10);
    return true;
}

__attribute__((constructor)) static void begin(void)
{
    const char *how = getenv("SY_SHIM"), *pe = getenv("SHMEM_BOOT_PE");

    for (const char *word = how; word; word = strchr(word, ',')) {
        word += *word == ',';
        if (!(take(word, "short", &badness.shorten) || take(word, "eintr", &badness.eintr) ||
              take(word, "eagain", &badness.eagain) || take(word, "reset", &badness.reset) ||
              take(word, "resets", &badness.resets) || take(word, "buffer", &badness.buffer) ||
              take(word, "rate", &badness.rate) || take(word, "seed", &badness.seed) ||
              take(word, "cpus", &badness.cpus) || take(word, "lost", &badness.lost) ||
              take(word, "twice", &badness.twice) || take(word, "late", &badness.late) ||
              take(word, "first", &badness.first) || take(word, "rest", &badness.rest) ||
              take(word, "key", &badness.key) || take(word, "queue", &badness.queue) ||
              take(word, "timer", &badness.timer))) {
            fprintf(stderr, "shim: SY_SHIM has no word %s\n", word);
            _exit(2);
        }
    }
    stream = (uint64_t)badness.seed << 40 ^ (pe ? strtoull(pe, NULL, 10) : 0) << 20;
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv("SY_SHIM_REPORT");
    char line[200];
    int fd, length;

    if (!name || !(calls || datagrams) ||
        (fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        return;
    length = snprintf(line, sizeof line,
                      "calls=%ld short=%ld eintr=%ld eagain=%ld resets=%ld datagrams=%ld lost=%ld "
                      "seed=%ld\n",
                      calls, shortened, interrupted, postponed, resets, datagrams, lost,
                      badness.seed);
    if (write(fd, line, (size_t)length) != length)
        perror("shim: write to SY_SHIM_REPORT");
    close(fd);
}

/* A number below `limit`. */
static uint64_t any(uint64_t limit)
{
    uint64_t x = atomic_fetch_add(&stream, 0x9e3779b97f4a7c15u);

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % limit;
}

static bool happens(long count, uint64_t in)
{
    return count > 0 && any(in) < (uint64_t)count;
}

static bool speaks(int fd, int which)
{
    int saved = errno, protocol = 0;
    socklen_t size = sizeof protocol;
    bool yes = !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) && protocol == which;

    errno = saved;
    return yes;
}

static bool is_tcp(int fd)
{
    return speaks(fd, IPPROTO_TCP);
}

static int disconnect(int fd, const struct sockaddr *nobody, socklen_t size)
{
    REAL(connect);
    return real(fd, nobody, size);
}

/* Ends the connection with a reset that both sides notice; the descriptor stays open. The shutdown
 * fails, but has poll() report the end, as after a reset that has come from the other side. */
static bool cut(int fd)
{
    struct linger at_once = {1, 0};
    struct sockaddr nobody = {.sa_family = AF_UNSPEC}, peer;
    socklen_t size = sizeof peer;
    long before = atomic_fetch_add(&resets, 1);

    if ((badness.resets < 0 || before < badness.resets) && !getpeername(fd, &peer, &size) &&
        !setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) &&
        !disconnect(fd, &nobody, sizeof nobody)) {
        shutdown(fd, SHUT_RDWR);
        return true;
    }
    atomic_fetch_sub(&resets, 1);
    return false;
}

static void *cut_all(void *unused)
{
    for (;;) {
        usleep((useconds_t)badness.rest * 1000);
        for (int fd = 0; fd < RESTLESS; fd++)
            if (is_tcp(fd))
                cut(fd);
    }
    return unused;
}

/* Starts no thread before the process makes a call: a library may be confused by threads that exist
 * before it. */
static void begin_cutting(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    pthread_t thread;

    if (badness.rest && !atomic_flag_test_and_set(&begun) &&
        pthread_create(&thread, NULL, cut_all, NULL))
        perror("shim: a thread");
}

/* Decides what happens to a transfer: 0, or -1 with errno set. *limit: the bytes that it may move.
 */
static int meddle(int fd, int flags, bool sends, size_t *limit)
{
    *limit = SIZE_MAX;
    if (!is_tcp(fd))
        return 0;
    calls++;
    begin_cutting();
    if (happens(badness.reset, 1000000) && cut(fd)) {
        errno = sends && any(2) ? EPIPE : ECONNRESET;
        return -1;
    }
    if (happens(badness.eintr, 100)) {
        interrupted++;
        errno = EINTR;
        return -1;
    }
    if (happens(badness.eagain, 100) && (flags & MSG_DONTWAIT || fcntl(fd, F_GETFL) & O_NONBLOCK)) {
        postponed++;
        errno = EAGAIN;
        return -1;
    }
    if (happens(badness.shorten, 100)) {
        shortened++;
        *limit = any(4) ? 1 : 1 + any(16);
    }
    return 0;
}

/* The socket that cut() has left unconnected says so in other words than a reset one. */
static ssize_t told(ssize_t result, bool sends)
{
    if (result < 0 && errno == ENOTCONN)
        errno = sends ? EPIPE : ECONNRESET;
    return result;
}

/* ---- recording ---- */

enum { RECORDED_FDS = 1024, RECORDED_BYTES = 4096 };

static struct {
    int file; /* 0: none */
    size_t bytes;
} recordings[RECORDED_FDS];

static void record_begin(int fd)
{
    const char *directory = getenv("SY_SHIM_RECORD");
    static _Atomic int number;
    char name[4096];

    if (!directory || fd < 0 || fd >= RECORDED_FDS || !is_tcp(fd))
        return;
    snprintf(name, sizeof name, "%s/%d.%d", directory, (int)getpid(), number++);
    if (recordings[fd].file > 0)
        close(recordings[fd].file);
    recordings[fd].file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    recordings[fd].bytes = 0;
}

/* `sent`: what the kernel took of the vector, or -1. */
static void record(int fd, const struct iovec *vector, size_t count, ssize_t sent)
{
    int saved = errno;

    if (fd < 0 || fd >= RECORDED_FDS || recordings[fd].file <= 0)
        return;
    for (size_t i = 0; i < count && sent > 0 && recordings[fd].bytes < RECORDED_BYTES; i++) {
        size_t length = vector[i].iov_len < (size_t)sent ? vector[i].iov_len : (size_t)sent;
        if (pwrite(recordings[fd].file, vector[i].iov_base, length, (off_t)recordings[fd].bytes) !=
            (ssize_t)length)
            perror("shim: SY_SHIM_RECORD");
        recordings[fd].bytes += length;
        sent -= (ssize_t)length;
    }
    errno = saved;
}

/* ---- datagrams ---- */

enum { LATE_FDS = 1024, LATE_BYTES = 256, LATE_BY = 40 };

/* One that is held back for each descriptor, and how many are sent before it. */
static struct {
    char bytes[LATE_BYTES];
    size_t length;
    int left;
} late[LATE_FDS];

static ssize_t send_datagram(__typeof__(send) *real, int fd, const void *bytes, size_t length,
                             int flags)
{
    bool holds = fd >= 0 && fd < LATE_FDS && length <= LATE_BYTES;

    datagrams++;
    if (holds && late[fd].length && !late[fd].left--) {
        real(fd, late[fd].bytes, late[fd].length, flags);
        late[fd].length = 0;
    }
    if (holds && !late[fd].length && happens(badness.late, 100)) {
        memcpy(late[fd].bytes, bytes, length);
        late[fd].length = length;
        late[fd].left = LATE_BY;
        return (ssize_t)length;
    }
    if (datagrams <= badness.first || happens(badness.lost, 100)) {
        lost++;
        return (ssize_t)length;
    }
    if (happens(badness.twice, 100))
        real(fd, bytes, length, flags);
    return real(fd, bytes, length, flags);
}

/* ---- the calls ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copies a vector up to `limit` bytes; returns the pieces of the copy. */
static size_t clip(struct iovec *to, const struct iovec *from, size_t count, size_t limit)
{
    size_t n = 0;

    for (; n < count && n < SHIM_PIECES && limit > 0; n++) {
        to[n] = (struct iovec){from[n].iov_base, least(from[n].iov_len, limit)};
        limit -= to[n].iov_len;
    }
    return n;
}

SHIM ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    size_t limit;
    ssize_t sent;
    REAL(send);

    if (speaks(fd, IPPROTO_UDP))
        return send_datagram(real, fd, bytes, length, flags);
    if (meddle(fd, flags, true, &limit))
        return -1;
    sent = real(fd, bytes, least(length, limit), flags);
    record(fd, &(struct iovec){(void *)bytes, length}, 1, sent);
    return told(sent, true);
}

SHIM ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
    size_t limit;
    REAL(recv);
    return meddle(fd, flags, false, &limit)
               ? -1
               : told(real(fd, bytes, least(length, limit), flags), false);
}

SHIM ssize_t write(int fd, const void *bytes, size_t length)
{
    size_t limit;
    ssize_t sent;
    REAL(write);

    if (meddle(fd, 0, true, &limit))
        return -1;
    sent = real(fd, bytes, least(length, limit));
    record(fd, &(struct iovec){(void *)bytes, length}, 1, sent);
    return told(sent, true);
}

SHIM ssize_t read(int fd, void *bytes, size_t length)
{
    size_t limit;
    REAL(read);
    return meddle(fd, 0, false, &limit) ? -1 : told(real(fd, bytes, least(length, limit)), false);
}

SHIM ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct iovec pieces[SHIM_PIECES];
    struct msghdr copy = *message;
    size_t limit;
    ssize_t sent;
    REAL(sendmsg);

    if (meddle(fd, flags, true, &limit))
        return -1;
    if (limit != SIZE_MAX) {
        copy.msg_iovlen = clip(pieces, message->msg_iov, message->msg_iovlen, limit);
        copy.msg_iov = pieces;
    }
    sent = real(fd, &copy, flags);
    record(fd, copy.msg_iov, copy.msg_iovlen, sent);
    return told(sent, true);
}

SHIM ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    struct iovec pieces[SHIM_PIECES], *all = message->msg_iov;
    size_t count = message->msg_iovlen, limit;
    ssize_t result;
    REAL(recvmsg);

    if (meddle(fd, flags, false, &limit))
        return -1;
    if (limit != SIZE_MAX) {
        message->msg_iovlen = clip(pieces, all, count, limit);
        message->msg_iov = pieces;
    }
    result = real(fd, message, flags);
    message->msg_iov = all;
    message->msg_iovlen = count;
    return told(result, false);
}

SHIM ssize_t writev(int fd, const struct iovec *vector, int count)
{
    struct iovec pieces[SHIM_PIECES];
    size_t limit;
    ssize_t sent;
    REAL(writev);

    if (meddle(fd, 0, true, &limit))
        return -1;
    if (limit == SIZE_MAX)
        sent = real(fd, vector, count);
    else
        sent = real(fd, pieces, (int)clip(pieces, vector, (size_t)count, limit));
    record(fd, vector, (size_t)count, sent);
    return told(sent, true);
}

SHIM ssize_t readv(int fd, const struct iovec *vector, int count)
{
    struct iovec pieces[SHIM_PIECES];
    size_t limit;
    REAL(readv);

    if (meddle(fd, 0, false, &limit))
        return -1;
    if (limit == SIZE_MAX)
        return told(real(fd, vector, count), false);
    return told(real(fd, pieces, (int)clip(pieces, vector, (size_t)count, limit)), false);
}

static int narrowed(int fd)
{
    int bytes = (int)badness.buffer;
    unsigned rate = (unsigned)badness.rate;

    if (fd < 0 || !is_tcp(fd))
        return fd;
    if ((bytes && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes)) ||
        (rate && setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate)))
        perror("shim: setsockopt");
    return fd;
}

SHIM int socket(int domain, int type, int protocol)
{
    REAL(socket);
    return narrowed(real(domain, type, protocol));
}

SHIM int listen(int fd, int queue)
{
    REAL(listen);
    return real(fd, badness.queue >= 0 && is_tcp(fd) ? (int)badness.queue : queue);
}

SHIM int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    REAL(connect);
    record_begin(fd);
    return real(fd, address, size);
}

SHIM int close(int fd)
{
    REAL(close);
    if (fd >= 0 && fd < RECORDED_FDS && recordings[fd].file > 0) {
        real(recordings[fd].file);
        recordings[fd].file = 0;
    }
    return real(fd);
}

SHIM int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    REAL(accept4);
    if (happens(badness.eintr, 100)) {
        interrupted++;
        errno = any(2) ? EINTR : ECONNABORTED;
        return -1;
    }
    return narrowed(real(fd, address, size, flags));
}

SHIM ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
    REAL(getrandom);
    static _Atomic bool drawn;

    if (!badness.key || length != SHIM_KEY || atomic_exchange(&drawn, true))
        return real(bytes, length, flags);
    for (size_t i = 0; i < SHIM_KEY; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(SHIM_KEY_FACTOR * i + SHIM_KEY_FIRST);
    return SHIM_KEY;
}

SHIM int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    REAL(sched_getaffinity);
    int rc = real(pid, size, set);

    for (size_t i = 0; badness.cpus && rc >= 0 && i < 8 * size; i++)
        if (i < (size_t)badness.cpus)
            CPU_SET_S(i, size, set);
        else
            CPU_CLR_S(i, size, set);
    return rc;
}

SHIM int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old)
{
    struct itimerspec later = *when;
    REAL(timerfd_settime);

    if (later.it_value.tv_sec || later.it_value.tv_nsec >= 500000000) {
        later.it_value.tv_sec += badness.timer / 1000;
        later.it_value.tv_nsec += badness.timer % 1000 * 1000000;
    }
    if (later.it_value.tv_nsec >= 1000000000) {
        later.it_value.tv_nsec -= 1000000000;
        later.it_value.tv_sec++;
    }
    return real(fd, flags, &later, old);
}

SHIM int epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
    REAL(epoll_wait);
    if (happens(badness.eintr, 100)) {
        interrupted++;
        errno = EINTR;
        return -1;
    }
    return real(fd, events, room, timeout);
}

SHIM int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    REAL(poll);
    if (count && happens(badness.eintr, 100) && is_tcp(fds[0].fd)) {
        interrupted++;
        errno = EINTR;
        return -1;
    }
    return real(fds, count, timeout);
}
