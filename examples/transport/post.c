/* A transport plugin to begin from: the one that docs/transport-guide.md explains. It carries
 * messages between any processes of one machine, so it can be tried between virtual nodes:
 *
 *     cc -shared -fPIC $(oshcc -showme:compile) -o shmem_transport_post.so post.c
 *     SHMEM_PLUGIN_PATH=$PWD SHMEM_TRANSPORTS=shm,post SHMEM_PES_PER_NODE=1 oshrun -n 4 ./program
 *
 * Every PE has a datagram socket. The kernel keeps the datagrams of one sender in order and loses
 * none, and it tells who has sent one by an address that no other process can have. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <switchyard/transport.h>

enum { MESSAGE = 8192 }; /* most bytes of a message */

/* `name` is a sockaddr_un without the room that names which the kernel chooses do not need. */
struct address {
    char place[64];   /* of post_find_place: equal on PEs that can reach each other */
    socklen_t length; /* 0: the PE has not opened this transport */
    struct {
        sa_family_t family;
        char path[30];
    } name;
};
_Static_assert(sizeof(struct address) <= 128, "the core offers 128 bytes for an address");

struct settings {
    bool trace;
};

/* An instance: what every call is given as `self`. The plugin has no other variables, so that it
 * may be opened several times in a job. */
struct post {
    const struct sy_host *host;
    struct sy_instance instance;
    const struct settings *settings;
    int socket;
    struct address *address; /* of each PE */
    pthread_mutex_t reading; /* held by the thread that receives */
    char message[MESSAGE];
};

static const struct sy_option options[] = {
    {"post.trace", SY_OPTION_BOOL, 0, offsetof(struct settings, trace), "off", NULL, 0, 0, NULL,
     "Write a line for each message that comes"},
    {.name = NULL},
};

static int post_open(const struct sy_host *host, const struct sy_instance *instance, void **self,
                     struct sy_error *err)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX}; /* the kernel chooses a name */
    struct post *post = malloc(sizeof *post);

    if (!post)
        return host->fail(err, ENOMEM, "no memory for an instance");
    *post = (struct post){.host = host,
                          .instance = *instance,
                          .settings = instance->settings,
                          .reading = PTHREAD_MUTEX_INITIALIZER};
    post->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (post->socket >= 0 &&
        !bind(post->socket, (const struct sockaddr *)&any, sizeof(sa_family_t))) {
        *self = post;
        return 0;
    }
    int code = errno;
    if (post->socket >= 0)
        close(post->socket);
    free(post);
    return host->fail(err, ENODEV, "no datagram socket: %s", strerror(code));
}

static void post_close(void *self)
{
    struct post *post = self;

    close(post->socket);
    free(post->address);
    free(post);
}

/* Which kernel this is, and which of its network namespaces: a name of a socket is known in one. */
static bool post_find_place(char place[64])
{
    enum { BOOT = 36 };
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && read(fd, place, BOOT) == BOOT;

    if (fd >= 0)
        close(fd);
    return known && readlink("/proc/self/ns/net", place + BOOT, 63 - BOOT) > 0;
}

static size_t post_address(void *self, void *buffer, size_t room)
{
    struct post *post = self;
    struct address own = {.length = sizeof own.name};

    if (room < sizeof own || !post_find_place(own.place) ||
        getsockname(post->socket, (struct sockaddr *)&own.name, &own.length))
        return 0;
    memcpy(buffer, &own, sizeof own);
    return sizeof own;
}

static int post_connect(void *self, const void *addresses, size_t stride, double seconds,
                        struct sy_error *err)
{
    struct post *post = self;
    size_t npes = (size_t)post->host->npes;

    (void)seconds; /* nothing here waits */
    post->address = calloc(npes, sizeof *post->address);
    if (!post->address)
        return post->host->fail(err, ENOMEM, "no memory for %zu addresses", npes);
    for (size_t pe = 0; pe < npes; pe++)
        memcpy(&post->address[pe], (const char *)addresses + pe * stride, sizeof *post->address);
    return 0;
}

static unsigned post_reach(void *self, int pe)
{
    struct post *post = self;
    const struct address *own = &post->address[post->host->pe], *other = &post->address[pe];
    bool here = !memcmp(own->place, other->place, sizeof own->place);

    return other->length && here ? SY_REACH_MESSAGE : 0;
}

static int post_message_send(void *self, int pe, const void *bytes, size_t length)
{
    struct post *post = self;
    const struct address *to = &post->address[pe];

    if (sendto(post->socket, bytes, length, MSG_NOSIGNAL, (const struct sockaddr *)&to->name,
               to->length) >= 0)
        return 0;
    return errno == ENOBUFS || errno == EINTR ? -EAGAIN : -errno;
}

/* The PE with this address, or -1: somebody who is none. */
static int sender(const struct post *post, const struct address *from)
{
    for (int pe = 0; pe < post->host->npes; pe++)
        if (post->address[pe].length == from->length &&
            !memcmp(&post->address[pe].name, &from->name, from->length))
            return pe;
    return -1;
}

static int take_message(struct post *post)
{
    struct address from = {.length = sizeof from.name};
    ssize_t length = recvfrom(post->socket, post->message, MESSAGE, 0,
                              (struct sockaddr *)&from.name, &from.length);
    int pe = length < 0 ? -1 : sender(post, &from);

    if (pe >= 0 && post->settings->trace)
        post->host->log(SY_LOG_INFO, post->instance.name, "%zd bytes from PE %d", length, pe);
    if (pe >= 0)
        post->instance.received(post->instance.receiver, pe, post->message, (size_t)length);
    return length >= 0;
}

/* Called by waiting threads of the program and by the progress thread, possibly at once. */
static int post_progress(void *self, unsigned flags)
{
    struct post *post = self;
    int taken = 0;

    (void)flags;
    if (pthread_mutex_trylock(&post->reading))
        return 0;
    while (take_message(post))
        taken++;
    pthread_mutex_unlock(&post->reading);
    return taken;
}

static int post_wait_fd(void *self)
{
    struct post *post = self;

    return post->socket;
}

/* A priority below 0: it is used where the user names it. Members that are left out answer for
 * themselves. */
SY_TRANSPORT_PLUGIN(post) = {
    .size = sizeof(struct sy_transport),
    .name = "post",
    .priority = -1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .open = post_open,
    .close = post_close,
    .address = post_address,
    .connect = post_connect,
    .reach = post_reach,
    .message_size = MESSAGE,
    .message_send = post_message_send,
    .progress = post_progress,
    .wait_fd = post_wait_fd,
};
