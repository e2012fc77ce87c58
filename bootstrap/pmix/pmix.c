/* The bootstrap for launchers that speak PMIx: mpirun of Open MPI, prterun, srun --mpi=pmix. PE 0
 * publishes its contact and every other PE asks for it, which waits until it is there: no fence,
 * one get a PE. The rest goes over the control tree. MPI may use PMIx in the same process:
 * initialisations are counted. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bootstrap/pmix/library.h"
#include "bootstrap/control/tree/tree.h"
#include "bootstrap/mpi/library.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/stays.h"

static const char KEY[] = "switchyard.root";

static const double FIRST_WORD = 2; /* seconds after which a wait is explained */

/* The question that is being asked; one at a time. libpmix answers on a thread of its own, perhaps
 * after nobody waits for it and all else has been given back. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t come;
    unsigned asked, answered; /* numbers of questions */
    int status;
    uint32_t number;
    char text[512];
} question = {.lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER};

struct pmix {
    struct tree_user user;
    struct pmix_library library;
    struct pmix_name me;
    bool initialized;
    bool mute; /* the server did not say where PEs are: it is not asked again for messages */
};

/* ---- evidence ---- */

static const char *pmix_server(void)
{
    static const char *const names[] = {"PMIX_SERVER_URI4", "PMIX_SERVER_URI41",
                                        "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                                        "PMIX_SERVER_URI2", "PMIX_SERVER_URI"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (secure_getenv(names[i]))
            return names[i];
    return NULL;
}

static int pmix_probe_for(const struct sy_host *host, struct sy_error *err)
{
    struct pmix_library library;
    struct sy_error why = {""};

    if (!secure_getenv("PMIX_NAMESPACE") || !secure_getenv("PMIX_RANK") || !pmix_server())
        return sy_fail(err, ENODEV,
                       "PMIX_NAMESPACE, PMIX_RANK and PMIX_SERVER_URI* are not all set");
    if (sy_mpi_needs_pmix(host->start->transports))
        return sy_fail(err, ENODEV, "Open MPI 5 begins only where nothing else has begun PMIx");
    if (sy_pmix_library_open(&library, &why) == 0)
        return 0;
    /* PMI will do, if there is one. */
    return sy_fail(
        err, secure_getenv("PMI_FD") ? ENODEV : ENOENT,
        "the launcher speaks PMIx, and libpmix.so.2 cannot be loaded (%.200s); install PMIx "
        "(Debian: libpmix2), or start with oshrun",
        why.text);
}

/* ---- questions ---- */

/* arg: the number of the question. */
static void pmix_on_answer(int status, struct pmix_item *item, void *arg)
{
    pthread_mutex_lock(&question.lock);
    if ((uintptr_t)arg == question.asked) {
        question.answered = question.asked;
        question.status = status;
        question.text[0] = '\0';
        question.number = 0;
        if (status == PMIX_OK && item && item->type == PMIX_TYPE_STRING && item->data.string)
            snprintf(question.text, sizeof question.text, "%s", item->data.string);
        else if (status == PMIX_OK && item && item->type == PMIX_TYPE_UINT32)
            question.number = item->data.uint32;
        pthread_cond_signal(&question.come);
    }
    pthread_mutex_unlock(&question.lock);
}

/* Waits for the answer to what was asked last, until a moment of sy_clock: PMIx's status. */
static int pmix_wait_until(double end, bool *in_time)
{
    const struct timespec limit = sy_clock_moment(end);
    int rc = 0;

    pthread_mutex_lock(&question.lock);
    while (question.answered != question.asked && rc != ETIMEDOUT)
        rc = pthread_cond_clockwait(&question.come, &question.lock, CLOCK_MONOTONIC, &limit);
    *in_time = question.answered == question.asked;
    rc = question.status;
    pthread_mutex_unlock(&question.lock);
    if (!*in_time)
        sy_stays(&question, RTLD_LOCAL); /* whom the answer may come to */
    return rc;
}

/* Asks for a value of a process, and waits for it. */
static int pmix_ask(struct pmix *pmix, uint32_t rank, const char *key, double end, bool *in_time)
{
    struct pmix_name who = {.rank = rank};

    *in_time = true;
    memcpy(who.space, pmix->me.space, sizeof who.space);
    pthread_mutex_lock(&question.lock);
    uintptr_t number = ++question.asked;
    pthread_mutex_unlock(&question.lock);
    int status = pmix->library.get(&who, key, NULL, 0, pmix_on_answer, (void *)number);
    return status == PMIX_OK ? pmix_wait_until(end, in_time) : status;
}

static int pmix_failed(struct pmix *pmix, int status, const char *what, struct sy_error *err)
{
    return pmix->user.host->fail(err, EIO, "PMIx: %s: %s", what,
                                 pmix->library.error_string(status));
}

/* Asks PMIx for a number about the job. */
static int pmix_job_number(struct pmix *pmix, const char *key, double seconds, uint32_t *number,
                           struct sy_error *err)
{
    const double begin = sy_clock(), first = seconds < FIRST_WORD ? seconds : FIRST_WORD;
    bool in_time;
    int status = pmix_ask(pmix, PMIX_ANY_RANK, key, begin + first, &in_time);

    if (!in_time && first < seconds) {
        if (!pmix->me.rank)
            pmix->user.host->log(SY_LOG_WARN, "boot",
                                 "start-up: waiting for PMIx to answer about %s", key);
        status = pmix_wait_until(begin + seconds, &in_time);
    }
    if (!in_time)
        return pmix->user.host->fail(err, ETIMEDOUT, "PMIx: no answer about %s for %.0f s", key,
                                     seconds);
    if (status != PMIX_OK)
        return pmix_failed(pmix, status, key, err);
    *number = question.number;
    return 0;
}

/* Asks PMIx for the host of a PE that has not come, for a message. */
static const char *pmix_host_of(struct tree_user *user, int pe)
{
    struct pmix *pmix = (struct pmix *)user;
    bool in_time;

    if (pmix->mute)
        return NULL;
    int status = pmix_ask(pmix, (uint32_t)pe, "pmix.hname", sy_clock() + 2, &in_time);
    pmix->mute = !in_time;
    return in_time && status == PMIX_OK && question.text[0] ? question.text : NULL;
}

/* ---- joining ---- */

static int pmix_publish(struct pmix *pmix, struct sy_error *err)
{
    char text[TREE_CONTACT_TEXT];
    struct pmix_item item = {.type = PMIX_TYPE_STRING, .data.string = text};
    int rc = sy_tree_listen(&pmix->user, pmix->user.rank.one_host, NULL, 0, err);

    if (rc)
        return rc;
    sy_tree_contact_encode(&pmix->user.contact, text);
    rc = pmix->library.put(PMIX_SCOPE_GLOBAL, KEY, &item);
    explicit_bzero(text, sizeof text);
    if (rc != PMIX_OK)
        return pmix_failed(pmix, rc, "put", err);
    rc = pmix->library.commit();
    return rc == PMIX_OK ? 0 : pmix_failed(pmix, rc, "commit", err);
}

/* PE 0 has not given its contact yet: a server may say so at once, or after a while of its own. */
static bool pmix_not_yet(int status)
{
    return status == PMIX_NOT_FOUND || status == PMIX_TIMEOUT;
}

/* Fetches PE 0's contact, again and again. */
static int pmix_fetch(struct pmix *pmix, double limit, struct sy_error *err)
{
    const double begin = sy_clock();
    struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    bool in_time, said = limit < FIRST_WORD || pmix->me.rank != 1;
    int status;

    for (;;) {
        double end = begin + (said ? limit : FIRST_WORD);
        status = pmix_ask(pmix, 0, KEY, end, &in_time);
        if (in_time && pmix_not_yet(status)) {
            nanosleep(&pause, NULL);
            if (pause.tv_nsec < 300 * 1000 * 1000)
                pause.tv_nsec *= 2;
            in_time = sy_clock() < end;
        }
        if (in_time && !pmix_not_yet(status))
            break;
        if (!in_time && said)
            return pmix->user.host->fail(
                err, ETIMEDOUT,
                "waited %.0f s for PE 0 to call shmem_init (SHMEM_INIT_TIMEOUT is the limit)",
                limit);
        if (!in_time) {
            pmix->user.host->log(SY_LOG_WARN, "boot",
                                 "start-up: waiting for PE 0 to call shmem_init");
            said = true;
        }
    }
    if (status != PMIX_OK)
        return pmix_failed(pmix, status, "the address of PE 0", err);
    status = sy_tree_contact_decode(question.text, &pmix->user.contact);
    explicit_bzero(question.text, sizeof question.text);
    if (status != 0)
        return pmix->user.host->fail(err, EPROTO, "PMIx has damaged the value that PE 0 gave it");
    return 0;
}

static int pmix_open(const struct sy_host *host, const void *settings, void **self,
                     struct sy_job *job, struct sy_error *err)
{
    double limit = host->start ? host->start->init_timeout : 120;
    uint32_t size = 0, nodes = 0;
    int rc = sy_tree_open(host, sizeof(struct pmix), self, err);

    (void)settings;
    if (rc)
        return rc;
    struct pmix *pmix = *self;
    rc = sy_pmix_library_open(&pmix->library, err);
    if (rc)
        return rc;
    int status = pmix->library.init(&pmix->me, NULL, 0);
    if (status != PMIX_OK)
        return host->fail(
            err, EIO,
            "PMIx_Init: %s; is the launcher that set PMIX_NAMESPACE=%s still there, and "
            "does its version of PMIx fit libpmix.so.2?",
            pmix->library.error_string(status), secure_getenv("PMIX_NAMESPACE"));
    pmix->initialized = true;
    rc = pmix_job_number(pmix, "pmix.job.size", limit, &size, err);
    if (rc)
        return rc;
    if (size < 1 || size > INT32_MAX || pmix->me.rank >= size)
        return host->fail(err, EPROTO, "PMIx says that this is process %u of %u", pmix->me.rank,
                          size);
    /* It may be missing. */
    if (pmix_job_number(pmix, "pmix.num.nodes", limit < FIRST_WORD ? limit : FIRST_WORD, &nodes,
                        NULL) != 0)
        nodes = 0;
    pmix->user.rank = (struct tree_rank){.pe = (int)pmix->me.rank,
                                         .npes = (int)size,
                                         .one_host = nodes == 1,
                                         .job = "",
                                         .root_name = "the address that PMIx has brought",
                                         .root_listens = true,
                                         .host_of = pmix_host_of};
    rc = sy_mpi_check_job(pmix->user.rank.npes, err);
    if (rc)
        return rc;
    rc = pmix->user.rank.pe == 0 ? pmix_publish(pmix, err) : pmix_fetch(pmix, limit, err);
    if (rc == 0)
        rc = sy_tree_secret_mix(&pmix->user, err);
    return rc ? rc : sy_tree_join(&pmix->user, job, err);
}

/* PEs that are not in the tree yet are reached by the launcher only. Open MPI 4.1 does not come
 * back from an abort with status 0. */
static void pmix_end_job(void *self, int status, const char *why)
{
    struct pmix *pmix = self;

    sy_tree_abort(self, status, why);
    if (!sy_tree_complete(&pmix->user) && pmix->initialized && status)
        pmix->library.abort(status, "shmem_init has failed", NULL, 0);
}

/* Leaves and finalises PMIx: a launcher takes a process that has not finalised for a failed one. */
static void pmix_leave(void *self)
{
    struct pmix *pmix = self;

    sy_tree_leave(self);
    if (pmix->initialized)
        pmix->library.finalize(NULL, 0);
    pmix->initialized = false;
}

SY_BOOTSTRAP_PLUGIN(pmix) = {
    .size = sizeof(struct sy_bootstrap),
    .name = "pmix",
    .priority = 90,
    .probe_for = pmix_probe_for,
    .open = pmix_open,
    SY_TREE_MEMBERS,
    .abort = pmix_end_job,
    .leave = pmix_leave,
};
