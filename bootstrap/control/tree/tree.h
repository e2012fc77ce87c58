/* The control tree: TCP connections between the PEs of a job, for bootstraps whose launcher does no
 * more than start processes. A bootstrap brings one small value to every PE, where PE 0 listens and
 * a secret; the PEs meet at PE 0, which places each as a child of itself or of a PE that came
 * before. From then on the tree carries the allgathers of start-up, the wish to end the job, and
 * the news of a lost PE.
 *
 * Every connection begins with a handshake in which both ends prove that they know the secret; what
 * cannot do that is dropped. Once all PEs have come, nobody listens any more.
 *
 * An instance of a bootstrap has a tree of its own. Functions return 0 or -errno and fill err. */
#ifndef TREE_TREE_H
#define TREE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include <switchyard/bootstrap.h>

#include "util/net/interfaces.h"

enum {
    TREE_SECRET = 32,
    TREE_ADDRESSES = 16,
    TREE_CONTACT_TEXT = 481 /* room for a contact as text, the NUL included: what PMI-1 can carry */
};

/* Where a PE listens, likely addresses first; on all of them at one port. */
struct tree_addresses {
    int count;
    uint16_t port;
    uint64_t host; /* equal on processes that share the loopback interface; 0: not known */
    struct sy_ip entry[TREE_ADDRESSES];
};

/* The one value that a bootstrap carries from PE 0 to all. The secret is the job's. */
struct tree_contact {
    unsigned char secret[TREE_SECRET];
    struct tree_addresses root;
};

/* As text: letters, digits, - and _, with a checksum. */
void sy_tree_contact_encode(const struct tree_contact *contact, char text[TREE_CONTACT_TEXT]);
int sy_tree_contact_decode(const char *text, struct tree_contact *contact); /* -EINVAL: damaged */

struct tree_user;

/* Which PE this is, and how it finds PE 0. */
struct tree_rank {
    int pe, npes;
    bool one_host;   /* all PEs are known to be on this host */
    const char *job; /* mixed into the keys; "" where the secret is this job's only */

    /* Where PE 0 is; not used on PE 0. Called before each attempt, since names may become known
     * late. NULL: the contact has it. */
    int (*find_root)(struct tree_user *user, struct tree_addresses *root, struct sy_error *err);
    const char *root_name; /* what the user calls that place, for messages */
    bool root_listens;     /* PE 0 is known to listen already: a refusal is final */

    /* The host on which a PE that has not come should be, or NULL; may itself be NULL. */
    const char *(*host_of)(struct tree_user *user, int pe);
};

/* Where PEs meet that have nothing in common but a file with a secret. */
struct tree_place {
    char host[256];
    uint16_t port;
    char name[400]; /* for messages */
};

/* What an instance of a bootstrap that uses the tree begins with. */
struct tree_user {
    const struct sy_host *host;
    struct tree *tree;
    struct tree_place place;     /* for sy_tree_meet */
    struct tree_rank rank;       /* filled in before sy_tree_join, */
    struct tree_contact contact; /* and its secret */
};

/* Makes an instance of `size` bytes, all zero but for its struct tree_user. 0 or -errno. */
int sy_tree_open(const struct sy_host *host, size_t size, void **self, struct sy_error *err);

/* On PE 0, before sy_tree_join: listens, and fills user->contact, with a new secret.
 * one_host: all PEs are known to be on this host, so nobody else needs to reach the sockets.
 * name, port: where the others know already, the name by which they look for this host, and a port;
 * else NULL, and 0 for any in the user's range. */
int sy_tree_listen(struct tree_user *user, bool one_host, const char *name, uint16_t port,
                   struct sy_error *err);

/* Joins: returns when all PEs have come, within the time limit of start-up. Fills *job, and wipes
 * the secret, which is of no use any more. -ECANCELED: another PE ends the job, and has said
 * why. */
int sy_tree_join(struct tree_user *user, struct sy_job *job, struct sy_error *err);

bool sy_tree_complete(const struct tree_user *user); /* all PEs have come */

/* Before sy_tree_leave: this PE has finalised, as all have then, or the job ends with status 0. */
bool sy_tree_ends_well(const struct tree_user *user);

/* Members of struct sy_bootstrap; self is what sy_tree_open has made. */
int sy_tree_allgather(void *self, const char *phase, const void *mine, void *all, size_t length,
                      double seconds, struct sy_error *err);
void sy_tree_mark(void *self, enum sy_mark mark);
void sy_tree_abort(void *self, int status, const char *why);
int sy_tree_wait_fd(void *self);
int sy_tree_event(void *self, int *status);
void sy_tree_leave(void *self);
void sy_tree_close(void *self);
void sy_tree_note(void *self, const char *text, double seconds, int asked);
void sy_tree_blocked(void *self, uint64_t wait, unsigned flags);
void sy_tree_failing(void *self, int status);

/* The members that are the same in every plugin. */
#define SY_TREE_MEMBERS                                                                            \
    .allgather = sy_tree_allgather, .mark = sy_tree_mark, .wait_fd = sy_tree_wait_fd,              \
    .event = sy_tree_event, .note = sy_tree_note, .blocked = sy_tree_blocked,                      \
    .failing = sy_tree_failing, .close = sy_tree_close

/* Takes the place that SHMEM_ROOT names, whose port may be that of user->place: 1; 0: it is not
 * set; or -errno. */
int sy_tree_place_given(struct tree_user *user, struct sy_error *err);

/* Before sy_tree_join, in place of sy_tree_listen: PE 0 listens at user->place, where the others
 * will look for it, and all read the secret of SHMEM_SECRET_FILE. */
int sy_tree_meet(struct tree_user *user, struct sy_error *err);

/* Where the user has such a file, the secret that a launcher has brought is mixed with it: who
 * listens in on the launcher knows only one of the two. */
int sy_tree_secret_mix(struct tree_user *user, struct sy_error *err);

#endif
