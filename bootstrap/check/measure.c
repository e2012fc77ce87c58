/* A measurement between two hosts: see measure.h. */
#include "bootstrap/check/measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "util/clock.h"
#include "util/net/interfaces.h"
#include "util/net/io.h"

enum {
    TOKEN = 32,       /* characters */
    ROUNDS = 200,     /* round trips at most */
    PIECE = 1 << 18,  /* bytes sent at a time */
    SERVE_MS = 30000, /* for the other side to come */
    TOKEN_MS = 4000   /* for its token: it connects to the other ports before */
};

static const double TRIPS = 2, SENDING = 0.3;        /* seconds of round trips, of sending */
static const double CONNECT = 2, ALL_ADDRESSES = 15; /* for one address, and for all */

static pid_t measure_child; /* serves a measurement, or has served one; 0: none */

static bool measure_receive_byte(int fd, char *byte)
{
    return TEMP_FAILURE_RETRY(recv(fd, byte, 1, 0)) == 1;
}

static void measure_limit_time(int fd, int milliseconds)
{
    const struct timeval limit = {.tv_sec = milliseconds / 1000,
                                  .tv_usec = milliseconds % 1000 * 1000};
    const int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Echoes round trips, an 'x' each; receives the bulk data, zeros, up to their end, and confirms. */
static bool measure_serve(int fd, const char *token)
{
    static char buffer[PIECE];
    ssize_t n;

    measure_limit_time(fd, TOKEN_MS);
    if (recv(fd, buffer, TOKEN, MSG_WAITALL) != TOKEN || memcmp(buffer, token, TOKEN) != 0)
        return false;
    measure_limit_time(fd, SERVE_MS);
    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0) {
        if (*buffer == 'x' && send(fd, buffer, 1, MSG_NOSIGNAL) != 1)
            return true;
    }
    if (n == 0)
        send(fd, "e", 1, MSG_NOSIGNAL);
    return true;
}

static void measure_serve_one(int listener, const char *token)
{
    double deadline = sy_clock() + SERVE_MS / 1000.;

    for (bool done = false; !done && sy_clock() < deadline;) {
        struct pollfd wait = {.fd = listener, .events = POLLIN};
        int fd;

        if (poll(&wait, 1, SERVE_MS) <= 0)
            return;
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        done = measure_serve(fd, token);
        close(fd);
    }
}

static int measure_open_port(int family, int port)
{
    struct sockaddr_storage own = {.ss_family = (sa_family_t)family};
    const int on = 1, off = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    *sy_socket_port(&own) = htons((uint16_t)port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (!sy_socket_bind(fd, &own) && !listen(fd, 8))
        return fd;
    close(fd);
    return -1;
}

/* The first free port of these, or any for 0. */
static int measure_open_any(int low, int high)
{
    int fd = -1;

    for (int port = low; fd < 0 && port <= high; port++) {
        fd = measure_open_port(AF_INET6, port);
        if (fd < 0)
            fd = measure_open_port(AF_INET, port);
    }
    return fd;
}

/* Ports from all over the range, because a firewall may open only a part of it: its first and last,
 * and some between. Returns how many. */
static int measure_open_ports(int low, int high, int *fd)
{
    int count = 0, wanted = high - low + 1 < SY_MEASURE_PORTS ? high - low + 1 : SY_MEASURE_PORTS;

    for (int i = 0; i < wanted; i++) {
        int from = wanted > 1 ? low + (int)((long)(high - low) * i / (wanted - 1)) : low;
        int next = i + 1 < wanted ? low + (int)((long)(high - low) * (i + 1) / (wanted - 1))
                                  : high + 1;

        fd[count] = measure_open_any(from, low ? next - 1 : 0);
        count += fd[count] >= 0;
    }
    return count;
}

static void measure_close_all(const int *fd, int count)
{
    for (int i = 0; i < count; i++) {
        if (fd[i] >= 0)
            close(fd[i]);
    }
}

void sy_measure_end(void)
{
    if (measure_child > 0) {
        kill(measure_child, SIGKILL);
        waitpid(measure_child, NULL, 0);
    }
    measure_child = 0;
}

char *sy_measure_listen(const char *token, int low, int high)
{
    int fd[SY_MEASURE_PORTS] = {-1}, count;
    char text[8 * SY_MEASURE_PORTS];
    size_t used = 0;

    sy_measure_end();
    count = low >= 0 && high <= 65535 ? measure_open_ports(low, low ? high : 0, fd) : 0;
    if (strlen(token) != TOKEN || !count) {
        measure_close_all(fd, count);
        if (count)
            return sy_memory_text("! the token is too short");
        return low ? sy_memory_text("! no port from %d to %d is free", low, high)
                   : sy_memory_text("! no port can be opened: %s", strerror(errno));
    }
    if ((measure_child = fork()) < 0) {
        int error = errno;

        measure_close_all(fd, count);
        return sy_memory_text("! %s", strerror(error));
    }
    if (measure_child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        measure_serve_one(fd[0], token);
        _exit(0);
    }
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? "," : "",
                                 sy_socket_bound_port(fd[i]));
    measure_close_all(fd, count);
    return sy_memory_text("%s", text);
}

/* Begins to connect: as sy_net_connect. */
static int measure_begin_connect(const char *address, int port)
{
    struct sockaddr_storage to;
    struct sy_ip ip;

    if (sy_ip_parse(address, &ip) != 0)
        return -EINVAL;
    sy_ip_socket(&ip, (uint16_t)port, 0, &to);
    return sy_net_connect(&to);
}

/* The outcome of a connection that was begun: 0 or an errno value. */
static int measure_end_connect(int fd, double deadline)
{
    int rc = sy_net_wait(fd, POLLOUT, &deadline);

    return rc ? -rc : -sy_net_connected(fd);
}

/* Connects to all ports of an address at once. Returns the connection to the first port, blocking,
 * or -1 with the reason for each port that cannot be reached. */
static int measure_connect_to_all(const char *address, const int *port, int count, double seconds,
                                  FILE *faults)
{
    int fd[SY_MEASURE_PORTS], error[SY_MEASURE_PORTS], bad = 0;
    double deadline = sy_clock() + seconds;

    for (int i = 0; i < count; i++) {
        fd[i] = measure_begin_connect(address, port[i]);
        error[i] = fd[i] < 0 ? -fd[i] : 0;
    }
    for (int i = 0; i < count; i++) {
        if (fd[i] >= 0)
            error[i] = measure_end_connect(fd[i], deadline);
        bad += error[i] != 0;
    }
    for (int i = 0; i < count; i++) {
        if (!error[i])
            continue;
        fprintf(faults, "%s%s port %d", ftell(faults) ? "; " : "", address, port[i]);
        while (i + 1 < count && error[i + 1] == error[i])
            fprintf(faults, ", %d", port[++i]);
        fprintf(faults, ": %s",
                error[i] == ETIMEDOUT ? "no answer, as where a firewall drops what comes"
                                      : strerror(error[i]));
    }
    measure_close_all(fd + 1, count - 1);
    if (!bad && fcntl(fd[0], F_SETFL, 0) == 0)
        return fd[0];
    measure_close_all(fd, 1);
    return -1;
}

static bool measure_way(int fd, const char *token, double *trip, double *rate)
{
    static char buffer[PIECE];
    double begin, sent = 0;
    char byte = 'x';
    int rounds = 0;

    measure_limit_time(fd, SERVE_MS / 3);
    if (send(fd, token, TOKEN, MSG_NOSIGNAL) != TOKEN)
        return false;
    begin = sy_clock();
    for (; rounds < ROUNDS && (!rounds || sy_clock() - begin < TRIPS); rounds++) {
        if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || !measure_receive_byte(fd, &byte))
            return false;
    }
    *trip = (sy_clock() - begin) / rounds;
    begin = sy_clock();
    while (sy_clock() - begin < SENDING) {
        ssize_t n = send(fd, buffer, sizeof buffer, MSG_NOSIGNAL);

        if (n < 0)
            return false;
        sent += (double)n;
    }
    shutdown(fd, SHUT_WR);
    if (!measure_receive_byte(fd, &byte))
        return false;
    *rate = sent / (sy_clock() - begin);
    return true;
}

/* "5000,5003": how many. */
static int measure_read_ports(const char *text, int *port)
{
    int count = 0;

    while (count < SY_MEASURE_PORTS) {
        char *end;
        long number = strtol(text, &end, 10);

        if (end == text || number < 1 || number > 65535)
            return 0;
        port[count++] = (int)number;
        if (*end != ',')
            return *end ? 0 : count;
        text = end + 1;
    }
    return 0;
}

char *sy_measure_connect(const char *token, const char *ports, const char *addresses)
{
    char *copy = sy_memory_string(addresses), *save = NULL, *answer = NULL, *why = NULL;
    size_t length = 0;
    FILE *faults = sy_memory_stream(&why, &length);
    int port[SY_MEASURE_PORTS], count = measure_read_ports(ports, port), words = 1;

    for (const char *at = addresses; *at; at++)
        words += *at == ' ';
    for (char *address = strtok_r(copy, " ", &save); address && !answer && count;
         address = strtok_r(NULL, " ", &save)) {
        double trip, rate, seconds = ALL_ADDRESSES / words;
        int fd = measure_connect_to_all(address, port, count, seconds < CONNECT ? seconds : CONNECT,
                                        faults);

        if (fd >= 0 && strlen(token) == TOKEN && measure_way(fd, token, &trip, &rate))
            answer = sy_memory_text("%s %.1f %.1f", address, trip * 1e6, rate / 1e6);
        else if (fd >= 0)
            fprintf(faults, "%s%s port %d: the connection breaks", ftell(faults) ? "; " : "",
                    address, port[0]);
        if (fd >= 0)
            close(fd);
    }
    sy_memory_stream_end(faults);
    if (!answer)
        answer = sy_memory_text("! %s", *why ? why : "no address to try");
    free(why);
    free(copy);
    return answer;
}
