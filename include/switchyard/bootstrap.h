/* The bootstrap plugin ABI. A bootstrap tells a process which PE of which job it is, and carries
 * small blobs between the PEs while they start. Everything else goes over the library's own
 * channels.
 *
 * A plugin is a file shmem_bootstrap_<name>.so; it exports shmem_bootstrap_2, a struct
 * sy_bootstrap. The rules of transport.h hold: the number in the symbol is the version of this ABI,
 * and a plugin of another version is refused by name; members are only ever added at the end, where
 * `size` tells whether a plugin has them; each structure that crosses the interface begins with its
 * size; what a plugin leaves out does nothing. Each open makes an instance, `self`, which comes
 * first in all calls but probe and owns all that changes: plugins have no variables of their own
 * but constants.
 *
 * Order of calls: probe; open once in the life of the process; then any number of initialisations,
 * each with allgathers and `mark(SY_MARK_INITIALIZED)` .. `mark(SY_MARK_FINALIZED)`; at exit leave,
 * and then close or nothing. An open that failed may have set *self, so that the others can be told
 * why: then abort, leave and perhaps close follow. While the program runs, event is called by one
 * thread of the core; note, blocked, mark, abort, failing and leave may come from another at the
 * same time.
 */
#ifndef SWITCHYARD_BOOTSTRAP_H
#define SWITCHYARD_BOOTSTRAP_H

#include <switchyard/host.h>

#define SY_BOOTSTRAP_ABI 2

struct sy_job {
    size_t size; /* sizeof(struct sy_job) as the core was compiled */
    int pe, npes;
    char id[40];           /* for messages and log file names */
    unsigned char key[32]; /* secret shared by the PEs of this job */
};

/* What the user may have to say about the start where no launcher says it, and limits that hold for
 * all of it. Filled from the core's options; host.h leads here. */
struct sy_start {
    size_t size;          /* sizeof(struct sy_start) as the core was compiled */
    double init_timeout;  /* seconds for each phase of start-up */
    double peer_timeout;  /* seconds without any answer after which a host counts as lost */
    const char *ports;    /* "FIRST:LAST": for control connections; "": any port */
    const char *networks; /* interfaces and CIDRs to use for them, divided by commas; "": all */
    long pe, npes;        /* below 0, 0: not said */
    const char *root;     /* "HOST:PORT" where PE 0 listens, or "" */
    const char *secret_file;
    const char *job_id;     /* tells this job from others that have the same secret */
    const char *transports; /* SHMEM_TRANSPORTS: "auto", "a,b" in this order, "^a" all but a */
};

/* What this PE reports to the launcher, which so tells a finished PE from a lost one. */
enum sy_mark { SY_MARK_INITIALIZED, SY_MARK_FINALIZED };

enum {
    SY_EVENT_NONE, /* nothing that ends the job */
    SY_EVENT_EXIT, /* the job ends: leave with *status */
    SY_EVENT_LOST, /* the launcher is gone */
    SY_EVENT_ASK   /* the launcher asks what this PE is doing: answer by `note` */
};

/* What else is known of a PE that is blocked (`blocked`). */
enum {
    SY_BLOCKED_FINALIZING = 1, /* in shmem_finalize, or in the exit handler that does the same */
    SY_BLOCKED_LONG = 2,       /* for twelve times SHMEM_DEADLOCK_TIMEOUT */
    SY_BLOCKED_INSIDE = 4,     /* for words that only the library writes, as in a barrier */
    SY_BLOCKED_OUTSIDE = 8, /* it has a child process or a handler of signals, which might write to
                            the program's variables, and so end waits for these */
    SY_BLOCKED_STREAM = 16, /* in shmem_finalize, which waits for a stream to have done its work */
    SY_BLOCKED_MPI = 32,    /* in this library, and MPI is initialised */
    SY_BLOCKED_ENDING = 64  /* in MPI_Finalize, which waits for all processes that MPI has */
};

struct sy_bootstrap {
    size_t size; /* sizeof(struct sy_bootstrap) as the plugin was compiled */
    const char *name;
    long priority; /* SHMEM_BOOTSTRAP=auto probes higher ones first; below 0: only when named. A
                      launcher may put its plugin's name into SHMEM_BOOT_PLUGIN: that one has to be
                      there, and is probed before all */
    const struct sy_option *options; /* ended by a row whose name is NULL; or NULL */
    size_t settings_size;            /* of the structure that the options' offsets are of */

    /* Is this launcher mine? Looks at what the launcher has put into the environment, with
     * secure_getenv (open may do so too), and at descriptors; does not talk. 0: yes. -ENODEV:
     * no, and err says what was looked for. Another error: it looks like mine, but something is
     * wrong with it; err says what, and the core stops rather than start N jobs of one PE. -EEXIST
     * among them is an objection that SHMEM_BOOTSTRAP naming this plugin overrules. */
    int (*probe)(struct sy_error *err);

    /* Joins the job: sets *self and fills *job, but for its size. `host` offers log and fail; its
     * pe and npes are not known yet. settings: the options' values, valid until close returns. */
    int (*open)(const struct sy_host *host, const void *settings, void **self, struct sy_job *job,
                struct sy_error *err);

    /* Gathers `length` bytes from every PE into `all`, in the order of PEs; collective. `phase` is
     * the name of what the job is doing, for messages; within `seconds` it succeeds or fails, and
     * err (or the launcher's own message) names the PEs that are missing. -ECANCELED: the launcher
     * is ending the job and has said why; event() has the status. */
    int (*allgather)(void *self, const char *phase, const void *mine, void *all, size_t length,
                     double seconds, struct sy_error *err);

    /* Tells the launcher how far this PE is. */
    void (*mark)(void *self, enum sy_mark mark);

    /* Ends the whole job with exit status `status`; `why` is a line for the user, or NULL where the
     * program itself asked for it (shmem_global_exit). Returns; the caller then leaves. */
    void (*abort)(void *self, int status, const char *why);

    /* A descriptor that is readable when the launcher has something to say or is gone; or -1. */
    int (*wait_fd)(void *self);

    /* Reads it without blocking, called by one thread at a time. Returns an SY_EVENT_ value. */
    int (*event)(void *self, int *status);

    /* Undoes open, after leave. No other call is under way, and none follows. */
    void (*close)(void *self);

    /* Tells the launcher what this PE is doing, in words, and for how many seconds it has been
     * waiting; asked: in answer to SY_EVENT_ASK, else because that is long. May be called by the
     * thread that calls event() while another one is in mark() or abort(). A plugin whose launcher
     * does not want to know leaves it out, and the PE writes to its own log. */
    void (*note)(void *self, const char *text, double seconds, int asked);

    /* This PE is about to exit with `status`, not 0, without having finalised. A launcher that
     * waits for its processes sees that by itself; others pass it on, so that the job ends with
     * this status. */
    void (*failing)(void *self, int status);

    /* This PE is blocked: all its threads that could do something wait in the library since
     * SHMEM_DEADLOCK_TIMEOUT, and nothing that it has sent is under way. wait: which wait it is;
     * flags: SY_BLOCKED_. Said now and then while it lasts, and just before each `note` that
     * answers SY_EVENT_ASK, with wait 0 where the PE is not blocked. Where all PEs are, the
     * launcher asks all, and if each still is in the same wait it ends the job, because no PE can
     * go on. */
    void (*blocked)(void *self, uint64_t wait, unsigned flags);

    /* Takes leave of the launcher, perhaps again. Other threads may be inside any of these calls,
     * or watch the descriptor of wait_fd: all of it stays. */
    void (*leave)(void *self);

    /* As probe, which it replaces, where the answer depends on settings too (host->start). */
    int (*probe_for)(const struct sy_host *host, struct sy_error *err);
};

#ifdef SY_BUILTIN_PLUGIN
#define SY_BOOTSTRAP_SYMBOL(name) shmem_bootstrap_2_##name
#else
#define SY_BOOTSTRAP_SYMBOL(name) shmem_bootstrap_2
#endif
#define SY_BOOTSTRAP_PLUGIN(name)                                                                  \
    extern __attribute__((visibility("default")))                                                  \
    const struct sy_bootstrap SY_BOOTSTRAP_SYMBOL(name);                                           \
    const struct sy_bootstrap SY_BOOTSTRAP_SYMBOL(name)

#endif
