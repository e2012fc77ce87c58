/* A client of PMI, the protocol of MPICH's family of launchers (Hydra, Intel's, Flux, Slurm's
 * pmi2): text over a socket that the process inherits or connects to. Version 1.1 is spoken by all
 * of them; version 2 where a server refuses it. Only what a start-up needs: who am I, one key, one
 * barrier, abort. */
#ifndef PMI_CLIENT_H
#define PMI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include <switchyard/host.h>

enum {
    PMI_LINE = 2048, /* bytes of the longest message that is understood */
    PMI_NAME = 260
};

struct pmi_client {
    const struct sy_host *host;
    int fd;         /* or -1 */
    bool connected; /* by this client, rather than inherited */
    int version;    /* 1 or 2 */
    int rank, size;
    char space[PMI_NAME]; /* name of the key-value space */
    double deadline;      /* of whatever is asked next */
};

/* What MPI, which may share the connection, does in this process. */
enum sy_pmi_mpi {
    SY_PMI_MPI_ABSENT,
    SY_PMI_MPI_LINKED, /* not initialised yet */
    SY_PMI_MPI_ACTIVE,
    SY_PMI_MPI_OVER /* finalised */
};
enum sy_pmi_mpi sy_pmi_mpi(void);

/* Where the server is, from the environment: 0, -ENODEV: not said, or an error with its cause. */
int sy_pmi_find(struct sy_error *err);

/* version: 1, 2, or 0 for the first that the server takes. */
int sy_pmi_open(struct pmi_client *client, int version, struct sy_error *err);
int sy_pmi_put(struct pmi_client *client, const char *key, const char *value, struct sy_error *err);
/* Enters the barrier; then waits for all, -ETIMEDOUT: not all have come, and it may be called
 * again. */
int sy_pmi_barrier_enter(struct pmi_client *client, struct sy_error *err);
int sy_pmi_barrier_wait(struct pmi_client *client, struct sy_error *err);
int sy_pmi_get(struct pmi_client *client, const char *key, char *value, size_t room,
               struct sy_error *err);
/* Whether all processes are known to be on one node. */
bool sy_pmi_one_node(struct pmi_client *client);
void sy_pmi_abort(struct pmi_client *client, int status);
/* Sends finalize; some servers take a process that ends without it for a failed one. */
void sy_pmi_finalize(struct pmi_client *client);
void sy_pmi_drop(struct pmi_client *client);

/* ---- text.c: no state, so that it can be tried by itself ---- */

/* The value of `key` among "key=value" words divided by `between` (' ' in version 1, ';' in 2). */
bool sy_pmi_word(const char *message, char between, const char *key, char *value, size_t room);
bool sy_pmi_number(const char *message, char between, const char *key, int *number);
/* "(vector,(0,1,4))": whether all processes are on one node. */
bool sy_pmi_mapping_is_one_node(const char *mapping);
/* The length field that begins a message of version 2: six characters; -1 if it is none. */
int sy_pmi_length(const char field[6]);

#endif
