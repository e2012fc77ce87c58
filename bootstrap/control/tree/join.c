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

struct tree sy_tree = {.lock = PTHREAD_MUTEX_INITIALIZER, .epoll = -1, .stall.timer = -1};

static const double FIRST_WORD = 2, NEXT_WORD = 10; /* seconds after which a wait is explained */
static const double AFTERWARDS = 2; /* PEs that do not reach PE 0 know why, and come first */
static const double PATIENCE = 3;   /* seconds for an address at first; doubles with each attempt */

bool sy_tree_complete(void)
{
    return sy_tree.complete;
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
    sy_tree_link_become(link, TREE_LINK_PARTING);
    join_say(link, SY_CONTROL_REFUSE, sy_tree.pe, why, strlen(why));
}

static void join_adopt(struct tree_link *link, int pe, const char *host)
{
    link->pe = pe;
    memcpy(link->host, host, sizeof link->host);
    sy_tree_link_become(link, TREE_LINK_CHILD);
    sy_tree_link_guard(link->fd);
    join_say(link, SY_CONTROL_ACCEPT, sy_tree.pe, sy_tree.host_name, sizeof sy_tree.host_name);
}

/* Which of those who came before takes the next one. */
static int parent_for_next(void)
{
    return sy_tree.joins <= TREE_RADIX ? 0 : sy_tree.joined[(sy_tree.joins - 1) / TREE_RADIX];
}

static void join_place(struct tree_link *link, int pe, const struct tree_join_body *body)
{
    struct tree_member *member = &sy_tree.member[pe];
    int parent = body->again ? 0 : parent_for_next();

    if (!member->joined) {
        member->joined = true;
        member->listens = body->listens;
        memcpy(member->host, body->host, sizeof member->host);
        sy_tree.joined[sy_tree.joins++] = pe;
    }
    if (parent == 0) {
        join_adopt(link, pe, body->host);
        return;
    }
    sy_tree_link_become(link, TREE_LINK_PARTING);
    join_say(link, SY_CONTROL_REDIRECT, parent, &sy_tree.member[parent].listens,
             sizeof sy_tree.member[parent].listens);
}

/* The first message of a connection. */
static int join_on_join(struct tree_link *link, const struct sy_frame *header, const char *bytes)
{
    struct tree_join_body body;
    char why[256];
    int pe = header->pe;

    memcpy(&body, bytes, sizeof body);
    body.host[sizeof body.host - 1] = '\0';
    if (body.npes != sy_tree.npes || pe < 1 || pe >= sy_tree.npes) {
        snprintf(why, sizeof why, "it says that it is PE %d of %d, in a job of %d PEs", pe,
                 body.npes, sy_tree.npes);
        join_refuse(link, why);
    } else if (header->type == SY_CONTROL_ATTACH) {
        join_adopt(link, pe, body.host);
    } else if (sy_tree.pe != 0) {
        join_refuse(link, "this is not PE 0");
    } else if (sy_tree.member[pe].here || (sy_tree.member[pe].joined && !body.again)) {
        snprintf(why, sizeof why,
                 "two processes say that they are PE %d, on host %.60s and on host %.60s", pe,
                 sy_tree.member[pe].host, body.host);
        join_refuse(link, why);
    } else {
        join_place(link, pe, &body);
    }
    return 0;
}

static int join_on_here(struct tree_link *link, const struct sy_frame *header, const char *host)
{
    (void)link;
    if (sy_tree.pe != 0) {
        sy_tree_send_up(header, host);
        return 0;
    }
    if (header->pe < 1 || header->pe >= sy_tree.npes || sy_tree.member[header->pe].here)
        return 0;
    sy_tree.member[header->pe].here = true;
    sy_tree.here++;
    return 0;
}

/* ---- all have come ---- */

/* What is no neighbour has no business here any more. */
static void join_settle(void)
{
    sy_tree.complete = true;
    sy_tree_listen_close();
    for (struct tree_link *link = sy_tree.links; link; link = link->next)
        if (link->state != TREE_LINK_CHILD && link->state != TREE_LINK_PARENT)
            sy_tree_link_close(link);
    free(sy_tree.joined);
    sy_tree.joined = NULL;
    explicit_bzero(sy_tree.key, sizeof sy_tree.key);
}

static bool join_first_on_host(const struct tree_link *child)
{
    for (const struct tree_link *link = child->next; link; link = link->next)
        if (link->state == TREE_LINK_CHILD && !strcmp(link->host, child->host))
            return false;
    return true;
}

static void join_tell_children(void)
{
    struct tree_all_body body = {.speaks = 0};

    memcpy(body.seed, sy_tree.seed, sizeof body.seed);
    for (struct tree_link *link = sy_tree.links; link; link = link->next) {
        if (link->state != TREE_LINK_CHILD)
            continue;
        body.speaks = join_first_on_host(link);
        join_say(link, SY_CONTROL_ALL, sy_tree.pe, &body, sizeof body);
    }
    explicit_bzero(&body, sizeof body);
}

static int join_on_all(struct tree_link *link, const struct sy_frame *header, const char *bytes)
{
    struct tree_all_body body;

    (void)link, (void)header;
    memcpy(&body, bytes, sizeof body);
    memcpy(sy_tree.seed, body.seed, sizeof sy_tree.seed);
    sy_tree.speaks = body.speaks;
    join_tell_children();
    join_settle();
    explicit_bzero(&body, sizeof body);
    return 0;
}

/* ---- PE 0 waits ---- */

static void join_name_missing(char *text, size_t room)
{
    bool *here = calloc((size_t)sy_tree.npes, sizeof *here);

    *text = '\0';
    for (int pe = 0; here && pe < sy_tree.npes; pe++)
        here[pe] = !pe || sy_tree.member[pe].here;
    if (here)
        sy_list_missing(here, sy_tree.npes, sy_tree_host_of, text, room);
    free(here);
}

static int join_await_all(double begin, double limit, struct sy_error *err)
{
    double word = FIRST_WORD;
    char missing[512], where[TREE_PLACES];

    while (sy_tree.here < sy_tree.npes - 1 && !sy_tree.ended) {
        double waited = sy_clock() - begin;
        if (waited > limit + AFTERWARDS)
            break;
        if (waited > word) {
            join_name_missing(missing, sizeof missing);
            sy_tree.host->log(SY_LOG_WARN, "boot",
                              "start-up: waiting for %s of %d to call shmem_init", missing,
                              sy_tree.npes);
            word = waited + NEXT_WORD;
        }
        sy_tree_pump(0.5);
    }
    if (sy_tree.ended)
        return -ECANCELED;
    if (sy_tree.here == sy_tree.npes - 1)
        return 0;
    join_name_missing(missing, sizeof missing);
    return sy_tree.host->fail(
        err, ETIMEDOUT,
        "waited %.0f s for %s of %d, which did not come to shmem_init, as all PEs must, or cannot "
        "reach this one at %s (SHMEM_INIT_TIMEOUT)",
        limit, missing, sy_tree.npes, sy_tree_listens_text(where));
}

static int join_lead(double begin, double limit, struct sy_error *err)
{
    int rc = sy_auth_random(sy_tree.seed, sizeof sy_tree.seed);
    if (rc)
        return sy_tree.host->fail(err, -rc, "no random numbers: %s", strerror(-rc));
    rc = join_await_all(begin, limit, err);
    if (rc)
        return rc;
    join_tell_children();
    join_settle();
    return 0;
}

/* ---- the others look for a place ---- */

/* Whom join_ask() found. */
struct parent {
    int fd, pe;
    char host[TREE_HOST_NAME];
};

/* Asks what answers there for a place. 0: it is the parent; 1: *to is where to ask; else -errno. */
static int join_ask(struct parent *parent, enum sy_control_type type, bool again, double deadline,
                    struct tree_addresses *to, struct sy_error *err)
{
    struct tree_join_body body = {.npes = sy_tree.npes, .again = again, .listens = sy_tree.listens};
    struct sy_frame header = {.type = type, .length = sizeof body, .pe = sy_tree.pe};
    char text[256] = "";
    int fd = parent->fd;

    memcpy(body.host, sy_tree.host_name, sizeof body.host);
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
        return sy_tree.host->fail(err, EPERM, "PE 0 refuses this process: %s", text);
    }
    rc = rc ? rc : -EPROTO;
    return sy_tree.host->fail(err, -rc, "PE 0's answer: %s", strerror(-rc));
}

/* Becomes a child of what answers at `to`; as join_ask(). *again: PE 0 may have given this PE a
 * place.
 */
static int join_call_on(const struct tree_addresses *to, enum sy_control_type type, bool *again,
                        double patience, double deadline, struct parent *parent,
                        struct tree_addresses *next, struct sy_error *err)
{
    parent->fd = sy_tree_dial(to, patience, deadline, err);
    if (parent->fd < 0)
        return parent->fd;
    int rc = join_ask(parent, type, *again, deadline, next, err);
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

static int join_attempt(struct search *search, struct parent *parent, struct sy_error *err)
{
    struct tree_addresses root, other;
    struct sy_error why = {""};
    /* The last attempt may run a little longer, so that there is a cause to tell. */
    double deadline = search->begin + search->limit + 1;
    int rc = sy_tree.rank->find_root(&root, err);

    if (rc == 0)
        rc = join_call_on(&root, SY_CONTROL_JOIN, &search->again, search->patience, deadline,
                          parent, &other, err);
    if (rc != 1)
        return rc;
    double limit = sy_clock() + sy_tree_patience();
    rc = join_call_on(&other, SY_CONTROL_ATTACH, &search->again, search->patience,
                      limit < deadline ? limit : deadline, parent, &root, &why);
    rc = rc > 0 ? -EPROTO : rc;
    if (rc)
        sy_tree.host->fail(err, -rc, "it answers, but not the PE that it names: %s", why.text);
    return rc;
}

static int join_search_failed(struct search *search, double waited, struct sy_error *err)
{
    return sy_tree.host->fail(
        err, ETIMEDOUT, "PE 0 cannot be reached at %s, tried for %.0f s%s: %s",
        sy_tree.rank->root_name, waited, waited > search->limit ? " (SHMEM_INIT_TIMEOUT)" : "",
        search->cause.text);
}

/* One attempt, and what is known after it. */
static int join_search_once(struct search *search, struct parent *parent)
{
    struct sy_error why = {""};
    int rc = join_attempt(search, parent, &why);

    if (!search->stranger || rc != -ECONNREFUSED)
        search->cause = why;
    search->stranger = search->stranger || rc == -EACCES;
    search->patience *= 2;
    if (search->patience > sy_tree_patience())
        search->patience = sy_tree_patience();
    return rc;
}

static int join_find_place(double begin, double limit, struct parent *parent, struct sy_error *err)
{
    struct search search = {.begin = begin, .limit = limit, .patience = PATIENCE};
    double pause = 0.02, word = FIRST_WORD;

    for (;;) {
        int rc = join_search_once(&search, parent);
        double waited = sy_clock() - begin;
        if (rc == 0 || rc == -EPERM || rc == -EPROTONOSUPPORT)
            return rc ? sy_tree.host->fail(err, -rc, "%s", search.cause.text) : 0;
        bool gone = sy_tree.rank->root_listens && rc == -ECONNREFUSED &&
                    waited > sy_tree_patience();
        if (waited > limit || gone)
            return join_search_failed(&search, waited, err);
        if (waited > word) {
            sy_tree.host->log(SY_LOG_WARN, "boot", "start-up: PE 0 is not reached at %s yet: %s",
                              sy_tree.rank->root_name, search.cause.text);
            word = waited + NEXT_WORD;
        }
        poll(NULL, 0, (int)(pause * 1000));
        pause = pause > 0.5 ? 1 : pause * 2;
    }
}

static int join_follow(double begin, double limit, struct sy_error *err)
{
    struct parent parent;
    int rc = join_find_place(begin, limit, &parent, err);

    if (rc)
        return rc;
    sy_tree.parent = sy_tree_link_new(parent.fd, TREE_LINK_PARENT);
    if (!sy_tree.parent) {
        close(parent.fd);
        return sy_tree.host->fail(err, ENOMEM, "no memory for a connection");
    }
    sy_tree.parent->pe = parent.pe;
    memcpy(sy_tree.parent->host, parent.host, sizeof parent.host - 1);
    sy_tree_link_guard(parent.fd);
    join_say(sy_tree.parent, SY_CONTROL_HERE, sy_tree.pe, sy_tree.host_name,
             sizeof sy_tree.host_name);
    /* PE 0 knows best who is missing: its limit comes first. */
    while (!sy_tree.complete && !sy_tree.ended && sy_clock() - begin < limit + 5)
        sy_tree_pump(0.5);
    if (sy_tree.ended)
        return -ECANCELED;
    return sy_tree.complete ? 0
                            : sy_tree.host->fail(err, ETIMEDOUT,
                                                 "no word from PE 0 for %.0f s: is it "
                                                 "stopped?",
                                                 limit);
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
             [SY_CONTROL_REST] = sy_tree_on_rest,
             [SY_CONTROL_NOTE] = sy_tree_on_note},
    .gone = sy_tree_on_gone,
    .accept = sy_tree_accept,
    .late = sy_tree_on_late,
};

static void join_in_child(void)
{
    /* A process that this one starts is no PE. Were its copies of the sockets left open, nobody
     * would notice this PE's death while it lives. */
    for (struct tree_link *link = sy_tree.links; link; link = link->next)
        if (link->state != TREE_LINK_DEAD)
            close(link->fd);
    sy_tree_listen_close();
    if (sy_tree.epoll >= 0)
        close(sy_tree.epoll);
    if (sy_tree.stall.timer >= 0)
        close(sy_tree.stall.timer);
    sy_tree.epoll = sy_tree.stall.timer = -1;
    sy_tree.links = sy_tree.parent = NULL;
    explicit_bzero(sy_tree.key, sizeof sy_tree.key);
    explicit_bzero(sy_tree.seed, sizeof sy_tree.seed);
    sy_tree.ended = true;
    pthread_mutex_init(&sy_tree.lock, NULL);
}

static int join_start(const struct tree_rank *rank, struct sy_error *err)
{
    sy_tree.rank = rank;
    sy_tree.pe = rank->pe;
    sy_tree.npes = rank->npes;
    int rc = sy_tree_derive(rank->secret, "control tree", rank->job, strlen(rank->job),
                            sy_tree.key);
    if (rc)
        return sy_tree.host->fail(err, -rc, "HMAC-SHA256 by libcrypto: %s", strerror(-rc));
    pthread_atfork(NULL, NULL, join_in_child);
    if (rank->pe == 0) {
        sy_tree.member = calloc((size_t)rank->npes, sizeof *sy_tree.member);
        sy_tree.joined = calloc((size_t)rank->npes, sizeof *sy_tree.joined);
        sy_tree.joins = 1;
        if (!sy_tree.member || !sy_tree.joined)
            return sy_tree.host->fail(err, ENOMEM, "no memory for %d PEs", rank->npes);
        memcpy(sy_tree.member[0].host, sy_tree.host_name, sizeof sy_tree.host_name);
        sy_tree.gather.parts.host_of = sy_tree_host_of;
        if (sy_gather_init(&sy_tree.gather.parts, rank->npes) ||
            sy_report_init(&sy_tree.stall.report, rank->npes, &sy_tree_reports, NULL))
            return sy_tree.host->fail(err, ENOMEM, "no memory for %d PEs", rank->npes);
        return 0;
    }
    /* In a small job PE 0 takes all. */
    return rank->npes > TREE_RADIX + 1 ? sy_tree_listen_open(rank->one_host, NULL, 0, err) : 0;
}

int sy_tree_join(const struct sy_host *host, struct tree_rank *rank, struct sy_job *job,
                 struct sy_error *err)
{
    double begin = sy_clock(), limit;
    int rc = rank->pe ? sy_tree_prepare(host, err) : 0;

    limit = sy_tree_limit();
    if (rc == 0)
        rc = join_start(rank, err);
    if (rc == 0)
        rc = (rank->pe ? join_follow : join_lead)(begin, limit, err);
    if (rc)
        return rc;
    memset(job, 0, sizeof *job);
    job->pe = rank->pe;
    job->npes = rank->npes;
    rc = sy_tree_derive(rank->secret, "job key", sy_tree.seed, sizeof sy_tree.seed, job->key);
    explicit_bzero(rank->secret, sizeof rank->secret);
    if (rc)
        return host->fail(err, -rc, "HMAC-SHA256 by libcrypto: %s", strerror(-rc));
    for (size_t i = 0; i < 6; i++)
        snprintf(job->id + 2 * i, 3, "%02x", sy_tree.seed[i]);
    explicit_bzero(sy_tree.seed, sizeof sy_tree.seed);
    return 0;
}
