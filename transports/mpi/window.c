/* Puts and gets by MPI's own: a dynamic window, to which regions are attached. Atomic operations
 * and signals are never MPI's: they share words with the instructions of this processor. Nor are
 * transfers of up to 8 bytes, since MPI does not promise to store a word whole.
 *
 * A context knows towards whom puts are under way, and which gets are. MPI has no way to ask
 * whether puts are complete but to wait for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/mpi/state.h"
#include "util/count.h"

#define MOST ((size_t)1 << 30) /* bytes of a transfer: MPI counts in int */

enum { WORD = 8, GETS = 64 };

struct window_ctx {
    pthread_mutex_t lock; /* for all of it */
    mpi_request get[GETS];
    int get_from[GETS]; /* PEs */
    unsigned gets;
    unsigned char *dirty; /* for each PE: it has been put to */
    bool any_dirty;
};

/* ---- the window and its regions ---- */

/* Memory that comes late and that MPI does not take is reached by messages in mode auto. */
static int window_attach(struct mpi_state *state, unsigned index, struct sy_error *err)
{
    struct mpi_region *region = &state->region[index];
    const struct sy_region *memory = &region->memory;

    if (!memory->length || memory->kind == SY_REGION_DEVICE)
        return 0;
    region->attached = !state->calls->attach(state->window, memory->base, memory->length);
    if (region->attached)
        return 0;
    if (state->connected && state->settings->mode == MPI_MODE_AUTO) {
        state->host->log(SY_LOG_INFO, state->instance.name, "region %u by messages: %s", index,
                         state->calls->text());
        return 0;
    }
    return state->host->fail(err, ENODEV,
                             "MPI_Win_attach of region %u, %zu bytes: %s; SHMEM_MPI_MODE=am does "
                             "without",
                             index, memory->length, state->calls->text());
}

int mpi_window_open(struct mpi_state *state, struct sy_error *err)
{
    struct sy_error why = {""};

    if (state->settings->mode == MPI_MODE_AM)
        return 0;
    int rc = state->settings->mode == MPI_MODE_AUTO && state->self.by_messages
                 ? state->host->fail(&why, EOPNOTSUPP, "this MPI makes windows of messages itself")
                 : state->calls->window_open(state->comm, &state->window, &why);
    state->windowed = !rc;
    if (state->windowed && state->self.by_messages)
        mpi_tick_never_silent(&state->tick);
    if (rc && state->settings->mode == MPI_MODE_RMA)
        return state->host->fail(err, ENODEV, "SHMEM_MPI_MODE=rma, but %s", why.text);
    if (rc) {
        state->host->log(SY_LOG_INFO, state->instance.name, "messages alone: %s", why.text);
        return 0;
    }
    for (unsigned i = 0; i < SY_REGIONS && !rc; i++)
        rc = window_attach(state, i, err);
    return rc;
}

void mpi_window_close(struct mpi_state *state)
{
    if (!state->windowed)
        return;
    for (unsigned i = 0; i < SY_REGIONS; i++)
        mpi_window_detach(state, i);
    state->calls->window_close(state->window);
}

unsigned mpi_window_reach(const struct mpi_state *state)
{
    if (!state->windowed)
        return 0;
    return state->settings->mode == MPI_MODE_RMA ? SY_REACH_PUT | SY_REACH_GET : SY_REACH_GET;
}

/* The key is the address. Memory that is there from the start is attached when the window is made,
 * and its key used when all have connected; so nobody comes too early. */
int mpi_window_attach(void *self, unsigned index, const struct sy_region *memory, void *key,
                      size_t room, struct sy_error *err)
{
    struct mpi_state *state = self;
    struct mpi_region *region = &state->region[index];
    uint64_t address = (uint64_t)(uintptr_t)memory->base;
    int rc = 0;

    *region = (struct mpi_region){.memory = *memory};
    if (state->windowed)
        rc = window_attach(state, index, err);
    if (rc || state->settings->mode == MPI_MODE_AM || memory->kind == SY_REGION_DEVICE ||
        (state->connected && !region->attached) || room < sizeof address)
        return rc;
    memcpy(key, &address, sizeof address);
    return sizeof address;
}

int mpi_window_connect(void *self, unsigned index, const void *keys, size_t stride,
                       struct sy_error *err)
{
    struct mpi_state *state = self;
    size_t npes = (size_t)state->host->npes;

    if (!keys || !state->windowed)
        return 0;
    uint64_t *address = malloc(npes * sizeof *address);
    if (!address)
        return state->host->fail(err, ENOMEM, "no memory for %zu addresses", npes);
    for (size_t pe = 0; pe < npes; pe++)
        memcpy(&address[pe], (const char *)keys + pe * stride, sizeof *address);
    atomic_store(&state->region[index].address, address);
    return 0;
}

void mpi_window_detach(void *self, unsigned index)
{
    struct mpi_state *state = self;
    struct mpi_region *region = &state->region[index];

    if (region->attached && !atomic_load(&state->over))
        state->calls->detach(state->window, region->memory.base);
    free(atomic_exchange(&region->address, NULL));
    *region = (struct mpi_region){.attached = false};
}

/* ---- contexts ---- */

int mpi_window_ctx_open(void *self, long options, struct sy_transport_ctx **ctx,
                        struct sy_error *err)
{
    struct mpi_state *state = self;

    (void)options;
    if (state->settings->mode == MPI_MODE_AM)
        return 0;
    struct window_ctx *made = calloc(1, sizeof *made);
    unsigned char *dirty = calloc((size_t)state->host->npes, 1);
    if (!made || !dirty) {
        free(made);
        free(dirty);
        return state->host->fail(err, ENOMEM, "no memory for a context");
    }
    *made = (struct window_ctx){.lock = PTHREAD_MUTEX_INITIALIZER, .dirty = dirty};
    *ctx = (struct sy_transport_ctx *)made;
    return 0;
}

void mpi_window_ctx_close(void *self, struct sy_transport_ctx *ctx)
{
    (void)self;
    if (ctx)
        free(((struct window_ctx *)ctx)->dirty);
    free(ctx);
}

/* ---- transfers ---- */

/* Where a transfer goes to in the other process. Not 0: the code to answer. */
static int window_target(struct mpi_state *state, const struct sy_transfer *t, uint64_t *target)
{
    size_t least = state->settings->mode == MPI_MODE_RMA ? WORD + 1 : state->settings->window;

    if (t->length < least || t->length > MOST)
        return -EOPNOTSUPP;
    const uint64_t *address = atomic_load_explicit(&state->region[t->window].address,
                                                   memory_order_acquire);
    if (!address || !address[t->pe])
        return -EOPNOTSUPP;
    *target = address[t->pe] + t->offset;
    return atomic_load(&state->over) ? -ESHUTDOWN : 0;
}

static int window_failed(struct mpi_state *state, const char *what, int pe)
{
    state->host->log(SY_LOG_ERROR, state->instance.name, "%s, PE %d: MPI says: %s", what, pe,
                     state->calls->text());
    return -EIO;
}

/* Waits for a transfer. It is not left to MPI (MPI_Win_flush_local), which does not give the
 * processor to the target that has to act first. */
static int window_wait(struct mpi_state *state, int rank, mpi_request *request)
{
    uint64_t since = 0;
    int done;

    if (state->self.by_messages)
        mpi_wakeup_sent(state, rank);
    while (!(done = state->calls->test(request, NULL, NULL)))
        if (mpi_message_progress(state, 0) <= 0)
            state->host->rest(&since);
    return done < 0 ? done : 0;
}

/* The PE is marked after MPI has the put: whoever clears the mark first then flushes it. */
int mpi_window_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                   unsigned flags)
{
    struct mpi_state *state = self;
    struct window_ctx *own = (struct window_ctx *)ctx;
    int to = state->rank_of[t->pe];
    mpi_request request, *wanted = flags & SY_BLOCKING ? &request : NULL;
    uint64_t target;
    int rc = window_target(state, t, &target);

    if (rc)
        return rc;
    sy_count_shared(&state->counters.puts, 1);
    rc = state->calls->put(state->window, to, t->local, t->length, target, wanted);
    pthread_mutex_lock(&own->lock);
    own->dirty[t->pe] = 1;
    own->any_dirty = true;
    pthread_mutex_unlock(&own->lock);
    if (!rc && wanted)
        rc = window_wait(state, to, wanted);
    return rc ? window_failed(state, "MPI_Put", t->pe) : 0;
}

/* Forgets gets that are complete and returns how many are left, of one PE or of all; under the
 * lock. */
static int window_test_gets(struct mpi_state *state, struct window_ctx *own, int pe)
{
    unsigned left = 0;
    int count = 0, rc = 0;

    for (unsigned i = 0; i < own->gets; i++) {
        int done = state->calls->test(&own->get[i], NULL, NULL);
        if (done < 0)
            rc = window_failed(state, "MPI_Rget", own->get_from[i]);
        if (done)
            continue;
        count += pe == SY_ALL_PES || own->get_from[i] == pe;
        own->get_from[left] = own->get_from[i];
        own->get[left++] = own->get[i];
    }
    own->gets = left;
    return rc ? rc : count;
}

static int window_get_and_wait(struct mpi_state *state, const struct sy_transfer *t, uint64_t from)
{
    int rank = state->rank_of[t->pe];
    mpi_request request;
    int rc = state->calls->get(state->window, rank, t->local, t->length, from, &request);

    if (!rc)
        rc = window_wait(state, rank, &request);
    return rc ? window_failed(state, "MPI_Rget", t->pe) : 0;
}

static int window_get_nbi(struct mpi_state *state, struct window_ctx *own,
                          const struct sy_transfer *t, uint64_t from)
{
    int rc = 0;

    pthread_mutex_lock(&own->lock);
    if (own->gets == GETS)
        rc = window_test_gets(state, own, SY_ALL_PES) < 0 ? -EIO : own->gets == GETS ? -EAGAIN : 0;
    if (!rc) {
        rc = state->calls->get(state->window, state->rank_of[t->pe], t->local, t->length, from,
                               &own->get[own->gets]);
        own->get_from[own->gets] = t->pe;
        own->gets += !rc;
        rc = rc ? window_failed(state, "MPI_Rget", t->pe) : 0;
    }
    pthread_mutex_unlock(&own->lock);
    return rc;
}

int mpi_window_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                   unsigned flags)
{
    struct mpi_state *state = self;
    uint64_t from;
    int rc = window_target(state, t, &from);

    if (rc)
        return rc;
    sy_count_shared(&state->counters.gets, 1);
    return flags & SY_BLOCKING ? window_get_and_wait(state, t, from)
                               : window_get_nbi(state, (struct window_ctx *)ctx, t, from);
}

/* ---- completion ---- */

/* Completes puts at the target. It waits for the MPI of the other side alone, which is looked at
 * whatever the program does there. Under the lock, so a thread that finds nothing dirty comes after
 * the flush. */
static int window_flush(struct mpi_state *state, struct window_ctx *own, int pe)
{
    bool more = false;
    int rc = 0;

    for (int i = 0; i < state->host->npes && own->any_dirty; i++) {
        if (own->dirty[i] && (pe == SY_ALL_PES || pe == i)) {
            own->dirty[i] = 0;
            if (state->calls->flush(state->window, state->rank_of[i]))
                rc = window_failed(state, "MPI_Win_flush", i);
        }
        more |= own->dirty[i];
    }
    own->any_dirty = more;
    return rc;
}

int mpi_window_fence(void *self, struct sy_transport_ctx *ctx)
{
    struct window_ctx *own = (struct window_ctx *)ctx;

    if (!own)
        return 0;
    pthread_mutex_lock(&own->lock);
    int rc = own->any_dirty && atomic_load(&((struct mpi_state *)self)->over)
                 ? -ESHUTDOWN
                 : window_flush(self, own, SY_ALL_PES);
    pthread_mutex_unlock(&own->lock);
    return rc;
}

int mpi_window_quiet(void *self, struct sy_transport_ctx *ctx, int pe)
{
    struct mpi_state *state = self;
    struct window_ctx *own = (struct window_ctx *)ctx;
    int rc = 0;

    if (!own)
        return 0;
    pthread_mutex_lock(&own->lock);
    if (own->gets + own->any_dirty && atomic_load(&state->over))
        rc = -ESHUTDOWN;
    if (!rc && !(rc = window_test_gets(state, own, pe)))
        rc = window_flush(state, own, pe);
    pthread_mutex_unlock(&own->lock);
    return rc > 0 ? -EAGAIN : rc;
}
