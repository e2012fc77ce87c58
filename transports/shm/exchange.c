/* Hands the files of a node's PEs round, once, while they start.
 *
 * The first PE of the node (the leader) accepts a connection from each other one, takes its record
 * and descriptors, and when it has all sends all to all. The socket's name is one the kernel chose
 * in the abstract namespace: it is in no file system and is gone with the process. Both sides check
 * that the other runs as the same user, and the leader that it knows the job's key. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "transports/shm/shm.h"

#define FDS_EACH 3   /* file, mailbox, doorbell */
#define PATIENCE 20. /* seconds at most: all PEs have just come through an allgather */
#define BATCH    64  /* records a message; the kernel takes at most 253 descriptors in one */

struct hello {
    unsigned char key[32];
    struct shm_record record;
};

struct holding {
    struct shm_record record;
    int fd[FDS_EACH];
    int fds;
};

/* ---- this PE's part ---- */

int sy_shm_listen(struct sy_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return sy_shm.host->fail(err, ENODEV, "no UNIX socket: %s", strerror(errno));
    if (bind(fd, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path)) ||
        listen(fd, 4096) || getsockname(fd, (struct sockaddr *)&address, &length)) {
        int code = errno;
        close(fd);
        return sy_shm.host->fail(err, ENODEV, "no listening UNIX socket: %s", strerror(code));
    }
    sy_shm.listener = fd;
    sy_shm.name_length = (unsigned)(length - offsetof(struct sockaddr_un, sun_path));
    if (sy_shm.name_length > sizeof sy_shm.name)
        sy_shm.name_length = sizeof sy_shm.name;
    memcpy(sy_shm.name, address.sun_path, sy_shm.name_length);
    return 0;
}

static void describe_self(struct holding *mine)
{
    struct shm_record *r = &mine->record;

    memset(mine, 0, sizeof *mine);
    r->pe = sy_shm.host->pe;
    r->windows = sy_shm.windows;
    mine->fd[0] = -1;
    for (unsigned i = 0; i < sy_shm.windows; i++) {
        const struct sy_window *w = &sy_shm.window[i];
        r->length[i] = w->length;
        r->offset[i] = w->fd < 0 ? -1 : (int64_t)w->fd_offset;
        if (w->fd < 0)
            continue;
        mine->fd[0] = w->fd;
        if (r->file_length < w->fd_offset + w->length)
            r->file_length = w->fd_offset + w->length;
    }
    mine->fds = 1;
    r->has_service = sy_shm.mailbox != NULL;
    if (r->has_service) {
        mine->fd[1] = sy_shm.mailbox_fd;
        mine->fd[2] = sy_shm.doorbell;
        mine->fds = FDS_EACH;
    }
}

/* ---- messages with descriptors ---- */

/* Sends one message. The kernel bounds the descriptors that are under way (ETOOMANYREFS): then the
 * receivers need a moment to take theirs. */
static int send_message(int socket, const void *bytes, size_t length, const int *fds, int count)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * BATCH * FDS_EACH)];
    } control = {.space = {0}};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    const struct timespec moment = {.tv_nsec = 1000000};

    if (count) {
        message.msg_control = control.space;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * (size_t)count);
    }
    for (int tries = 0;;) {
        if (sendmsg(socket, &message, MSG_NOSIGNAL) >= 0)
            return 0;
        if (errno == ETOOMANYREFS && tries++ < 10000)
            nanosleep(&moment, NULL);
        else if (errno != EINTR)
            return -errno;
    }
}

/* Receives one message of at most `room` bytes; returns its length or -errno. All descriptors that
 * came are in fds, *count of them. */
static ssize_t receive_message(int socket, void *bytes, size_t room, int *fds, int *count)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * BATCH * FDS_EACH)];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    ssize_t got;

    *count = 0;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        *count = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(h), sizeof(int) * (size_t)*count);
    }
    return message.msg_flags & MSG_CTRUNC ? -EMFILE : got;
}

static bool same_user(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof peer;

    return !getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.uid == geteuid();
}

static void limit_waiting(int socket, double seconds)
{
    struct timeval limit = {.tv_sec = (time_t)seconds, .tv_usec = 1};

    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/* ---- mapping ---- */

static struct shm_peer *peer_of(int pe)
{
    for (int i = 0; i < sy_shm.node_size; i++)
        if (sy_shm.peer[i].pe == pe)
            return &sy_shm.peer[i];
    return NULL;
}

/* Maps a file that another PE handed over and closes its descriptor; NULL with err on failure. */
static void *map_file(int fd, uint64_t length, int pe, struct sy_error *err)
{
    void *map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    int code = errno;

    close(fd);
    if (map != MAP_FAILED) {
        /* A core file of this PE would have the memory of all others, and writing it allocates
         * that. */
        madvise(map, length, MADV_DONTDUMP);
        return map;
    }
    sy_shm.host->fail(err, code,
                      "mapping the %llu bytes of PE %d: %s; set SHMEM_SYMMETRIC_SIZE to less, or "
                      "raise ulimit -v",
                      (unsigned long long)length, pe, strerror(code));
    return NULL;
}

/* Takes over what another PE handed over: memory, mailbox, doorbell. */
static int map_peer(struct holding *h, struct sy_error *err)
{
    struct shm_peer *peer = peer_of(h->record.pe);

    if (!peer || peer->known || h->record.windows > SHM_WINDOWS || h->fds < 1 ||
        (h->record.has_service && h->fds != FDS_EACH))
        return sy_shm.host->fail(err, EPROTO, "a record of PE %d does not make sense",
                                 h->record.pe);
    peer->record = h->record;
    peer->known = true;
    if (!sy_shm_settings.map)
        close(h->fd[0]);
    else if (!(peer->map = map_file(h->fd[0], h->record.file_length, peer->pe, err)))
        return -ENOMEM;
    if (!h->record.has_service)
        return 0;
    peer->doorbell = h->fd[2];
    peer->mailbox = map_file(h->fd[1], sy_shm_mailbox_size(), peer->pe, err);
    return peer->mailbox ? 0 : -ENOMEM;
}

/* ---- leader ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Takes one connection's hello; NULL if it is a stranger's, whose socket is closed. */
static struct holding *take_hello(int socket, struct holding *all, int *sockets)
{
    struct hello hello;
    int fds[BATCH * FDS_EACH], count;
    ssize_t got = same_user(socket) ? receive_message(socket, &hello, sizeof hello, fds, &count)
                                    : -1;
    struct shm_peer *peer = NULL;

    if (got == (ssize_t)sizeof hello && !memcmp(hello.key, sy_shm.host->job_key, sizeof hello.key))
        peer = peer_of(hello.record.pe);
    if (!peer || sockets[peer - sy_shm.peer] >= 0 || count > FDS_EACH) {
        for (int i = 0; got >= 0 && i < count; i++)
            close(fds[i]);
        close(socket);
        return NULL;
    }
    struct holding *h = &all[peer - sy_shm.peer];
    h->record = hello.record;
    h->fds = count;
    memcpy(h->fd, fds, sizeof(int) * (size_t)count);
    sockets[peer - sy_shm.peer] = socket;
    return h;
}

static int missing(const int *sockets, double seconds, struct sy_error *err)
{
    char list[128] = "";
    size_t used = 0;

    for (int i = 1; i < sy_shm.node_size && used < sizeof list - 16; i++)
        if (sockets[i] < 0)
            used += (size_t)snprintf(list + used, sizeof list - used, " %d", sy_shm.peer[i].pe);
    return sy_shm.host->fail(
        err, ETIMEDOUT, "exchange of memory on this host: waited %.0f s for PE%s", seconds, list);
}

static int collect(struct holding *all, int *sockets, double seconds, struct sy_error *err)
{
    double end = now() + seconds;

    for (int have = 1; have < sy_shm.node_size;) {
        struct pollfd ready = {.fd = sy_shm.listener, .events = POLLIN};
        double left = end - now();
        if (left <= 0)
            return missing(sockets, seconds, err);
        if (poll(&ready, 1, (int)(left * 1000) + 1) <= 0)
            continue;
        int socket = accept4(sy_shm.listener, NULL, NULL, SOCK_CLOEXEC);
        if (socket < 0) {
            if (errno == EMFILE || errno == ENFILE)
                return sy_shm.host->fail(err, errno,
                                         "%d PEs on this host need more open files than allowed; "
                                         "raise ulimit -n",
                                         sy_shm.node_size);
            continue;
        }
        limit_waiting(socket, seconds);
        const struct holding *h = take_hello(socket, all, sockets);
        if (h && !h->fds)
            return sy_shm.host->fail(err, EPERM, "PE %d of this host cannot hand over its memory",
                                     h->record.pe);
        have += h != NULL;
    }
    return 0;
}

/* Sends all records to one PE, in batches. */
static int send_all(int socket, const struct holding *all)
{
    for (int first = 0; first < sy_shm.node_size; first += BATCH) {
        struct shm_record records[BATCH];
        int fds[BATCH * FDS_EACH], used = 0;
        int count = sy_shm.node_size - first < BATCH ? sy_shm.node_size - first : BATCH;
        for (int i = 0; i < count; i++) {
            const struct holding *h = &all[first + i];
            records[i] = h->record;
            memcpy(fds + used, h->fd, sizeof(int) * (size_t)h->fds);
            used += h->fds;
        }
        int rc = send_message(socket, records, sizeof records[0] * (size_t)count, fds, used);
        if (rc)
            return rc;
    }
    return 0;
}

/* The leader holds one or more descriptors for every PE of the node for a moment. */
static void raise_file_limit(void)
{
    struct rlimit limit;

    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int lead(double seconds, struct sy_error *err)
{
    size_t n = (size_t)sy_shm.node_size;
    struct holding *all = calloc(n, sizeof *all);
    int *sockets = malloc(n * sizeof *sockets), rc = 0;
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    if (!all || !sockets) {
        rc = sy_shm.host->fail(err, ENOMEM, "no memory for %zu PEs", n);
    } else {
        raise_file_limit();
        memset(sockets, -1, n * sizeof *sockets);
        describe_self(&all[0]);
        rc = collect(all, sockets, seconds, err);
        for (size_t i = 1; i < n && !rc; i++) {
            rc = send_all(sockets[i], all);
            if (rc)
                sy_shm.host->fail(err, -rc, "handing memory to PE %d: %s", sy_shm.peer[i].pe,
                                  strerror(-rc));
        }
        for (size_t i = 1; i < n; i++) {
            if (sockets[i] < 0)
                continue;
            if (!rc)
                rc = map_peer(&all[i], err);
            close(sockets[i]);
        }
        setrlimit(RLIMIT_NOFILE, &files);
    }
    free(all);
    free(sockets);
    return rc;
}

/* ---- the other PEs ---- */

static int join(const char *name, struct sy_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sy_shm.name_length);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, name, sy_shm.name_length);
    if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, length)) {
        if (same_user(fd))
            return fd;
        errno = EPERM;
    }
    int code = errno;
    if (fd >= 0)
        close(fd);
    return sy_shm.host->fail(err, code, "reaching PE %d of this host to exchange memory: %s",
                             sy_shm.peer[0].pe, strerror(code));
}

/* Takes one batch of records and maps those that are others'. Returns how many, or -errno. */
static int take_batch(int socket, double seconds, struct sy_error *err)
{
    struct shm_record records[BATCH];
    int fds[BATCH * FDS_EACH], count, used = 0;
    ssize_t got = receive_message(socket, records, sizeof records, fds, &count);

    if (got <= 0 || (size_t)got % sizeof records[0])
        return sy_shm.host->fail(
            err, got == -EAGAIN ? ETIMEDOUT : EPROTO,
            got == -EAGAIN ? "exchange of memory on this host: waited %.0f s for PE %d"
            : got == -EMFILE
                ? "exchange of memory on this host: out of descriptors after %.0f s of "
                  "at most; raise ulimit -n (PE %d leads)"
                : "exchange of memory on this host: it ended early (limit %.0f s, PE %d)",
            seconds, sy_shm.peer[0].pe);
    int n = (int)((size_t)got / sizeof records[0]);
    for (int i = 0; i < n; i++) {
        struct holding h = {.record = records[i], .fds = records[i].has_service ? FDS_EACH : 1};
        if (used + h.fds > count)
            return sy_shm.host->fail(err, EPROTO, "a message of PE %d lacks descriptors",
                                     sy_shm.peer[0].pe);
        memcpy(h.fd, fds + used, sizeof(int) * (size_t)h.fds);
        used += h.fds;
        if (h.record.pe != sy_shm.host->pe) {
            int rc = map_peer(&h, err);
            if (rc)
                return rc;
        } else {
            for (int k = 0; k < h.fds; k++)
                close(h.fd[k]);
        }
    }
    return n;
}

static int follow(const char *leader, double seconds, struct sy_error *err)
{
    struct hello hello;
    struct holding mine;
    int socket = join(leader, err);

    if (socket < 0)
        return socket;
    limit_waiting(socket, seconds);
    describe_self(&mine);
    memcpy(hello.key, sy_shm.host->job_key, sizeof hello.key);
    hello.record = mine.record;
    int rc = send_message(socket, &hello, sizeof hello, mine.fd, mine.fds);
    if (rc) {
        sy_shm.host->fail(err, -rc, "handing memory to PE %d: %s", sy_shm.peer[0].pe,
                          strerror(-rc));
        /* Without descriptors: so the others need not wait for them. */
        send_message(socket, &hello, sizeof hello, NULL, 0);
    }
    for (int have = 0; have < sy_shm.node_size && !rc;) {
        int got = take_batch(socket, seconds, err);
        if (got < 0)
            rc = got;
        else
            have += got;
    }
    close(socket);
    return rc;
}

int sy_shm_exchange(const char *addresses, size_t stride, double seconds, struct sy_error *err)
{
    if (sy_shm.node_size == 1)
        return 0;
    if (seconds > PATIENCE)
        seconds = PATIENCE;
    if (sy_shm.local == 0)
        return lead(seconds, err);
    return follow(addresses + (size_t)sy_shm.peer[0].pe * stride, seconds, err);
}

void sy_shm_unmap(void)
{
    for (int i = 0; i < sy_shm.node_size && sy_shm.peer; i++) {
        struct shm_peer *peer = &sy_shm.peer[i];
        if (peer->map)
            munmap(peer->map, peer->record.file_length);
        if (peer->mailbox)
            munmap(peer->mailbox, sy_shm_mailbox_size());
        if (peer->doorbell >= 0)
            close(peer->doorbell);
    }
    free(sy_shm.peer);
    sy_shm.peer = NULL;
    sy_shm.node_size = 0;
}
