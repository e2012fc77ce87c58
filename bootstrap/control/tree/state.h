/* What the files of the control tree share. All of it is guarded by the tree's lock, except while
 * the process starts, when one thread is here. */
#ifndef TREE_STATE_H
#define TREE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootstrap/control/frames.h"
#include "bootstrap/control/gather.h"
#include "bootstrap/control/report.h"
#include "bootstrap/control/tree/tree.h"
#include "util/frame.h"
#include "util/net/interfaces.h"
#include "util/net/io.h"

enum {
    TREE_VERSION = 3,
    TREE_RADIX = 32,   /* children of a PE */
    TREE_SILENT = 256, /* connections that have said nothing that makes sense */
    TREE_OPENED = 64,  /* those in the middle of the handshake, beside two for each PE */
    TREE_HOST_NAME = SY_CONTROL_HOST,
    TREE_PHASE = 48, /* bytes of the name of a phase */
    TREE_SEED = 16,
    TREE_NONCE = 32,
    TREE_PLACES = 200 /* bytes for addresses in a message */
};

/* Both ends of a connection are the same release of this library on the same kind of machine, or
 * the handshake fails: host byte order. */
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
    struct tree *tree;
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
    struct sy_frames_in in;
    struct sy_frames_out out;
};

struct tree_gather {
    bool busy; /* this PE is in one */
    bool done;
    char *all;     /* the caller's: npes blobs */
    size_t length; /* of each */

    /* PE 0 */
    struct sy_gather parts;
    char fault[SY_GATHER_FAULT]; /* why it cannot be completed */
};

/* Reports of long waits (control/report.h); times are those of sy_clock(). */
struct tree_stall {
    bool ask;         /* this PE is asked what it is doing, and has not said it yet */
    double asked;     /* when it was asked last */
    double mentioned; /* when it last said by itself that it waits */

    /* PE 0 */
    struct sy_report report;
    int timer; /* of the report; or -1 */
};

struct tree {
    pthread_mutex_t lock;
    struct tree *next; /* of those in this process, for instance.c */
    struct tree_user *user;
    const struct sy_host *host;
    int pe, npes;
    char host_name[TREE_HOST_NAME];
    unsigned char key[TREE_SECRET]; /* of the handshakes */
    unsigned char seed[TREE_SEED];
    int listener[TREE_ADDRESSES], listeners;
    int epoll;    /* or -1 */
    int launcher; /* its process on this host, see orphan.c; or -1 */
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
    bool finished; /* this PE has finalised */
    bool ended;    /* the job ends, with: */
    bool failed;   /* an error ends it, not shmem_global_exit */
    bool mine;     /* this PE ends it, and needs no telling */
    bool told;     /* the user knows of a process of another release */
    int status;
    struct tree_gather gather;
    struct tree_stall stall;
};

struct tree_member {
    bool joined, here;
    char host[TREE_HOST_NAME];
    struct tree_addresses listens;
};

/* The tree of a plugin's instance. */
static inline struct tree *sy_tree_of(void *self)
{
    return ((struct tree_user *)self)->tree;
}

/* instance.c: a tree, known to forks, and without connections. */
int sy_tree_new(const struct sy_host *host, struct tree **made, struct sy_error *err);
void sy_tree_free(struct tree *tree);

/* link.c: seconds that a start may last, and that another PE may take for an answer. */
double sy_tree_limit(struct tree *tree);
double sy_tree_patience(struct tree *tree);

/* ---- address.c ---- */

/* Addresses to listen on, the best first. */
struct tree_places {
    int count;
    struct sy_interface at[TREE_ADDRESSES];
};

/* The loopback interface alone. */
void sy_tree_places_loopback(struct tree_places *places);
/* Finds addresses that other PEs can use: of the interfaces in SHMEM_CONTROL_INTERFACES
 * (`networks`), and those of this machine that `name`, which may be NULL, resolves to. */
int sy_tree_places(struct tree *tree, const char *networks, const char *name,
                   struct tree_places *places, struct sy_error *err);

/* ---- handshake.c ---- */

/* The PE that connects says the first word, in one piece: 0 or -errno. */
int sy_tree_handshake_open(struct tree *tree, int fd, unsigned char nonce[TREE_NONCE]);

/* The rest of that PE's handshake; blocks until the deadline at most. -EACCES: the other end does
 * not know the secret, or says that it is another release of this library; err is filled. */
int sy_tree_handshake_finish(struct tree *tree, int fd, const unsigned char nonce[TREE_NONCE],
                             double deadline, struct sy_error *err);

/* The accepting PE's side, with what has arrived (taken from `in`): brings the connection from
 * HELLO over OPENED to PROVED. 1: proved; 0: more has to come; negative: a stranger. */
int sy_tree_handshake_server(struct tree_link *link);

/* Bytes that are still to come in the connection's state, before PROVED. */
size_t sy_tree_handshake_wants(const struct tree_link *link);

/* The secret is that of a file, SHMEM_SECRET_FILE: its path and its fault are in err. */
int sy_tree_secret_read(struct tree_user *user, struct sy_error *err);

/* Derives a key for a purpose from another and what else is to make a difference. */
void sy_tree_derive(const unsigned char secret[TREE_SECRET], const char *purpose, const void *more,
                    size_t length, unsigned char out[TREE_SECRET]);

/* ---- link.c ---- */

struct tree_link *sy_tree_link_new(struct tree *tree, int fd, enum tree_link_state state);
/* Writes bytes of the handshake. */
void sy_tree_link_write(struct tree_link *link, const void *data, size_t length);
/* Sends a packet, which the link then owns; NULL (no memory for it) ends the connection. */
void sy_tree_link_put(struct tree_link *link, struct sy_packet *packet);
void sy_tree_link_send(struct tree_link *link, const struct sy_frame *frame, const void *body);
/* Sends to all children, and to the parent if `up`, except to one link. */
void sy_tree_send_to(struct tree *tree, struct sy_packet *packet, const struct tree_link *except,
                     bool up);
void sy_tree_send_all_but(struct tree *tree, const struct tree_link *except,
                          enum sy_control_type type, int pe, int arg, const void *body,
                          size_t length);
void sy_tree_send_children(struct tree *tree, const struct sy_frame *frame, const void *body);
void sy_tree_send_up(struct tree *tree, const struct sy_frame *frame, const void *body);
/* Sets a connection to a neighbour up, so that it ends when the other host is gone. */
void sy_tree_link_guard(struct tree *tree, int fd);
void sy_tree_link_close(struct tree_link *link);
void sy_tree_link_become(struct tree_link *link, enum tree_link_state state);
/* Takes in what has come. */
void sy_tree_link_read(struct tree_link *link);
/* Does what there is to do, waits for more at most so long. */
void sy_tree_pump(struct tree *tree, double seconds);
/* Frees the connections that are closed. */
void sy_tree_bury(struct tree *tree);
/* Until everything that was sent is out, or the time is over. */
void sy_tree_flush(struct tree *tree, double seconds);

/* ---- listen.c ---- */

/* Listens, as sy_tree_listen has it, and fills tree->listens. */
int sy_tree_listen_open(struct tree *tree, bool one_host, const char *name, uint16_t port,
                        struct sy_error *err);
void sy_tree_listen_close(struct tree *tree);
/* "10.1.2.3:5000, [fd00::1]:5000": where this PE listens, as far as there is room. */
const char *sy_tree_listens_text(struct tree *tree, char text[TREE_PLACES]);

/* ---- orphan.c ---- */

/* From here on the job ends where the launcher's process on this host does. */
void sy_tree_watch_launcher(struct tree *tree);
void sy_tree_forget_launcher(struct tree *tree);

/* ---- dial.c ---- */

/* A connection to a PE of this job that has passed the handshake; or -EACCES: what answers does not
 * belong to this job, or says that it is another release; -ECONNREFUSED: all addresses refuse;
 * -ETIMEDOUT: some say nothing; then err has the cause. patience: seconds for one address. */
int sy_tree_dial(struct tree *tree, const struct tree_addresses *to, double patience,
                 double deadline, struct sy_error *err);

/* ---- what link.c calls, by this table: it knows none of those above it ---- */

/* Takes a frame of one type. Negative: the other end breaks the rules. */
typedef int tree_taker(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                       const char *body);

struct tree_upper {
    tree_taker *take[SY_CONTROL_TYPES];
    void (*gone)(struct tree_link *link, const char *why);
    bool (*accept)(struct tree *tree, const void *listener); /* false: it is no listener */
    void (*late)(struct tree *tree);                         /* the report's timer */
    void (*orphaned)(struct tree *tree);                     /* the launcher has ended */
};
extern const struct tree_upper sy_tree_upper;        /* join.c */
extern const struct sy_report_owner sy_tree_reports; /* stall.c */

bool sy_tree_accept(struct tree *tree, const void *listener); /* listen.c */
tree_taker sy_tree_on_up, sy_tree_on_down;                    /* allgather.c */
tree_taker sy_tree_on_mark, sy_tree_on_abort;                 /* life.c */
void sy_tree_on_gone(struct tree_link *link, const char *why);
void sy_tree_on_orphaned(struct tree *tree);
tree_taker sy_tree_on_blocked, sy_tree_on_note, sy_tree_on_ask; /* stall.c */
void sy_tree_on_late(struct tree *tree);

/* Where a PE is or should be, or NULL. */
const char *sy_tree_host_of(void *tree, int pe);

/* The job ends. */
void sy_tree_end(struct tree *tree, int status, bool failed);

#endif
