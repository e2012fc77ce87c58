#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/host.h"
#include "tcp_pes.h"

struct tcp_settings settings = {.interfaces = "lo",
                                .port_range = "",
                                .advertise = "",
                                .family = SY_IP_FOUR,
                                .connect_timeout = 2,
                                .reconnect_timeout = 30,
                                .streams = LANES - 1,
                                .keepalive = 10};

unsigned char key[32] = "the job's key";
int log_lines;

struct shared *shared;

/* ---- the kernel, the core and the rest of the plugin ---- */

int refused_accepts;

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags)
{
    if (refused_accepts && refused_accepts--) {
        errno = ENOMEM;
        return -1;
    }
    return (int)syscall(SYS_accept4, listener, address, length, flags);
}

static void count_line(enum sy_log_level level, const char *category, const char *fmt, ...)
{
    (void)level, (void)category, (void)fmt;
    log_lines++;
}

struct sy_host host = {.size = sizeof host, .job_key = key, .log = count_line, .fail = host_fail};
static struct tcp_watches set;
struct tcp_net *net;
struct tcp_counters counters;

static uint64_t due(void *owner, uint64_t now)
{
    (void)owner;
    return sy_tcp_net_timers(net, now);
}

void poll_once(int milliseconds)
{
    struct pollfd ready = {.fd = set.fd, .events = POLLIN};

    poll(&ready, 1, milliseconds);
    sy_tcp_watches_run(&set);
}

struct tcp_stream streams[PES][LANES];

struct tcp_stream *find(struct tcp *tcp, int pe, unsigned number)
{
    (void)tcp;
    return number < LANES ? &streams[pe][number] : NULL;
}

static struct tcp_positions freeze(struct tcp_stream *stream, int fd)
{
    (void)fd;
    stream->frozen++;
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
    return stream->mine;
}

static void adopt(struct tcp_stream *stream, int fd, const struct tcp_positions *peer,
                  const unsigned char keys[32], bool connector)
{
    require(stream->fd < 0);
    stream->fd = fd;
    stream->theirs = *peer;
    memcpy(stream->keys, keys, sizeof stream->keys);
    stream->connector = connector;
    stream->adopted++;
    stream->retry = 0;
}

static bool narrow(const struct tcp_stream *stream)
{
    (void)stream;
    return false;
}

static void unreachable(struct tcp_stream *stream, const char *why, unsigned seen)
{
    stream->unreachable++;
    stream->seen = seen;
    stream->retry = sy_tcp_now() + SECOND / 20;
    snprintf(stream->why, sizeof stream->why, "%s", why);
}

static void full(struct tcp *owner, int pe)
{
    (void)owner, (void)pe;
}

static const struct tcp_conn_user user = {.host = &host,
                                          .settings = &settings,
                                          .counters = &counters,
                                          .set = &set,
                                          .find = find,
                                          .freeze = freeze,
                                          .adopt = adopt,
                                          .narrow = narrow,
                                          .full = full,
                                          .unreachable = unreachable};

int pes_probe(void)
{
    struct sy_error err = {""};

    if (sy_tcp_watches_open(&set, due, NULL) || sy_tcp_net_open(&user, &net, &err)) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    sy_tcp_net_close(net);
    sy_tcp_watches_close(&set);
    return 0;
}

/* ---- a PE of a test ---- */

static void begin(int pe, int npes)
{
    struct sy_error err = {""};

    host.pe = pe;
    host.npes = npes;
    require(!sy_tcp_watches_open(&set, due, NULL));
    for (int i = 0; i < PES; i++)
        for (unsigned k = 0; k < LANES; k++)
            streams[i][k] = (struct tcp_stream){.pe = i, .number = k, .fd = -1};
    if (sy_tcp_net_open(&user, &net, &err))
        fprintf(stderr, "%s\n", err.text);
    shared->length[pe] = sy_tcp_net_address(net, shared->address[pe], 127);
    require(sy_tcp_address_ways(shared->address[pe], shared->length[pe], shared->address[pe],
                                shared->length[pe], true));
}

void meet(void)
{
    int arrived = atomic_fetch_add(&shared->arrived, 1);
    int all = (arrived / host.npes + 1) * host.npes;

    while (atomic_load(&shared->arrived) < all)
        poll_once(1);
}

void start(struct tcp_stream *stream)
{
    stream->retry = 0;
    sy_tcp_connect_start(net, stream, stream->pe, stream->number, shared->address[stream->pe],
                         shared->length[stream->pe], !stream->adopted);
}

static void retry(struct tcp_stream *stream)
{
    if (stream->fd < 0 && stream->retry && sy_tcp_now() >= stream->retry)
        start(stream);
}

void poll_until_adopted(struct tcp_stream *stream)
{
    for (uint64_t end = sy_tcp_now() + HANG; stream->fd < 0;) {
        require(sy_tcp_now() < end);
        poll_once(10);
        retry(stream);
    }
}

void exchange(struct tcp_stream *stream, uint32_t round)
{
    uint32_t out[2] = {round, (uint32_t)host.pe}, in[2];
    int fd = -1;

    for (uint64_t end = sy_tcp_now() + HANG;;) {
        require(sy_tcp_now() < end);
        if (stream->fd != fd && stream->fd >= 0)
            require(send(stream->fd, out, sizeof out, MSG_NOSIGNAL) != 0);
        fd = stream->fd;
        ssize_t n = fd < 0 ? -1 : recv(fd, in, sizeof in, 0);
        if (n == sizeof in)
            break;
        if (n == 0 || (n < 0 && fd >= 0 && errno != EAGAIN)) {
            close(fd);
            stream->fd = -1;
            stream->retry = sy_tcp_now() + (stream->connector ? 0 : SECOND);
        }
        poll_once(1);
        retry(stream);
    }
    require(in[0] == round && in[1] == (uint32_t)stream->pe);
}

void run(int npes, void (*pe_main)(int pe))
{
    pid_t pid[PES];
    int status;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    for (int pe = 0; pe < npes; pe++) {
        pid[pe] = fork();
        ck_assert_int_ge(pid[pe], 0);
        if (pid[pe] == 0) {
            alarm(100);
            begin(pe, npes);
            meet();
            pe_main(pe);
            meet();
            sy_tcp_net_close(net);
            _exit(0);
        }
    }
    for (int pe = 0; pe < npes; pe++) {
        ck_assert_int_eq(waitpid(pid[pe], &status, 0), pid[pe]);
        if (status != 0)
            for (int i = pe + 1; i < npes; i++)
                kill(pid[i], SIGKILL);
        ck_assert_int_eq(status, 0);
    }
    munmap(shared, sizeof *shared);
}
