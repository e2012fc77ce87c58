/* The mpi plugin's table, its options and counters; open and close: see state.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/mpi/state.h"

#define AT(member) offsetof(struct mpi_settings, member)
static const struct sy_option options[] = {
    SY_MPI_FAMILY_OPTION(struct mpi_settings, family),
    {"mpi.mode", SY_OPTION_CHOICE, SY_OPTION_JOB, AT(mode), "auto", "auto|am|rma", 0, 0, NULL,
     "What is made of MPI: am: messages alone; rma: puts and gets of more than 8 bytes by a "
     "window; auto: messages, and large gets by a window where one can be made"},
    {"mpi.window", SY_OPTION_SIZE, SY_OPTION_JOB, AT(window), "64K", NULL, 9, 0, NULL,
     "Bytes of a get from which on it goes by the window, in mode auto"},
    {"mpi.poll", SY_OPTION_INT, 0, AT(poll), "150", NULL, 10, 100000, NULL,
     "Microseconds between two looks at MPI while the program computes, which has no descriptor to "
     "sleep on"},
    {"mpi.interfaces", SY_OPTION_STRING, 0, AT(interfaces), "auto", NULL, 0, 0, NULL,
     "Where PEs of other hosts may wake this one, by datagrams, to look at MPI: as "
     "SHMEM_TCP_INTERFACES, of which the first address is taken; none: nowhere"},
    {.name = NULL},
};
#undef AT

#define ROW(name, unit, member, help)                                                              \
    {                                                                                              \
        name, unit, SY_COUNTER_SUM, offsetof(struct mpi_state, counters.member), help              \
    }
static const struct sy_counter_row counters[] = {
    ROW("messages_sent", "messages", sent, "Messages that MPI has taken"),
    ROW("message_bytes_sent", "bytes", sent_bytes, "Their bytes"),
    ROW("messages_received", "messages", received, "Messages of other PEs"),
    ROW("message_bytes_received", "bytes", received_bytes, "Their bytes"),
    ROW("messages_refused", "attempts", refused, "Messages for which no buffer was free"),
    ROW("larges", "transfers", larges, "Data sent and received beside messages"),
    ROW("looks", "times", looks, "Looks at MPI, with or without a message"),
    ROW("puts", "transfers", puts, "Puts by the window"),
    ROW("gets", "transfers", gets, "Gets by the window"),
    ROW("wakeups_sent", "datagrams", wakeups_sent, "Wake-ups for PEs that may compute"),
    ROW("wakeups_heard", "times", wakeups_heard, "Wake-ups found, perhaps several at once"),
    {.name = NULL},
};
#undef ROW

/* ---- life ---- */

/* Finds the MPI of the process or of the launcher and loads the file that calls it. That file is
 * never unloaded, which MPI does not survive. */
static int mpi_plugin_load(struct mpi_state *state, struct sy_error *err)
{
    void *table;
    int rc = sy_mpi_find("mpi_transport", state->settings->family, &state->library, err);

    if (!rc)
        rc = sy_mpi_load(&state->library, "mpi_transport", MPI_CALLS_SYMBOL, &state->handle, &table,
                         err);
    if (rc)
        return rc == -ENOENT ? -ENODEV : rc;
    state->calls = table;
    rc = state->calls->start(&state->self, err);
    sy_mpi_name(state->self.version, state->mpi, sizeof state->mpi);
    if (!rc)
        rc = sy_mpi_check_size(state->self.version, state->self.size, err);
    if (!rc && state->self.size == 1 && state->host->npes > 1)
        rc = state->host->fail(err, ENODEV,
                               "MPI (%.80s) knows of this process alone; start the program with "
                               "the mpiexec that belongs to it",
                               state->mpi);
    return rc;
}

static int mpi_plugin_open(const struct sy_host *host, const struct sy_instance *instance,
                           void **self, struct sy_error *err)
{
    struct mpi_state *state = malloc(sizeof *state);

    if (!state)
        return host->fail(err, ENOMEM, "no memory for an instance");
    *state = (struct mpi_state){.host = host,
                                .instance = *instance,
                                .settings = instance->settings,
                                .sends.lock = PTHREAD_MUTEX_INITIALIZER,
                                .receives.lock = PTHREAD_MUTEX_INITIALIZER,
                                .large.lock = PTHREAD_MUTEX_INITIALIZER};
    int rc = mpi_plugin_load(state, err);
    if (!rc && (rc = mpi_tick_open(&state->tick, host, state->settings->poll)))
        rc = host->fail(err, -rc, "a timer: %s", strerror(-rc));
    if (!rc && (rc = mpi_wakeup_open(state, err)))
        mpi_tick_close(&state->tick);
    if (rc) {
        free(state);
        return rc;
    }
    host->log(SY_LOG_DEBUG, instance->name, "rank %d of %d by %s (%s): %s", state->self.rank,
              state->self.size, state->self.session ? "a session" : "MPI_COMM_WORLD",
              state->library.because, state->mpi);
    *self = state;
    return 0;
}

static void mpi_plugin_close(void *self)
{
    struct mpi_state *state = self;

    if (state->connected && !atomic_load(&state->over) && mpi_message_leave(state)) {
        mpi_window_close(state);
        state->calls->comm_close(state->comm);
        mpi_message_free(state);
    }
    state->calls->unwatch(state);
    for (unsigned i = 0; i < SY_REGIONS; i++)
        free(atomic_load(&state->region[i].address));
    mpi_wakeup_close(state);
    mpi_tick_close(&state->tick);
    free(state->rank_of);
    free(state->pe_of);
    free(state);
}

/* ---- what the core asks ---- */

static unsigned mpi_plugin_reach(void *self, int pe)
{
    struct mpi_state *state = self;

    return state->rank_of[pe] < 0 ? 0 : SY_REACH_MESSAGE | mpi_window_reach(state);
}

static int mpi_plugin_arm(void *self)
{
    struct mpi_state *state = self;

    mpi_tick_arm(&state->tick);
    return mpi_large_moves(state);
}

static void mpi_plugin_disarm(void *self)
{
    struct mpi_state *state = self;

    mpi_tick_disarm(&state->tick);
}

/* threads: MPI is begun for several, and the locks here are taken whatever their number. */
SY_TRANSPORT_PLUGIN(mpi) = {
    .size = sizeof(struct sy_transport),
    .name = "mpi",
    .priority = -1, /* MPI is not begun in programs that do not ask for it */
    .options = options,
    .settings_size = sizeof(struct mpi_settings),
    .counters = counters,
    .open = mpi_plugin_open,
    .close = mpi_plugin_close,
    .address = mpi_contact_address,
    .connect = mpi_contact_connect,
    .reach = mpi_plugin_reach,
    .region_attach = mpi_window_attach,
    .region_connect = mpi_window_connect,
    .region_detach = mpi_window_detach,
    .ctx_open = mpi_window_ctx_open,
    .ctx_close = mpi_window_ctx_close,
    .put = mpi_window_put,
    .get = mpi_window_get,
    .fence = mpi_window_fence,
    .quiet = mpi_window_quiet,
    .progress = mpi_message_progress,
    .wait_fd = mpi_wakeup_wait_fd,
    .arm = mpi_plugin_arm,
    .disarm = mpi_plugin_disarm,
    .protection = "messages of MPI, on a communicator of the PEs alone: as safe as the MPI is",
    .message_size = MPI_MESSAGE,
    .message_send = mpi_message_send,
    .threads = sy_transport_threads,
    .large_size = MPI_LARGE,
    .large_send = mpi_large_send,
    .large_receive = mpi_large_receive,
};
