/* What the files of the control tree share. All of it is guarded by sy_tree.lock, except while the
 * process starts, when one thread is here. */
#ifndef TREE_STATE_H
#define TREE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootstrap/tree/tree.h"
#include "util/net/interfaces.h"
#include "util/rest.h"

enum {
    TREE_VERSION = 2,
    TREE_RADIX = 32,     /* children of a PE */
    TREE_SILENT = 256,   /* connections that have said nothing that makes sense */
    TREE_OPENED = 64,    /* those in the middle of the handshake, beside two for each PE */
    TREE_HOST_NAME = 64, /* bytes of a host name, cut and ended */
    TREE_PHASE = 48,     /* bytes of the name of a phase, the same */
    TREE_SEED = 16,
    TREE_NONCE = 32,
    TREE_PLACES = 200, /* bytes for addresses in a message */
    TREE_WORDS = 1024  /* bytes of a note */
};

#define TREE_BODY_MOST (1 << 20) /* bytes of a PE's part of a gather */

/* Both ends of a connection are the same release of this library on the same kind of machine, or
 * the handshake fails: host byte order. */
enum tree_frame {
    TREE_JOIN = 1, /* to PE 0, first on a connection: I am PE `pe`; struct tree_join_body */
    TREE_ATTACH,   /* to the PE that a REDIRECT named: the same */
    TREE_ACCEPT,   /* you are a child of PE `pe`; its host's name */
    TREE_REDIRECT, /* be a child of PE `pe`; struct tree_addresses */
    TREE_REFUSE,   /* go away; the body is the reason */
    TREE_HERE,     /* up to PE 0: PE `pe` has a place in the tree; its host's name */
    TREE_ALL,      /* down: all have come; struct tree_all_body */
    TREE_UP,       /* up to PE 0: PE `pe`'s part of gather number `arg`; phase name, blob */
    TREE_DOWN,     /* down: the result of gather number `arg` */
    TREE_MARK,     /* to the neighbours: `arg` = enum sy_mark */
    TREE_ABORT,    /* to all: leave with status `arg`; PE `pe` began it; the body is empty for
                      global_exit */
    TREE_ASK,      /* down: what is each PE doing? */
    TREE_NOTE /* up to PE 0: what PE `pe` is doing, in words; arg: milliseconds that it has been
                 waiting, if it was not asked, else -1 */
    ,
    TREE_REST /* up to PE 0: PE `pe` rests; arg = SY_REST_ flags; body: which wait it is, or 0 where
                it does not. Before a NOTE that was asked for, and unasked */
};

struct tree_header {
    uint32_t length; /* bytes of body */
    uint32_t type;
    int32_t pe, arg;
};

struct tree_join_body {
    int32_t npes;
    int32_t again; /* the place that PE 0 gave cannot be reached */
    char host[TREE_HOST_NAME];
    struct tree_addresses listens;
};

struct tree_all_body {
    unsigned char seed[TREE_SEED]; /* of this job's key */
    int32_t speaks; /* the first child on its host: tells the user if the parent is lost */
};

struct tree_buffer {
    char *data;
    size_t length, room, taken; /* bytes taken from the front */
};

enum tree_link_state {
    TREE_LINK_HELLO,  /* accepted; has said nothing yet */
    TREE_LINK_OPENED, /* has said what only a PE can have said first: now, or in a recording */
    TREE_LINK_PROVED, /* knows the secret, has not said who it is */
    TREE_LINK_CHILD,
    TREE_LINK_PARENT,
    TREE_LINK_PARTING, /* closes once what was sent is out */
    TREE_LINK_DEAD     /* to be freed at the end of the round */
};

struct tree_link {
    struct tree_link *next;
    int fd;
    enum tree_link_state state;
    int pe;
    char host[TREE_HOST_NAME];
    bool finalized;                       /* its end is no loss */
    bool writing;                         /* epoll is asked for room to write */
    double deadline;                      /* of the handshake */
    unsigned char nonces[2 * TREE_NONCE]; /* of the handshake: the other end's, mine */
    bool refused;   /* as another release; what it still says is thrown away */
    uint8_t source; /* where it comes from, of the many that may be pushed out */
    struct tree_buffer in, out;
};

struct tree_gather {
    unsigned number; /* of the gather that is next or under way */
    bool busy;       /* this PE is in it */
    char phase[TREE_PHASE];
    int first, arrived; /* PE 0: who came first, how many have come */
    size_t length;      /* of each blob */
    char *all;          /* npes blobs: on PE 0 from the first arrival on, else the caller's */
    bool *have;
    bool done;
    char fault[320]; /* PE 0: why it cannot be completed */
};

/* Reports of long waits; times are those of sy_tree_now. */
struct tree_stall {
    bool ask;         /* this PE is asked what it is doing, and has not said it yet */
    double asked;     /* when it was asked last */
    double mentioned; /* when it last said by itself that it waits */

    /* PE 0 */
    char **note; /* what the PEs say; npes of them, some still NULL, while it asks; else NULL */
    int missing; /* of them */
    int timer;   /* how long it waits for answers; or -1 */
    double waited, reported;
    struct sy_rest *rest; /* of each PE */
    bool pausing;         /* all rest: the timer runs until all are asked */
    bool confirming;      /* whether all PEs still rest */
};

struct tree {
    pthread_mutex_t lock;
    const struct sy_host *host;
    const struct tree_rank *rank;
    int pe, npes;
    char host_name[TREE_HOST_NAME];
    unsigned char key[TREE_SECRET]; /* of the handshakes */
    unsigned char seed[TREE_SEED];
    int listener[TREE_ADDRESSES], listeners;
    int epoll; /* or -1 */
    struct tree_addresses listens;
    struct tree_link *links, *parent;
    int children, silent, opened, proved; /* connections in these states */
    bool speaks;

    /* PE 0, while PEs come: the members in the order of their coming (a parent comes before its
     * children), and by PE number. */
    struct tree_member *member;
    int *joined, joins, here;

    bool complete; /* all have come */
    bool left;     /* a neighbour has left in good order */
    bool ended;    /* the job ends, with: */
    bool failed;   /* an error ends it, not shmem_global_exit */
    bool mine;     /* this PE ends it, and needs no telling */
    int status;
    struct tree_gather gather;
    struct tree_stall stall;
};

struct tree_member {
    bool joined, here;
    char host[TREE_HOST_NAME];
    struct tree_addresses listens;
};

extern struct tree sy_tree;

/* join.c: seconds that another PE may take for an answer, which grow with what a start may last. */
double sy_tree_patience(void);

/* ---- address.c ---- */

/* Addresses to listen on, the best first. */
struct tree_places {
    int count;
    struct sy_interface at[TREE_ADDRESSES];
};

void sy_tree_address_set_port(struct sockaddr_storage *address, uint16_t port);
socklen_t sy_tree_address_length(const struct sockaddr_storage *address);
/* The loopback interface alone. */
void sy_tree_places_loopback(struct tree_places *places);
/* Those that other PEs use: SHMEM_CONTROL_INTERFACES (`networks`), and what this machine has of the
 * addresses of `name`, which may be NULL. */
int sy_tree_places(const char *networks, const char *name, struct tree_places *places,
                   struct sy_error *err);

/* ---- handshake.c ---- */

/* The PE that connects says the first word, in one piece: 0 or -errno. */
int sy_tree_handshake_open(int fd, unsigned char nonce[TREE_NONCE]);

/* The rest of it: blocks, at most until the deadline. -EACCES: the other end does not know the
 * secret; -EPROTONOSUPPORT: it is another release of this library; err is filled. */
int sy_tree_handshake_finish(int fd, const unsigned char nonce[TREE_NONCE], double deadline,
                             struct sy_error *err);

/* The PE that was connected to, with what has arrived (taken from `in`): brings the connection from
 * HELLO over OPENED to PROVED. 1: proved; 0: more has to come; negative: a stranger. */
int sy_tree_handshake_server(struct tree_link *link);

/* Bytes that are still to come in the connection's state, before PROVED. */
size_t sy_tree_handshake_wants(const struct tree_link *link);

/* Derives a key for a purpose from another and what else is to make a difference: 0 or -errno. */
int sy_tree_derive(const unsigned char secret[TREE_SECRET], const char *purpose, const void *more,
                   size_t length, unsigned char out[TREE_SECRET]);

/* Sends or receives all of it: 0 or -errno. */
int sy_tree_send_all(int fd, const void *data, size_t length, double deadline);
int sy_tree_receive_all(int fd, void *data, size_t length, double deadline);

/* ---- link.c ---- */

struct tree_link *sy_tree_link_new(int fd, enum tree_link_state state);
void sy_tree_link_write(struct tree_link *link, const void *data, size_t length);
void sy_tree_link_send(struct tree_link *link, enum tree_frame type, int pe, int arg,
                       const void *first, size_t first_length, const void *second,
                       size_t second_length);
void sy_tree_send_children(enum tree_frame type, int pe, int arg, const void *body, size_t length);
void sy_tree_send_all_but(const struct tree_link *except, enum tree_frame type, int pe, int arg,
                          const void *body, size_t length);
/* A connection from or to a neighbour: notices when the other host is gone. */
void sy_tree_link_guard(int fd);
void sy_tree_link_close(struct tree_link *link);
void sy_tree_link_become(struct tree_link *link, enum tree_link_state state);
/* Takes in what has come. */
void sy_tree_link_read(struct tree_link *link);
/* Does what there is to do, waits for more at most so long. */
void sy_tree_pump(double seconds);
/* Frees the connections that are closed. */
void sy_tree_bury(void);
/* Until everything that was sent is out, or the time is over. */
void sy_tree_flush(double seconds);

/* ---- listen.c ---- */

int sy_tree_prepare(const struct sy_host *host, struct sy_error *err);
/* Listens, as sy_tree_listen has it, and fills sy_tree.listens. */
int sy_tree_listen_open(bool one_host, const char *name, uint16_t port, struct sy_error *err);
void sy_tree_listen_close(void);
/* "10.1.2.3:5000, [fd00::1]:5000": where this PE listens, as far as there is room. */
const char *sy_tree_listens_text(char text[TREE_PLACES]);

/* ---- dial.c ---- */

/* A connection to a PE of this job that has passed the handshake; or -EACCES: what answers does not
 * belong to this job; -EPROTONOSUPPORT: it is another release; -ECONNREFUSED: nothing answers; then
 * err has the cause. patience: seconds for one address. */
int sy_tree_dial(const struct tree_addresses *to, double patience, double deadline,
                 struct sy_error *err);

/* ---- what link.c calls ---- */

bool sy_tree_accept(const void *listener); /* listen.c; false: it is no listener */

/* join.c */
int sy_tree_on_join(struct tree_link *link, const struct tree_header *header, const char *body);
void sy_tree_on_here(const struct tree_header *header, const char *body);
void sy_tree_on_all(const char *body);
int sy_tree_on_up(const struct tree_header *header, const char *body); /* gather.c */
int sy_tree_on_down(const struct tree_header *header, const char *body);
void sy_tree_on_abort(struct tree_link *link, const struct tree_header *header); /* life.c */
void sy_tree_on_gone(struct tree_link *link, const char *why);

int sy_tree_on_rest(const struct tree_header *header, const char *body); /* stall.c */
int sy_tree_on_note(const struct tree_header *header, const char *body); /* stall.c */
void sy_tree_on_ask(void);
void sy_tree_on_late(void);

/* "PEs 3, 5-7 (host a)": those that `have` leaves out. */
void sy_tree_missing(const bool *have, char *text, size_t room);

/* The job ends. */
void sy_tree_end(int status, bool failed);

#endif
