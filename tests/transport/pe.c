/* One PE of the suite: see suite.h. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/route/route_check.h"
#include "engine/message.h"
#include "tests/transport/suite.h"

struct suite suite;

static char host_name[SUITE_PES][16];
static unsigned char job_key[32] = "a secret of this job alone";

/* The open instances of the plugin; suite.self is one of them. fd: its wait_fd. Changed only while
 * there is no progress thread. */
static struct {
    const struct sy_transport *table;
    void *self;
    int fd;
} instance[SUITE_INSTANCES];
static int instances;

static struct {
    pthread_t thread;
    int stop, soon; /* an eventfd; a timer */
    bool running;
    _Atomic uint64_t wakeups;
} progress = {.stop = -1, .soon = -1};

/* Whether anything has moved. */
static bool progress_all(unsigned flags)
{
    bool moved = false;

    for (int i = 0; i < instances; i++)
        moved |= instance[i].table->progress(instance[i].self, flags) > 0;
    return moved;
}

/* ---- reports ---- */

void suite_doing(const char *what)
{
    atomic_store(&suite.shared->doing[suite.pe], what);
}

void suite_fail(const char *file, int line, const char *fmt, ...)
{
    char text[400];
    va_list args;

    if (atomic_fetch_add(&suite.shared->failed, 1) >= 10)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "PE %d, case %s: %s:%d: %s\n", suite.pe, suite.shared->doing[suite.pe], file,
            line, text);
}

void suite_give_up(const char *fmt, ...)
{
    char text[600];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "PE %d, case %s: %s\n", suite.pe, suite.shared->doing[suite.pe], text);
    atomic_store(&suite.shared->stop, 1);
    _exit(1);
}

/* ---- struct sy_host ---- */

__attribute__((format(printf, 3, 4))) static void
host_log(enum sy_log_level level, const char *category, const char *fmt, ...)
{
    char text[600]; /* goes out in one piece: all PEs share stderr */
    va_list args;

    if (level > SY_LOG_WARN && !suite.verbose)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "PE %d: %s: %s\n", suite.pe, category, text);
}

__attribute__((format(printf, 3, 4))) static int host_fail(struct sy_error *err, int code,
                                                           const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (err)
        vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    return -code;
}

static struct sy_place host_place(int pe)
{
    return (struct sy_place){.node = pe / suite.per_node,
                             .local = pe % suite.per_node,
                             .host = host_name[pe / suite.per_node]};
}

static int host_window(unsigned index, struct sy_region *window)
{
    if (index >= SY_REGIONS || !suite.window[index].base)
        return -ENOENT;
    *window = suite.window[index];
    return 0;
}

static void *host_memory(int pe, unsigned window, uint64_t offset, size_t length)
{
    if (pe < 0 || pe >= suite.npes || window >= SY_REGIONS)
        return NULL;
    char *base = suite.mapped[pe][window];
    if (pe == suite.pe && suite.window[window].kind != SY_REGION_DEVICE)
        base = suite.window[window].base;
    if (!base || offset > suite.window[window].length ||
        length > suite.window[window].length - offset)
        return NULL;
    return base + offset;
}

#define APPLY(TYPE)                                                                                \
    static uint64_t apply_##TYPE(enum sy_amo_op op, TYPE *at, TYPE operand, TYPE compare)          \
    {                                                                                              \
        switch (op) {                                                                              \
        case SY_AMO_FETCH:                                                                         \
            return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                          \
        case SY_AMO_SET:                                                                           \
        case SY_AMO_SWAP:                                                                          \
            return __atomic_exchange_n(at, operand, __ATOMIC_SEQ_CST);                             \
        case SY_AMO_CSWAP:                                                                         \
            __atomic_compare_exchange_n(at, &compare, operand, false, __ATOMIC_SEQ_CST,            \
                                        __ATOMIC_SEQ_CST);                                         \
            return compare;                                                                        \
        case SY_AMO_ADD:                                                                           \
            return __atomic_fetch_add(at, operand, __ATOMIC_SEQ_CST);                              \
        case SY_AMO_AND:                                                                           \
            return __atomic_fetch_and(at, operand, __ATOMIC_SEQ_CST);                              \
        case SY_AMO_OR:                                                                            \
            return __atomic_fetch_or(at, operand, __ATOMIC_SEQ_CST);                               \
        case SY_AMO_XOR:                                                                           \
            return __atomic_fetch_xor(at, operand, __ATOMIC_SEQ_CST);                              \
        }                                                                                          \
        suite_give_up("host->amo: there is no operation %d", (int)op);                             \
    }
APPLY(uint32_t)
APPLY(uint64_t)
#undef APPLY

static void host_amo(enum sy_amo_op op, void *address, size_t width, uint64_t operand,
                     uint64_t compare, uint64_t *result)
{
    if ((width != 4 && width != 8) || (uintptr_t)address % width)
        suite_give_up("host->amo: %zu bytes at %p", width, address);
    uint64_t old = width == 4 ? apply_uint32_t(op, address, (uint32_t)operand, (uint32_t)compare)
                              : apply_uint64_t(op, address, operand, compare);
    if (result)
        *result = old;
}

static void host_lost(int pe, int code, const char *why)
{
    atomic_store(&suite.shared->lost, 1);
    if (suite.may_lose)
        _exit(0);
    suite_give_up("the plugin has lost PE %d: %s (%s)", pe, why, strerror(code));
}

static void host_rest(uint64_t *since)
{
    if (++*since % 8 == 0)
        progress_all(0); /* as the core may */
    sched_yield();
}

static void host_soon(unsigned microseconds)
{
    const struct itimerspec when = {
        .it_value = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000 + 1}};

    timerfd_settime(progress.soon, 0, &when, NULL);
}

static bool host_routes(const void *self, int pe)
{
    (void)self;
    return pe != suite.pe &&
           (suite.neighbours || host_place(pe).node != host_place(suite.pe).node);
}

static struct sy_host host = {
    .size = sizeof host,
    .job_key = job_key,
    .log = host_log,
    .fail = host_fail,
    .place = host_place,
    .window = host_window,
    .memory = host_memory,
    .amo = host_amo,
    .lost = host_lost,
    .threads = true,
    .rest = host_rest,
    .soon = host_soon,
    .device_copy = suite_device_copy,
    .device_amo = suite_device_amo,
    .routes = host_routes,
};

/* ---- waiting ---- */

/* As a thread of the program does before it sleeps. */
static void sleep_on_descriptors(void)
{
    struct pollfd wait[SUITE_INSTANCES];
    bool moved = false;

    for (int i = 0; i < instances; i++) {
        moved |= instance[i].table->arm(instance[i].self) > 0;
        wait[i] = (struct pollfd){.fd = instance[i].fd, .events = POLLIN};
    }
    if (!moved)
        poll(wait, (nfds_t)instances, 1);
    for (int i = 0; i < instances; i++)
        instance[i].table->disarm(instance[i].self);
}

void suite_poll(void)
{
    static _Thread_local unsigned polls;

    if (!progress_all(0) && host.unattended && ++polls % 64 == 0)
        sleep_on_descriptors();
    if (atomic_load(&suite.shared->stop))
        _exit(1);
    sched_yield();
}

static void barrier(bool asleep)
{
    struct suite_shared *s = suite.shared;
    uint32_t generation = atomic_load(&s->generation);

    if (atomic_fetch_add(&s->arrived, 1) + 1 == (uint32_t)suite.npes) {
        atomic_store(&s->arrived, 0);
        atomic_fetch_add(&s->generation, 1);
        return;
    }
    while (atomic_load(&s->generation) == generation) {
        if (!asleep) {
            suite_poll();
            continue;
        }
        if (atomic_load(&s->stop))
            _exit(1);
        usleep(200);
    }
}

void suite_barrier(void)
{
    barrier(false);
}

void suite_barrier_asleep(void)
{
    barrier(true);
}

void suite_exchange(const void *mine, size_t length)
{
    barrier(true); /* nobody reads the last exchange any more */
    memset(suite.shared->blob[suite.pe], 0, SUITE_BLOB);
    memcpy(suite.shared->blob[suite.pe], mine, length);
    barrier(true);
}

static bool reached(const void *word, uint64_t value)
{
    return (int64_t)(__atomic_load_n((const uint64_t *)word, __ATOMIC_ACQUIRE) - value) >= 0;
}

void suite_wait(const void *word, uint64_t value)
{
    while (!reached(word, value))
        suite_poll();
}

void suite_watch(const void *word, uint64_t value)
{
    for (unsigned looks = 1; !reached(word, value); looks++)
        if (looks % (1 << 17) == 0)
            suite_poll();
}

/* ---- progress thread ---- */

/* When the suite hangs: whether there are messages of which wait_fd() does not tell. */
static void look_by_hand(int i)
{
    struct pollfd wait = {.fd = instance[i].fd, .events = POLLIN};
    uint64_t before[SUITE_PES];

    if (poll(&wait, 1, 100) != 0)
        return;
    for (int pe = 0; pe < suite.npes; pe++)
        before[pe] = atomic_load(&suite_trail(pe, suite.pe)->handed);
    instance[i].table->progress(instance[i].self, 0);
    for (int pe = 0; pe < suite.npes; pe++) {
        uint64_t more = atomic_load(&suite_trail(pe, suite.pe)->handed) - before[pe];
        if (more)
            fprintf(stderr,
                    "  PE %d: progress() had %llu messages of PE %d, but wait_fd() was not "
                    "readable\n",
                    suite.pe, (unsigned long long)more, pe);
    }
}

static void look_if_asked(void)
{
    if (atomic_load(&suite.shared->asked) != suite.pe + 1)
        return;
    for (int i = 0; i < instances; i++)
        if (instance[i].fd >= 0 && !host.unattended)
            look_by_hand(i);
    atomic_store(&suite.shared->asked, 0);
}

/* While another thread is in the plugin, progress may do nothing and the descriptor stays readable.
 * To look again at once would take that one's processor. */
static void *run_progress(void *arg)
{
    struct pollfd wait[] = {{.fd = progress.stop, .events = POLLIN},
                            {.fd = progress.soon, .events = POLLIN},
                            {.fd = instance[0].fd, .events = POLLIN},
                            {.fd = instances > 1 ? instance[1].fd : -1, .events = POLLIN}};
    const nfds_t watched = host.unattended ? 2 : 4;
    uint64_t expiries;

    (void)arg;
    for (;;) {
        int ready = poll(wait, watched, 100);
        look_if_asked();
        if (ready <= 0)
            continue;
        if (wait[0].revents)
            return NULL;
        if (wait[1].revents && read(progress.soon, &expiries, sizeof expiries) < 0)
            continue;
        atomic_fetch_add(&progress.wakeups, 1);
        if (!progress_all(SY_PROGRESS_EVENT))
            usleep(50);
    }
}

static void start_progress(void)
{
    bool any = false;

    for (int i = 0; i < instances; i++)
        any |= instance[i].fd >= 0;
    if (!any)
        return;
    progress.stop = eventfd(0, EFD_CLOEXEC);
    if (progress.stop < 0 || pthread_create(&progress.thread, NULL, run_progress, NULL))
        suite_give_up("no progress thread: %s", strerror(errno));
    progress.running = true;
}

static void stop_progress(void)
{
    const uint64_t one = 1;

    if (!progress.running)
        return;
    if (write(progress.stop, &one, sizeof one) != sizeof one)
        suite_give_up("the progress thread cannot be stopped: %s", strerror(errno));
    pthread_join(progress.thread, NULL);
    close(progress.stop);
    progress.running = false;
}

void suite_hold(bool hold)
{
    if (hold)
        stop_progress();
    else
        start_progress();
}

int suite_progress(int times)
{
    int moved = 0;

    for (int i = 0; i < times; i++)
        moved += progress_all(0);
    return moved;
}

void suite_unattended(void)
{
    host.unattended = true;
}

uint64_t suite_wakeups(void)
{
    return atomic_load(&progress.wakeups);
}

/* ---- the plugin's life ---- */

static void own_windows(void)
{
    memset(suite.mapped, 0, sizeof suite.mapped);
    for (unsigned w = 0; w < SUITE_WINDOWS; w++)
        suite.mapped[suite.pe][w] = suite.window[w].base;
    for (int pe = 0; pe < suite.npes; pe++)
        snprintf(host_name[pe], sizeof host_name[pe], "host%d", pe);
}

/* Closes the instance in use. */
static void close_instance(void)
{
    suite.table->close(suite.self);
    instances--;
    if (instance[0].self == suite.self)
        instance[0] = instance[1];
}

/* What a PE's regions are reached by. */
struct keys {
    int length[SUITE_WINDOWS];
    char key[SUITE_WINDOWS][SY_REGION_KEY];
};

static struct keys own_keys; /* for suite_connect */

/* Returns what region_attach does. */
static int attach(unsigned w, struct sy_error *err)
{
    memset(own_keys.key[w], 0, SY_REGION_KEY);
    own_keys.length[w] = suite.table->region_attach(suite.self, w, &suite.window[w],
                                                    own_keys.key[w], SY_REGION_KEY, err);
    return own_keys.length[w];
}

/* keys: npes of SY_REGION_KEY bytes. */
static int connect_region(unsigned w, const char *keys, struct sy_error *err)
{
    bool any = false;

    for (int i = 0; i < suite.npes * SY_REGION_KEY; i++)
        any |= keys[i];
    return suite.table->region_connect(suite.self, w, any ? keys : NULL, SY_REGION_KEY, err);
}

int suite_instance(void)
{
    return instances;
}

int suite_open(struct sy_error *err)
{
    char name[64];

    stop_progress(); /* suite_connect starts it again */
    host.pe = suite.pe;
    host.npes = suite.npes;
    suite.host = &host;
    suite.peers = 0;
    own_windows();
    err->text[0] = '\0';
    if (progress.soon < 0)
        progress.soon = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    snprintf(name, sizeof name, "%s%s", suite.plugin, instances ? "@other" : "");
    struct sy_instance what = {
        .size = sizeof what, .name = strdup(name), .settings = suite.settings};
    suite.table = suite.loaded;
    int rc = sy_message_open(&suite.table, &host, &what, &suite.self, err);
    rc = sy_route_check_step("open", rc, err);
    if (rc)
        return rc;
    instance[instances].table = suite.table;
    instance[instances].self = suite.self;
    instance[instances++].fd = -1;
    for (unsigned w = 0; w < SUITE_WINDOWS && rc >= 0; w++)
        rc = attach(w, err);
    rc = rc < 0 ? rc : 0;
    if (!rc)
        rc = suite.table->ctx_open(suite.self, 0, &suite.ctx, err);
    if (rc)
        close_instance();
    return rc;
}

static void enter_peer(int pe)
{
    const unsigned data = SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO;
    bool neighbour = suite.neighbours && host_place(pe).node == host_place(suite.pe).node;

    if (pe == suite.pe)
        return;
    struct sy_error why = {""};
    unsigned reach = sy_route_check_reach(suite.loaded, pe, suite.table->reach(suite.self, pe),
                                          &why);
    if (*why.text)
        suite_give_up("transport %s: %s", suite.plugin, why.text);
    for (unsigned w = 0; w < SUITE_WINDOWS; w++)
        if (neighbour)
            suite.mapped[pe][w] = suite_memory(pe, w);
        else if (reach & SY_REACH_MAP)
            suite.mapped[pe][w] = suite.table->mem_pointer(suite.self, pe, w);
    if (!neighbour && ((reach & data) == data || reach & SY_REACH_MESSAGE))
        suite.peer[suite.peers++] = pe;
}

int suite_connect(double seconds, struct sy_error *err)
{
    enum { ROOM = 128 };
    static char address[SUITE_BLOB], all[SUITE_PES][ROOM];
    static char keys[SUITE_WINDOWS][SUITE_PES][SY_REGION_KEY];
    struct keys theirs;

    memset(address, 0, sizeof address);
    size_t length = suite.table->address(suite.self, address, ROOM);
    bool past = length > ROOM;
    for (size_t i = ROOM; i < sizeof address; i++)
        past |= address[i];
    CHECK(!past, "address: wrote %zu bytes, past its room", length);
    memcpy(address + ROOM, &own_keys, sizeof own_keys);
    suite_exchange(address, ROOM + sizeof own_keys);
    for (int pe = 0; pe < suite.npes; pe++) {
        memcpy(all[pe], suite.shared->blob[pe], ROOM);
        memcpy(&theirs, suite.shared->blob[pe] + ROOM, sizeof theirs);
        for (unsigned w = 0; w < SUITE_WINDOWS; w++)
            memcpy(keys[w][pe], theirs.key[w], SY_REGION_KEY);
    }
    err->text[0] = '\0';
    int rc = suite.table->connect(suite.self, all, ROOM, seconds, err);
    rc = sy_route_check_step("connect", rc, err);
    if (rc)
        return rc;
    for (int pe = 0; pe < suite.npes; pe++)
        enter_peer(pe);
    for (unsigned w = 0; w < SUITE_WINDOWS && !rc; w++)
        rc = connect_region(w, keys[w][0], err);
    if (rc)
        return rc;
    instance[instances - 1].fd = suite.table->wait_fd(suite.self);
    rc = sy_route_check_fd(suite.loaded, instance[instances - 1].fd, err);
    if (!rc)
        start_progress();
    return rc;
}

int suite_attach(unsigned index, const struct sy_region *region, struct sy_error *err)
{
    static char keys[SUITE_PES][SY_REGION_KEY];
    struct {
        int length;
        char key[SY_REGION_KEY];
    } own = {.length = 0}, other;
    bool good = true;

    suite.window[index] = *region;
    suite.mapped[suite.pe][index] = region->kind == SY_REGION_DEVICE ? NULL : region->base;
    own.length = suite.table->region_attach(suite.self, index, region, own.key, sizeof own.key,
                                            err);
    suite_exchange(&own, sizeof own);
    for (int pe = 0; pe < suite.npes; pe++) {
        memcpy(&other, suite.shared->blob[pe], sizeof other);
        memcpy(keys[pe], other.key, sizeof keys[pe]);
        good &= other.length >= 0;
    }
    int rc;
    if (good) {
        rc = connect_region(index, keys[0], err);
        for (int pe = 0; pe < suite.npes; pe++)
            if (pe != suite.pe && suite.table->reach(suite.self, pe) & SY_REACH_MAP)
                suite.mapped[pe][index] = suite.table->mem_pointer(suite.self, pe, index);
        suite_barrier();
        return rc;
    }
    rc = own.length < 0 ? own.length : -ECANCELED;
    if (own.length >= 0)
        suite.table->region_detach(suite.self, index);
    memset(&suite.window[index], 0, sizeof suite.window[index]);
    suite_barrier();
    return rc;
}

void suite_detach(unsigned index)
{
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    suite.window[index].base = NULL;
    for (int pe = 0; pe < suite.npes; pe++)
        suite.mapped[pe][index] = NULL;
    suite.table->region_detach(suite.self, index);
    suite_barrier();
}

void suite_close(void)
{
    stop_progress();
    suite.table->ctx_close(suite.self, suite.ctx);
    close_instance();
    own_windows();
    suite.peers = 0;
    start_progress();
}

void suite_swap(struct suite *other)
{
    struct suite was = suite;

    suite.table = other->table;
    suite.self = other->self;
    suite.ctx = other->ctx;
    suite.peers = other->peers;
    memcpy(suite.peer, other->peer, sizeof suite.peer);
    memcpy(suite.mapped, other->mapped, sizeof suite.mapped);
    *other = was;
}

void suite_up(void)
{
    struct sy_error err;
    int rc = suite_open(&err);

    if (rc)
        suite_give_up("open: %s: %s", strerror(-rc), err.text);
    rc = suite_connect(30, &err);
    if (rc)
        suite_give_up("connect: %s: %s", strerror(-rc), err.text);
    if (!suite.peers)
        suite_give_up("reach: this PE reaches no other by messages or by put, get and atomic "
                      "operations%s",
                      suite.neighbours ? ", but those of its node, which -N has mapped" : "");
    suite_barrier();
}

/* Nothing may be in flight any more when the first PE leaves: the core ensures that too. */
void suite_down(void)
{
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    suite_close();
    suite_barrier_asleep();
}
