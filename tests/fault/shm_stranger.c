/* Strangers at the sockets of jobs that start in this network namespace, where PEs of a machine
 * hand each other their memory: usage: shm_stranger MANNER COUNT, until it is told to end.
 *
 * close       connects and hangs up                       silent      connects and says nothing
 * half        says the first half of what a PE would say  key         says all, with a wrong key
 * descriptors the same, with as many descriptors as the kernel takes
 *
 * Holds COUNT connections to each socket, and opens those again that are closed. With NOBODY=1 in
 * the environment they are another user's. Prints how many there were, and how many were closed by
 * the other side; fails if none was. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "transports/shm/exchange.h"

enum { MOST = 10000, TARGETS = 16, DESCRIPTORS = 250, NAME = 6, NOBODY = 65534 };

static volatile sig_atomic_t ending;
static char target[TARGETS][NAME]; /* names of the abstract namespace, each after a NUL */
static int targets;
static long made, sent_away;

static void end(int number)
{
    (void)number;
    ending = 1;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Sockets that keep messages apart, listen, and have a name that the kernel chose. */
static void look_around(void)
{
    FILE *list = fopen("/proc/net/unix", "re");
    char line[256];
    unsigned flags, type;
    int at;

    targets = 0;
    while (list && targets < TARGETS && fgets(line, sizeof line, list)) {
        size_t length = strcspn(line, "\n");
        if (sscanf(line, "%*s %*s %*s %x %x %*s %*s %n", &flags, &type, &at) == 2 &&
            flags == 0x10000 && type == SOCK_SEQPACKET && line[at] == '@' &&
            length - (size_t)at == NAME) {
            memcpy(target[targets] + 1, line + at + 1, NAME - 1);
            targets++;
        }
    }
    if (list)
        fclose(list);
}

static void say(int fd, const char *manner)
{
    struct shm_hello hello = {.batch = BATCH, .record.file_length = 1 << 20};
    int fds[DESCRIPTORS], count = strcmp(manner, "descriptors") ? 1 : DESCRIPTORS;
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof fds)];
    } control = {.space = {0}};
    struct iovec part = {.iov_base = &hello, .iov_len = sizeof hello};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count)};

    if (!strcmp(manner, "half")) {
        send(fd, &hello, sizeof hello / 2, MSG_NOSIGNAL | MSG_DONTWAIT);
    } else if (!strcmp(manner, "key") || count > 1) {
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
        for (int i = 0; i < count; i++)
            fds[i] = fd;
        memcpy(CMSG_DATA(header), fds, sizeof(int) * (size_t)count);
        sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* A connection to one of the targets; -1 where it fails. */
static int visit(int number, const char *manner)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + NAME;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    memcpy(address.sun_path, target[number % targets], NAME);
    if (!connect(fd, (struct sockaddr *)&address, length)) {
        made++;
        say(fd, manner);
        if (strcmp(manner, "close") != 0)
            return fd;
    }
    close(fd);
    return -1;
}

/* Opens connections that are missing, and counts those that the other side has closed. */
static void hold(struct pollfd *held, int count, const char *manner)
{
    for (int i = 0; i < count && targets; i++)
        if (held[i].fd < 0)
            held[i] = (struct pollfd){visit(i, manner), POLLIN, 0};
    if (poll(held, (nfds_t)count, 1) <= 0)
        return;
    for (int i = 0; i < count; i++)
        if (held[i].fd >= 0 && held[i].revents & (POLLIN | POLLHUP | POLLERR)) {
            close(held[i].fd);
            held[i].fd = -1;
            sent_away++;
        }
}

int main(int argc, char **argv)
{
    static struct pollfd held[MOST];
    struct rlimit files;
    int count = argc == 3 ? atoi(argv[2]) * TARGETS : 0;

    if (count < TARGETS || count > MOST) {
        fprintf(stderr, "usage: shm_stranger MANNER COUNT\n");
        return 2;
    }
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (getenv("NOBODY") && (setgid(NOBODY) || setuid(NOBODY))) {
        perror("shm_stranger: another user");
        return 2;
    }
    signal(SIGTERM, end);
    for (int i = 0; i < count; i++)
        held[i].fd = -1;
    for (double looked = 0; !ending; hold(held, count, argv[1]))
        if (!targets || seconds() > looked + 0.05) {
            look_around();
            looked = seconds();
        }
    printf("%s%s: %ld connections, %ld closed by the job\n", argv[1],
           getenv("NOBODY") ? " of another user" : "", made, sent_away);
    return made && (sent_away || !strcmp(argv[1], "close")) ? 0 : 1;
}
