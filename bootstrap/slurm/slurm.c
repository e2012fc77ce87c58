/* The bootstrap for Slurm steps without PMI (srun --mpi=none, which is Slurm's default). Slurm says
 * which task each process is and on which host task 0 runs; what it lacks is a value that only the
 * job's processes share. On one node the kernel tells whose process is at the other end of a
 * socket, and PE 0 hands its contact to processes of its own user; over several, a file with a
 * secret has to be there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/slurm/handout.h"
#include "bootstrap/slurm/nodes.h"
#include "bootstrap/control/tree/tree.h"
#include "bootstrap/mpi/library.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/net/unix_name.h"
#include "util/parse.h"

enum { FIRST_PORT = 17408, PORTS = 8192 };

struct slurm {
    struct tree_user user;
    char step[64], missing[64];
};

static int slurm_probe(struct sy_error *err)
{
    const char *why = NULL;

    /* A batch script and a shell of salloc have SLURM_PROCID too, but are no step. */
    if (!secure_getenv("SLURM_STEP_ID"))
        why = "SLURM_STEP_ID is not set";
    else if (sy_parse_variable("SLURM_STEP_NUM_TASKS") < 2)
        why = "this Slurm step has one task";
    else if (secure_getenv("SHMEM_PE"))
        why = "SHMEM_PE says which PE this is";
    return why ? sy_fail(err, ENODEV, "%s", why) : 0;
}

/* The host of a PE, for messages. It is known only if nodes are filled in order; Slurm tells if it
 * was asked for something else. */
static const char *slurm_host_of(struct tree_user *user, int pe)
{
    struct slurm *slurm = (struct slurm *)user;
    const char *nodes = secure_getenv("SLURM_STEP_NODELIST"),
               *tasks = secure_getenv("SLURM_STEP_TASKS_PER_NODE");
    const char *order = secure_getenv("SLURM_DISTRIBUTION");
    long node = tasks ? sy_slurm_node_of(tasks, pe) : -1;

    if (!nodes || node < 0 || (order && strncmp(order, "block", 5) != 0))
        return NULL;
    return sy_slurm_host(nodes, node, slurm->missing, sizeof slurm->missing) ? slurm->missing
                                                                             : NULL;
}

/* ---- over several nodes ---- */

/* Every task works out the same place: the first host of the step, and a port that goes with the
 * job's number. Should another program have that port, SHMEM_ROOT names a better one. */
static int slurm_find_place(struct slurm *slurm, struct sy_error *err)
{
    struct tree_place *place = &slurm->user.place;
    const char *nodes = secure_getenv("SLURM_STEP_NODELIST");

    place->port = (uint16_t)(FIRST_PORT + sy_hash(slurm->step, strlen(slurm->step), 0) % PORTS);
    int rc = sy_tree_place_given(&slurm->user, err);
    if (rc)
        return rc < 0 ? rc : 0;
    if (!nodes || !sy_slurm_host(nodes, 0, place->host, sizeof place->host))
        return slurm->user.host->fail(err, EINVAL, "SLURM_STEP_NODELIST=%s names no host",
                                      nodes ? nodes : "");
    snprintf(place->name, sizeof place->name,
             "%s:%u (the first host of the step; SHMEM_ROOT=HOST:PORT names another place)",
             place->host, place->port);
    return 0;
}

static int slurm_meet_by_file(struct slurm *slurm, struct sy_error *err)
{
    if (!*slurm->user.host->start->secret_file)
        return slurm->user.host->fail(
            err, EINVAL,
            "srun has started %d tasks on %ld nodes without PMI%s%s, so they have no secret in "
            "common; use srun --mpi=pmix or srun --mpi=pmi2 (srun --mpi=list shows which there "
            "are), or oshrun -n %d, or set SHMEM_SECRET_FILE to a file that is on every node, made "
            "with: head -c 48 /dev/urandom | base64 >FILE; chmod 600 FILE",
            slurm->user.rank.npes, sy_parse_variable("SLURM_STEP_NUM_NODES"),
            secure_getenv("PMI_FD")
                ? " that MPI could share (MPI_Init has to be called before shmem_init)"
                : " (--mpi=none)",
            sy_unix_user_is_unique()
                ? ""
                : ", in a user namespace where this user has the number of all outside",
            slurm->user.rank.npes);
    slurm->user.rank.job = slurm->step;
    int rc = slurm_find_place(slurm, err);
    return rc ? rc : sy_tree_meet(&slurm->user, err);
}

/* ---- on one node ---- */

static int slurm_meet_on_node(struct slurm *slurm, struct sy_error *err)
{
    struct tree_user *user = &slurm->user;
    double limit = user->host->start->init_timeout;

    user->rank.one_host = true;
    user->rank.job = "";
    user->rank.root_name = "this host";
    user->rank.root_listens = true;
    if (user->rank.pe)
        return sy_slurm_fetch(user->host, slurm->step, &user->contact, user->rank.pe, limit, err);
    int rc = sy_tree_listen(user, true, NULL, 0, err);
    return rc ? rc
              : sy_slurm_hand_out(user->host, slurm->step, &user->contact, user->rank.npes, limit,
                                  err);
}

static int slurm_join(struct slurm *slurm, struct sy_job *job, struct sy_error *err)
{
    const char *id = secure_getenv("SLURM_JOB_ID"), *step = secure_getenv("SLURM_STEP_ID");
    long pe = sy_parse_variable("SLURM_PROCID"), npes = sy_parse_variable("SLURM_STEP_NUM_TASKS");
    const struct sy_host *host = slurm->user.host;

    if (pe < 0 || npes < 1 || pe >= npes)
        return host->fail(err, EINVAL, "Slurm says that this is task %ld of %ld", pe, npes);
    slurm->user.rank = (struct tree_rank){
        .pe = (int)pe, .npes = (int)npes, .host_of = slurm_host_of};
    snprintf(slurm->step, sizeof slurm->step, "slurm-%.20s-%.20s", id ? id : "", step ? step : "");
    int rc = sy_mpi_check_job((int)npes, err);
    if (rc)
        return rc;
    rc = sy_parse_variable("SLURM_STEP_NUM_NODES") == 1 && !*host->start->root &&
                 sy_unix_user_is_unique()
             ? slurm_meet_on_node(slurm, err)
             : slurm_meet_by_file(slurm, err);
    return rc ? rc : sy_tree_join(&slurm->user, job, err);
}

static int slurm_open(const struct sy_host *host, const void *settings, void **self,
                      struct sy_job *job, struct sy_error *err)
{
    int rc = sy_tree_open(host, sizeof(struct slurm), self, err);

    (void)settings;
    return rc ? rc : slurm_join(*self, job, err);
}

SY_BOOTSTRAP_PLUGIN(slurm) = {
    .size = sizeof(struct sy_bootstrap),
    .name = "slurm",
    .priority = 60,
    .probe = slurm_probe,
    .open = slurm_open,
    SY_TREE_MEMBERS,
    .abort = sy_tree_abort,
    .leave = sy_tree_leave,
};
