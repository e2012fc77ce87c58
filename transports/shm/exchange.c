/* Hands the files of a node's PEs round, once, while they start: every PE's part but the leader's.
 *
 * The leader is the first PE of the node that has a socket. It accepts a connection from each other
 * one, takes its record and descriptors, and when it has all sends all to all (lead.c). What each
 * checks of the other is in docs/architecture.md (Mapping); what comes is checked all the same
 * (map.c). */
#include "transports/shm/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/denied.h"
#include "util/list.h"

/* Without news of any PE the leader waits for this part of SHMEM_INIT_TIMEOUT: all have just come
 * through an allgather. */
#define PATIENCE 6

/* ---- this PE's part ---- */

/* Whom this PE runs as: in a user namespace the number that those outside know. */
static uint32_t shm_exchange_user(void)
{
    unsigned inside, outside, count;
    uint32_t user = geteuid();
    FILE *map = fopen("/proc/self/uid_map", "re");
    bool found = false;

    while (map && !found && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)
        found = user >= inside && user - inside < count;
    if (map)
        fclose(map);
    return found ? outside + (user - inside) : user;
}

int sy_shm_listen(struct shm_state *shm, struct sy_error *err)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), code;

    if (fd < 0)
        return shm->host->fail(err, errno, "no UNIX socket: %s%s", strerror(errno),
                               sy_denied_hint(errno));
    code = -sy_unix_bind(fd, &shm->address.name);
    if (!code && listen(fd, 4096))
        code = errno;
    if (code) {
        shm->address.name.length = 0;
        close(fd);
        return shm->host->fail(err, code, "no listening UNIX socket: %s%s", strerror(code),
                               sy_denied_hint(code));
    }
    shm->listener = fd;
    shm->address.user = shm_exchange_user();
    return 0;
}

void sy_shm_describe(const struct shm_state *shm, struct shm_holding *mine)
{
    struct shm_record *r = &mine->record;

    memset(mine, 0, sizeof *mine);
    r->pe = shm->host->pe;
    r->windows = shm->windows;
    mine->fd[0] = shm->file;
    for (unsigned i = 0; i < shm->windows; i++) {
        const struct sy_region *w = &shm->region[i].own;
        r->length[i] = w->length;
        r->offset[i] = w->fd < 0 || w->fd != shm->file || !w->length ? -1 : (int64_t)w->fd_offset;
        if (r->offset[i] < 0)
            continue;
        if (r->file_length < w->fd_offset + w->length)
            r->file_length = w->fd_offset + w->length;
    }
    mine->fds = 1;
    r->has_service = shm->mailbox != NULL;
    if (r->has_service) {
        mine->fd[1] = shm->mailbox_fd;
        mine->fd[2] = shm->doorbell;
        mine->fds = FDS_EACH;
    }
}

/* ---- messages with descriptors ---- */

int sy_shm_send(int socket, const void *bytes, size_t length, const int *fds, int count)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * BATCH * FDS_EACH)];
    } control = {.space = {0}};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (count) {
        message.msg_control = control.space;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * (size_t)count);
    }
    while (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

ssize_t sy_shm_receive(int socket, void *bytes, size_t room, int *fds, int *count, bool *cut)
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
    *cut = false;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        *count = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(h), sizeof(int) * (size_t)*count);
    }
    *cut = message.msg_flags & MSG_CTRUNC;
    return got;
}

void sy_shm_close_all(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

int sy_shm_too_few_files(const struct shm_state *shm, int code, struct sy_error *err)
{
    struct rlimit limit = {.rlim_cur = 0};

    getrlimit(RLIMIT_NOFILE, &limit);
    return shm->host->fail(err, code,
                           "out of descriptors (%s) while the memory of %d PEs of this host is "
                           "exchanged: the limit is %llu (ulimit -n), the first PE needs up to %d",
                           strerror(abs(code)), shm->node_size, (unsigned long long)limit.rlim_cur,
                           shm->node_size * (FDS_EACH + 1) + 64);
}

/* ---- the other PEs ---- */

/* What a PE that is not the leader waits for. */
struct joining {
    struct shm_state *shm;
    struct shm_address address; /* of the leader */
    int leader;                 /* its PE number */
    double end, seconds;
    int have; /* records that have come */
};

static int shm_exchange_out_of_time(const struct joining *j, struct sy_error *err)
{
    return j->shm->host->fail(err, ETIMEDOUT,
                              "exchange of memory on this host: waited %.0f s for PE %d, which "
                              "gathers it; is it stopped?",
                              j->seconds, j->leader);
}

/* A call of the exchange has failed on this PE's side. */
static int shm_exchange_failed_call(const struct joining *j, const char *call, int code,
                                    struct sy_error *err)
{
    code = abs(code);
    if (code == EMFILE || code == ENFILE)
        return sy_shm_too_few_files(j->shm, code, err);
    return j->shm->host->fail(err, code, "exchange of memory with PE %d of this host: %s: %s%s",
                              j->leader, call, strerror(code), sy_denied_hint(code));
}

/* Connects to the leader: a descriptor or -errno. The leader's queue may be full. connect() then
 * sleeps until there is room, because a PE that only retries now and then loses against strangers
 * that retry all the time. */
static int shm_exchange_join(const struct joining *j, struct sy_error *err)
{
    const struct timeval second = {.tv_sec = 1};
    struct sockaddr_un address;
    socklen_t length = sy_unix_address(&j->address.name, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? -errno : 0;

    if (rc)
        return shm_exchange_failed_call(j, "socket", rc, err);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second))
        fcntl(fd, F_SETFL, O_NONBLOCK);
    while ((rc = connect(fd, (struct sockaddr *)&address, length) ? -errno : 0) == -EAGAIN ||
           rc == -EINTR) {
        if (sy_clock() > j->end) {
            close(fd);
            return shm_exchange_out_of_time(j, err);
        }
        sy_clock_sleep(1000000);
    }
    if (rc) {
        close(fd);
        return shm_exchange_failed_call(
            j, rc == -ECONNREFUSED ? "it has given up or gone, its socket is closed" : "connect",
            rc, err);
    }
    rc = sy_unix_same_user(fd);
    if (rc == 1)
        return fd;
    close(fd);
    return rc ? shm_exchange_failed_call(j, "getsockopt(SO_PEERCRED)", rc, err)
              : j->shm->host->fail(err, EPROTO,
                                   "exchange of memory: another user has the socket of PE %d",
                                   j->leader);
}

/* For how many records at a time there are descriptors left. */
static uint32_t shm_exchange_batch_for(int lowest)
{
    struct rlimit limit;
    uint64_t room = BATCH;

    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < BATCH * FDS_EACH + 64u)
        room = limit.rlim_cur > (rlim_t)lowest + 2
                   ? (limit.rlim_cur - (rlim_t)lowest - 2) / FDS_EACH
                   : 1;
    return room < 1 ? 1 : room > BATCH ? BATCH : (uint32_t)room;
}

/* Hands over this PE's files. If that fails the leader is told, so that nobody waits for them. */
static int shm_exchange_introduce(int socket, const struct joining *j, struct sy_error *err)
{
    struct shm_holding mine;
    struct shm_hello hello = {.batch = shm_exchange_batch_for(socket)};
    int rc;

    sy_shm_describe(j->shm, &mine);
    memcpy(hello.key, j->shm->host->job_key, sizeof hello.key);
    hello.record = mine.record;
    while ((rc = sy_shm_send(socket, &hello, sizeof hello, mine.fd, mine.fds)) == -ETOOMANYREFS &&
           sy_clock() < j->end)
        sy_clock_sleep(1000000);
    if (rc && rc != -EPIPE && rc != -ECONNRESET) {
        hello.failure = -rc;
        if (sy_shm_send(socket, &hello, sizeof hello, NULL, 0)) /* by whatever way is left */
            (void)!write(socket, &hello, sizeof hello);
        rc = shm_exchange_failed_call(j, "sendmsg", rc, err);
    }
    explicit_bzero(hello.key, sizeof hello.key);
    return rc;
}

/* Maps the records of a batch that are others'. */
static int shm_exchange_take_batch(struct shm_batch *batch, int *fds, int count,
                                   const struct joining *j, struct sy_error *err)
{
    int used = 0, rc = sy_shm_reserve(j->shm, batch->longest, err);

    for (uint32_t i = 0; i < batch->count && !rc; i++) {
        struct shm_holding h = {.record = batch->record[i],
                                .fds = batch->record[i].has_service ? FDS_EACH : 1};
        if (used + h.fds > count) {
            rc = j->shm->host->fail(err, EPROTO, "a message of PE %d lacks descriptors", j->leader);
            break;
        }
        memcpy(h.fd, fds + used, sizeof(int) * (size_t)h.fds);
        used += h.fds;
        if (h.record.pe != j->shm->host->pe)
            rc = sy_shm_map(j->shm, &h, err);
        else
            sy_shm_close_all(h.fd, h.fds);
    }
    sy_shm_close_all(fds + used, count - used);
    return rc;
}

/* Takes one message: 0, -ECONNRESET where the leader has closed the connection, -errno. */
static int shm_exchange_take_message(int socket, struct joining *j, struct sy_error *err)
{
    struct shm_batch batch;
    int fds[BATCH * FDS_EACH], count;
    bool cut;
    ssize_t got = sy_shm_receive(socket, &batch, sizeof batch, fds, &count, &cut);

    if (got == -EAGAIN)
        return 0;
    if (got == 0 || got == -ECONNRESET)
        return -ECONNRESET;
    if (got < 0)
        return shm_exchange_failed_call(j, "recvmsg", (int)got, err);
    bool good = got == (ssize_t)sizeof batch && batch.count <= BATCH;
    if (cut || !good || batch.failure) {
        sy_shm_close_all(fds, count);
        if (good && batch.failure > 0)
            return j->shm->host->fail(err, batch.failure, "PE %d: %.*s", j->leader,
                                      (int)sizeof batch.why - 1, batch.why);
        return cut ? sy_shm_too_few_files(j->shm, EMFILE, err)
                   : j->shm->host->fail(err, EPROTO, "a message of PE %d does not make sense",
                                        j->leader);
    }
    j->have += (int)batch.count;
    return shm_exchange_take_batch(&batch, fds, count, j, err);
}

/* Follows the exchange over one connection, until all has come. -EAGAIN: the leader has closed it
 * before it sent anything, probably to have room for others. */
static int shm_exchange_follow_once(struct joining *j, int expected, struct sy_error *err)
{
    int socket = shm_exchange_join(j, err), rc;

    if (socket < 0)
        return socket;
    rc = shm_exchange_introduce(socket, j, err);
    while (!rc && j->have < expected) {
        struct pollfd ready = {.fd = socket, .events = POLLIN};
        double left = j->end - sy_clock();
        if (left <= 0)
            rc = shm_exchange_out_of_time(j, err);
        else if (poll(&ready, 1, left > 1000 ? 1000000 : (int)(left * 1000) + 1) >= 0)
            rc = ready.revents ? shm_exchange_take_message(socket, j, err) : 0;
        else if (errno != EINTR)
            rc = shm_exchange_failed_call(j, "poll", errno, err);
    }
    close(socket);
    if (rc != -EPIPE && rc != -ECONNRESET)
        return rc;
    if (!j->have)
        return -EAGAIN;
    return j->shm->host->fail(err, ECONNRESET,
                              "exchange of memory: PE %d of this host has left in the middle of it",
                              j->leader);
}

static int shm_exchange_follow(struct joining *j, int expected, struct sy_error *err)
{
    int rc;

    while ((rc = shm_exchange_follow_once(j, expected, err)) == -EAGAIN) {
        if (sy_clock() > j->end)
            return shm_exchange_out_of_time(j, err);
        sy_clock_sleep(20000000);
    }
    return rc;
}

/* ---- both ---- */

/* Raises the limit of files for the exchange: a PE then holds descriptors of others, the leader
 * those of all. It is lowered again for the sake of programs that use select(). */
static bool shm_exchange_raise_file_limit(struct rlimit *before)
{
    if (getrlimit(RLIMIT_NOFILE, before) || before->rlim_cur >= before->rlim_max)
        return false;
    struct rlimit limit = {.rlim_cur = before->rlim_max, .rlim_max = before->rlim_max};
    return !setrlimit(RLIMIT_NOFILE, &limit);
}

/* Who takes part, and who leads: the first one. PEs of other users would refuse this one. That is a
 * remark in `err`, since other transports may reach them. Returns how many take part. */
static int shm_exchange_muster(struct joining *j, const char *addresses, size_t stride,
                               struct sy_error *err)
{
    struct shm_state *shm = j->shm;
    char text[SY_LIST_TEXT];
    struct sy_list others = sy_list_begin(text, sizeof text);
    int expected = 0;

    for (int i = 0; i < shm->node_size; i++) {
        struct shm_peer *peer = &shm->peer[i];
        struct shm_address address;
        memcpy(&address, addresses + (size_t)peer->pe * stride, sizeof address);
        bool same = address.user == shm->address.user;
        peer->expected = same && sy_unix_is_name(&address.name);
        if (address.name.length && !same)
            sy_list_add(&others, peer->pe);
        if (peer->expected && !expected++) {
            j->leader = peer->pe;
            j->address = address;
        }
    }
    if (others.total)
        shm->host->fail(err, EPERM, "another user than this PE's runs %s", sy_list_end(&others));
    return expected;
}

int sy_shm_exchange(struct shm_state *shm, const char *addresses, size_t stride, double seconds,
                    struct sy_error *err)
{
    struct joining j = {.shm = shm, .end = sy_clock() + seconds, .seconds = seconds, .leader = -1};
    int expected = shm_exchange_muster(&j, addresses, stride, err), rc;
    struct rlimit files;

    if (expected < 2)
        return 0;
    bool raised = shm_exchange_raise_file_limit(&files);
    if (j.leader == shm->host->pe) {
        rc = sy_shm_lead(shm, seconds, seconds / PATIENCE, err);
    } else {
        close(shm->listener); /* for a descriptor more */
        shm->listener = -1;
        rc = shm_exchange_follow(&j, expected, err);
    }
    if (raised)
        setrlimit(RLIMIT_NOFILE, &files);
    /* A core file of this PE would have the memory of all others, and writing it allocates that. */
    if (shm->files)
        madvise(shm->files, shm->files_length, MADV_DONTDUMP);
    return rc;
}
