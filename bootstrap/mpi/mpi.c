/* The bootstrap for processes of an MPI job of which nothing else says who they are: MPI itself is
 * asked. It brings PE 0's contact to all, with one broadcast, while shmem_init lasts; the rest goes
 * over the control tree, so the program may use and finalise MPI as it likes. A PE's number is its
 * rank in MPI_COMM_WORLD. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/control/tree/tree.h"
#include "bootstrap/mpi/library.h"
#include "bootstrap/mpi/world.h"
#include "util/clock.h"
#include "util/net/machine.h"
#include "util/signals.h"
#include "util/error.h"

static const double FIRST_WORD = 2; /* seconds after which a wait is explained */

struct settings {
    int family; /* SHMEM_MPI_FAMILY */
};

static const struct sy_option options[] = {SY_MPI_FAMILY_OPTION(struct settings, family),
                                           {.name = NULL}};

/* MPI's collective calls end when all have come, or never. A thread of its own says what is waited
 * for, and ends the process when that has lasted too long: the launcher ends the others. */
struct patience {
    const struct sy_host *host;
    double limit;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t come;
    bool over;
};

struct mpi {
    struct tree_user user;
    struct mpi_library library;
    const struct mpi_world_calls *calls;
    struct mpi_world *world;
};

/* ---- evidence ---- */

/* Probes by the world of an MPI that is initialised, where loading MPI's part is harmless. */
static int mpi_probe_world(const struct mpi_library *library, struct sy_error *err)
{
    void *handle, *found;
    int rc = sy_mpi_load(library, MPI_WORLD_MODULE, MPI_WORLD_SYMBOL, &handle, &found, err);

    if (rc)
        return sy_mpi_launcher_size(&(const char *){NULL}) > 1 ? rc : -ENODEV;
    const struct mpi_world_calls *calls = found;
    int size = calls->world_size();
    rc = sy_mpi_check_size(calls->version(), size, err);
    if (!rc && size <= 1 && sy_mpi_launcher_size(&(const char *){NULL}) != 1)
        rc = sy_fail(err, ENODEV, "MPI is initialised, with one process");
    dlclose(handle);
    return rc;
}

static int mpi_probe(struct sy_error *err)
{
    struct mpi_library library;
    const char *name = "";
    int rc = sy_mpi_find(MPI_WORLD_MODULE, 0, &library, err);

    if (rc)
        return rc;
    if (library.initialized && !library.finalized)
        return mpi_probe_world(&library, err);
    if (sy_mpi_launcher_size(&name) < 1)
        return sy_fail(err, ENODEV,
                       "MPI is not initialised, and no launcher of it says how many processes "
                       "there are");
    if (library.finalized)
        return sy_fail(err, ECONNRESET,
                       "MPI_Finalize has been called, so MPI cannot say any more which PE this is; "
                       "call shmem_init before, or start the program with oshrun");
    return 0;
}

/* ---- joining ---- */

static void *mpi_watch(void *arg)
{
    struct patience *p = arg;
    double first = p->limit < FIRST_WORD ? p->limit : FIRST_WORD,
           waits[2] = {first, p->limit - first};
    int rc = 0;

    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < 2 && !p->over; i++) {
        struct timespec until = sy_clock_moment(sy_clock() + waits[i]);
        for (rc = 0; !p->over && rc != ETIMEDOUT;)
            rc = pthread_cond_clockwait(&p->come, &p->lock, CLOCK_MONOTONIC, &until);
        if (!p->over && i == 0)
            p->host->log(SY_LOG_INFO, "boot",
                         "start-up: waiting in MPI for all PEs to call shmem_init");
    }
    if (!p->over) {
        p->host->log(SY_LOG_ERROR, "boot",
                     "waited %g s in MPI for all processes of the job to call shmem_init; PEs that "
                     "did say this too, unless the launcher ends them first; the others are "
                     "missing (SHMEM_INIT_TIMEOUT is the limit)",
                     p->limit);
        _exit(1);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static int mpi_wait_begin(struct patience *p, const struct sy_host *host, struct sy_error *err)
{
    *p = (struct patience){.host = host, .limit = host->start ? host->start->init_timeout : 120};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->come, NULL);
    int rc = sy_thread_start(&p->thread, mpi_watch, p);
    return rc ? host->fail(err, rc, "no thread to watch MPI with: %s", strerror(rc)) : 0;
}

static void mpi_wait_end(struct patience *p)
{
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_signal(&p->come);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
}

static int mpi_find_rank(struct mpi *mpi, struct sy_error *err)
{
    const struct sy_host *host = mpi->user.host;
    int pe = 0, npes = 0;
    int rc = mpi->calls->join(host, &mpi->world, &pe, &npes, err);

    if (rc == -ECONNRESET)
        return host->fail(err, ECONNRESET,
                          "MPI_Finalize has been called; call shmem_init before it");
    if (rc == -ECHILD)
        return host->fail(err, ECHILD, MPI_WORLD_SPAWNED);
    if (rc == 0)
        rc = sy_mpi_check_size(mpi->calls->version(), npes, err);
    if (rc == 0 && pe == 0 && mpi->library.in_process && !mpi->library.initialized &&
        !mpi->calls->sessions)
        host->log(SY_LOG_WARN, "boot",
                  "shmem_init has called MPI_Init, since nothing but MPI says which PE this is; an "
                  "MPI_Init of the program's own will fail from here on: call it before "
                  "shmem_init");
    mpi->user.rank = (struct tree_rank){.pe = pe,
                                        .npes = npes,
                                        .job = "",
                                        .root_name = "the address that MPI has brought",
                                        .root_listens = true};
    return rc;
}

/* Brings PE 0's contact to every PE. If PE 0 fails, it broadcasts a contact without an address,
 * which tells the others. */
static int mpi_exchange(struct mpi *mpi, struct sy_error *err)
{
    struct tree_contact *contact = &mpi->user.contact;
    int listened = 0;
    int rc = mpi->calls->same(mpi->world, sy_machine_network(), &mpi->user.rank.one_host, err);

    if (rc)
        return rc;
    if (mpi->user.rank.pe == 0)
        listened = sy_tree_listen(&mpi->user, mpi->user.rank.one_host, NULL, 0, err);
    rc = mpi->calls->broadcast(mpi->world, contact, (int)sizeof *contact, err);
    if (rc == 0 && mpi->user.rank.pe && contact->root.count < 1)
        rc = mpi->user.host->fail(err, ECONNABORTED, "PE 0 cannot listen, and says why");
    return listened ? listened : rc;
}

static int mpi_meet(struct mpi *mpi, int family, struct sy_error *err)
{
    struct patience patience;
    void *handle, *found = NULL;
    int rc = sy_mpi_find(MPI_WORLD_MODULE, family, &mpi->library, err);

    if (rc == 0)
        rc = sy_mpi_load(&mpi->library, MPI_WORLD_MODULE, MPI_WORLD_SYMBOL, &handle, &found, err);
    if (rc == 0)
        rc = mpi_wait_begin(&patience, mpi->user.host, err);
    if (rc)
        return rc;
    mpi->calls = found;
    rc = mpi_find_rank(mpi, err);
    if (rc == 0)
        rc = mpi_exchange(mpi, err);
    mpi_wait_end(&patience);
    return rc;
}

static int mpi_open(const struct sy_host *host, const void *settings, void **self,
                    struct sy_job *job, struct sy_error *err)
{
    const struct settings *chosen = settings;
    int rc = sy_tree_open(host, sizeof(struct mpi), self, err);

    if (rc)
        return rc;
    struct mpi *mpi = *self;
    rc = mpi_meet(mpi, chosen->family, err);
    if (rc == 0)
        rc = sy_tree_secret_mix(&mpi->user, err);
    if (rc == 0)
        rc = sy_tree_join(&mpi->user, job, err);
    if (rc == 0)
        mpi->calls->done(mpi->world);
    return rc;
}

/* ---- the end ---- */

/* PEs that are not in the tree yet are reached by MPI only, which has words of its own for it. */
static void mpi_end_job(void *self, int status, const char *why)
{
    struct mpi *mpi = self;

    sy_tree_abort(self, status, why);
    if (mpi->world && mpi->user.rank.npes > 1 && !sy_tree_complete(&mpi->user) && status)
        mpi->calls->abort(mpi->world, status);
}

/* MPI is finalised, where that is ours to do, only if all PEs come to it: it waits for them. */
static void mpi_leave(void *self)
{
    struct mpi *mpi = self;
    bool well = sy_tree_ends_well(&mpi->user);

    sy_tree_leave(self);
    if (mpi->world)
        mpi->calls->end(mpi->world, well);
    mpi->world = NULL;
}

SY_BOOTSTRAP_PLUGIN(mpi) = {
    .size = sizeof(struct sy_bootstrap),
    .name = "mpi",
    .priority = 40,
    .options = options,
    .settings_size = sizeof(struct settings),
    .probe = mpi_probe,
    .open = mpi_open,
    SY_TREE_MEMBERS,
    .abort = mpi_end_job,
    .leave = mpi_leave,
};
