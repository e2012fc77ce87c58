/* What comes to a port that is open to a network: somebody who does not belong to the job.
 *
 *   stranger HOST PORT MANNER [COUNT [FILE]]
 *
 * makes COUNT connections, behaves on each in the given manner, and waits for the other side to
 * hang up. MANNER is
 *
 *   close      hangs up at once
 *   silent     says nothing
 *   http       asks for a page
 *   tls        begins as a browser does
 *   random     sends 4 KiB of noise
 *   flood      sends 4 MiB of zeros
 *   drip       sends FILE slowly
 *   half       sends the first half of FILE, then nothing
 *   replay     sends FILE, what somebody else once sent, a message of the handshake at a time
 *   forge      the same, with a bit changed in each message's last part
 *   datagrams  sends no connections, but COUNT datagrams of noise, some of a form like the job's
 *   hold, spread  see there
 *
 * Prints how long the slowest connection lasted; fails where one is still open after 30 s. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "transports/tcp/wire.h"

enum { LIMIT = 30, MOST = 4000, RECORDING = 4096, HOLD = 5, MADE = 100000 };

static char recording[RECORDING];
static size_t recorded;
static const struct addrinfo *target;

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int open_one(void)
{
    struct timeval patience = {.tv_sec = LIMIT / 3};
    int fd = socket(target->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) ||
                    connect(fd, target->ai_addr, target->ai_addrlen))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Sends as much as it can; that the peer has hung up is the expected result. */
static bool say(int fd, const void *bytes, size_t length)
{
    return send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* Whether the peer has hung up within so many milliseconds; discards what the peer sends. */
static bool gone(int fd, int milliseconds)
{
    double end = seconds() + milliseconds / 1e3;
    char bytes[4096];

    do {
        struct pollfd poller = {fd, POLLIN, 0};
        int left = (int)((end - seconds()) * 1e3);
        if (poll(&poller, 1, left > 0 ? left : 0) == 1 && recv(fd, bytes, sizeof bytes, 0) <= 0)
            return true;
    } while (seconds() < end);
    return false;
}

static void drip(int fd)
{
    for (size_t i = 0; i < recorded && !gone(fd, 300); i++)
        if (!say(fd, recording + i, 1))
            return;
}

static void replay(int fd, bool forged)
{
    const size_t step = sizeof(struct tcp_handshake);

    for (size_t at = 0; at + step <= recorded; at += step) {
        char message[sizeof(struct tcp_handshake)];
        memcpy(message, recording + at, step);
        if (forged)
            message[step - 1 - at / step] ^= 4;
        if (!say(fd, message, step) || gone(fd, 200))
            return;
    }
}

static void noise(int fd)
{
    unsigned char bytes[4096];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(rand() >> 7);
    say(fd, bytes, sizeof bytes);
}

static void flood(int fd)
{
    static const char zeros[65536];

    for (int i = 0; i < 64 && say(fd, zeros, sizeof zeros); i++)
        ;
}

/* Keeps so many connections for a while, each of which says nothing, or a recorded HELLO; one that
 * is closed is opened again, a hundred thousand in all at most. With `spread` they come from many
 * addresses of this machine. */
static int open_another(uint32_t number, bool spread)
{
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(0x7f010000 + number % 60000)};
    int fd = socket(target->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && spread && target->ai_family == AF_INET)
        bind(fd, (struct sockaddr *)&from, sizeof from);
    if (fd >= 0 && connect(fd, target->ai_addr, target->ai_addrlen) && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static int hold(int count, bool spread)
{
    static struct pollfd held[MOST];
    const size_t step = sizeof(struct tcp_handshake);
    struct tcp_handshake answer;
    uint32_t made = 0, welcome = 0;
    double end = seconds() + HOLD;

    for (int i = 0; i < count; i++)
        held[i].fd = -1;
    while (seconds() < end) {
        for (int i = 0; i < count; i++) {
            if (held[i].fd >= 0 || made >= MADE)
                continue;
            held[i] = (struct pollfd){open_another(made++, spread), recorded ? POLLOUT : POLLIN, 0};
        }
        poll(held, (nfds_t)count, 10);
        for (int i = 0; i < count; i++) {
            bool over = held[i].revents & (POLLERR | POLLHUP);
            if (held[i].revents & POLLOUT) {
                over |= !say(held[i].fd, recording, step);
                held[i].events = POLLIN;
            } else if (held[i].revents & POLLIN) {
                ssize_t n = recv(held[i].fd, &answer, sizeof answer, 0);
                over |= n <= 0;
                welcome += n == sizeof answer && answer.kind == TCP_WELCOME;
            }
            if (over)
                close(held[i].fd), held[i].fd = -1;
        }
    }
    printf("stranger: %s: %u connections, %u welcome\n", spread ? "spread" : "hold", made, welcome);
    return 0;
}

static bool behave(int fd, const char *manner)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const unsigned char tls[] = {0x16, 3, 1, 0, 0x2f, 1, 0, 0, 0x2b, 3, 3, 1, 2, 3,
                                        4,    5, 6, 7, 8,    9, 0, 0, 2,    0, 0, 0, 1, 0};

    if (!strcmp(manner, "http"))
        say(fd, http, sizeof http - 1);
    else if (!strcmp(manner, "tls"))
        say(fd, tls, sizeof tls);
    else if (!strcmp(manner, "random"))
        noise(fd);
    else if (!strcmp(manner, "flood"))
        flood(fd);
    else if (!strcmp(manner, "drip"))
        drip(fd);
    else if (!strcmp(manner, "half"))
        say(fd, recording, recorded < 32 ? recorded : 32);
    else if (!strcmp(manner, "replay") || !strcmp(manner, "forge"))
        replay(fd, *manner == 'f');
    else
        return !strcmp(manner, "close") || !strcmp(manner, "silent");
    return true;
}

static int send_datagrams(int count)
{
    int fd = socket(target->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), sent = 0;

    if (fd < 0 || connect(fd, target->ai_addr, target->ai_addrlen)) {
        perror("stranger: a socket for datagrams");
        return 2;
    }
    for (int i = 0; i < count; i++) {
        unsigned char bytes[100];
        struct tcp_datagram datagram;
        for (size_t j = 0; j < sizeof bytes; j++)
            bytes[j] = (unsigned char)(rand() >> 7);
        memcpy(&datagram, bytes, sizeof datagram);
        datagram.from = (uint32_t)i % 3;
        datagram.header = sy_record(SY_RECORD_RAISE, 3, SY_RECORD_TARGET_SELF, (unsigned)i / 3 % 4,
                                    datagram.header % 65536 * 8);
        if (i % 2)
            sent += send(fd, &datagram, sizeof datagram, 0) > 0;
        else
            sent += send(fd, bytes, (size_t)i % sizeof bytes, 0) >= 0;
    }
    close(fd);
    printf("stranger: %d datagrams of %d sent\n", sent, count);
    return sent < count / 2;
}

/* All connections at once in the manners that only wait, one after another in the others. */
static int visit(const char *manner, int count)
{
    static int fds[MOST];
    bool at_once = !strcmp(manner, "silent") || !strcmp(manner, "half");
    double slowest = 0, begin = seconds(), took;
    int opened = 0, refused = 0, stayed = 0;

    for (int i = 0; i < count; i++) {
        double start = seconds();
        int fd = open_one();
        if (fd < 0) {
            refused++;
            continue;
        }
        if (!behave(fd, manner))
            return 2;
        if (at_once) {
            fds[opened++] = fd;
            continue;
        }
        if (strcmp(manner, "close") != 0 && !gone(fd, LIMIT * 1000))
            stayed++;
        close(fd);
        took = seconds() - start;
        slowest = took > slowest ? took : slowest;
    }
    for (int i = 0; i < opened; i++) {
        double left = LIMIT - (seconds() - begin);
        if (!gone(fds[i], left > 0 ? (int)(left * 1e3) : 0))
            stayed++;
        close(fds[i]);
        slowest = seconds() - begin;
    }
    printf("stranger: %s: %d connections, %d refused, %d still open after %d s, slowest %.2f s\n",
           manner, count, refused, stayed, LIMIT, slowest);
    return stayed ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;
    struct rlimit files;
    int count = argc > 4 ? atoi(argv[4]) : 1, error;

    if (argc < 4 || count < 1 || count > MOST) {
        fprintf(stderr, "usage: stranger HOST PORT MANNER [COUNT [FILE]]\n");
        return 2;
    }
    if (argc > 5) {
        FILE *file = fopen(argv[5], "rb");
        if (!file) {
            perror(argv[5]);
            return 2;
        }
        recorded = fread(recording, 1, sizeof recording, file);
        fclose(file);
    }
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if ((error = getaddrinfo(argv[1], argv[2], &hints, &found)) != 0) {
        fprintf(stderr, "stranger: %s port %s: %s\n", argv[1], argv[2], gai_strerror(error));
        return 2;
    }
    target = found;
    if (!strcmp(argv[3], "hold") || !strcmp(argv[3], "spread"))
        error = hold(count, *argv[3] == 's');
    else
        error = strcmp(argv[3], "datagrams") ? visit(argv[3], count) : send_datagrams(count);
    freeaddrinfo(found);
    return error;
}
