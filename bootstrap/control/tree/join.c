/* How PEs come together. Everybody first calls on PE 0, which takes the first ones as its children
 * and names to each later one the PE that takes it: the k-th to come is a child of the (k-1)/32-th,
 * so that nobody has to know the others' addresses, or hold many connections. When all have a
 * place, PE 0 says so down the tree, with the seed of the job's key, and nobody listens any more.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"
#include "util/auth.h"
#include "util/clock.h"
#include "util/list.h"

static const double FIRST_WORD = 2, NEXT_WORD = 10; /* seconds after which a wait is explained */
static const double AFTERWARDS = 2; /* PEs that do not reach PE 0 know why, and come first */
static const double PATIENCE = 3;   /* seconds for an address at first; doubles with each attempt */

bool sy_tree_complete(const struct tree_user *user)
{
    return user->tree->complete;
}

/* ---- PE 0 and parents: those who come ---- */

static void join_say(struct tree_link *link, enum sy_control_type type, int pe, const void *body,
                     size_t length)
{
    sy_tree_link_send(link, &(struct sy_frame){.type = type, .length = (uint32_t)length, .pe = pe},
                      body);
}

static void join_refuse(struct tree_link *link, const char *why)
{
    struct tree *tree = link->tree;
    sy_tree_link_become(link, TREE_LINK_PARTING);
    join_say(link, SY_CONTROL_REFUSE, tree->pe, why, strlen(why));
}

static void join_adopt(struct tree_link *link, int pe, const char *host)
{
    struct tree *tree = link->tree;
    link->pe = pe;
    memcpy(link->host, host, sizeof link->host);
    sy_tree_link_become(link, TREE_LINK_CHILD);
    sy_tree_link_guard(tree, link->fd);
    join_say(link, SY_CONTROL_ACCEPT, tree->pe, tree->host_name, sizeof tree->host_name);
}

static void join_place(struct tree_link *link, int pe, const struct tree_join_body *body)
{
    struct tree *tree = link->tree;
    struct tree_member *member = &tree->member[pe];
    int parent = body->again || tree->joins <= TREE_RADIX
                     ? 0
                     : tree->joined[(tree->joins - 1) / TREE_RADIX];

    if (!member->joined) {
        member->joined = true;
        member->listens = body->listens;
        memcpy(member->host, body->host, sizeof member->host);
        tree->joined[tree->joins++] = pe;
    }
    if (parent == 0) {
        join_adopt(link, pe, body->host);
        return;
    }
    sy_tree_link_become(link, TREE_LINK_PARTING);
    join_say(link, SY_CONTROL_REDIRECT, parent, &tree->member[parent].listens,
             sizeof tree->member[parent].listens);
}

/* The first message of a connection. */
static int join_on_join(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                        const char *bytes)
{
    struct tree_join_body body;
    char why[256];
    int pe = header->pe;

    memcpy(&body, bytes, sizeof body);
    body.host[sizeof body.host - 1] = '\0';
    if (body.npes != tree->npes || pe < 1 || pe >= tree->npes) {
        snprintf(why, sizeof why, "it says that it is PE %d of %d, in a job of %d PEs", pe,
                 body.npes, tree->npes);
        join_refuse(link, why);
    } else if (header->type == SY_CONTROL_ATTACH) {
        join_adopt(link, pe, body.host);
    } else if (tree->pe != 0) {
        join_refuse(link, "this is not PE 0");
    } else if (tree->member[pe].here || (tree->member[pe].joined && !body.again)) {
        snprintf(why, sizeof why,
                 "two processes say that they are PE %d, on host %.60s and on host %.60s", pe,
                 tree->member[pe].host, body.host);
        join_refuse(link, why);
    } else {
        join_place(link, pe, &body);
    }
    return 0;
}

static int join_on_here(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                        const char *host)
{
    (void)link;
    if (tree->pe != 0) {
        sy_tree_send_up(tree, header, host);
        return 0;
    }
    if (header->pe < 1 || header->pe >= tree->npes || tree->member[header->pe].here)
        return 0;
    tree->member[header->pe].here = true;
    tree->here++;
    return 0;
}

/* ---- all have come ---- */

/* Closes the connections that are not to a neighbour. */
static void join_settle(struct tree *tree)
{
    tree->complete = true;
    sy_tree_listen_close(tree);
    for (struct tree_link *link = tree->links; link; link = link->next)
        if (link->state != TREE_LINK_CHILD && link->state != TREE_LINK_PARENT)
            sy_tree_link_close(link);
    free(tree->joined);
    tree->joined = NULL;
    explicit_bzero(tree->key, sizeof tree->key);
}

static bool join_first_on_host(const struct tree_link *child)
{
    for (const struct tree_link *link = child->next; link; link = link->next)
        if (link->state == TREE_LINK_CHILD && !strcmp(link->host, child->host))
            return false;
    return true;
}

static void join_tell_children(struct tree *tree)
{
    struct tree_all_body body = {.speaks = 0};

    memcpy(body.seed, tree->seed, sizeof body.seed);
    for (struct tree_link *link = tree->links; link; link = link->next) {
        if (link->state != TREE_LINK_CHILD)
            continue;
        body.speaks = join_first_on_host(link);
        join_say(link, SY_CONTROL_ALL, tree->pe, &body, sizeof body);
    }
    explicit_bzero(&body, sizeof body);
}

static int join_on_all(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                       const char *bytes)
{
    struct tree_all_body body;

    (void)link, (void)header;
    memcpy(&body, bytes, sizeof body);
    memcpy(tree->seed, body.seed, sizeof tree->seed);
    tree->speaks = body.speaks;
    join_tell_children(tree);
    join_settle(tree);
    explicit_bzero(&body, sizeof body);
    return 0;
}

/* ---- PE 0 waits ---- */

static void join_name_missing(struct tree *tree, char *text, size_t room)
{
    bool *here = calloc((size_t)tree->npes, sizeof *here);

    *text = '\0';
    for (int pe = 0; here && pe < tree->npes; pe++)
        here[pe] = !pe || tree->member[pe].here;
    if (here)
        sy_list_missing(here, tree->npes, sy_tree_host_of, tree, text, room);
    free(here);
}

static int join_await_all(struct tree *tree, double begin, double limit, struct sy_error *err)
{
    double word = FIRST_WORD;
    char missing[512], where[TREE_PLACES];

    while (tree->here < tree->npes - 1 && !tree->ended) {
        double waited = sy_clock() - begin;
        if (waited > limit + AFTERWARDS)
            break;
        if (waited > word) {
            join_name_missing(tree, missing, sizeof missing);
            tree->host->log(SY_LOG_WARN, "boot",
                            "start-up: waiting for %s of %d to call shmem_init", missing,
                            tree->npes);
            word = waited + NEXT_WORD;
        }
        sy_tree_pump(tree, 0.5);
    }
    if (tree->ended)
        return -ECANCELED;
    if (tree->here == tree->npes - 1)
        return 0;
    join_name_missing(tree, missing, sizeof missing);
    return tree->host->fail(
        err, ETIMEDOUT,
        "waited %.0f s for %s of %d, which did not come to shmem_init, as all PEs must, or cannot "
        "reach this one at %s (SHMEM_INIT_TIMEOUT)",
        limit, missing, tree->npes, sy_tree_listens_text(tree, where));
}

static int join_lead(struct tree *tree, double begin, double limit, struct sy_error *err)
{
    int rc = sy_auth_random(tree->seed, sizeof tree->seed);
    if (rc)
        return tree->host->fail(err, -rc, "no random numbers: %s", strerror(-rc));
    rc = join_await_all(tree, begin, limit, err);
    if (rc)
        return rc;
    join_tell_children(tree);
    join_settle(tree);
    return 0;
}

/* ---- the others look for a place ---- */

/* Whom join_ask() found. */
struct parent {
    int fd, pe;
    char host[TREE_HOST_NAME];
};

/* Asks whatever answers on a connection for a place in the tree. 0: it is the parent; 1: *to is
 * where to ask; else -errno. */
static int join_ask(struct tree *tree, struct parent *parent, enum sy_control_type type, bool again,
                    double deadline, struct tree_addresses *to, struct sy_error *err)
{
    struct tree_join_body body = {.npes = tree->npes, .again = again, .listens = tree->listens};
    struct sy_frame header = {.type = type, .length = sizeof body, .pe = tree->pe};
    char text[256] = "";
    int fd = parent->fd;

    memcpy(body.host, tree->host_name, sizeof body.host);
    int rc = sy_frame_send(fd, &header, &body, sizeof body, NULL, &deadline);
    if (rc == 0)
        rc = sy_net_receive(fd, &header, sizeof header, &deadline);
    if (rc == 0 && header.type == SY_CONTROL_ACCEPT && header.length == sizeof parent->host) {
        parent->pe = header.pe;
        return sy_net_receive(fd, parent->host, sizeof parent->host, &deadline);
    }
    if (rc == 0 && header.type == SY_CONTROL_REDIRECT && header.length == sizeof *to) {
        rc = sy_net_receive(fd, to, sizeof *to, &deadline);
        return rc ? rc : 1;
    }
    if (rc == 0 && header.type == SY_CONTROL_REFUSE && header.length < sizeof text) {
        sy_net_receive(fd, text, header.length, &deadline);
        return tree->host->fail(err, EPERM, "PE 0 refuses this process: %s", text);
    }
    rc = rc ? rc : -EPROTO;
    return tree->host->fail(err, -rc, "the answer: %s", strerror(-rc));
}

/* Connects to `to` and asks there for a place; returns as join_ask(). *again: PE 0 may have given
 * this PE a place. */
static int join_call_on(struct tree *tree, const struct tree_addresses *to,
                        enum sy_control_type type, bool *again, double patience, double deadline,
                        struct parent *parent, struct tree_addresses *next, struct sy_error *err)
{
    parent->fd = sy_tree_dial(tree, to, patience, deadline, err);
    if (parent->fd < 0)
        return parent->fd;
    int rc = join_ask(tree, parent, type, *again, deadline, next, err);
    *again = true;
    if (rc)
        close(parent->fd);
    return rc;
}

/* The search for a place. */
struct search {
    double begin, limit, patience;
    bool again;    /* PE 0 may have given this PE a place */
    bool stranger; /* something has answered that does not belong to this job */
    struct sy_error cause;
};

static int join_attempt(struct tree *tree, struct search *search, struct parent *parent,
                        struct sy_error *err)
{
    struct tree_user *user = tree->user;
    struct tree_addresses root = user->contact.root, other;
    struct sy_error why = {""};
    /* The last attempt may run a little longer than the limit, so that it ends with a cause. */
    double deadline = search->begin + search->limit + 1;
    int rc = user->rank.find_root ? user->rank.find_root(user, &root, err) : 0;

    if (rc == 0)
        rc = join_call_on(tree, &root, SY_CONTROL_JOIN, &search->again, search->patience, deadline,
                          parent, &other, err);
    if (rc != 1)
        return rc;
    double limit = sy_clock() + sy_tree_patience(tree);
    rc = join_call_on(tree, &other, SY_CONTROL_ATTACH, &search->again, search->patience,
                      limit < deadline ? limit : deadline, parent, &root, &why);
    rc = rc > 0 ? -EPROTO : rc;
    if (rc)
        tree->host->fail(err, -rc, "it answers, but not the PE that it names: %s", why.text);
    return rc;
}

static int join_search_failed(struct tree *tree, struct search *search, double waited,
                              struct sy_error *err)
{
    return tree->host->fail(err, ETIMEDOUT, "PE 0 cannot be reached at %s, tried for %.0f s%s: %s",
                            tree->user->rank.root_name, waited,
                            waited > search->limit ? " (SHMEM_INIT_TIMEOUT)" : "",
                            search->cause.text);
}

/* Makes one attempt and notes what is known after it. */
static int join_search_once(struct tree *tree, struct search *search, struct parent *parent)
{
    struct sy_error why = {""};
    int rc = join_attempt(tree, search, parent, &why);

    if (!search->stranger || (rc != -ECONNREFUSED && rc != -ETIMEDOUT))
        search->cause = why;
    search->stranger = search->stranger || rc == -EACCES;
    search->patience *= 2;
    if (search->patience > sy_tree_patience(tree))
        search->patience = sy_tree_patience(tree);
    return rc;
}

static int join_find_place(struct tree *tree, double begin, double limit, struct parent *parent,
                           struct sy_error *err)
{
    struct search search = {.begin = begin, .limit = limit, .patience = PATIENCE};
    double pause = 0.02, word = FIRST_WORD;

    for (;;) {
        int rc = join_search_once(tree, &search, parent);
        double waited = sy_clock() - begin;
        if (rc == 0 || rc == -EPERM)
            return rc ? tree->host->fail(err, -rc, "%s", search.cause.text) : 0;
        bool gone = tree->user->rank.root_listens && rc == -ECONNREFUSED &&
                    waited > sy_tree_patience(tree);
        if (waited > limit || gone)
            return join_search_failed(tree, &search, waited, err);
        if (waited > word) {
            tree->host->log(SY_LOG_WARN, "boot", "start-up: PE 0 is not reached at %s yet: %s",
                            tree->user->rank.root_name, search.cause.text);
            word = waited + NEXT_WORD;
        }
        poll(NULL, 0, (int)(pause * 1000));
        pause = pause > 0.5 ? 1 : pause * 2;
    }
}

static int join_follow(struct tree *tree, double begin, double limit, struct sy_error *err)
{
    struct parent parent;
    int rc = join_find_place(tree, begin, limit, &parent, err);

    if (rc)
        return rc;
    tree->parent = sy_tree_link_new(tree, parent.fd, TREE_LINK_PARENT);
    if (!tree->parent) {
        close(parent.fd);
        return tree->host->fail(err, ENOMEM, "no memory for a connection");
    }
    tree->parent->pe = parent.pe;
    memcpy(tree->parent->host, parent.host, sizeof parent.host - 1);
    sy_tree_link_guard(tree, parent.fd);
    join_say(tree->parent, SY_CONTROL_HERE, tree->pe, tree->host_name, sizeof tree->host_name);
    /* PE 0 knows best who is missing: its limit comes first. */
    while (!tree->complete && !tree->ended && sy_clock() - begin < limit + 5)
        sy_tree_pump(tree, 0.5);
    if (tree->ended)
        return -ECANCELED;
    return tree->complete ? 0
                          : tree->host->fail(err, ETIMEDOUT,
                                             "no word from PE 0 for %.0f s: is it stopped?", limit);
}

/* ---- joining ---- */

const struct tree_upper sy_tree_upper = {
    .take = {[SY_CONTROL_JOIN] = join_on_join,
             [SY_CONTROL_ATTACH] = join_on_join,
             [SY_CONTROL_HERE] = join_on_here,
             [SY_CONTROL_ALL] = join_on_all,
             [SY_CONTROL_GATHER] = sy_tree_on_up,
             [SY_CONTROL_GATHERED] = sy_tree_on_down,
             [SY_CONTROL_MARK] = sy_tree_on_mark,
             [SY_CONTROL_ABORT] = sy_tree_on_abort,
             [SY_CONTROL_ASK] = sy_tree_on_ask,
             [SY_CONTROL_BLOCKED] = sy_tree_on_blocked,
             [SY_CONTROL_NOTE] = sy_tree_on_note},
    .gone = sy_tree_on_gone,
    .accept = sy_tree_accept,
    .late = sy_tree_on_late,
    .orphaned = sy_tree_on_orphaned,
};

static int join_start(struct tree *tree, const struct tree_rank *rank, struct sy_error *err)
{
    tree->pe = rank->pe;
    tree->npes = rank->npes;
    sy_tree_derive(tree->user->contact.secret, "control tree", rank->job, strlen(rank->job),
                   tree->key);
    if (rank->pe == 0) {
        tree->member = calloc((size_t)rank->npes, sizeof *tree->member);
        tree->joined = calloc((size_t)rank->npes, sizeof *tree->joined);
        tree->joins = 1;
        if (!tree->member || !tree->joined)
            return tree->host->fail(err, ENOMEM, "no memory for %d PEs", rank->npes);
        memcpy(tree->member[0].host, tree->host_name, sizeof tree->host_name);
        tree->gather.parts.host_of = sy_tree_host_of;
        tree->gather.parts.owner = tree;
        if (sy_gather_init(&tree->gather.parts, rank->npes) ||
            sy_report_init(&tree->stall.report, rank->npes, &sy_tree_reports, tree))
            return tree->host->fail(err, ENOMEM, "no memory for %d PEs", rank->npes);
        return 0;
    }
    /* In a small job PE 0 takes all. */
    return rank->npes > TREE_RADIX + 1 ? sy_tree_listen_open(tree, rank->one_host, NULL, 0, err)
                                       : 0;
}

static void join_make_job(struct tree *tree, struct sy_job *job)
{
    const struct tree_rank *rank = &tree->user->rank;
    unsigned char *secret = tree->user->contact.secret;

    sy_tree_derive(secret, "job key", tree->seed, sizeof tree->seed, job->key);
    explicit_bzero(secret, TREE_SECRET);
    job->pe = rank->pe;
    job->npes = rank->npes;
    for (size_t i = 0; i < 6; i++)
        snprintf(job->id + 2 * i, 3, "%02x", tree->seed[i]);
    explicit_bzero(tree->seed, sizeof tree->seed);
}

int sy_tree_join(struct tree_user *user, struct sy_job *job, struct sy_error *err)
{
    struct tree *tree = user->tree;
    double begin = sy_clock(), limit = sy_tree_limit(tree);
    int rc = join_start(tree, &user->rank, err);

    if (rc == 0)
        rc = (user->rank.pe ? join_follow : join_lead)(tree, begin, limit, err);
    if (rc == 0) {
        join_make_job(tree, job);
        sy_tree_watch_launcher(tree);
    }
    return rc;
}
