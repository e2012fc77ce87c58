/* The bootstrap for launchers that speak PMI: mpiexec.hydra (MPICH, Intel MPI), srun --mpi=pmi2,
 * Flux. PMI carries PE 0's contact to all, with one put, one barrier and one get a PE; the rest
 * goes over the control tree. MPI may use the same PMI connection, before or after, so PMI is left
 * as it is found, and finalised only at exit and only where MPI was never there to do it. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/pmi/client.h"
#include "bootstrap/control/tree/tree.h"
#include "bootstrap/mpi/library.h"
#include "util/clock.h"
#include "util/stays.h"

static const char KEY[] = "switchyard-root";

static const double FIRST_WORD = 2; /* seconds after which PE 0 says what it waits for */

struct settings {
    int version; /* SHMEM_PMI_VERSION */
};

static const struct sy_option options[] = {
    {"pmi.version", SY_OPTION_CHOICE, 0, offsetof(struct settings, version), "auto", "auto|1|2", 0,
     0, NULL, "The version of PMI to speak with the launcher; auto: 1, or 2 where it refuses that"},
    {.name = NULL}};

struct pmi {
    struct tree_user user;
    struct pmi_client client;
};

/* Waits in PMI's barrier. PMI cannot tell which PEs have come, so each that waits reports when the
 * time is over. The first that then exits may have the launcher end others before they report. */
static int pmi_barrier(struct pmi *pmi, double limit, struct sy_error *err)
{
    bool speaks = pmi->client.rank == 0 && limit > FIRST_WORD;
    double begin = sy_clock();
    int rc = sy_pmi_barrier_enter(&pmi->client, err);

    pmi->client.deadline = begin + (speaks ? FIRST_WORD : limit);
    if (rc == 0)
        rc = sy_pmi_barrier_wait(&pmi->client, err);
    if (rc == -ETIMEDOUT && speaks) {
        pmi->user.host->log(
            SY_LOG_WARN, "boot",
            "start-up: waiting for all %d PEs to call shmem_init (in PMI's barrier)",
            pmi->client.size);
        pmi->client.deadline = begin + limit;
        rc = sy_pmi_barrier_wait(&pmi->client, err);
    }
    if (rc == -ETIMEDOUT)
        return pmi->user.host->fail(
            err, ETIMEDOUT,
            "PE %d waited %.0f s for all %d PEs to call shmem_init; PEs that did say this too, "
            "unless the launcher ends them first; the others are missing (SHMEM_INIT_TIMEOUT is "
            "the limit)",
            pmi->client.rank, limit, pmi->client.size);
    return rc;
}

/* Brings PE 0's contact to every PE. PE 0 reads it back, since some servers change it. */
static int pmi_exchange(struct pmi *pmi, double limit, struct sy_error *err)
{
    char text[TREE_CONTACT_TEXT];
    struct tree_contact read;
    int rc = 0;

    if (pmi->client.rank == 0) {
        rc = sy_tree_listen(&pmi->user, pmi->user.rank.one_host, NULL, 0, err);
        if (rc == 0) {
            sy_tree_contact_encode(&pmi->user.contact, text);
            rc = sy_pmi_put(&pmi->client, KEY, text, err);
        }
    }
    if (rc == 0)
        rc = pmi_barrier(pmi, limit, err);
    pmi->client.deadline = sy_clock() + limit;
    if (rc == 0)
        rc = sy_pmi_get(&pmi->client, KEY, text, sizeof text, err);
    if (rc == 0 && sy_tree_contact_decode(text, &read) != 0)
        rc = pmi->user.host->fail(
            err, EPROTO,
            "the launcher's PMI server has damaged the value that PE 0 gave it "
            "(%zu characters have come)",
            strlen(text));
    if (rc == 0 && pmi->client.rank != 0)
        pmi->user.contact = read;
    explicit_bzero(&read, sizeof read);
    explicit_bzero(text, sizeof text);
    return rc;
}

static int pmi_join(struct pmi *pmi, int version, struct sy_job *job, struct sy_error *err)
{
    const struct sy_host *host = pmi->user.host;
    double limit = host->start ? host->start->init_timeout : 120;

    pmi->client.deadline = sy_clock() + limit;
    int rc = sy_pmi_open(&pmi->client, version, err);
    if (rc)
        return rc;
    pmi->user.rank = (struct tree_rank){.pe = pmi->client.rank,
                                        .npes = pmi->client.size,
                                        .one_host = sy_pmi_one_node(&pmi->client),
                                        .job = "",
                                        .root_name = "the address that PMI has brought",
                                        .root_listens = true};
    rc = sy_mpi_check_job(pmi->user.rank.npes, err);
    if (rc)
        return rc;
    rc = pmi_exchange(pmi, limit, err);
    if (rc == 0)
        rc = sy_tree_secret_mix(&pmi->user, err);
    return rc ? rc : sy_tree_join(&pmi->user, job, err);
}

static int pmi_open(const struct sy_host *host, const void *settings, void **self,
                    struct sy_job *job, struct sy_error *err)
{
    int rc = sy_tree_open(host, sizeof(struct pmi), self, err);

    if (rc)
        return rc;
    struct pmi *pmi = *self;
    pmi->client = (struct pmi_client){.host = host, .fd = -1};
    return pmi_join(pmi, ((const struct settings *)settings)->version, job, err);
}

/* PEs that are not in the tree yet are reached by the launcher only. Hydra throws away what it has
 * not yet read of the PEs' output. */
static void pmi_end_job(void *self, int status, const char *why)
{
    struct pmi *pmi = self;

    sy_tree_abort(self, status, why);
    if (sy_tree_complete(self) || pmi->client.fd < 0)
        return;
    sy_clock_sleep(300 * 1000 * 1000);
    sy_pmi_abort(&pmi->client, status);
}

/* Whether MPI uses PMI too: MPI_Finalize sends PMI's finalize itself, and the launcher answers only
 * one. */
static bool pmi_mpi_took_part(void)
{
    enum sy_pmi_mpi mpi = sy_pmi_mpi();

    return mpi == SY_PMI_MPI_ACTIVE || mpi == SY_PMI_MPI_OVER;
}

/* The client that sends finalize after all exit handlers. The program may have a session of MPI
 * that this library cannot know of, and MPICH 5 sends PMI's finalize in an exit handler. Nothing is
 * sent where that has happened, nor by a process that was forked. */
static struct {
    struct pmi_client client;
    pid_t process; /* 0: nothing is to be sent */
    ino_t inode;
} last;

static bool pmi_defer(const struct pmi_client *client)
{
    struct stat st;

    if (sy_pmi_mpi() != SY_PMI_MPI_LINKED || client->connected || fstat(client->fd, &st))
        return false;
    sy_stays(&last, RTLD_LOCAL); /* it is not to be unloaded before */
    last.client = *client;
    last.inode = st.st_ino;
    last.process = getpid();
    return true;
}

__attribute__((destructor)) static void pmi_say_last(void)
{
    struct stat st;
    char byte;

    if (last.process != getpid() || fstat(last.client.fd, &st) || st.st_ino != last.inode ||
        recv(last.client.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        return;
    sy_pmi_finalize(&last.client);
}

static void pmi_leave(void *self)
{
    struct pmi *pmi = self;

    sy_tree_leave(self);
    if (pmi->client.fd >= 0 && !pmi_mpi_took_part() && !pmi_defer(&pmi->client))
        sy_pmi_finalize(&pmi->client);
    sy_pmi_drop(&pmi->client);
}

SY_BOOTSTRAP_PLUGIN(pmi) = {
    .size = sizeof(struct sy_bootstrap),
    .name = "pmi",
    .priority = 80,
    .options = options,
    .settings_size = sizeof(struct settings),
    .probe = sy_pmi_find,
    .open = pmi_open,
    SY_TREE_MEMBERS,
    .abort = pmi_end_job,
    .leave = pmi_leave,
};
