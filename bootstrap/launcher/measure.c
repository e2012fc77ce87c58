/* A measurement between two hosts: see measure.h. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

enum {
    TOKEN = 32,        /* characters */
    ROUNDS = 200,      /* round trips */
    PIECE = 1 << 18,   /* bytes sent at a time */
    CONNECT_MS = 2000, /* for one address */
    SERVE_MS = 30000   /* for the other side to come */
};

static const double SENDING = 0.3; /* seconds of sending */

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *fmt, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, fmt);
    n = vasprintf(&text, fmt, args);
    va_end(args);
    return sy_memory_check(n < 0 ? NULL : text);
}

static bool receive(int fd, char *to, size_t length)
{
    while (length) {
        ssize_t n = recv(fd, to, length, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        length -= (size_t)n;
    }
    return true;
}

static void limit_time(int fd, int milliseconds)
{
    const struct timeval limit = {.tv_sec = milliseconds / 1000,
                                  .tv_usec = milliseconds % 1000 * 1000};
    const int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Returns round trips, byte for byte; then takes what comes, until its end, and says so. */
static bool serve(int fd, const char *token)
{
    static char buffer[PIECE];
    ssize_t n;

    limit_time(fd, SERVE_MS);
    if (!receive(fd, buffer, TOKEN) || memcmp(buffer, token, TOKEN) != 0)
        return false;
    for (int i = 0; i < ROUNDS; i++) {
        if (!receive(fd, buffer, 1) || send(fd, buffer, 1, MSG_NOSIGNAL) != 1)
            return true;
    }
    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0)
        continue;
    if (n == 0)
        send(fd, "e", 1, MSG_NOSIGNAL);
    return true;
}

static void serve_one(int listener, const char *token)
{
    double deadline = now() + SERVE_MS / 1000.;

    for (bool done = false; !done && now() < deadline;) {
        struct pollfd wait = {.fd = listener, .events = POLLIN};
        int fd;

        if (poll(&wait, 1, SERVE_MS) <= 0)
            return;
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        done = serve(fd, token);
        close(fd);
    }
}

static int open_port(int family, int port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int on = 1, off = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        rc = bind(fd, (struct sockaddr *)&six, sizeof six);
    } else {
        rc = bind(fd, (struct sockaddr *)&four, sizeof four);
    }
    if (rc == 0 && listen(fd, 8) == 0)
        return fd;
    close(fd);
    return -1;
}

static int open_any(int low, int high)
{
    int fd = -1;

    for (int port = low; fd < 0 && port <= high; port++) {
        fd = open_port(AF_INET6, port);
        if (fd < 0)
            fd = open_port(AF_INET, port);
    }
    return fd;
}

char *sy_measure_listen(const char *token, int low, int high)
{
    int fd = open_any(low, low ? high : 0);
    struct sockaddr_in6 own;
    socklen_t length = sizeof own;
    pid_t pid;

    if (strlen(token) != TOKEN)
        return text_of("! the token is too short");
    if (fd < 0)
        return low ? text_of("! no port from %d to %d is free", low, high)
                   : text_of("! no port can be opened: %s", strerror(errno));
    if (getsockname(fd, (struct sockaddr *)&own, &length) != 0 || (pid = fork()) < 0) {
        close(fd);
        return text_of("! %s", strerror(errno));
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve_one(fd, token);
        _exit(0);
    }
    close(fd);
    /* The port is at the same place in both kinds of address. */
    return text_of("%d", ntohs(own.sin6_port));
}

/* A connection within the time, or -1 and errno. */
static int connect_to(const char *address, int port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    bool is_six = strchr(address, ':') != NULL;
    const struct timeval limit = {.tv_sec = CONNECT_MS / 1000};
    int fd, rc;

    if (inet_pton(is_six ? AF_INET6 : AF_INET, address,
                  is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr) != 1) {
        errno = EINVAL;
        return -1;
    }
    fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* The kernel gives up a connect after the time limit for sending. */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    rc = is_six ? connect(fd, (struct sockaddr *)&six, sizeof six)
                : connect(fd, (struct sockaddr *)&four, sizeof four);
    if (rc == 0)
        return fd;
    if (errno == EINPROGRESS)
        errno = ETIMEDOUT;
    close(fd);
    return -1;
}

static bool measure(int fd, const char *token, double *trip, double *rate)
{
    static char buffer[PIECE];
    double begin, sent = 0;
    char byte = 'x';

    limit_time(fd, SERVE_MS / 3);
    if (send(fd, token, TOKEN, MSG_NOSIGNAL) != TOKEN)
        return false;
    begin = now();
    for (int i = 0; i < ROUNDS; i++) {
        if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || !receive(fd, &byte, 1))
            return false;
    }
    *trip = (now() - begin) / ROUNDS;
    begin = now();
    while (now() - begin < SENDING) {
        ssize_t n = send(fd, buffer, sizeof buffer, MSG_NOSIGNAL);

        if (n < 0)
            return false;
        sent += (double)n;
    }
    shutdown(fd, SHUT_WR);
    if (!receive(fd, &byte, 1))
        return false;
    *rate = sent / (now() - begin);
    return true;
}

char *sy_measure_connect(const char *token, int port, const char *addresses)
{
    char *copy = sy_memory_string(addresses), *save = NULL, *answer = NULL;
    char why[400] = "no address to try";
    size_t said = 0;

    for (char *address = strtok_r(copy, " ", &save); address && !answer;
         address = strtok_r(NULL, " ", &save)) {
        double trip, rate;
        int fd = strlen(token) == TOKEN ? connect_to(address, port) : -1;
        bool good = fd >= 0 && measure(fd, token, &trip, &rate);

        if (good)
            answer = text_of("%s %.1f %.1f", address, trip * 1e6, rate / 1e6);
        else if (said < sizeof why - 80)
            said += (size_t)snprintf(why + said, sizeof why - said, "%s%s: %s", said ? "; " : "",
                                     address, strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    if (!answer)
        answer = text_of("! %s", why);
    free(copy);
    return answer;
}
