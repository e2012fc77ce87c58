/* Streams: queues of operations that the library carries out later, one after another.
 *
 * stream.c   streams: making and ending them, adding operations, waiting for them
 * ops.h      the operations, for the routines of the interface
 * proxy.c    the proxy: the one thread that carries out the operations of all streams
 * worker.c   the workers: threads for what blocks: collectives and the program's functions
 * point.c    points that streams wait for: events, and gates for other queues
 * transfer.c puts, gets, atomic operations
 * wait.c     waits for variables
 * together.c collective routines
 * opencl.c   streams that take turns with an OpenCL command queue
 *
 * The proxy never waits for another PE but for room: it starts transfers, asks whether they are
 * complete, and compares variables. So thousands of streams that wait cost a look each, and no
 * thread. Each stream issues on a context of its own, on which nobody else issues: while the stream
 * waits, what is under way there is what its operations have started, so that asking for the
 * context is asking for a ticket, without one.
 *
 * A collective routine blocks until all members have come, and members may come to two teams in
 * different orders. Hence each team has a queue of its collectives: they run one after another in
 * the order in which the program has added them, whatever their streams, and no two queues wait for
 * each other. The first of a queue runs on a worker; there are as many workers as queues have run
 * at once. What an operation waits for, in its stream, its queue or by an event, has been added
 * before it. So the one that was added first among those that are left can always go on, unless it
 * waits for another PE; and if the members of each team add its collectives in one order, PEs wait
 * for each other in a circle only where the program would have done so without streams. A transfer
 * with memory of a device has a queue for itself: it waits for the other PE's library alone.
 *
 * One mutex guards all queues. Whoever has it calls nothing that blocks. */
#ifndef SY_STREAM_STREAM_H
#define SY_STREAM_STREAM_H

#include <shmemx.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <switchyard/host.h>

#include "core/ctx.h"
#include "core/wait/set.h"
#include "util/bits.h"

struct sy_stream_op;

/* What a step of an operation returns: the operation is done; step again; do not step before
 * sy_stream_wake. */
enum sy_step { SY_STEP_DONE, SY_STEP_AGAIN, SY_STEP_PARKED };

/* Operations of one kind. */
struct sy_stream_kind {
    enum sy_step (*step)(struct sy_stream_op *op); /* called by the proxy, if there is no work() */
    void (*work)(struct sy_stream_op *op);         /* called by a worker; may block */
    bool issues; /* a transfer; step() may leave it under way on the stream's context */
    bool joins;  /* it may begin while earlier transfers that join are under way */
    void (*drop)(
        struct sy_stream_op *op); /* gives back what one holds that is not added; or NULL */
};

/* Blocks that are dest_stride and source_stride bytes apart. */
struct sy_stream_strided {
    void *dest;
    const void *source;
    ptrdiff_t dest_stride, source_stride;
    size_t block, blocks;
};

/* A signal: its word, a value, and how that changes the word. */
struct sy_stream_signal {
    uint64_t *word, value;
    int op;
};

/* A put or a get. */
struct sy_stream_rma {
    void *dest;
    const void *source;
    size_t length;
    struct sy_stream_signal signal;
};

/* An atomic operation. result: where the old value goes, or NULL. */
struct sy_stream_amo {
    enum sy_amo_op op;
    unsigned width;
    void *dest, *result;
    uint64_t operand, compare;
};

enum sy_stream_together {
    SY_STREAM_SYNC,
    SY_STREAM_ALLTOALL,
    SY_STREAM_ALLTOALLS,
    SY_STREAM_BROADCAST,
    SY_STREAM_COLLECT,
    SY_STREAM_FCOLLECT,
    SY_STREAM_REDUCE,
    SY_STREAM_SCAN
};

/* What a collective routine is about. count: elements; size: bytes of one; strides in elements. */
struct sy_stream_data {
    enum sy_stream_together what;
    void *dest;
    const void *source;
    size_t count, size;
    ptrdiff_t dst, sst;
    int root;
    void (*kernel)(void *, const void *, const void *, size_t); /* sy_kernel */
    bool inclusive;
};

/* What an operation is about. */
union sy_stream_to {
    struct sy_stream_rma rma;
    struct {
        void *dest;
        size_t length;
        unsigned char value[16];
    } p;
    struct sy_stream_strided strided;
    struct sy_stream_amo amo;
    struct {
        struct sy_set set;
        uint64_t value; /* of all */
        size_t at, *indices, *result;
    } wait;
    struct sy_stream_data together;
    struct {
        void (*fn)(void *);
        void *arg;
    } call;
    struct sy_point *point;
};

/* An operation. Who adds it fills in `to` and what its kind needs. */
struct sy_stream_op {
    struct sy_stream_op *next;   /* in the stream's queue */
    struct sy_stream_op *behind; /* the next in its team's queue, or that waits for its point */
    struct sy_stream *stream;
    const struct sy_stream_kind *kind;
    const char *routine; /* as the program called it */
    struct sy_worker_queue *queue;
    struct sy_team *team; /* of a collective routine */
    int pe;               /* of a transfer */
    bool ready;           /* everything before it in its stream is complete */
    bool waits;           /* it is entered with its point */
    size_t calls;         /* functions of the program that its stream has had before it */
    union sy_stream_to to;
};

/* For a stream that takes turns with a queue of another library, such as an OpenCL command queue:
 * what the program adds begins after the commands that are in that queue, and commands that are
 * added to the queue later begin after it. Called by the thread that adds, around each operation.
 * before: adds a command that has `sy_point_reach` called, of a point made by sy_stream_gate; false
 * for want of memory, which synchronize will say: then the operation is not added.
 * after: adds a command that waits, as for a user event, and sy_stream_tell with what ends that
 * wait. routine: of the operation. end: called when the stream ends, after its last operation; not
 * while the process exits, when the other library may have ended. */
struct sy_stream_foreign {
    bool (*before)(struct sy_stream *stream, const char *routine, void *queue);
    void (*after)(struct sy_stream *stream, const char *routine, void *queue);
    void (*end)(void *queue);
    void *queue;
};

/* A stream: what follows `lock` is guarded by it; the rest is constant or the proxy's. */
struct sy_stream {
    struct sy_ctx *ctx; /* with the team's members */
    struct sy_team *team;
    size_t depth;
    struct sy_stream_foreign foreign; /* set before the first operation, or zeros */
    /* proxy */
    struct sy_stream_op *mine, *current; /* taken from `first`; the one that has begun */
    uint64_t issued;                     /* operations that are done but for their transfers */
    bool under_way;                      /* such transfers */
    bool fetches;                        /* and one of them brings data to this PE */
    bool handed;                         /* a worker has been handed an operation */
    uint64_t since;                      /* nanoseconds; 0: it does not wait */
    const char *routine;                 /* of the latest operation that has begun */
    struct sy_stream *active;            /* the next one that the proxy looks at */
    /* lock */
    LIST_ENTRY(sy_stream) link; /* in the list of all */
    struct sy_stream *inbox;    /* the next one that is new to the proxy */
    struct sy_stream_op *first, **last;
    uint64_t added, completed;
    uint64_t told;                /* `completed` as it will be, when a tell calls its function */
    uint64_t wake_at;             /* `completed` for which somebody waits */
    bool held;                    /* the proxy has it, or will have it from the inbox */
    bool again;                   /* sy_stream_wake while it is held */
    bool parked;                  /* not held, and waits for sy_stream_wake */
    struct sy_stream_op *working; /* the operation that a worker has */
    size_t calls, called;         /* functions of the program: added, and completed */
    pthread_cond_t done;
    int error; /* of the first failure since the last synchronize, an errno */
    const char *error_in;
};

extern pthread_mutex_t sy_stream_lock SY_HIDDEN;

/* ---- for routines of the interface ---- */

/* team: NULL is refused. depth: the most operations that wait in it; 0: SY_STREAM_DEPTH. 0, or
 * -errno with words in the log. */
#define SY_STREAM_DEPTH ((size_t)1 << 16)
int sy_stream_create(struct sy_team *team, size_t depth, struct sy_stream **stream);

/* Waits until all is complete that has been added. synchronize: 0, or -errno with words in the log
 * where an operation has failed. */
int sy_stream_synchronize(struct sy_stream *stream, const char *routine);
void sy_stream_destroy(struct sy_stream *stream, const char *routine);

/* Whether all is complete: 1, 0, or -errno of a failure, which stays until synchronize. */
int sy_stream_query(struct sy_stream *stream, const char *routine);

/* Destroys all streams of a team; NULL: all streams of this PE, and ends their threads. */
void sy_streams_close(const struct sy_team *team);

/* An operation to be filled in; ends the job where `stream` is none, naming the routine. NULL: no
 * memory, which synchronize will say. */
struct sy_stream_op *sy_stream_new(struct sy_stream *stream, const char *routine,
                                   const struct sy_stream_kind *kind);

/* Adds it. Waits while the stream is full. */
void sy_stream_add(struct sy_stream_op *op);

/* An operation that cannot be added: what synchronize says. */
void sy_stream_failed(struct sy_stream *stream, const char *routine, int code);

/* ---- hooks: of events, and for foreign queues ---- */

/* A point has not been reached, and then has, for ever. Any thread may reach it, a callback of a
 * driver too. error: of the queue's library, where what reaches it has failed; the operation behind
 * it then ends the job. 0: none. Each holder of a reference drops it: there are two at first. */
struct sy_point *sy_point_new(void);
void sy_point_hold(struct sy_point *point);
void sy_point_drop(struct sy_point *point);
void sy_point_reach(struct sy_point *point, int error);
bool sy_point_reached(struct sy_point *point);
void sy_point_await(struct sy_point *point, const char *routine);

/* What is added later begins when the point has been reached; takes over a reference. 0, or -1 for
 * want of memory. */
int sy_stream_gate(struct sy_stream *stream, const char *routine, struct sy_point *point);

/* Has the proxy reach the point when all that was added is complete; takes over a reference. */
void sy_stream_mark(struct sy_stream *stream, const char *routine, struct sy_point *point);

/* Has the proxy call fn, which must not block, when all is complete that has been added; without
 * memory for that it is called at once. */
void sy_stream_tell(struct sy_stream *stream, const char *routine, void (*fn)(void *), void *arg);

/* opencl.c: a stream that takes turns with a command queue, a cl_command_queue. 0, or -errno with
 * words in the log. */
int sy_stream_from_opencl(struct sy_team *team, void *queue, struct sy_stream **stream);

/* ---- between the files of this folder, under the lock ---- */

/* Has the proxy look at a stream. */
void sy_stream_wake(struct sy_stream *stream);

/* Ends the job, naming the routine, where this thread carries out a function, and what it waits for
 * is behind that: it is in the same stream, or behind the first `calls` functions of another, which
 * are not all complete. */
void sy_stream_check_wait(const struct sy_stream *stream, size_t calls, const char *routine);

/* `count` operations are complete. */
void sy_stream_completed(struct sy_stream *stream, uint64_t count);

#endif
