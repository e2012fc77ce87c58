/* The contract between the core and a transport plugin. A transport moves bytes between this PE's
 * memory and symmetric memory of other PEs, which is named by (PE, window, offset).
 *
 * A plugin is a file, shmem_transport_<name>.so, in the plugin directory or in SHMEM_PLUGIN_PATH.
 * It exports one symbol, shmem_transport_2: a table, struct sy_transport. The number in the symbol
 * is the version of this interface; the core refuses a plugin of another version. New members are
 * added at the end under the same number, and `size` says which ones a plugin has. The structures
 * that describe one operation never grow.
 *
 * There are two kinds of transports, and mixtures. One carries messages in order
 * (SY_REACH_MESSAGE), and the library makes puts, gets and atomic operations of them. The other has
 * data calls of its own. docs/transport-guide.md shows how to write each, and lists the members
 * that may be NULL; "Optional" below means that the core does without.
 *
 * Instances. A plugin may be opened several times in a job, each time for another fabric. open()
 * makes an instance, `self`, which is the first argument of every other call. All that changes
 * belongs to it: a plugin has no variables of its own but constants.
 *
 * Order of calls: open, region_attach, ctx_open, address, connect, reach, region_connect, wait_fd;
 * then data calls, message_send, progress, arm, disarm and outstanding, from any thread; then
 * ctx_close, close. message_send and progress may still come between these two. If connect has
 * failed, only ctx_close and close follow. Messages of a PE that is further on may wait before
 * wait_fd is called. After close, open may come again.
 *
 * Data calls (put, get, put_strided, get_strided, amo, put_signal, raise) answer
 *   0            accepted; complete too, as far as the call's comment says
 *   -EAGAIN      nothing has been started, for want of room: the core calls progress() and repeats
 *                the call
 *   -EOPNOTSUPP  not possible in this form towards this PE. Only from the optional calls, which the
 *                core replaces by others, and from put and get where the PE has SY_REACH_MESSAGE
 *   other -errno the route has failed: the core ends the job
 * A data call may wait for other PEs' plugins, by host->rest; never for the program or the core. */
#ifndef SWITCHYARD_TRANSPORT_H
#define SWITCHYARD_TRANSPORT_H

#include <switchyard/counter.h>
#include <switchyard/host.h>

#define SY_TRANSPORT_ABI 2

/* ---- constants ---- */

/* What reach() answers, or-ed. */
enum {
    SY_REACH_PUT = 1,
    SY_REACH_GET = 2,
    SY_REACH_AMO = 4,
    SY_REACH_MAP = 8, /* mem_pointer() gives addresses of that PE's windows */

    /* With MAP: the core calls mem_pointer() when a window is first used, once at most, because
     * mapping costs; from any thread. Data calls for that PE may come before, and meanwhile. */
    SY_REACH_LATE = 16,

    /* message_send() reaches the PE, and the PE's reaches this one. The library does by messages
     * what is missing of PUT, GET and AMO. */
    SY_REACH_MESSAGE = 32
};

/* `capabilities`: properties of the transport on every machine, or-ed. */
enum {
    /* Reaches every PE of this node and no other. In a job on one node the core opens no transport
     * after such a one. */
    SY_NODE_ONLY = 1,

    /* Applies all operations towards one PE in the order in which they were issued, whatever their
     * contexts. The core never calls fence(). */
    SY_ORDERED = 2,

    /* The local side of put and get may be memory of this PE's device; the transport copies it by
     * host->device_copy(). */
    SY_STAGES = 4,

    /* Copies a long transfer to or from the other PE's device in pieces of 128 KiB or more. Without
     * it the core moves long transfers by way of the other PE's host memory. */
    SY_SERVES = 8,

    /* A blocking put_signal() of up to SY_KEPT_BYTES, with SY_PROMPT up to SY_KEPT_PROMPT, does not
     * wait until they have arrived: what may have to be sent again is copied while it travels. */
    SY_KEEPS = 16
};
#define SY_KEPT_BYTES  ((size_t)64 << 10)
#define SY_KEPT_PROMPT ((size_t)256 << 10)

/* `flags` of data calls, or-ed. */
enum {
    /* put: the source may be changed on return. get: the data are there on return. amo: the result
     * is there on return. Without the flag, buffers stay in use until quiet(). */
    SY_BLOCKING = 1,

    /* A hint: a thread waits for this operation, so it should leave at once. */
    SY_PROMPT = 2
};

/* `flags` of progress(). */
enum {
    /* The core's progress thread calls, mostly because wait_fd() is readable. Without the flag the
     * caller is a thread that waits and polls. */
    SY_PROGRESS_EVENT = 1
};

/* What progress() may return with SY_PROGRESS_EVENT where something was done that others sent, and
 * one more call costs little: the progress thread looks for more before it sleeps. */
enum { SY_PROGRESS_CAME = 2 };

/* `pe` of quiet() and mark(): all PEs. */
enum { SY_ALL_PES = -1 };

/* The longest key of a region, in bytes. */
#define SY_REGION_KEY 64

/* ---- structures ---- */

/* What open() is given. The structure is gone after open(); what it points to is valid until
 * close() returns. */
struct sy_instance {
    size_t size;      /* sizeof(struct sy_instance) as the core was compiled */
    const char *name; /* as in SHMEM_TRANSPORTS: the plugin's name, or "name@word". Instances of the
                         same name on different PEs talk to each other */
    void *settings;   /* values of the plugin's options, settings_size bytes */

    /* For SY_REACH_MESSAGE. The transport calls it from progress(), from a data call that waits or
     * from close(), never from message_send(), to hand up one message of PE pe. One thread at a
     * time may be inside. The bytes, at any address, must not change until it returns. It calls no
     * function of the transport. A PE that is none, or this one, ends the job. */
    void (*received)(void *receiver, int pe, const void *bytes, size_t length);
    void *receiver; /* the first argument of received(), large_done() and settled() */

    /* For large_send() and large_receive(). The transport calls it once for each piece that has
     * ended, with the ticket of that call, from any thread. It does not wait, and calls no function
     * of the transport. */
    void (*large_done)(void *receiver, void *ticket);

    /* SHMEM_TRANSPORTS names it, or a rule of SHMEM_ROUTES prefers or requires it. A transport that
     * is rarely the best choice may answer -ENODEV to open() where this is false. */
    bool named;

    /* For SY_REACH_MESSAGE, and a transport that ends before close(). Looks once at messages, sends
     * what this PE owes, and asks how far the others are. True: all that this PE has begun is
     * complete. Not from message_send() or progress(). */
    bool (*settled)(void *receiver);
};

struct sy_transport_ctx;    /* the plugin's: an ordering and completion domain */
struct sy_transport_ticket; /* the plugin's: what a context had under way when mark() was called */

/* Work that is under way towards one PE, as shown to the user. */
struct sy_outstanding {
    int pe;
    uint64_t operations; /* issued, and not known to be complete; 0: not counted */
    uint64_t bytes;      /* of these operations; 0: not counted */
    uint64_t replies;    /* results that this PE still waits for */
    double seconds;      /* since something was last sent to that PE; < 0: unknown */
    const char *state;   /* constant text such as "connecting", or NULL */
};

/* A contiguous transfer. */
struct sy_transfer {
    int pe;
    unsigned window;
    uint64_t offset;
    void *local; /* put: the source, which is not written. get: the destination */
    size_t length;
};

/* A transfer of `blocks` blocks, each of `block` bytes. Strides are in bytes, from the beginning of
 * a block to the beginning of the next; they may be negative. */
struct sy_strided {
    struct sy_transfer first; /* the first block; its length is not used */
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
    void *result; /* receives the old value, `width` bytes; NULL: not wanted */
};

/* ---- the table ---- */

struct sy_transport {
    size_t size;      /* sizeof(struct sy_transport) as the plugin was compiled */
    const char *name; /* the <name> of the file */
    long priority;    /* SHMEM_TRANSPORTS=auto tries higher ones first; < 0: only when named */
    unsigned long capabilities;            /* SY_NODE_ONLY, SY_ORDERED, ... */
    const struct sy_option *options;       /* rows, ended by one without a name; or NULL */
    size_t settings_size;                  /* of the structure that the options fill */
    const struct sy_counter_row *counters; /* rows, ended by one without a name; or NULL */

    /* -- Life -- */

    /* Finds out whether the transport can be used here, allocates an instance and sets *self, which
     * is not NULL. Local work in bounded time. -ENODEV: it cannot be used here, and err says why.
     * Any other -errno is an error, which err explains. After a failure nothing is left and close()
     * does not follow. */
    int (*open)(const struct sy_host *host, const struct sy_instance *instance, void **self,
                struct sy_error *err);

    /* Undoes open(), also after a failed connect(). The core has completed this PE's operations,
     * and no PE begins new ones towards it. Replies that this PE owes to others must be on their
     * way before it returns. */
    void (*close)(void *self);

    /* Writes what other PEs need to reach this one into buffer: at most `room` (128) bytes, not
     * zeros alone. Returns their number; 0: none. May be called twice. */
    size_t (*address)(void *self, void *buffer, size_t room);

    /* Takes the addresses of all PEs. That of PE p is at addresses + p * stride, padded with zeros;
     * zeros alone: PE p has none. Connections to other nodes are made later, when they are first
     * used. May wait for the PEs of this node, `seconds` at most; err names those missing then.
     * With 0 it may tell in err whom it does not reach, and why: for where nothing else does. */
    int (*connect)(void *self, const void *addresses, size_t stride, double seconds,
                   struct sy_error *err);

    /* What is possible towards PE pe, another one: SY_REACH_ bits, the same ever after connect().
     * If one side of a pair does not reach the other, the core uses the transport for neither. */
    unsigned (*reach)(void *self, int pe);

    /* The address, in this process, of a window of PE pe; or NULL. All bytes of the window can be
     * loaded, stored and changed by the CPU's atomic operations until region_detach(). */
    void *(*mem_pointer)(void *self, int pe, unsigned window);

    /* -- Memory. A region is memory of each PE that others may address; data calls name it as a
     * window, by its number, which is the same on all PEs. The life of a region:
     *   1. every PE calls region_attach(): before address() for regions that exist from the start,
     *      at any time before close() for others;
     *   2. the core exchanges the keys, and every PE calls region_connect(), after connect();
     *   3. data calls name the window;
     *   4. when no PE has anything under way towards it, every PE calls region_detach().
     * A transport that finds memory by host->memory() alone needs none of the three calls. -- */

    /* Makes a region of this PE known. Writes what others need to reach it into `key`: at most
     * `room` (SY_REGION_KEY) bytes, not zeros alone. Returns their number, 0 if none are needed, or
     * -errno, and err says why; -EOPNOTSUPP refuses this kind of memory. */
    int (*region_attach)(void *self, unsigned index, const struct sy_region *region, void *key,
                         size_t room, struct sy_error *err);

    /* Takes the keys of all PEs. That of PE p is at keys + p * stride, padded with zeros. NULL: no
     * PE has any. */
    int (*region_connect)(void *self, unsigned index, const void *keys, size_t stride,
                          struct sy_error *err);

    /* When it returns, the transport touches the region no more, whatever a PE may send. The number
     * may then be attached again, with other memory. close() detaches what is left. */
    void (*region_detach)(void *self, unsigned index);

    /* -- Contexts -- */

    /* Opens and closes an ordering and completion domain. options: SHMEM_CTX_ bits (specification
     * 9.5.1). A transport that keeps nothing per context leaves both NULL, and gets NULL as ctx. */
    int (*ctx_open)(void *self, long options, struct sy_transport_ctx **ctx, struct sy_error *err);
    void (*ctx_close)(void *self, struct sy_transport_ctx *ctx);

    /* -- Data calls. An element of 1, 2, 4 or 8 bytes that is aligned at the target is stored
     * whole. -- */

    int (*put)(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);
    int (*get)(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);

    /* Optional: strided transfers. Without them the core makes a call for each block. */
    int (*put_strided)(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags);
    int (*get_strided)(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags);

    /* An atomic operation. It is complete, and its result is there, after quiet(); with SY_BLOCKING
     * a result is there on return. */
    int (*amo)(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags);

    /* Optional: a put, then the operation `signal` (SET or ADD) on a word of the same PE. Nobody
     * sees the signal before the data, nor before data of earlier calls on ctx towards that PE.
     * Without it the core uses put, fence and amo. */
    int (*put_signal)(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                      const struct sy_amo *signal, unsigned flags);

    /* -- Order and completion -- */

    /* For each PE: what was issued on ctx before takes effect before what is issued later. Covers
     * puts, atomic operations and signals, not gets. Never answers -EAGAIN. */
    int (*fence)(void *self, struct sy_transport_ctx *ctx);

    /* 0: all that was issued on ctx towards pe (or SY_ALL_PES) is complete: visible to all PEs, and
     * results are here. -EAGAIN: not yet; the core calls progress() and asks again. It becomes
     * complete without any call of the target's program. */
    int (*quiet)(void *self, struct sy_transport_ctx *ctx, int pe);

    /* Optional, with reached(): quiet() without waiting. mark() sets *ticket to all that is under
     * way and quiet() would wait for, NULL if that is nothing, and makes sure that it completes
     * with no more calls than progress() and reached(). Returns 0 or -errno (-ENOMEM). */
    int (*mark)(void *self, struct sy_transport_ctx *ctx, int pe,
                struct sy_transport_ticket **ticket);

    /* 0: all that the ticket covers is complete, whatever has been issued since; the ticket is
     * freed. -EAGAIN: not yet. The answer may be late, never early. One thread at a time asks for a
     * ticket. The core asks for each until it is freed, and then only calls ctx_close(). */
    int (*reached)(void *self, struct sy_transport_ticket *ticket);

    /* -- Progress -- */

    /* Moves what can be moved now; never blocks. Returns
     *   > 0  something was done
     *   0    nothing was done: there was nothing, or another thread is at it
     *   < 0  nothing was done, and this call has yielded the processor; not with SY_PROGRESS_EVENT
     * Waiting threads of the program and the progress thread call it, possibly at once. */
    int (*progress)(void *self, unsigned flags);

    /* A descriptor that is readable while progress() has work that came from outside; asked for
     * once. The progress thread sleeps on it, and, where PEs outnumber processors, so do threads
     * that wait. -1: this PE never has such work; a transport that carries messages has one. */
    int (*wait_fd)(void *self);

    /* Optional: a thread is about to sleep until wait_fd() is readable. Returns
     *   > 0  something was done: the thread looks again before it sleeps
     *   0    wait_fd() becomes readable upon everything that can end a wait: what others send,
     *        answers to this PE's calls, and room after an -EAGAIN
     *   < 0  it may miss some of these, so the thread sleeps for a short time only. This is assumed
     *        where a transport has no arm(). -EINPROGRESS: the progress thread learns of all that
     *        others send, if some milliseconds late
     * The progress thread and waiting threads call it, possibly at once. */
    int (*arm)(void *self);

    /* Optional: the progress thread leaves the transport to threads that poll it, so wait_fd() need
     * wake nobody until the next arm(). Until its first call the progress thread may be asleep. */
    void (*disarm)(void *self);

    /* -- Hints, reports and other optional members -- */

    /* Optional: what follows on ctx (specification 9.9). batch: operations may be gathered for
     * longer than usual before they leave. operations: about how many will come, SIZE_MAX:
     * unknown, 0: the session is over. Completes nothing. */
    void (*session)(void *self, struct sy_transport_ctx *ctx, bool batch, size_t operations);

    /* Optional: writes an entry for each PE towards which work is under way, at most `room`, and
     * returns how many it has written. < 0: it cannot tell now. The progress thread calls it while
     * other threads are in other calls, and it waits for no lock. Figures may be slightly wrong,
     * but 0 must be true: the core may then judge that the job is deadlocked, and end it. */
    int (*outstanding)(void *self, struct sy_outstanding *list, int room);

    /* Optional: has the aligned 64-bit word at `offset` become at least `value`. Barriers use it.
     * The core raises each such word from one PE at a time and only upwards, and its reader waits
     * for `value` or more. Therefore the transport may apply a raise late, twice, in any order, or
     * not at all if a later one for the same word has been issued; but it never lowers the word.
     * fence() and quiet() do not cover it. Without it the core uses fence and amo (SET). */
    int (*raise)(void *self, struct sy_transport_ctx *ctx, int pe, unsigned window, uint64_t offset,
                 uint64_t value);

    /* Optional: how the memory of PEs is protected from processes outside the job, in lines of text
     * for the user (oshinfo). */
    const char *protection;

    /* -- Messages, for SY_REACH_MESSAGE -- */

    /* The longest message in bytes, 256 or more. */
    size_t message_size;

    /* Sends a message of 1 to message_size bytes, at any address, to another PE, whose plugin hands
     * it up by received(): whole, exactly once, and after all messages that this instance has sent
     * there before. Never waits.
     *   0            taken: the caller may change the bytes. It arrives even if close() follows
     *   -EAGAIN      nothing has been taken, for want of room; the core tries again soon
     *   other -errno that PE cannot be reached any more
     * Any thread calls it, for one PE by one thread at a time, at once with progress() and with
     * calls for other PEs. */
    int (*message_send)(void *self, int pe, const void *bytes, size_t length);

    /* Optional: whether the fabric itself moves data to and from this window of PE pe. If not, the
     * PE's processor does. For the table of routes. */
    bool (*registered)(void *self, int pe, unsigned window);

    /* host->threads has just become true: from its return on, several threads may be in data calls
     * at once. No thread is in one during the call, but one may be in progress(), arm(), disarm()
     * or outstanding(). A transport that has data calls and depends on host->threads nowhere has
     * sy_transport_threads here. Without the member, no stream can be made unless host->threads was
     * true from the start. */
    void (*threads)(void *self);

    /* -- Large data, for SY_REACH_MESSAGE. Optional, all three together. The library announces a
     * piece by a message, and this moves it from memory to memory. Each piece that is under way
     * between two PEs in one direction has its own number, by which the two sides match it. Either
     * side may come first. -- */

    /* The longest piece in bytes. */
    size_t large_size;

    /* large_send() sends bytes, which stay unchanged until it has ended. large_receive() names the
     * memory for the piece of PE pe with that number and length. Both return at once; the end is
     * told by large_done(). Pieces may arrive in any order and be seen in part. Threads: as for
     * message_send(). large_send() may answer -EAGAIN: nothing has begun. Any other -errno: that PE
     * cannot be reached any more. After close() the memory is not touched. */
    int (*large_send)(void *self, int pe, uint64_t number, const void *bytes, size_t length,
                      void *ticket);
    int (*large_receive)(void *self, int pe, uint64_t number, void *bytes, size_t length,
                         void *ticket);

    /* Optional: what a barrier of two PEs needs in place of quiet(). 0: results are here, buffers
     * are free, and what was issued on ctx towards pe takes effect before what this PE issues
     * towards it later, on any context, raise() and gets included. -EAGAIN: not yet; the core calls
     * progress() and asks again. */
    int (*flush_local)(void *self, struct sy_transport_ctx *ctx, int pe);
};

static inline void sy_transport_threads(void *self)
{
    (void)self;
}

/* Defines the table: SY_TRANSPORT_PLUGIN(name) = { ... }; In the static library (SY_BUILTIN_PLUGIN)
 * the symbol ends with the plugin's name. */
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
