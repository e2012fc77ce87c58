/* A PE's conversation with oshrun (control/protocol.h): frames on a socket that the PE inherits.
 * Calls block, but never longer than their time limit. It knows nothing of how oshrun works. */
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
#include <unistd.h>

#include <switchyard/bootstrap.h>

#include "bootstrap/control/frames.h"
#include "util/clock.h"
#include "util/denied.h"
#include "util/error.h"
#include "util/frame.h"
#include "util/net/io.h"
#include "util/parse.h"

enum { NOTE = 256 /* bytes of a note */ };

static const double WELCOME = 60; /* seconds for oshrun's answer: it may be stopped for a while */
static const double MARGIN = 5;  /* oshrun's own limit comes first, since it can name the missing */
static const double PARTING = 2; /* for what is sent when nobody will look at the result */

struct client {
    const struct sy_host *host;
    int fd; /* the socket */
    int npes;
    pthread_mutex_t sending; /* a note may come from the progress thread meanwhile */
};

/* Waits for the rest of a header of which a look has seen a part: poll() would say that something
 * is there. */
static int oshrun_await_rest(struct client *client, double deadline)
{
    struct pollfd hung_up = {.fd = client->fd, .events = POLLRDHUP};
    struct sy_frame seen;

    if (poll(&hung_up, 1, 1) > 0 &&
        recv(client->fd, &seen, sizeof seen, MSG_DONTWAIT | MSG_PEEK) < (ssize_t)sizeof seen)
        return -ECONNRESET;
    return sy_clock() > deadline ? -ETIMEDOUT : 0;
}

/* Looks at the header of the next frame. One that is cut in two is rare, and its rest is on the
 * way. */
static int oshrun_look(struct client *client, struct sy_frame *header, double *deadline)
{
    for (;;) {
        ssize_t n = sy_net_receive_some(client->fd, header, sizeof *header, MSG_PEEK, deadline);
        int rc = n < 0 ? (int)n : 0;

        if (n == (ssize_t)sizeof *header)
            return 0;
        if (rc == 0)
            rc = oshrun_await_rest(client, *deadline);
        if (rc)
            return rc;
    }
}

static int oshrun_send_frame(struct client *client, enum sy_control_type type, int arg,
                             const void *first, size_t first_length, const void *second,
                             size_t second_length, double *deadline)
{
    const struct sy_frame frame = {
        .type = type, .length = (uint32_t)(first_length + second_length), .arg = arg};

    pthread_mutex_lock(&client->sending);
    int rc = sy_frame_send(client->fd, &frame, first, first_length, second, deadline);
    pthread_mutex_unlock(&client->sending);
    return rc;
}

/* Takes the header of the next frame, which is to be of this type and length. EXIT is left in the
 * socket, so that wait_fd stays readable and event() finds it. */
static int oshrun_expect(struct client *client, enum sy_control_type type, size_t length,
                         double *deadline)
{
    struct sy_frame header;

    for (;;) {
        int rc = oshrun_look(client, &header, deadline);

        if (rc != 0)
            return rc;
        if (sy_frame_fault(&header, SY_FRAME_AT_PE, SY_FRAME_RUNNING))
            return -EPROTO;
        if (header.type != SY_CONTROL_ASK)
            break;
        /* The launcher asked for something that is no longer of interest. */
        sy_net_receive(client->fd, &header, sizeof header, deadline);
    }
    if (header.type == SY_CONTROL_EXIT)
        return -ECANCELED;
    if (header.type != type || header.length != length)
        return -EPROTO;
    return sy_net_receive(client->fd, &header, sizeof header, deadline);
}

static int oshrun_fail(struct client *client, struct sy_error *err, int rc, const char *what)
{
    switch (-rc) {
    case ECANCELED:
        return client->host->fail(err, ECANCELED, "%s: oshrun is ending the job", what);
    case ECONNRESET:
    case EPIPE:
        return client->host->fail(err, ECONNRESET, "%s: oshrun is gone", what);
    case ETIMEDOUT:
        return client->host->fail(err, ETIMEDOUT, "%s: no answer from oshrun; is it stopped?",
                                  what);
    case EPROTO:
        return client->host->fail(
            err, EPROTO,
            "%s: oshrun's answer is not understood; it must come from the same "
            "release as the program's library, and only one process of a PE may call shmem_init, "
            "no child that it has forked",
            what);
    default:
        return client->host->fail(err, -rc, "%s: %s%s", what, strerror(-rc), sy_denied_hint(rc));
    }
}

static int oshrun_probe(struct sy_error *err)
{
    const char *text = secure_getenv(SY_LAUNCH_FD_ENV), *fault;
    int fd = (int)sy_parse_variable(SY_LAUNCH_FD_ENV);
    struct stat st;

    if (!text)
        return sy_fail(err, ENODEV, "%s is not set: the program was not started by oshrun",
                       SY_LAUNCH_FD_ENV);
    if (fd < 0)
        fault = "that is not a descriptor";
    else if (fstat(fd, &st) != 0)
        fault = "that descriptor is closed";
    else if (!S_ISSOCK(st.st_mode))
        fault = "that descriptor is not a socket";
    else
        return 0;
    return sy_fail(
        err, EBADF,
        "%s=%s, but %s: a wrapper between oshrun and the program may have closed it; let it "
        "pass the descriptor on, or unset %s to run a job of one PE",
        SY_LAUNCH_FD_ENV, text, fault, SY_LAUNCH_FD_ENV);
}

/* Keeps the socket and its number from what this process starts, which is no PE. */
static void oshrun_keep_to_myself(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    if (flags >= 0)
        fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    unsetenv(SY_LAUNCH_FD_ENV);
    unsetenv(SY_LAUNCH_PLUGIN_ENV);
}

static int oshrun_join(struct client *client, struct sy_job *job, struct sy_error *err)
{
    double deadline = sy_clock() + WELCOME;
    struct sy_launch_welcome welcome;
    int rc = oshrun_send_frame(client, SY_CONTROL_HELLO, SY_LAUNCH_VERSION, NULL, 0, NULL, 0,
                               &deadline);

    if (rc == 0)
        rc = oshrun_expect(client, SY_CONTROL_WELCOME, sizeof welcome, &deadline);
    if (rc == 0)
        rc = sy_net_receive(client->fd, &welcome, sizeof welcome, &deadline);
    if (rc == 0 && (welcome.npes < 1 || welcome.npes > SY_LAUNCH_PES_MAX || welcome.pe < 0 ||
                    welcome.pe >= welcome.npes))
        rc = -EPROTO;
    if (rc != 0)
        return oshrun_fail(client, err, rc, "cannot join the job");
    job->pe = welcome.pe;
    job->npes = client->npes = welcome.npes;
    memcpy(job->id, welcome.id, sizeof job->id - 1);
    memcpy(job->key, welcome.key, sizeof job->key);
    explicit_bzero(&welcome, sizeof welcome);
    return 0;
}

static int oshrun_open(const struct sy_host *host, const void *settings, void **self,
                       struct sy_job *job, struct sy_error *err)
{
    struct client *client = calloc(1, sizeof *client);

    (void)settings;
    if (!client)
        return host->fail(err, ENOMEM, "no memory for the conversation with oshrun");
    client->host = host;
    client->fd = (int)sy_parse_variable(SY_LAUNCH_FD_ENV);
    if (client->fd < 0) {
        free(client);
        return host->fail(err, ENODEV, "%s does not name a descriptor", SY_LAUNCH_FD_ENV);
    }
    oshrun_keep_to_myself(client->fd);
    pthread_mutex_init(&client->sending, NULL);
    *self = client;
    return oshrun_join(client, job, err);
}

static void oshrun_close(void *self)
{
    struct client *client = self;

    close(client->fd);
    free(client);
}

static int oshrun_allgather(void *self, const char *phase, const void *mine, void *all,
                            size_t length, double seconds, struct sy_error *err)
{
    struct client *client = self;
    double deadline = sy_clock() + seconds + MARGIN;
    int limit = seconds < INT_MAX / 1000 - 1 ? (int)(seconds * 1000) + 1 : INT_MAX;
    size_t name = strlen(phase) + 1, total = length * (size_t)client->npes;

    if (name > SY_LAUNCH_BODY_MAX || length > SY_LAUNCH_BODY_MAX - name ||
        length > SY_LAUNCH_GATHERED_MAX / (size_t)client->npes)
        return client->host->fail(err, EMSGSIZE, "%s: %zu bytes are too many for oshrun to gather",
                                  phase, length);
    int rc = oshrun_send_frame(client, SY_CONTROL_GATHER, limit, phase, name, mine, length,
                               &deadline);
    if (rc == 0)
        rc = oshrun_expect(client, SY_CONTROL_GATHERED, total, &deadline);
    if (rc == 0)
        rc = sy_net_receive(client->fd, all, total, &deadline);
    return rc == 0 ? 0 : oshrun_fail(client, err, rc, phase);
}

/* Sends a frame. A failure means that oshrun is gone, which event() reports. */
static void oshrun_say(struct client *client, enum sy_control_type type, int arg, const char *text)
{
    double deadline = sy_clock() + PARTING;

    oshrun_send_frame(client, type, arg, text, strnlen(text, SY_LAUNCH_TEXT_MAX), NULL, 0,
                      &deadline);
}

static void oshrun_mark(void *self, enum sy_mark mark)
{
    oshrun_say(self, SY_CONTROL_MARK, mark, "");
}

static void oshrun_abort(void *self, int status, const char *why)
{
    oshrun_say(self, SY_CONTROL_ABORT, status, why ? why : "");
}

static int oshrun_wait_fd(void *self)
{
    return ((const struct client *)self)->fd;
}

static int oshrun_event(void *self, int *status)
{
    struct client *client = self;
    struct sy_frame header;

    ssize_t n = recv(client->fd, &header, sizeof header, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return SY_EVENT_LOST;
    if (n == (ssize_t)sizeof header && sy_frame_fault(&header, SY_FRAME_AT_PE, SY_FRAME_RUNNING))
        return SY_EVENT_LOST;
    if (n == (ssize_t)sizeof header && header.type == SY_CONTROL_ASK) {
        recv(client->fd, &header, sizeof header, MSG_DONTWAIT);
        return SY_EVENT_ASK;
    }
    /* Anything else that is there is for an allgather that is under way. */
    if (n != (ssize_t)sizeof header || header.type != SY_CONTROL_EXIT)
        return SY_EVENT_NONE;
    recv(client->fd, &header, sizeof header, MSG_DONTWAIT);
    *status = (int)header.arg;
    return SY_EVENT_EXIT;
}

/* Sends a frame in one piece, and not at all if that would mean to wait. */
static void oshrun_mention(struct client *client, const struct sy_frame *frame, const void *body)
{
    char bytes[sizeof *frame + NOTE];

    if (pthread_mutex_trylock(&client->sending) != 0)
        return;
    memcpy(bytes, frame, sizeof *frame);
    memcpy(bytes + sizeof *frame, body, frame->length);
    send(client->fd, bytes, sizeof *frame + frame->length, MSG_NOSIGNAL | MSG_DONTWAIT);
    pthread_mutex_unlock(&client->sending);
}

static void oshrun_note(void *self, const char *text, double seconds, int asked)
{
    oshrun_mention(self,
                   &(struct sy_frame){.type = SY_CONTROL_NOTE,
                                      .length = (uint32_t)strnlen(text, NOTE),
                                      .arg = sy_control_waited(seconds, asked)},
                   text);
}

static void oshrun_blocked(void *self, uint64_t wait, unsigned flags)
{
    oshrun_mention(self,
                   &(struct sy_frame){
                       .type = SY_CONTROL_BLOCKED, .more = (uint16_t)flags, .length = sizeof wait},
                   &wait);
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
    .blocked = oshrun_blocked,
};
