/* The PE's side of oshrun's protocol (launcher/protocol.h): frames on a socket that the PE
 * inherits. Calls block, but never longer than their time limit. It knows nothing of how oshrun
 * works. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <switchyard/bootstrap.h>

#include "bootstrap/launcher/frames.h"
#include "util/denied.h"

enum {
    SLICE = 1000, /* milliseconds */
    NOTE = 256    /* bytes of a note */
};

static const double GREETING = 60; /* seconds for oshrun's answer: it may be stopped for a while */
static const double MARGIN = 5;  /* oshrun's own limit comes first, since it can name the missing */
static const double PARTING = 2; /* for what is sent when nobody will look at the result */

/* A note may come from the progress thread while the program's thread sends something else. */
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;

static struct {
    const struct sy_host *host;
    int fd; /* the socket, or -1 */
    int npes;
    double stopped; /* seconds that this process did not run, as far as was noticed */
} client = {.fd = -1};

static double oshrun_clock_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Limits do not run while the job is stopped (Ctrl-Z). */
static double oshrun_now(void)
{
    return oshrun_clock_now() - client.stopped;
}

/* Rounded up, so that a wait does not end a little early and begin anew. */
static int oshrun_to_milliseconds(double seconds)
{
    if (seconds <= 0)
        return 0;
    return seconds >= INT_MAX / 1000 - 1 ? INT_MAX : (int)(seconds * 1000) + 1;
}

/* Waits until the socket is ready. 0, -ETIMEDOUT, or what poll says. A wait of a second that takes
 * much longer tells that the process was stopped meanwhile. */
static int oshrun_await(short events, double deadline)
{
    struct pollfd wait = {.fd = client.fd, .events = events};

    for (;;) {
        int slice = oshrun_to_milliseconds(deadline - oshrun_now());
        double start = oshrun_clock_now(), late;
        int ready, error;

        if (slice > SLICE)
            slice = SLICE;
        ready = poll(&wait, 1, slice);
        error = errno;
        late = oshrun_clock_now() - start - slice / 1000.;
        if (late > 1)
            client.stopped += late;
        if (ready > 0)
            return 0;
        if (ready == 0 && oshrun_now() >= deadline)
            return -ETIMEDOUT;
        if (ready < 0 && error != EINTR)
            return -error;
    }
}

/* The socket stays in blocking mode, since a child that oshrun's shell script starts shares it;
 * every call asks not to block instead. */
static int oshrun_send_all(const void *data, size_t length, double deadline)
{
    const char *at = data;

    while (length) {
        ssize_t n = send(client.fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        int rc = 0;

        if (n >= 0) {
            at += n;
            length -= (size_t)n;
        } else if (errno == EAGAIN) {
            rc = oshrun_await(POLLOUT, deadline);
        } else if (errno != EINTR) {
            rc = -errno;
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* For more than what was seen by a look: poll() would say that something is there. */
static int oshrun_await_rest(size_t length, double deadline)
{
    struct pollfd hung_up = {.fd = client.fd, .events = POLLRDHUP};
    char seen[sizeof(struct sy_launch_header)];

    if (poll(&hung_up, 1, 1) > 0 &&
        recv(client.fd, seen, length, MSG_DONTWAIT | MSG_PEEK) < (ssize_t)length)
        return -ECONNRESET;
    return oshrun_now() > deadline ? -ETIMEDOUT : 0;
}

/* flags: 0 or MSG_PEEK. -ECONNRESET: oshrun is gone. */
static int oshrun_receive_all(void *data, size_t length, int flags, double deadline)
{
    char *at = data;

    while (length) {
        ssize_t n = recv(client.fd, at, length, MSG_DONTWAIT | flags);
        int rc = 0;

        if (n == 0) {
            rc = -ECONNRESET;
        } else if (n > 0 && (flags & MSG_PEEK)) {
            /* A header that is cut in two is rare, and its rest is on the way. */
            if ((size_t)n == length)
                return 0;
            rc = oshrun_await_rest(length, deadline);
        } else if (n > 0) {
            at += n;
            length -= (size_t)n;
        } else if (errno == EAGAIN) {
            rc = oshrun_await(POLLIN, deadline);
        } else if (errno != EINTR) {
            rc = -errno;
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int oshrun_send_frame(enum sy_launch_type type, int64_t arg, const void *first,
                             size_t first_length, const void *second, size_t second_length,
                             double deadline)
{
    const struct sy_launch_header header = {
        .type = type, .length = (uint32_t)(first_length + second_length), .arg = arg};
    int rc;

    pthread_mutex_lock(&sending);
    rc = oshrun_send_all(&header, sizeof header, deadline);
    if (rc == 0)
        rc = oshrun_send_all(first, first_length, deadline);
    if (rc == 0)
        rc = oshrun_send_all(second, second_length, deadline);
    pthread_mutex_unlock(&sending);
    return rc;
}

/* Takes the header of the next frame, which is to be of this type and length. EXIT is left in the
 * socket, so that wait_fd stays readable and event() finds it. */
static int oshrun_expect(enum sy_launch_type type, size_t length, double deadline)
{
    struct sy_launch_header header;
    int rc;

    for (;;) {
        rc = oshrun_receive_all(&header, sizeof header, MSG_PEEK, deadline);
        if (rc != 0)
            return rc;
        if (sy_frame_fault(&header, SY_FRAME_AT_PE, SY_FRAME_RUNNING))
            return -EPROTO;
        if (header.type != SY_LAUNCH_ASK)
            break;
        /* It was for a time that is over. */
        oshrun_receive_all(&header, sizeof header, 0, deadline);
    }
    if (header.type == SY_LAUNCH_EXIT)
        return -ECANCELED;
    if (header.type != type || header.length != length)
        return -EPROTO;
    return oshrun_receive_all(&header, sizeof header, 0, deadline);
}

static int oshrun_fail(struct sy_error *err, int rc, const char *what)
{
    switch (-rc) {
    case ECANCELED:
        return client.host->fail(err, ECANCELED, "%s: oshrun is ending the job", what);
    case ECONNRESET:
    case EPIPE:
        return client.host->fail(err, ECONNRESET, "%s: oshrun is gone", what);
    case ETIMEDOUT:
        return client.host->fail(err, ETIMEDOUT, "%s: no answer from oshrun; is it stopped?", what);
    case EPROTO:
        return client.host->fail(
            err, EPROTO,
            "%s: oshrun's answer is not understood; it must come from the same "
            "release as the program's library",
            what);
    default:
        return client.host->fail(err, -rc, "%s: %s%s", what, strerror(-rc), sy_denied_hint(rc));
    }
}

/* The descriptor that the environment names, or -1; *text is what it says. */
static int oshrun_named_fd(const char **text)
{
    char *end;
    long fd;

    *text = secure_getenv(SY_LAUNCH_FD_ENV);
    if (!*text)
        return -1;
    errno = 0;
    fd = strtol(*text, &end, 10);
    return end == *text || *end || errno || fd < 0 || fd > INT_MAX ? -1 : (int)fd;
}

static int oshrun_probe(struct sy_error *err)
{
    const char *text, *fault;
    struct stat st;
    int fd = oshrun_named_fd(&text);

    if (!text) {
        if (err)
            snprintf(err->text, sizeof err->text,
                     "%s is not set: the program was not started by oshrun", SY_LAUNCH_FD_ENV);
        return -ENODEV;
    }
    if (fd < 0)
        fault = "that is no descriptor";
    else if (fstat(fd, &st) != 0)
        fault = "that descriptor is closed";
    else if (!S_ISSOCK(st.st_mode))
        fault = "that descriptor is not a socket";
    else
        return 0;
    if (err)
        snprintf(
            err->text, sizeof err->text,
            "%s=%s, but %s: a wrapper between oshrun and the program may have closed it; let it "
            "pass the descriptor on, or unset %s to run a job of one PE",
            SY_LAUNCH_FD_ENV, text, fault, SY_LAUNCH_FD_ENV);
    return -EBADF;
}

/* What this process starts is no PE: it gets neither the socket nor its number. */
static void oshrun_keep_to_myself(void)
{
    int flags = fcntl(client.fd, F_GETFD);

    if (flags >= 0)
        fcntl(client.fd, F_SETFD, flags | FD_CLOEXEC);
    unsetenv(SY_LAUNCH_FD_ENV);
    unsetenv(SY_LAUNCH_PLUGIN_ENV);
}

/* The core's loop may still watch the descriptor; it goes with the process, which is ending. */
static void oshrun_close(void)
{
}

static int oshrun_open(const struct sy_host *host, struct sy_job *job, struct sy_error *err)
{
    const double deadline = oshrun_now() + GREETING;
    struct sy_launch_welcome welcome;
    const char *text;
    int rc;

    client.host = host;
    client.fd = oshrun_named_fd(&text);
    if (client.fd < 0)
        return host->fail(err, ENODEV, "%s names no descriptor", SY_LAUNCH_FD_ENV);
    oshrun_keep_to_myself();
    rc = oshrun_send_frame(SY_LAUNCH_HELLO, SY_LAUNCH_VERSION, NULL, 0, NULL, 0, deadline);
    if (rc == 0)
        rc = oshrun_expect(SY_LAUNCH_WELCOME, sizeof welcome, deadline);
    if (rc == 0)
        rc = oshrun_receive_all(&welcome, sizeof welcome, 0, deadline);
    if (rc == 0 && (welcome.npes < 1 || welcome.npes > SY_LAUNCH_PES_MAX || welcome.pe < 0 ||
                    welcome.pe >= welcome.npes))
        rc = -EPROTO;
    if (rc != 0)
        return oshrun_fail(err, rc, "cannot join the job");
    memset(job, 0, sizeof *job);
    job->pe = welcome.pe;
    job->npes = client.npes = welcome.npes;
    memcpy(job->id, welcome.id, sizeof job->id - 1);
    memcpy(job->key, welcome.key, sizeof job->key);
    explicit_bzero(&welcome, sizeof welcome);
    return 0;
}

static int oshrun_allgather(const char *phase, const void *mine, void *all, size_t length,
                            double seconds, struct sy_error *err)
{
    const double deadline = oshrun_now() + seconds + MARGIN;
    const size_t name = strlen(phase) + 1;
    int rc;

    if (name > SY_LAUNCH_BODY_MAX || length > SY_LAUNCH_BODY_MAX - name ||
        length > SY_LAUNCH_GATHERED_MAX / (size_t)client.npes)
        return client.host->fail(err, EMSGSIZE, "%s: %zu bytes are too many for oshrun to gather",
                                 phase, length);
    rc = oshrun_send_frame(SY_LAUNCH_GATHER, oshrun_to_milliseconds(seconds), phase, name, mine,
                           length, deadline);
    if (rc == 0)
        rc = oshrun_expect(SY_LAUNCH_GATHERED, length * (size_t)client.npes, deadline);
    if (rc == 0)
        rc = oshrun_receive_all(all, length * (size_t)client.npes, 0, deadline);
    return rc == 0 ? 0 : oshrun_fail(err, rc, phase);
}

/* A failure to send means that oshrun is gone, which event() reports. */
static void oshrun_mark(enum sy_mark mark)
{
    if (client.fd >= 0)
        oshrun_send_frame(SY_LAUNCH_MARK, mark, NULL, 0, NULL, 0, oshrun_now() + PARTING);
}

static void oshrun_abort(int status, const char *why)
{
    size_t length = why ? strlen(why) : 0;

    if (length > SY_LAUNCH_TEXT_MAX)
        length = SY_LAUNCH_TEXT_MAX;
    if (client.fd >= 0)
        oshrun_send_frame(SY_LAUNCH_ABORT, status, why, length, NULL, 0, oshrun_now() + PARTING);
}

static int oshrun_wait_fd(void)
{
    return client.fd;
}

static int oshrun_event(int *status)
{
    struct sy_launch_header header;
    ssize_t n;

    if (client.fd < 0)
        return SY_EVENT_NONE;
    n = recv(client.fd, &header, sizeof header, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return SY_EVENT_LOST;
    if (n == (ssize_t)sizeof header && sy_frame_fault(&header, SY_FRAME_AT_PE, SY_FRAME_RUNNING))
        return SY_EVENT_LOST;
    if (n == (ssize_t)sizeof header && header.type == SY_LAUNCH_ASK) {
        recv(client.fd, &header, sizeof header, MSG_DONTWAIT);
        return SY_EVENT_ASK;
    }
    /* Anything else that is there is for an allgather that is under way. */
    if (n != (ssize_t)sizeof header || header.type != SY_LAUNCH_EXIT)
        return SY_EVENT_NONE;
    recv(client.fd, &header, sizeof header, MSG_DONTWAIT);
    *status = (int)header.arg;
    return SY_EVENT_EXIT;
}

/* In one piece, and not at all where that would mean to wait. */
static void oshrun_note(const char *text, double seconds, int asked)
{
    char bytes[sizeof(struct sy_launch_header) + NOTE];
    struct sy_launch_header header = {.type = SY_LAUNCH_NOTE,
                                      .length = (uint32_t)strnlen(text, NOTE),
                                      .more = seconds < INT_MAX ? (int32_t)seconds : INT_MAX,
                                      .arg = !asked};

    if (client.fd < 0 || pthread_mutex_trylock(&sending) != 0)
        return;
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, text, header.length);
    send(client.fd, bytes, sizeof header + header.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    pthread_mutex_unlock(&sending);
}

/* As a note. */
static void oshrun_rests(uint64_t wait, unsigned flags)
{
    const struct sy_launch_header header = {
        .type = SY_LAUNCH_REST, .more = (int32_t)flags, .arg = (int64_t)wait};

    if (client.fd < 0 || pthread_mutex_trylock(&sending) != 0)
        return;
    send(client.fd, &header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT);
    pthread_mutex_unlock(&sending);
}

SY_BOOTSTRAP_PLUGIN(oshrun) = {
    .size = sizeof(struct sy_bootstrap),
    .name = SY_LAUNCH_PLUGIN,
    .priority = 100,
    .probe = oshrun_probe,
    .open = oshrun_open,
    .allgather = oshrun_allgather,
    .mark = oshrun_mark,
    .abort = oshrun_abort,
    .wait_fd = oshrun_wait_fd,
    .event = oshrun_event,
    .close = oshrun_close,
    .note = oshrun_note,
    .rests = oshrun_rests,
};
