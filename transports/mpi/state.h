/* The mpi transport: messages over the MPI of the process, of which the library's message layer
 * makes operations; and where the mode says so puts and gets by a window of MPI. It has no MPI
 * linked: calls.c is a file for each family of MPIs.
 *
 * mpi_plugin.c  the table, options, counters; open and close
 * contact.c   addresses, the communicator of the PEs
 * message.c   messages
 * large.c     large data beside them
 * tick.c      when MPI is looked at, which has no descriptor to sleep on
 * wakeup.c    how others tell a PE to look
 * datagram.c  the same across a network
 * window.c    puts and gets by MPI's own
 * calls.h     the calls of an MPI
 *
 * Who may touch what: what has no comment here is written in open and connect, before other threads
 * come, and in close, after they have gone. */
#ifndef MPI_STATE_H
#define MPI_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <switchyard/transport.h>

#include "bootstrap/mpi/library.h"
#include "transports/mpi/calls.h"
#include "util/net/interfaces.h"
#include "util/net/unix_name.h"

enum {
    MPI_MESSAGE = 65536, /* most bytes of one */
    MPI_SENDS = 64,      /* under way at a time */
    MPI_RECEIVES = 16,   /* posted */
    MPI_LARGE = 1 << 20  /* most bytes of data beside messages */
};

enum mpi_mode { MPI_MODE_AUTO, MPI_MODE_AM, MPI_MODE_RMA };

struct mpi_settings {
    int family;
    int mode;
    size_t window; /* bytes from which on a transfer may go by the window, in mode auto */
    long poll;     /* microseconds */
    const char *interfaces;
};

/* Messages on their way, under `lock`. A free place is one that was used lately. */
struct mpi_sends {
    pthread_mutex_t lock;
    char *memory; /* MPI_SENDS messages */
    mpi_request request[MPI_SENDS];
    unsigned char free[MPI_SENDS], flying[MPI_SENDS];
    unsigned frees;
    _Atomic unsigned flights;
};

/* Receives, under `lock`. MPI gives them what a PE sends in the order in which they were posted, so
 * they are looked at in that order. */
struct mpi_receives {
    pthread_mutex_t lock;
    char *memory; /* MPI_RECEIVES messages */
    mpi_request request[MPI_RECEIVES];
    unsigned head;
    bool posted, closing;
    bool late;   /* the one before the head is not posted */
    bool *heard; /* of each rank */
};

/* Data beside messages, under `lock`: the oldest first. */
struct mpi_large {
    pthread_mutex_t lock;
    mpi_request *request;
    void **ticket; /* of each */
    unsigned room;
    _Atomic unsigned count;
    _Atomic uint64_t since; /* when the last one began or was complete */
    bool turn;              /* of the two that progress() looks at; with the receives */
};

/* A timer that wakes the threads that sleep on it. */
struct mpi_tick {
    int fd;
    uint64_t shortest, longest, silent; /* nanoseconds; silent: the longest of all */
    _Atomic bool armed;
    _Atomic uint64_t due, interval; /* a thread that finds it due sets them; a race is harmless */
    _Atomic uint64_t silence;       /* for how long nothing has come, about; so is a race here */
};

/* Where a PE is woken: the name of a UNIX socket in a network namespace, and an address and a port.
 */
struct mpi_socket {
    uint64_t network;
    struct sy_unix_name name;
    struct sy_ip ip;
    uint16_t port; /* 0: there is none */
};

struct mpi_wakeup {
    int fd, far, set; /* the two sockets, and an epoll set of them and the timer; -1: none */
    struct mpi_socket own, *of; /* of: by rank; NULL: there are no wake-ups */
    bool near;                  /* all ranks have UNIX sockets here */
    _Atomic bool *unheard; /* by rank: it has been sent something, and nothing has come since */
    /* Written with the receives: */
    _Atomic unsigned *heard, age; /* by rank: the age in which it was last heard; the age it is */
    uint64_t since;               /* when that began */
    unsigned idle;                /* looks in vain */
    bool muted;                   /* the sockets are not in the set */
};

/* Memory that is attached to the window. */
struct mpi_region {
    struct sy_region memory;
    bool attached;
    _Atomic(uint64_t *) address; /* of each PE, in its process; 0: none. NULL: not connected */
};

struct mpi_state {
    const struct sy_host *host;
    struct sy_instance instance;
    const struct mpi_settings *settings;
    struct mpi_library library;
    void *handle;
    const struct mpi_calls *calls;
    struct mpi_self self;
    char mpi[60]; /* its name */
    mpi_comm comm;
    bool connected;
    _Atomic bool over;    /* MPI has ended */
    int *rank_of, *pe_of; /* ranks in comm; -1: none */
    int ranks;            /* how many */
    struct mpi_sends sends;
    struct mpi_receives receives;
    struct mpi_large large;
    struct mpi_tick tick;
    struct mpi_wakeup wakeup;
    bool windowed;
    mpi_window window;
    struct mpi_region region[SY_REGIONS];
    struct {
        _Atomic uint64_t sent, sent_bytes, received, received_bytes, refused, looks, larges, puts,
            gets, wakeups_sent, wakeups_heard;
    } counters;
};

/* ---- contact.c ---- */

size_t mpi_contact_address(void *self, void *buffer, size_t room);
int mpi_contact_connect(void *self, const void *addresses, size_t stride, double seconds,
                        struct sy_error *err);

/* ---- message.c ---- */

/* MPI has failed at `what`, and does not say with which PE: the job ends, with its words and `why`.
 */
void mpi_message_failed(struct mpi_state *state, const char *what, const char *why);

/* Posts the receives. */
int mpi_message_open(struct mpi_state *state, struct sy_error *err);

/* Sends what has been taken and takes leave of the others: true if they are all here. */
bool mpi_message_leave(struct mpi_state *state);

/* The program finalises MPI: waits until it does so on all PEs, and what they have begun is
 * complete; then no receive is posted any more, under the lock. */
void mpi_message_meet(struct mpi_state *state);
void mpi_message_cancel(struct mpi_state *state);
void mpi_message_free(struct mpi_state *state);

/* As message_send and progress of the table. */
int mpi_message_send(void *self, int pe, const void *bytes, size_t length);
int mpi_message_progress(void *self, unsigned flags);

/* ---- large.c ---- */

/* As those of the table. */
int mpi_large_send(void *self, int pe, uint64_t number, const void *bytes, size_t length,
                   void *ticket);
int mpi_large_receive(void *self, int pe, uint64_t number, void *bytes, size_t length,
                      void *ticket);

/* Tells of what is complete: how many. */
int mpi_large_progress(struct mpi_state *state);

/* Whether there are some on their way that need MPI to be looked at all the time, and no other
 * thread is in MPI for them. */
bool mpi_large_moves(struct mpi_state *state);

/* ---- tick.c ---- */

int mpi_tick_open(struct mpi_tick *tick, const struct sy_host *host, long microseconds);
void mpi_tick_close(struct mpi_tick *tick);

/* A silence says nothing: MPI has requests of other PEs that it does not tell of, as those to a
 * window that it makes of messages. Before the timer is armed. */
void mpi_tick_never_silent(struct mpi_tick *tick);

/* Sleepers are to be woken; they are not any more. */
void mpi_tick_arm(struct mpi_tick *tick);
void mpi_tick_disarm(struct mpi_tick *tick);

/* MPI has been looked at; moved: something was there. woken: since the timer has expired. moves:
 * the next look is due at once. */
void mpi_tick_looked(struct mpi_tick *tick, bool moved, bool woken, bool moves);

bool mpi_tick_is_armed(const struct mpi_tick *tick);

/* Whether the interval is one of a silence. */
bool mpi_tick_is_slow(const struct mpi_tick *tick);

/* Whether the interval is as long as it is where no message comes, or longer. */
bool mpi_tick_is_long(const struct mpi_tick *tick);

/* Something is about to come: the next looks follow soon. Before mpi_tick_looked. */
void mpi_tick_hurry(struct mpi_tick *tick);

/* ---- wakeup.c ---- */

/* Behind mpi_tick_open. Without a socket the PE does without wake-ups. -EINVAL:
 * SHMEM_MPI_INTERFACES makes no sense here. */
int mpi_wakeup_open(struct mpi_state *state, struct sy_error *err);
void mpi_wakeup_close(struct mpi_state *state);

/* of: the sockets by rank. */
void mpi_wakeup_meet(struct mpi_state *state, const struct mpi_socket *of);

/* What sleepers sleep on: wake-ups and the timer. */
int mpi_wakeup_wait_fd(void *self);

/* A message has been sent to a rank. */
void mpi_wakeup_sent(struct mpi_state *state, int rank);

/* A message of a rank has come. Under the lock of the receives, as the next. */
void mpi_wakeup_heard(struct mpi_state *state, int rank);

/* MPI has been looked at; moved: something was there. event: by the progress thread, woken. Reads
 * wake-ups, and sends those that are due. */
void mpi_wakeup_looked(struct mpi_state *state, bool moved, bool event);

/* ---- datagram.c ---- */

/* Opens the socket `far`, or leaves it away. -EINVAL: as mpi_wakeup_open. */
int mpi_datagram_open(struct mpi_state *state, struct sy_error *err);
void mpi_datagram_close(struct mpi_wakeup *wakeup);

/* Whether a PE may be woken by datagrams, and that. */
bool mpi_datagram_reaches(const struct mpi_wakeup *wakeup, const struct mpi_socket *to);
bool mpi_datagram_send(struct mpi_state *state, int rank);

/* ---- window.c ---- */

/* Makes the window and attaches the regions that are there, unless the mode is without one. Where
 * it cannot be made, or saves nothing, mode auto goes on without. */
int mpi_window_open(struct mpi_state *state, struct sy_error *err);

/* The PEs have taken leave of each other, and MPI is there: with the others. */
void mpi_window_close(struct mpi_state *state);

/* What `windowed` PEs are reached by, beside messages. */
unsigned mpi_window_reach(const struct mpi_state *state);

/* As those of the table. */
int mpi_window_attach(void *self, unsigned index, const struct sy_region *memory, void *key,
                      size_t room, struct sy_error *err);
int mpi_window_connect(void *self, unsigned index, const void *keys, size_t stride,
                       struct sy_error *err);
void mpi_window_detach(void *self, unsigned index);
int mpi_window_ctx_open(void *self, long options, struct sy_transport_ctx **ctx,
                        struct sy_error *err);
void mpi_window_ctx_close(void *self, struct sy_transport_ctx *ctx);
int mpi_window_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                   unsigned flags);
int mpi_window_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                   unsigned flags);
int mpi_window_fence(void *self, struct sy_transport_ctx *ctx);
int mpi_window_quiet(void *self, struct sy_transport_ctx *ctx, int pe);

#endif
