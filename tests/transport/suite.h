/* The conformance suite of the transport ABI (switchyard/transport.h): a job of a few processes on
 * this machine that plays the core towards one plugin and calls its table directly.
 *
 * main.c        the command line, the processes and their end
 * pe.c          one PE: windows, struct sy_host, the plugin's life, the progress thread
 * messages.c    between the plugin and the engine, where it carries messages
 * data.c        data calls with the core's discipline: mapped memory by stores, -EAGAIN by another
 *               try
 * cases_*.c     the cases, by subject; cases_messages.c those for plugins that carry messages
 *
 * A case is a row of SUITE_CASES and a function case_<name>, which every PE runs between two
 * barriers. */
#ifndef SY_TESTS_TRANSPORT_SUITE_H
#define SY_TESTS_TRANSPORT_SUITE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/transport.h>

/* Cases that find the plugin connected, and have it to themselves between barriers. `raise` is the
 * last, since what it has raised may be raised again later, when nobody is to look any more. */
#define SUITE_CASES(X)                                                                             \
    X(reach)                                                                                       \
    X(sizes)                                                                                       \
    X(strided)                                                                                     \
    X(whole)                                                                                       \
    X(amo_values)                                                                                  \
    X(amo_exact)                                                                                   \
    X(amo_tickets)                                                                                 \
    X(fence)                                                                                       \
    X(fence_amo)                                                                                   \
    X(quiet)                                                                                       \
    X(tickets)                                                                                     \
    X(signal)                                                                                      \
    X(large)                                                                                       \
    X(turns)                                                                                       \
    X(contexts)                                                                                    \
    X(session)                                                                                     \
    X(flood)                                                                                       \
    X(room)                                                                                        \
    X(many_to_one)                                                                                 \
    X(random)                                                                                      \
    X(passive)                                                                                     \
    X(threads)                                                                                     \
    X(regions)                                                                                     \
    X(device)                                                                                      \
    X(idle)                                                                                        \
    X(raise)

/* Cases that find the plugin closed and leave it so; each has a job of its own. */
#define SUITE_LIVES(X)                                                                             \
    X(beside)                                                                                      \
    X(reopen)                                                                                      \
    X(unused)                                                                                      \
    X(absent)                                                                                      \
    X(leave)                                                                                       \
    X(unattended)                                                                                  \
    X(bounds)

enum {
    SUITE_PES = 64,      /* most */
    SUITE_INSTANCES = 2, /* of the plugin, open at a time */
    SUITE_TRAIL = 256,   /* messages under way that are compared */
    SUITE_BLOB = 1024,   /* bytes a PE in an exchange */
    SUITE_WINDOWS = 3,   /* heap and control in one file; one that is in no file */
    SUITE_HEAP = 0,      /* 16 MB */
    SUITE_CONTROL = 1,   /* 64 KB */
    SUITE_UNMAPPED = 2,  /* 256 KB */
    SUITE_LATE = 200,    /* the region of cases `regions` and `device` */
    SUITE_GUARD = 65536  /* bytes before and behind each window that nobody may write */
};

/* The messages of one PE to another, of an instance: sums and lengths of the last ones that were
 * sent. calls: of message_send, twice as many; odd within one. */
struct suite_trail {
    _Atomic uint64_t calls, taken, handed, sum[SUITE_TRAIL], length[SUITE_TRAIL];
};

/* Shared by all processes of a job, and with the one that started them. */
struct suite_shared {
    _Atomic uint32_t arrived, generation; /* of the barrier */
    _Atomic uint32_t stop;                /* a PE has given up */
    _Atomic uint32_t lost;                /* a plugin has called host->lost */
    _Atomic uint32_t started;             /* PEs that have opened and connected the plugin */
    _Atomic uint64_t beat;                /* counts cases, for the time limit */
    _Atomic int asked;                    /* 1 + a PE that is to look by hand; 0: none */
    _Atomic uint64_t failed, checks, calls, agains;
    _Atomic uint64_t word[SUITE_PES];     /* for cases: signals beside the plugin */
    const char *_Atomic doing[SUITE_PES]; /* what each PE is at; literals, valid in all */
    _Atomic int larges[SUITE_PES];        /* large data under way */
    char blob[SUITE_PES][SUITE_BLOB];
    struct suite_trail trail[SUITE_INSTANCES][SUITE_PES][SUITE_PES]; /* [from][to] */
};

struct suite {
    struct suite_shared *shared;
    const char *plugin;                /* name */
    const struct sy_transport *loaded; /* the plugin's table, as it is merged with the stubs */
    const struct sy_transport *table;  /* of the instance: that, or the engine's over it */
    void *settings, *self;             /* of the instance */
    const struct sy_host *host;
    struct sy_transport_ctx *ctx; /* of the default context */
    int pe, npes, per_node;
    bool neighbours; /* PEs of a node have each other's memory mapped, not by the plugin */
    bool may_lose;   /* host->lost is no failure */
    bool verbose;
    uint64_t seed;
    int peer[SUITE_PES], peers;          /* PEs that are reached by the plugin */
    struct sy_region window[SY_REGIONS]; /* those that are not there have no base */
    char *mapped[SUITE_PES][SY_REGIONS]; /* by mem_pointer or as neighbours; or NULL */
};

extern struct suite suite;

/* Attaches a region on all PEs, as the core does: 0, or what the plugin answered with err. Then
 * detaches it. Collective. */
int suite_attach(unsigned index, const struct sy_region *region, struct sy_error *err);
void suite_detach(unsigned index);

/* cases_device.c: members of struct sy_host, for a region of kind DEVICE whose memory is elsewhere.
 */
int suite_device_copy(unsigned window, bool in, uint64_t offset, void *local, size_t length);
int suite_device_amo(unsigned window, enum sy_amo_op op, uint64_t offset, size_t width,
                     uint64_t operand, uint64_t compare, uint64_t *result);

/* main.c: memory of PE `pe`, made before the processes were. */
char *suite_memory(int pe, unsigned window);

/* ---- pe.c ---- */

/* What this PE is doing, for the report of a hang. A literal. */
void suite_doing(const char *what);

/* A CHECK that failed: counted, and the first few are written. */
void suite_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the job: what follows would make no sense. */
_Noreturn void suite_give_up(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(CONDITION, ...)                                                                      \
    do {                                                                                           \
        atomic_fetch_add_explicit(&suite.shared->checks, 1, memory_order_relaxed);                 \
        if (!(CONDITION))                                                                          \
            suite_fail(__FILE__, __LINE__, __VA_ARGS__);                                           \
    } while (0)

/* The plugin's life, in the order in which the core goes: suite_open is open, region_attach,
 * ctx_open and address; suite_connect is connect, reach, mem_pointer and region_connect, and starts
 * the progress thread. Both return what the plugin did. */
int suite_open(struct sy_error *err);
int suite_connect(double seconds, struct sy_error *err);
void suite_close(void);

/* A second instance: what `suite` says of the one in use (table, self, ctx, peers and what they
 * have mapped) is kept in *other, and suite_up may be called again. Then exchanges the two. */
void suite_swap(struct suite *other);

/* Both, or the job gives up. Collective. */
void suite_up(void);
void suite_down(void);

/* The number of the instance that suite_open opens. */
int suite_instance(void);

/* Waits for all PEs; meanwhile the plugin makes progress, or not. */
void suite_barrier(void);
void suite_barrier_asleep(void);

/* Every PE's blob, after this PE's `length` bytes; collective. */
void suite_exchange(const void *mine, size_t length);

/* One step of waiting for something: progress, a yield, and a look whether the job has ended. */
void suite_poll(void);

/* Waits until a word of this PE's own memory has the value, or is past it. */
void suite_wait(const void *word, uint64_t value);

/* The same, looking at the word nearly all the time: what the progress thread does is seen while it
 * does it. */
void suite_watch(const void *word, uint64_t value);

/* How often the progress thread has woken up. */
uint64_t suite_wakeups(void);

/* Calls progress() so many times: how many of the answers say that something was done. */
int suite_progress(int times);

/* Has nothing of this PE call progress(), until it is called with false. */
void suite_hold(bool hold);

/* As with SHMEM_PROGRESS=polling, from the next suite_open on: the progress thread does not look at
 * wait_fd(), and threads that wait do. */
void suite_unattended(void);

/* ---- messages.c ---- */

/* The table to open instead of a plugin's: where it carries messages, one that compares what is
 * sent with what is handed up. Then says what has not been handed up, of all PEs. */
const struct sy_transport *suite_watch_messages(const struct sy_transport *loaded);
void suite_say_messages(void);

/* Of the first instance. */
const struct suite_trail *suite_trail(int from, int to);

/* Sends a message without content to a PE, and waits for room: now, or when the plugin's close() is
 * all that comes. */
void suite_send_message(int pe);
void suite_send_at_close(int pe);

/* ---- data.c ---- */

/* Symmetric memory of a PE. */
struct suite_place {
    int pe;
    unsigned window;
    uint64_t offset;
};

void suite_put(struct sy_transport_ctx *ctx, struct suite_place to, const void *from, size_t length,
               unsigned flags);
void suite_get(struct sy_transport_ctx *ctx, void *to, struct suite_place from, size_t length,
               unsigned flags);

/* Strided, as one call where the plugin has it and block by block otherwise. `put`: the direction.
 */
void suite_strided(struct sy_transport_ctx *ctx, bool put, const struct sy_strided *t);

void suite_amo(struct sy_transport_ctx *ctx, const struct sy_amo *amo, unsigned flags);

/* Adds to an 8-byte word, without a result; complete on quiet. */
void suite_add(struct sy_transport_ctx *ctx, struct suite_place to, uint64_t value);

/* put, then `signal` added to or stored in the word; as one call where the plugin has it. */
void suite_put_signal(struct sy_transport_ctx *ctx, struct suite_place to, const void *from,
                      size_t length, uint64_t word, enum sy_amo_op op, uint64_t signal,
                      unsigned flags);

/* Has a word that only grows hold at least `value`; by SET where the plugin has nothing for that.
 */
void suite_raise(struct sy_transport_ctx *ctx, struct suite_place to, uint64_t value);

void suite_fence(struct sy_transport_ctx *ctx);
void suite_quiet(struct sy_transport_ctx *ctx, int pe);

/* Bytes that depend on the seed and on their index, and whether they are there: the index of the
 * last that is not, or -1. Looks from the end, where data that are still being stored are missing.
 */
void suite_fill(void *bytes, size_t length, uint64_t seed);
long suite_differs(const void *bytes, size_t length, uint64_t seed);

/* Random numbers that depend on the suite's seed, the PE and the case. */
uint64_t suite_random(void);
void suite_random_begin(uint64_t seed);

/* The part of every PE's window that PE pe may write in a case: offset and length. */
uint64_t suite_area(unsigned window, int pe);
size_t suite_area_length(unsigned window);

#define SUITE_DECLARE(NAME) void case_##NAME(void);
SUITE_CASES(SUITE_DECLARE)
SUITE_LIVES(SUITE_DECLARE)
#undef SUITE_DECLARE

/* How many jobs the case `bounds` needs, and which one this is. */
enum { SUITE_BOUNDS = 10 };
extern int suite_bound;

#endif
