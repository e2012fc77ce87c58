/* The transport plugin ABI. A transport moves bytes between local memory and (PE, window, offset).
 *
 * A plugin is a file shmem_transport_<name>.so in the plugin directory or in SHMEM_PLUGIN_PATH. It
 * exports one symbol, shmem_transport_2: a struct sy_transport. The number in the name is the
 * version of this ABI: a plugin of another version is refused by name, it cannot crash. Members are
 * only ever added at the end, under the same number, where `size` tells whether a plugin has them;
 * docs/transport-guide.md says which members may be left NULL. The structures that describe an
 * operation are part of the number: they do not grow, since each call would pay for it.
 *
 * A plugin may be opened several times in a job, each time for another fabric: each open makes an
 * instance, `self`, which comes first in all calls and owns all that changes. Plugins therefore
 * have no variables of their own but constants.
 *
 * Order of calls: open, address, connect, then data calls from any thread, then close. After close,
 * open may come again (shmem_init after the last shmem_finalize).
 *
 * Data calls return 0 or -errno. -EAGAIN: nothing was started, for want of room; the core calls
 * progress() and tries again. -EOPNOTSUPP: not possible in this form to that PE, for calls that
 * the core can replace; put and get too where messages can do it. Anything else is a failure of the
 * route and ends the job. No data call blocks for an event that needs the core. */
#ifndef SWITCHYARD_TRANSPORT_H
#define SWITCHYARD_TRANSPORT_H

#include <switchyard/counter.h>
#include <switchyard/host.h>

#define SY_TRANSPORT_ABI 2

/* What reach() may answer, or-ed. */
enum {
    SY_REACH_PUT = 1,
    SY_REACH_GET = 2,
    SY_REACH_AMO = 4,
    SY_REACH_MAP = 8, /* mem_pointer() has windows of that PE */

    /* With MAP: mem_pointer() maps them, at most once each, so the core calls it when they are
     * first used, if they are. Data calls may come before. */
    SY_REACH_LATE = 16,

    /* message_send(), from that PE too. The library makes of it whatever of PUT, GET and AMO is
     * missing. */
    SY_REACH_MESSAGE = 32
};

/* Flags of data calls. */
enum {
    SY_BLOCKING =
        1,        /* put: the source may be reused on return; get: the data has arrived on return.
                     Without it the buffers stay in use until quiet() covers the operation. */
    SY_PROMPT = 2 /* a hint: a thread waits for it, so it should not be gathered with others */
};

enum { SY_ALL_PES = -1 };

/* Most bytes of a region's key. */
#define SY_REGION_KEY 64

/* What is so of a transport wherever it is opened, or-ed (`capabilities`). */
enum {
    SY_NODE_ONLY = 1, /* reaches every PE of this node and no other. In a job on one node nothing
                         that comes after such a transport is opened */
    SY_STAGES = 4,    /* the local side of put and get may be memory of a device of this PE, which
                         they copy by host->device_copy() */
    SY_SERVES = 8,    /* a long transfer with memory of a device of the other PE reaches that device
                         in copies of 128 KiB and more; that of other transports the core moves by
                         way of memory of the host there */
    SY_ORDERED = 2    /* applies what is issued towards a PE, on whatever context, in that order, so
                         that the core need not call fence() */
};

/* Flags of progress(). */
enum {
    SY_PROGRESS_EVENT = 1 /* called by the core's progress thread, above all when wait_fd() is
                             readable; other calls come from threads that wait and poll */
};

/* What an instance is opened with. */
struct sy_instance {
    size_t size;      /* sizeof(struct sy_instance) as the core was compiled */
    const char *name; /* as in SHMEM_TRANSPORTS: the plugin's name, or "name@word"; valid until
                         close() returns. A PE's instance talks to those of the same name */
    void *settings;   /* the options' values, settings_size bytes; valid until close() returns */

    /* For a transport that carries messages: hands up one that PE pe has sent, with `receiver`
     * first. Called by progress(), or by a data call that waits, by one thread at a time. Nobody
     * changes the bytes until it returns. It calls no function of the transport. */
    void (*received)(void *receiver, int pe, const void *bytes, size_t length);
    void *receiver;

    /* The same where it has large_send: that data are complete, with what was given as `ticket`.
     * Once for each; by any thread. Calls no function of the transport, and does not wait. */
    void (*large_done)(void *receiver, void *ticket);
};

struct sy_transport_ctx;    /* the plugin's own: an ordering and completion domain */
struct sy_transport_ticket; /* the same: what a context had under way at some time */

/* What is under way towards one PE, for the user. */
struct sy_pending {
    int pe;
    uint64_t operations; /* issued and not known to be complete, if the transport counts them */
    uint64_t bytes;      /* the same in bytes, if it counts these */
    uint64_t replies;    /* results that have not come */
    double seconds;      /* since something was sent to it; < 0: not known */
    const char *state;   /* such as "connecting", or NULL. Constant text */
};

/* A contiguous transfer. Symmetric memory is always named by window and offset. */
struct sy_transfer {
    int pe;
    unsigned window;
    uint64_t offset;
    void *local; /* source of a put (not written), destination of a get */
    size_t length;
};

/* `blocks` blocks of `block` bytes; consecutive blocks begin remote_stride, local_stride bytes
 * apart. */
struct sy_strided {
    struct sy_transfer first; /* length is ignored */
    size_t block, blocks;
    ptrdiff_t remote_stride, local_stride;
};

/* An atomic operation on an aligned word of `width` (4 or 8) bytes. */
struct sy_amo {
    int pe;
    unsigned window;
    uint64_t offset;
    enum sy_amo_op op;
    unsigned width;
    uint64_t operand, compare;
    void *result; /* receives `width` bytes, the old value; NULL: none is wanted */
};

struct sy_transport {
    size_t size; /* sizeof(struct sy_transport) as the plugin was compiled */
    const char *name;
    long priority; /* SHMEM_TRANSPORTS=auto tries higher ones first; below 0: only when named */
    unsigned long capabilities;            /* SY_NODE_ONLY, SY_ORDERED, ... */
    const struct sy_option *options;       /* ended by a row whose name is NULL; or NULL */
    size_t settings_size;                  /* of the structure that the options' offsets are of */
    const struct sy_counter_row *counters; /* the same: what an instance counts; or NULL */

    /* Probes and allocates, and sets *self. -ENODEV: cannot be used here, err says why in words;
     * anything else is an error that err explains. Local work only, bounded time. On failure
     * nothing is left behind.
     */
    int (*open)(const struct sy_host *host, const struct sy_instance *instance, void **self,
                struct sy_error *err);

    /* Undoes open, also after a failed connect. This PE's operations have been completed by the
     * core, and nobody begins new ones towards it; but answers that it still owes to others, who
     * may be waiting for them, are on their way before it returns. */
    void (*close)(void *self);

    /* Writes this PE's endpoint into buffer and returns its length, at most `room` (128) bytes; 0:
     * no endpoint. The core hands every PE everyone's bytes. */
    size_t (*address)(void *self, void *buffer, size_t room);

    /* Takes the addresses of all PEs: that of PE p is at addresses + p * stride, filled up with
     * zeros to `stride` bytes; zeros alone where p has none for this transport. Work within the
     * node only; connections to other nodes are made when first used. May wait for the PEs of this
     * node, at most `seconds`; names in err those that are missing. */
    int (*connect)(void *self, const void *addresses, size_t stride, double seconds,
                   struct sy_error *err);

    /* What can be done towards PE pe: SY_REACH_ bits. Never changes after connect. A pair of which
     * one side does not reach the other is taken as not reached by both. */
    unsigned (*reach)(void *self, int pe);

    /* The base of a window of PE pe in this process, or NULL. Bytes below `length` of the window
     * are accessible by loads, stores and CPU atomics until it is detached. */
    void *(*mem_pointer)(void *self, int pe, unsigned window);

    /* Memory that others may address, at any time between open and close. All PEs attach a region
     * under the same number. First attach on each: writes what others need to reach it into `key`,
     * at most `room` (64) bytes, not zeros alone, and returns how many these are, mostly 0; or
     * -errno: -EOPNOTSUPP for a kind of memory that cannot be reached. Those that are there from
     * the start are attached before address(). Then, after connect(), region_connect with the keys
     * of all PEs: that of PE p is at keys + p * stride, filled up with zeros to `stride` bytes;
     * NULL where no PE has any. Of a region that comes later, host->memory() has by then what is
     * mapped of other PEs' parts. Data calls name the region only when this has been done on all
     * PEs.
     *
     * detach: nothing is under way any more towards the region, of any PE's; when it returns
     * nothing here touches the memory, whatever a PE may send. The number can be attached again,
     * with other memory. close() detaches what is left. A transport that serves its memory by
     * host->memory() from one call at a time needs no more than to wait for that call; one that is
     * never inside of it leaves all three NULL. */
    int (*region_attach)(void *self, unsigned index, const struct sy_region *region, void *key,
                         size_t room, struct sy_error *err);
    int (*region_connect)(void *self, unsigned index, const void *keys, size_t stride,
                          struct sy_error *err);
    void (*region_detach)(void *self, unsigned index);

    /* Opens and closes an ordering and completion domain. options: SHMEM_CTX_ bits of the
     * specification, 9.5.1. A transport without state per context leaves both NULL and is given
     * NULL. */
    int (*ctx_open)(void *self, long options, struct sy_transport_ctx **ctx, struct sy_error *err);
    void (*ctx_close)(void *self, struct sy_transport_ctx *ctx);

    /* Transfers. Elements of 1, 2, 4 or 8 bytes that are aligned at the target are stored whole. */
    int (*put)(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);
    int (*get)(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);

    /* Optional: a strided transfer as one message. Without them the core moves block by block. */
    int (*put_strided)(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags);
    int (*get_strided)(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags);

    /* An atomic operation. Blocking with a result: the old value is there on return. Non-blocking:
     * on quiet. Without a result: complete on quiet. */
    int (*amo)(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags);

    /* Optional: put, then the atomic operation `signal` (SET or ADD) on the same PE, visible in
     * that order, and behind what earlier calls of it on ctx have put there. Without it the core
     * uses put, fence, amo. */
    int (*put_signal)(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                      const struct sy_amo *signal, unsigned flags);

    /* Orders what was issued on ctx before towards each PE before what is issued after. */
    int (*fence)(void *self, struct sy_transport_ctx *ctx);

    /* Completes what was issued on ctx towards pe (SY_ALL_PES: everyone): visible to all PEs,
     * results there. -EAGAIN: not yet; the core calls progress() and asks again. */
    int (*quiet)(void *self, struct sy_transport_ctx *ctx, int pe);

    /* A snapshot of what quiet() would complete now, without waiting: 0 and *ticket, which is NULL
     * where nothing is under way; or -errno (-ENOMEM). Sees to it that what it covers will be
     * complete without another call but progress() and reached(). Optional, both or none. */
    int (*mark)(void *self, struct sy_transport_ctx *ctx, int pe,
                struct sy_transport_ticket **ticket);

    /* Whether all that a ticket covers is complete, as quiet() would say, whatever has been issued
     * on its context since: 0, and the ticket is gone; or -EAGAIN: not yet. Never before; a
     * transport that cannot tell operations of its context apart may answer later. By one thread at
     * a time for each ticket; all are asked until they are gone before ctx_close(). */
    int (*reached)(void *self, struct sy_transport_ticket *ticket);

    /* Moves what can be moved now, never blocks. flags: SY_PROGRESS_EVENT or 0, so that a transport
     * can tell a PE that polls from one that sleeps. Returns > 0 when something was done, 0 when
     * not, since there was nothing or another thread was at it, < 0 when not and the processor has
     * been given away meanwhile, which a call with SY_PROGRESS_EVENT does not do. Called by waiting
     * application threads and by the progress thread, possibly at once. */
    int (*progress)(void *self, unsigned flags);

    /* A descriptor that is readable when progress() has work that arrived from outside; the core's
     * progress thread sleeps on it, and where PEs outnumber processors threads that wait do. -1:
     * the transport needs no progress on this PE. */
    int (*wait_fd)(void *self);

    /* Optional: a thread is about to sleep until wait_fd() is readable. Called by the progress
     * thread and by threads that wait, possibly at once. Returns > 0 when something was done and
     * the thread should look again before it sleeps; 0 when wait_fd() will tell of all that may end
     * a wait: what others send, answers to this PE's own calls, and that what was answered -EAGAIN
     * may now be tried again; < 0, and so without this function, when it may not, so that a thread
     * that waits must look again soon. */
    int (*arm)(void *self);

    /* Optional: the progress thread leaves the transport to application threads that poll, but for
     * a look now and then, until arm() is called. Before the first call of disarm() it may sleep.
     */
    void (*disarm)(void *self);

    /* Optional: a hint about what follows on ctx (specification 9.9). batch: the operations may be
     * gathered for longer before they leave than without the hint. operations: about how many are
     * to come, SIZE_MAX if that is not known; 0: the session is over. Completes nothing. */
    void (*session)(void *self, struct sy_transport_ctx *ctx, bool batch, size_t operations);

    /* Optional: writes at most `room` entries about PEs for which there is something under way, and
     * returns how many. Called by the progress thread while others may be anywhere in the
     * transport: waits for no lock, and may be wrong by a few; but it says that nothing is under
     * way only where that is so. Below 0: it cannot tell now. */
    int (*pending)(void *self, struct sy_pending *list, int room);

    /* Optional: has an aligned 64-bit word hold at least `value`. The word is one that only grows,
     * and one PE at a time raises it, though a lower value of an earlier one may still come late;
     * who waits for it waits for a value or a greater one. So this need
     * not keep any order with other operations, is not covered by quiet(), may be done more than
     * once, and need not be done at all where a later one for the same word has been asked for.
     * Without it the core uses fence, amo (SET). */
    int (*raise)(void *self, struct sy_transport_ctx *ctx, int pe, unsigned window, uint64_t offset,
                 uint64_t value);

    /* Optional: what keeps processes that are no PE of the job from the memory of those that are,
     * for the user; in lines of text divided by newlines. oshinfo shows it. */
    const char *protection;

    /* For SY_REACH_MESSAGE: the most bytes of a message, 256 or more, and what sends one to PE pe,
     * which is to hand it up whole, exactly once, and behind all that this instance has sent there
     * before. The bytes are the caller's again on return. -EAGAIN: nothing has been taken, for want
     * of room; asked again soon. Another -errno: the PE is lost. Never waits. Called from any
     * thread, for one PE by one at a time, beside progress() and calls for other PEs. What has been
     * taken arrives, though close() follow. */
    size_t message_size;
    int (*message_send)(void *self, int pe, const void *bytes, size_t length);

    /* Optional: whether the fabric itself moves data to and from that window of PE `pe`, which is
     * registered with it; otherwise the PE stores and loads. For the user: the table of routes. */
    bool (*registered)(void *self, int pe, unsigned window);

    /* host->threads has become true: when this returns several threads may be in data calls at once.
     * Nobody is in one now, but perhaps in progress(), arm(), disarm() and pending(). A transport
     * with data calls of its own that leaves it out cannot be used with streams, but where
     * host->threads is true from the start; one that decides nothing by that leaves it empty. */
    void (*threads)(void *self);

    /* Optional, together, for SY_REACH_MESSAGE: data of up to large_size bytes from memory to
     * memory beside the messages, which the library announces by one. large_send sends bytes that
     * stay as they are, and large_receive names the memory that those of PE pe with the same number
     * and length go to; either may come first, and there are few of a pair at a time, each with a
     * number of its own. Both return at once, and call instance.large_done() with the ticket, then
     * or later: when the bytes may be changed; when they are there. They may come in any order, and
     * be seen in part before they are all there. Called as message_send is. large_send: -EAGAIN:
     * nothing has been begun, asked again soon; any other -errno: the PE is lost. close() may leave
     * them incomplete, but touches their memory no more. */
    size_t large_size;
    int (*large_send)(void *self, int pe, uint64_t number, const void *bytes, size_t length,
                      void *ticket);
    int (*large_receive)(void *self, int pe, uint64_t number, void *bytes, size_t length,
                         void *ticket);
};

/* Names the exported symbol. A plugin that is linked into the static library has its name appended.
 */
#ifdef SY_BUILTIN_PLUGIN
#define SY_TRANSPORT_SYMBOL(name) shmem_transport_2_##name
#else
#define SY_TRANSPORT_SYMBOL(name) shmem_transport_2
#endif
#define SY_TRANSPORT_PLUGIN(name)                                                                  \
    extern __attribute__((visibility("default")))                                                  \
    const struct sy_transport SY_TRANSPORT_SYMBOL(name);                                           \
    const struct sy_transport SY_TRANSPORT_SYMBOL(name)

#endif
