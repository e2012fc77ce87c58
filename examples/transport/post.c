/* A transport plugin to begin from: the one that docs/transport-guide.md explains. It carries data
 * between any processes of one user on one machine, so it can be tried between virtual nodes:
 *
 *     cc -shared -fPIC -I/usr/local/include -o shmem_transport_post.so post.c
 *     SHMEM_PLUGIN_PATH=$PWD SHMEM_TRANSPORTS=shm,post SHMEM_PES_PER_NODE=1 oshrun -n 4 ./program
 *
 * Every PE has a file in memory with a letter box for each other PE. Who wants something done
 * writes a letter, rings, and waits for the answer. Everything is complete when a call returns, so
 * there is nothing for fence and quiet to do. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <switchyard/transport.h>

enum { LETTER = 4096 }; /* bytes of data */
enum { EMPTY, WRITTEN, ANSWERED };
enum { PUT, GET, AMO };

struct box {
    _Atomic uint32_t state;
    uint32_t kind, window, length, op;
    int32_t answer; /* 0 or -errno */
    uint64_t offset, operand, compare, result;
    char data[LETTER] __attribute__((aligned(16)));
};

struct address {
    int32_t process, file;
    socklen_t bell_length;
    struct sockaddr_un bell;
};
_Static_assert(sizeof(struct address) <= 128, "the core offers 128 bytes for an address");

struct settings {
    bool trace;
};

/* An instance: what every call is given as `self`. The plugin has no other variables, so that it
 * may be opened several times in a job. */
struct post {
    const struct sy_host *host;
    const struct settings *settings;
    const char *name;
    pthread_mutex_t lock; /* one letter at a time */
    int file, bell;
    struct box *mine;        /* npes boxes; box p is for PE p to write into */
    struct box **theirs;     /* npes; theirs[p] is this PE's box at PE p, or NULL */
    struct address *address; /* npes */
};

static const struct sy_option options[] = {
    {"post.trace", SY_OPTION_BOOL, 0, offsetof(struct settings, trace), "off", NULL, 0, 0, NULL,
     "Write a line for each letter that is answered"},
    {.name = NULL},
};

/* ---- life ---- */

static void post_close(void *self)
{
    struct post *post = self;
    int npes = post->host->npes;
    size_t length = (size_t)npes * sizeof *post->mine;

    for (int pe = 0; post->theirs && pe < npes; pe++)
        if (post->theirs[pe])
            munmap(post->theirs[pe] - post->host->pe, length);
    if (post->mine)
        munmap(post->mine, length);
    if (post->file >= 0)
        close(post->file);
    if (post->bell >= 0)
        close(post->bell);
    free(post->theirs);
    free(post->address);
    free(post);
}

static struct box *map_boxes(const struct post *post, int fd)
{
    size_t length = (size_t)post->host->npes * sizeof *post->mine;
    void *map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return map == MAP_FAILED ? NULL : map;
}

static int post_open(const struct sy_host *host, const struct sy_instance *instance, void **self,
                     struct sy_error *err)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX}; /* the kernel chooses a name */
    struct post *post = malloc(sizeof *post);

    if (!post)
        return host->fail(err, ENOMEM, "no memory for an instance");
    *post = (struct post){.host = host,
                          .settings = instance->settings,
                          .name = instance->name,
                          .lock = PTHREAD_MUTEX_INITIALIZER};
    post->file = memfd_create("post", MFD_CLOEXEC);
    post->bell = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (post->file >= 0 && post->bell >= 0 &&
        !ftruncate(post->file, (off_t)host->npes * (off_t)sizeof *post->mine) &&
        !bind(post->bell, (const struct sockaddr *)&any, sizeof(sa_family_t)) &&
        (post->mine = map_boxes(post, post->file))) {
        *self = post;
        return 0;
    }
    int code = errno;
    post_close(post);
    return host->fail(err, ENODEV, "no letter boxes: %s", strerror(code));
}

static size_t post_address(void *self, void *buffer, size_t room)
{
    struct post *post = self;
    struct address own = {.process = getpid(), .file = post->file, .bell_length = sizeof own.bell};

    if (room < sizeof own ||
        getsockname(post->bell, (struct sockaddr *)&own.bell, &own.bell_length))
        return 0;
    memcpy(buffer, &own, sizeof own);
    return sizeof own;
}

static int post_connect(void *self, const void *addresses, size_t stride, double seconds,
                        struct sy_error *err)
{
    struct post *post = self;
    const struct sy_host *host = post->host;

    (void)seconds; /* nothing here waits */
    post->address = calloc((size_t)host->npes, sizeof *post->address);
    post->theirs = calloc((size_t)host->npes, sizeof *post->theirs);
    if (!post->address || !post->theirs)
        return host->fail(err, ENOMEM, "no memory for %d addresses", host->npes);
    for (int pe = 0; pe < host->npes; pe++) {
        struct address *at = &post->address[pe];
        char path[64];
        memcpy(at, (const char *)addresses + (size_t)pe * stride, sizeof *at);
        if (!at->process || pe == host->pe) /* zeros: it has not opened this transport */
            continue;
        snprintf(path, sizeof path, "/proc/%d/fd/%d", at->process, at->file);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        struct box *boxes = fd < 0 ? NULL : map_boxes(post, fd);
        int code = errno;
        if (fd >= 0)
            close(fd);
        if (!boxes)
            return host->fail(err, ENETUNREACH, "the letter boxes of PE %d: %s", pe,
                              strerror(code));
        post->theirs[pe] = &boxes[host->pe];
    }
    return 0;
}

/* Both sides of a pair must give the same answer: they have each other's address, or the connect of
 * one has failed, which the core tells everybody. */
static unsigned post_reach(void *self, int pe)
{
    struct post *post = self;

    return post->theirs[pe] ? SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO : 0;
}

/* Letters name memory by host->memory() while they are answered, under the lock: who has had it
 * knows that none is at the region any more. */
static void post_region_detach(void *self, unsigned index)
{
    struct post *post = self;

    (void)index;
    pthread_mutex_lock(&post->lock);
    pthread_mutex_unlock(&post->lock);
}

/* ---- at the target ---- */

#define MOVE(TYPE)                                                                                 \
    for (size_t i = 0; i < length; i += sizeof(TYPE))                                              \
    __atomic_store_n((TYPE *)(to + i), *(const TYPE *)(from + i), __ATOMIC_RELAXED)

/* A PE that reads an aligned element while it is written must see all of the old or all of the new
 * one. Both places have the same alignment (see data_of), and a transfer of whole elements has a
 * length to match. */
static void move(char *to, const char *from, size_t length)
{
    uintptr_t multiple = (uintptr_t)to | length;

    if (multiple % 8 == 0)
        MOVE(uint64_t);
    else if (multiple % 4 == 0)
        MOVE(uint32_t);
    else if (multiple % 2 == 0)
        MOVE(uint16_t);
    else
        MOVE(uint8_t);
}
#undef MOVE

static char *data_of(struct box *b)
{
    return b->data + b->offset % 16;
}

/* Nothing that a letter says is believed: host->memory checks PE, window, offset and length. */
static int32_t serve(const struct post *post, struct box *b)
{
    const struct sy_host *host = post->host;
    char *here = host->memory(host->pe, b->window, b->offset, b->length);

    if (!here || b->length > LETTER - b->offset % 16)
        return -EFAULT;
    if (b->kind == AMO) {
        if ((b->length != 4 && b->length != 8) || b->offset % b->length || b->op > SY_AMO_XOR)
            return -EINVAL;
        host->amo((enum sy_amo_op)b->op, here, b->length, b->operand, b->compare, &b->result);
        return 0;
    }
    if (b->kind == PUT)
        move(here, data_of(b), b->length);
    else
        move(data_of(b), here, b->length);
    return 0;
}

/* The bell is emptied before the boxes are looked at: a letter that comes later rings again. */
static int serve_all(struct post *post)
{
    char rings[8];
    int served = 0;

    while (recv(post->bell, rings, sizeof rings, 0) >= 0)
        ;
    for (int pe = 0; pe < post->host->npes; pe++) {
        if (atomic_load_explicit(&post->mine[pe].state, memory_order_acquire) != WRITTEN)
            continue;
        post->mine[pe].answer = serve(post, &post->mine[pe]);
        atomic_store_explicit(&post->mine[pe].state, ANSWERED, memory_order_release);
        if (post->settings->trace)
            post->host->log(SY_LOG_INFO, post->name, "answered PE %d: %d", pe,
                            post->mine[pe].answer);
        served++;
    }
    return served;
}

/* Called by waiting threads of the program and by the progress thread, possibly at once. */
static int post_progress(void *self, unsigned flags)
{
    struct post *post = self;

    (void)flags;
    if (pthread_mutex_trylock(&post->lock))
        return 0;
    int served = serve_all(post);
    pthread_mutex_unlock(&post->lock);
    return served;
}

static int post_wait_fd(void *self)
{
    struct post *post = self;

    return post->bell;
}

/* ---- at the PE that asks ---- */

/* Hands over a letter and waits; meanwhile this PE's own boxes are looked after, or two PEs that
 * write to each other would wait for ever. */
static int ask(struct post *post, int pe, struct box *b)
{
    uint64_t since = 0;

    atomic_store_explicit(&b->state, WRITTEN, memory_order_release);
    if (sendto(post->bell, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
               (struct sockaddr *)&post->address[pe].bell, post->address[pe].bell_length) < 0 &&
        errno == ECONNREFUSED)
        post->host->lost(pe, ECONNREFUSED, "its bell is gone");
    while (atomic_load_explicit(&b->state, memory_order_acquire) != ANSWERED)
        if (!serve_all(post))
            post->host->rest(&since);
    return b->answer;
}

static int transfer(struct post *post, const struct sy_transfer *t, uint32_t kind)
{
    struct box *b = post->theirs[t->pe];
    int rc = 0;

    pthread_mutex_lock(&post->lock);
    for (size_t done = 0, length; done < t->length && !rc; done += length) {
        length = LETTER - (t->offset + done) % 16; /* so that no aligned element is divided */
        if (length > t->length - done)
            length = t->length - done;
        b->kind = kind;
        b->window = t->window;
        b->offset = t->offset + done;
        b->length = (uint32_t)length;
        if (kind == PUT)
            memcpy(data_of(b), (const char *)t->local + done, length);
        rc = ask(post, t->pe, b);
        if (kind == GET && !rc)
            memcpy((char *)t->local + done, data_of(b), length);
    }
    pthread_mutex_unlock(&post->lock);
    return rc;
}

static int post_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                    unsigned flags)
{
    (void)ctx, (void)flags;
    return transfer(self, t, PUT);
}

static int post_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                    unsigned flags)
{
    (void)ctx, (void)flags;
    return transfer(self, t, GET);
}

static int post_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a,
                    unsigned flags)
{
    struct post *post = self;
    struct box *b = post->theirs[a->pe];

    (void)ctx, (void)flags;
    pthread_mutex_lock(&post->lock);
    b->kind = AMO;
    b->window = a->window;
    b->offset = a->offset;
    b->length = a->width;
    b->op = a->op;
    b->operand = a->operand;
    b->compare = a->compare;
    int rc = ask(post, a->pe, b);
    if (!rc && a->result) {
        uint32_t narrow = (uint32_t)b->result;
        memcpy(a->result, a->width == 4 ? (const void *)&narrow : &b->result, a->width);
    }
    pthread_mutex_unlock(&post->lock);
    return rc;
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
    .region_detach = post_region_detach,
    .put = post_put,
    .get = post_get,
    .amo = post_amo,
    .progress = post_progress,
    .wait_fd = post_wait_fd,
};
