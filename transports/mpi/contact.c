/* Who is where: the address of a PE is its rank in MPI's world. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/mpi/state.h"

struct address {
    char family[16]; /* of MPIs; never empty */
    int32_t rank, size;
    struct mpi_socket socket;
};

size_t mpi_contact_address(void *self, void *buffer, size_t room)
{
    struct mpi_state *state = self;
    struct address own = {
        .rank = state->self.rank, .size = state->self.size, .socket = state->wakeup.own};

    if (room < sizeof own)
        return 0;
    memcpy(own.family, state->library.family, sizeof own.family);
    memcpy(buffer, &own, sizeof own);
    return sizeof own;
}

/* PEs that have the same MPI as this one, in the order of their numbers. Two of one rank are in two
 * worlds: the launcher is another MPI's. */
static int contact_gather(struct mpi_state *state, const char *addresses, size_t stride, int *world,
                          struct mpi_socket *socket, struct sy_error *err)
{
    int count = 0;

    for (int pe = 0; pe < state->host->npes; pe++) {
        struct address address;
        memcpy(&address, addresses + (size_t)pe * stride, sizeof address);
        state->rank_of[pe] = -1;
        if (memcmp(address.family, state->library.family, sizeof address.family) != 0)
            continue;
        for (int i = 0; i < count; i++)
            if (world[i] == address.rank)
                return state->host->fail(
                    err, ENODEV,
                    "PE %d and PE %d are both rank %d: they are in different MPI jobs; start the "
                    "program with the mpiexec of its MPI (%s)",
                    state->pe_of[i], pe, address.rank, state->library.family);
        state->pe_of[count] = pe;
        state->rank_of[pe] = count;
        socket[count] = address.socket;
        world[count++] = address.rank;
    }
    return count;
}

/* The program finalises MPI, which all processes do together: from then on nothing is sent
 * (`over`). Sends that are under way go with MPI. */
static void contact_over(void *arg)
{
    struct mpi_state *state = arg;

    mpi_message_meet(state);
    pthread_mutex_lock(&state->receives.lock);
    pthread_mutex_lock(&state->sends.lock);
    pthread_mutex_lock(&state->large.lock);
    atomic_store(&state->over, true);
    mpi_message_cancel(state);
    pthread_mutex_unlock(&state->large.lock);
    pthread_mutex_unlock(&state->sends.lock);
    pthread_mutex_unlock(&state->receives.lock);
    state->host->log(
        SY_LOG_WARN, state->instance.name,
        "the program finalises MPI before shmem_finalize, and this MPI (%.60s) cannot go on: "
        "whatever the program, or shmem_finalize, sends from now on fails. Call shmem_finalize "
        "first",
        state->mpi);
    if (!state->instance.settled(state->instance.receiver))
        state->host->lost(state->host->pe ? 0 : 1, ESHUTDOWN,
                          "a thread has called OpenSHMEM while another was in MPI_Finalize");
}

/* One PE alone has nobody to look for. MPICH 4.0 crashes where it is looked at in a session of one
 * process. */
static int contact_open(struct mpi_state *state, const int *world, const struct mpi_socket *socket,
                        int count, struct sy_error *err)
{
    state->ranks = count;
    if (count == 1) {
        mpi_datagram_close(&state->wakeup);
        return 0;
    }
    mpi_wakeup_meet(state, socket);
    int rc = state->calls->comm_open(world, count, state->instance.name, &state->comm, err);
    if (rc)
        return rc;
    state->connected = true;
    rc = mpi_message_open(state, err);
    if (!rc)
        rc = mpi_window_open(state, err);
    mpi_tick_arm(&state->tick); /* sleepers may count on it until disarm() */
    if (!rc && state->calls->watch(contact_over, state))
        rc = state->host->fail(err, EIO, "MPI_Comm_set_attr: %s", state->calls->text());
    return rc;
}

int mpi_contact_connect(void *self, const void *addresses, size_t stride, double seconds,
                        struct sy_error *err)
{
    struct mpi_state *state = self;
    size_t npes = (size_t)state->host->npes;
    struct mpi_socket *socket = malloc(npes * sizeof *socket);
    int *world = malloc(npes * sizeof *world), rc;

    (void)seconds; /* MPI waits as long as it likes */
    state->rank_of = malloc(npes * sizeof *state->rank_of);
    state->pe_of = malloc(npes * sizeof *state->pe_of);
    if (!world || !socket || !state->rank_of || !state->pe_of)
        rc = state->host->fail(err, ENOMEM, "no memory for %zu PEs", npes);
    else
        rc = contact_gather(state, addresses, stride, world, socket, err);
    if (rc >= 0)
        rc = contact_open(state, world, socket, rc, err);
    free(world);
    free(socket);
    return rc;
}
