/* The bootstrap for processes that something else has started, one for each PE, and whose
 * environment alone tells which PE each is: Kubernetes, GNU parallel, scripts. SHMEM_PE,
 * SHMEM_NPES, SHMEM_ROOT and SHMEM_SECRET_FILE say all; where SHMEM_BOOTSTRAP=env asks for it, the
 * names that others have made common serve too. The PEs meet at PE 0 and go on over the control
 * tree. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/control/tree/tree.h"
#include "util/error.h"
#include "util/parse.h"

enum { PORT = 17391 }; /* where SHMEM_ROOT names only a host */

/* ---- evidence ---- */

/* A variable by which another tool gives the same number, which is value - base. */
struct synonym {
    const char *name;
    long base;
};

static const struct synonym numbers[] = {
    {"RANK", 0}, {"JOB_COMPLETION_INDEX", 0}, {"PARALLEL_SEQ", 1}};
static const struct synonym sizes[] = {{"WORLD_SIZE", 0}};

static long env_look_up(const struct synonym *synonyms, size_t count, const char **name)
{
    long value;

    for (size_t i = 0; i < count; i++) {
        const char *text = secure_getenv(synonyms[i].name);
        if (!text || sy_parse_int(text, synonyms[i].base, INT_MAX, &value) != 0)
            continue;
        *name = synonyms[i].name;
        return value - synonyms[i].base;
    }
    return -1;
}

static int env_probe(struct sy_error *err)
{
    bool pe = secure_getenv("SHMEM_PE"), npes = secure_getenv("SHMEM_NPES");

    if (pe && npes)
        return 0;
    /* What follows are reasons to refuse. They do not count where the user names this plugin: then
     * others' names fill the gap. */
    if (pe || npes)
        return sy_fail(
            err, EEXIST,
            pe ? "SHMEM_PE is set and SHMEM_NPES is not; a PE needs both, SHMEM_ROOT=HOST:PORT "
                 "of PE 0 and SHMEM_SECRET_FILE"
               : "SHMEM_NPES is set and SHMEM_PE is not; each PE needs its number, "
                 "SHMEM_ROOT=HOST:PORT of PE 0 and SHMEM_SECRET_FILE");
    if (secure_getenv("RANK") && secure_getenv("WORLD_SIZE"))
        return sy_parse_variable("WORLD_SIZE") == 1
                   ? 0
                   : sy_fail(
                         err, EEXIST,
                         "RANK and WORLD_SIZE say that this process is one of several; set "
                         "SHMEM_BOOTSTRAP=env and SHMEM_SECRET_FILE for one job of them all, or "
                         "SHMEM_BOOTSTRAP=single for a job each");
    return sy_fail(err, ENODEV, "SHMEM_PE and SHMEM_NPES are not set");
}

/* ---- who and where ---- */

static int env_find_place(struct tree_user *user, struct sy_error *err)
{
    struct tree_place *place = &user->place;
    const char *address = secure_getenv("MASTER_ADDR"), *port = secure_getenv("MASTER_PORT");
    long number = 0;

    place->port = PORT;
    int rc = sy_tree_place_given(user, err);
    if (rc)
        return rc < 0 ? rc : 0;
    if (!address)
        return user->host->fail(err, EINVAL,
                                "SHMEM_ROOT is not set; it has to name the host of PE 0 and a port "
                                "that is free there, as HOST:PORT");
    /* The port itself is used by the program that set these names. */
    if (port && sy_parse_int(port, 1, 65534, &number) == 0)
        place->port = (uint16_t)(number + 1);
    snprintf(place->host, sizeof place->host, "%s", address);
    snprintf(place->name, sizeof place->name, "%s:%u (from MASTER_ADDR)", address, place->port);
    return 0;
}

static int env_find_rank(struct tree_user *user, struct sy_error *err)
{
    const struct sy_host *host = user->host;
    const struct sy_start *start = host->start;
    const char *pe_name = "SHMEM_PE", *size_name = "SHMEM_NPES";
    long pe = start->pe, npes = start->npes;

    if (pe < 0)
        pe = env_look_up(numbers, sizeof numbers / sizeof numbers[0], &pe_name);
    if (npes < 1)
        npes = env_look_up(sizes, sizeof sizes / sizeof sizes[0], &size_name);
    if (pe < 0 || npes < 1)
        return host->fail(err, EINVAL, "%s is not set", pe < 0 ? "SHMEM_PE" : "SHMEM_NPES");
    if (pe >= npes)
        return host->fail(err, EINVAL, "%s=%ld is not below %s=%ld", pe_name, pe, size_name, npes);
    user->rank = (struct tree_rank){.pe = (int)pe, .npes = (int)npes, .job = start->job_id};
    return 0;
}

static int env_open(const struct sy_host *host, const void *settings, void **self,
                    struct sy_job *job, struct sy_error *err)
{
    int rc = sy_tree_open(host, sizeof(struct tree_user), self, err);

    (void)settings;
    if (rc)
        return rc;
    struct tree_user *user = *self;
    rc = env_find_rank(user, err);
    bool alone = user->rank.npes == 1;
    if (rc == 0 && !alone)
        rc = env_find_place(user, err);
    if (rc == 0 && !alone && !*host->start->secret_file)
        rc = host->fail(
            err, EINVAL,
            "SHMEM_SECRET_FILE is not set; it has to name a file with the job's secret on every "
            "host, made with: head -c 48 /dev/urandom | base64 >FILE; chmod 600 FILE");
    if (rc == 0)
        rc = alone ? sy_tree_listen(user, true, NULL, 0, err) : sy_tree_meet(user, err);
    return rc ? rc : sy_tree_join(user, job, err);
}

SY_BOOTSTRAP_PLUGIN(env) = {
    .size = sizeof(struct sy_bootstrap),
    .name = "env",
    .priority = 50,
    .probe = env_probe,
    .open = env_open,
    SY_TREE_MEMBERS,
    .abort = sy_tree_abort,
    .leave = sy_tree_leave,
};
