/* Windows that are in no file (SHMEM_STATICS=service, or a process that could not be remapped) are
 * reached through a mailbox: shared memory of their owner, with slots for requests. A requester
 * fills a slot and rings the owner's doorbell, an eventfd; the owner's progress thread, or a thread
 * of it that waits, applies the request with loads, stores and atomics of its own and marks it
 * done.
 *
 * Who may write a slot, by its state: FREE nobody; a requester takes it to TAKEN by
 * compare-and-swap and fills it, then stores READY (release). Any thread of the owner takes READY
 * to SERVED by compare-and-swap (acquire), writes the results, stores DONE (release). The requester
 * that took it reads the results after seeing DONE (acquire) and stores FREE. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/apply.h"
#include "engine/request.h"
#include "transports/shm/shm.h"
#include "util/clock.h"
#include "util/denied.h"
#include "util/file.h"
#include "util/memfd.h"

#define SLOTS 16
#define CHUNK ((size_t)1 << 20) /* bytes of data a request; pages that none uses cost nothing */
#define AHEAD 6                 /* requests of a transfer that are under way at most */
#define BATCH 64                /* copies that one call of the owner begins, about */

/* Looks of a wait between two at the clock, and when it is long. */
#define CLOCK_LOOKS  64
#define LONG_WAIT_NS UINT64_C(100000000)

_Static_assert(CHUNK <= SY_RECORD_CHUNK, "the engine takes requests of a chunk");

enum slot_state { FREE, TAKEN, READY, SERVED, DONE };

struct slot {
    _Atomic uint32_t state;
    uint32_t answer;
    char words[8 * SY_RECORD_WORDS]; /* engine/record.h, for the owner itself */
    char data[CHUNK];                /* payload, then the reply */
} __attribute__((aligned(64)));

struct shm_mailbox {
    struct slot slot[SLOTS];
};

size_t sy_shm_mailbox_size(void)
{
    return sizeof(struct shm_mailbox);
}

/* ---- owner ---- */

int sy_shm_service_open(struct shm_state *shm, int bell, struct sy_error *err)
{
    void *box = MAP_FAILED;
    int fd = sy_memfd_create("openshmem-mailbox");

    errno = -(fd < 0 ? fd : sy_file_set_length(fd, sizeof(struct shm_mailbox)));
    if (!errno && !sy_memfd_seal(fd))
        box = mmap(NULL, sizeof(struct shm_mailbox), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (box != MAP_FAILED && bell < 0)
        bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (box == MAP_FAILED || bell < 0) {
        int code = errno;
        if (box != MAP_FAILED)
            munmap(box, sizeof(struct shm_mailbox));
        sy_file_close(&fd);
        return shm->host->fail(err, code, "a mailbox for memory that is not mapped: %s%s",
                               strerror(code), sy_denied_hint(code));
    }
    shm->mailbox_fd = fd;
    shm->doorbell = bell;
    shm->mailbox = box;
    return 0;
}

void sy_shm_service_close(struct shm_state *shm)
{
    if (!shm->mailbox)
        return;
    munmap(shm->mailbox, sizeof(struct shm_mailbox));
    close(shm->mailbox_fd);
    close(shm->doorbell);
    shm->mailbox = NULL;
    shm->mailbox_fd = shm->doorbell = -1;
}

/* Requests whose copies one thread has begun, which the device carries out by itself: in the order
 * in which they began, in which they end. */
struct batch {
    unsigned begun, ended;
    struct going {
        struct slot *slot;
        struct sy_device_copying copying;
    } going[SLOTS];
};

/* Applies a request to this PE's memory, or begins to: then copying->ticket is set. Everything in
 * the slot is a peer's word, so it is checked; what the check is about is copied first. */
static uint32_t service_apply(struct shm_state *shm, struct slot *slot,
                              struct sy_device_copying *copying)
{
    char words[sizeof slot->words];
    bool done;

    memcpy(words, slot->words, sizeof words);
    uint64_t header = sy_record_word(words), length = sy_record_data(words);
    unsigned op = sy_record_op(header);
    bool put = op == SY_RECORD_PUT_LONG;

    copying->ticket = NULL;
    sy_regions_ensure(&shm->regions);
    if (length > CHUNK || sy_record_reply(words) < 0)
        return EFAULT;
    pthread_mutex_lock(&shm->serving);
    if ((put || op == SY_RECORD_GET_LONG) && sy_device_is_ahead(&shm->regions, header))
        done = sy_device_begin(&shm->regions, header, put, slot->data, length, copying);
    else
        done = !sy_apply(&shm->regions, words, slot->data, slot->data);
    if (copying->ticket)
        atomic_fetch_add(&shm->copying, 1);
    pthread_mutex_unlock(&shm->serving);
    return done ? 0 : EFAULT;
}

static void service_answer(struct slot *slot, uint32_t answer)
{
    slot->answer = answer;
    atomic_store_explicit(&slot->state, DONE, memory_order_release);
}

/* Serves the requests that are ready; of some the copies go on. */
static int service_ready(struct shm_state *shm, struct batch *batch)
{
    int served = 0;

    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &shm->mailbox->slot[i];
        struct going *going = &batch->going[batch->begun % SLOTS];
        uint32_t ready = READY;
        if (batch->begun - batch->ended == SLOTS)
            break;
        if (!atomic_compare_exchange_strong_explicit(&slot->state, &ready, SERVED,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        uint32_t answer = service_apply(shm, slot, &going->copying);
        going->slot = slot;
        if (going->copying.ticket)
            batch->begun++;
        else
            service_answer(slot, answer);
        served++;
    }
    return served;
}

/* Waits for the oldest copy, and answers all that are over. The device has others to do meanwhile,
 * so the time that waking up takes is not lost. */
static void service_copied(struct shm_state *shm, struct batch *batch)
{
    for (bool wait = true; batch->ended != batch->begun; wait = false, batch->ended++) {
        struct going *going = &batch->going[batch->ended % SLOTS];
        if (!shm->host->device_end(&going->copying, wait))
            break;
        atomic_fetch_sub(&shm->copying, 1);
        service_answer(going->slot, 0);
    }
}

void sy_shm_service_ring(int bell)
{
    const uint64_t one = 1;

    while (write(bell, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* What comes while copies go on is begun too, so that the device always has something to do: as
 * much as leaves the thread to its own wait soon. */
int sy_shm_service_progress(struct shm_state *shm)
{
    struct batch batch = {.begun = 0};
    uint64_t rings[64];
    int served = 0;

    if (!shm->mailbox)
        return 0;
    /* The doorbell is emptied before the slots are read: a request that comes later rings again. */
    if (read(shm->doorbell, rings, sizeof rings) < 0 && errno != EAGAIN)
        return 0;
    do {
        if (batch.begun < BATCH)
            served += service_ready(shm, &batch);
        service_copied(shm, &batch);
    } while (batch.ended != batch.begun);
    if (batch.begun >= BATCH) /* requests may have come since the last look at the slots */
        sy_shm_service_ring(shm->late.bell < 0 ? shm->doorbell : shm->late.bell);
    if (served)
        sy_count_shared(&shm->served, (uint64_t)served);
    return served;
}

/* ---- requester ---- */

/* A wait for another PE. */
struct patience {
    unsigned looks;
    uint64_t begun, since; /* since: the core's */
    bool is_long;
};

/* Serves others, and gives the processor away by itself rather than by host->rest: that may sleep
 * until something arrives by a descriptor, and here a slot changes by a store into mapped memory,
 * which wakes nobody. A wait that is long all the same is the core's too, which reports it. */
static void service_rest(struct shm_state *shm, struct patience *wait)
{
    sy_shm_service_progress(shm);
    if (!wait->is_long && ++wait->looks % CLOCK_LOOKS == 0) {
        uint64_t now = sy_clock_ns();
        wait->begun = wait->begun ? wait->begun : now;
        wait->is_long = now - wait->begun > LONG_WAIT_NS;
    }
    if (wait->is_long)
        shm->host->rest(&wait->since);
    else
        sched_yield();
}

/* Takes a free slot. If none is free a thread without a slot waits, and serves others meanwhile:
 * the requests under way end without this PE. NULL: none is free and it has not waited. */
static struct slot *service_take(struct shm_state *shm, struct shm_mailbox *box, bool wait)
{
    struct patience patience = {0};

    for (;;) {
        for (int i = 0; i < SLOTS; i++) {
            uint32_t none = FREE;
            if (atomic_compare_exchange_strong_explicit(&box->slot[i].state, &none, TAKEN,
                                                        memory_order_acquire, memory_order_relaxed))
                return &box->slot[i];
        }
        if (!wait)
            return NULL;
        service_rest(shm, &patience);
    }
}

/* Hands a filled slot over. */
static void service_ask(struct shm_state *shm, struct shm_peer *peer, struct slot *slot)
{
    sy_count_shared(&shm->asked, 1);
    atomic_store_explicit(&slot->state, READY, memory_order_release);
    sy_shm_service_ring(peer->doorbell);
}

/* Waits for the answer, an errno value. */
static uint32_t service_await(struct shm_state *shm, struct slot *slot)
{
    struct patience patience = {0};

    while (atomic_load_explicit(&slot->state, memory_order_acquire) != DONE)
        service_rest(shm, &patience);
    return slot->answer;
}

static void service_give_back(struct slot *slot)
{
    atomic_store_explicit(&slot->state, FREE, memory_order_release);
}

/* A chunk that is under way. A put is copied to its slot, then asked for; a get is asked for, then
 * copied from it. */
struct chunk {
    enum { COPIED, ASKED, OVER } step;
    struct slot *slot;
    char *local;
    size_t length;
    struct sy_device_copying copying; /* ticket NULL: the copy is over */
};

/* A transfer that is under way. */
struct moving {
    struct shm_state *shm;
    struct shm_peer *peer;
    bool put;
    int device;      /* the region of a device that this PE's side is in, or -1 */
    uint32_t answer; /* an errno value: why it has failed */
    struct chunk chunk[AHEAD];
    unsigned begun, ended;
};

/* Copies between this PE's side and the slot, or has a device begin to. */
static void service_copy(struct moving *m, struct chunk *chunk)
{
    struct shm_state *shm = m->shm;
    char *data = chunk->slot->data;

    chunk->step = COPIED;
    chunk->copying.ticket = NULL;
    if (m->device < 0) {
        sy_copy_bytes(m->put ? data : chunk->local, m->put ? chunk->local : data, chunk->length);
        return;
    }
    const char *base = shm->region[m->device].own.base;
    sy_regions_ensure(&shm->regions);
    uint64_t place = sy_record_own((unsigned)m->device, (uint64_t)(chunk->local - base));
    if (!sy_device_begin(&shm->regions, place, !m->put, data, chunk->length, &chunk->copying))
        m->answer = EFAULT;
}

static void service_begin_chunk(struct moving *m, struct chunk *chunk)
{
    if (m->put) {
        service_copy(m, chunk);
    } else {
        chunk->step = ASKED;
        service_ask(m->shm, m->peer, chunk->slot);
    }
}

/* Begins the chunk's next step if its step is over; whether it was. */
static bool service_advance(struct moving *m, struct chunk *chunk)
{
    struct shm_state *shm = m->shm;

    if (chunk->step == COPIED) {
        if (chunk->copying.ticket && !shm->host->device_end(&chunk->copying, shm->host->crowded))
            return false;
        chunk->step = m->put && !m->answer ? ASKED : OVER;
        if (chunk->step == ASKED)
            service_ask(shm, m->peer, chunk->slot);
    } else if (atomic_load_explicit(&chunk->slot->state, memory_order_acquire) == DONE) {
        m->answer = m->answer ? m->answer : chunk->slot->answer;
        chunk->step = OVER;
        if (!m->put && !m->answer)
            service_copy(m, chunk);
    } else {
        return false;
    }
    return true;
}

/* Takes the oldest chunk that can go on through its next steps, and ends what is over. Only one, so
 * that another one is asked for before this PE copies again. */
static bool service_advance_one(struct moving *m)
{
    bool any = false;

    for (unsigned i = m->ended; i < m->begun && !any; i++) {
        struct chunk *chunk = &m->chunk[i % AHEAD];
        while (chunk->step != OVER && service_advance(m, chunk))
            any = true;
    }
    for (; m->ended < m->begun && m->chunk[m->ended % AHEAD].step == OVER; m->ended++) {
        struct chunk *chunk = &m->chunk[m->ended % AHEAD];
        service_give_back(chunk->slot);
        sy_count_shared(&m->shm->moved, chunk->length);
    }
    return any;
}

/* How a transfer is cut. Short ones have several chunks all the same, so that both sides copy at
 * once. The chunks of others are as long as a processor's own cache: where memcpy takes an
 * instruction for its whole work, it does so up to this length, and this instruction is slow for
 * what another processor has just written. */
struct cut {
    size_t most;
    unsigned ahead;
};

static struct cut service_cut(size_t length)
{
    return length < 2 * CHUNK ? (struct cut){CHUNK / 8, AHEAD} : (struct cut){CHUNK, 4};
}

/* A transfer, in chunks: some are copied here while the owner copies others. Chunks begin at
 * multiples of 16 from an aligned start, so no aligned element is divided. A thread that has a slot
 * does not wait for another one: those that have it may be waiting too. */
int sy_shm_service_transfer(struct shm_state *shm, struct shm_peer *peer,
                            const struct sy_transfer *t, bool put)
{
    struct moving m = {.shm = shm,
                       .peer = peer,
                       .put = put,
                       .device = sy_shm_region_of_device(shm, t->local),
                       .answer = (t->offset + t->length) >> SY_RECORD_OFFSET_BITS ? EFBIG : 0};
    const struct cut cut = service_cut(t->length);
    struct patience patience = {0};

    for (size_t done = 0; (done < t->length && !m.answer) || m.ended < m.begun;) {
        bool more = done < t->length && !m.answer && m.begun - m.ended < cut.ahead;
        struct slot *slot = more ? service_take(shm, peer->mailbox, m.begun == m.ended) : NULL;
        if (slot) {
            struct chunk *next = &m.chunk[m.begun++ % AHEAD];
            size_t most = cut.most - (t->offset + done) % 16, left = t->length - done;
            *next = (struct chunk){.slot = slot, .local = (char *)t->local + done};
            next->length = left < most ? left : most;
            sy_request_write_long(slot->words, sy_record_own(t->window, t->offset + done),
                                  put ? SY_RECORD_PUT_LONG : SY_RECORD_GET_LONG, next->length);
            service_begin_chunk(&m, next);
            done += next->length;
        }
        if (service_advance_one(&m) || slot)
            patience = (struct patience){0};
        else
            service_rest(shm, &patience);
    }
    return -(int)m.answer;
}

/* Moves blocks packed into slots, one request after another. */
int sy_shm_service_strided(struct shm_state *shm, struct shm_peer *peer, const struct sy_strided *s,
                           bool put)
{
    size_t most = SY_RECORD_PACKED / s->block, count;
    ptrdiff_t reach = (ptrdiff_t)(s->blocks - 1) * s->remote_stride;
    uint64_t last = s->first.offset + (uint64_t)reach;
    uint32_t answer = 0;

    if (!most || (s->first.offset | last) >> SY_RECORD_OFFSET_BITS)
        return -EOPNOTSUPP;
    for (size_t done = 0; done < s->blocks && !answer; done += count) {
        struct slot *slot = service_take(shm, peer->mailbox, true);
        char *local = (char *)s->first.local + (ptrdiff_t)done * s->local_stride;
        uint64_t at = s->first.offset + (uint64_t)((ptrdiff_t)done * s->remote_stride);
        ptrdiff_t packed = (ptrdiff_t)s->block;
        count = s->blocks - done < most ? s->blocks - done : most;
        sy_request_write_strided(slot->words, sy_record_own(s->first.window, at),
                                 put ? SY_RECORD_PUT_STRIDED : SY_RECORD_GET_STRIDED, s, count);
        if (put)
            sy_apply_blocks(slot->data, packed, local, s->local_stride, s->block, count);
        service_ask(shm, peer, slot);
        answer = service_await(shm, slot);
        if (!put && !answer)
            sy_apply_blocks(local, s->local_stride, slot->data, packed, s->block, count);
        service_give_back(slot);
        sy_count_shared(&shm->moved, count * s->block);
    }
    return -(int)answer;
}

int sy_shm_service_amo(struct shm_state *shm, struct shm_peer *peer, const struct sy_amo *a)
{
    struct slot *slot = service_take(shm, peer->mailbox, true);

    sy_request_write_amo(slot->words, sy_record_own(a->window, a->offset), a, a->result);
    service_ask(shm, peer, slot);
    uint32_t answer = service_await(shm, slot);
    if (!answer && a->result)
        memcpy(a->result, slot->data, a->width);
    service_give_back(slot);
    return -(int)answer;
}

/* ---- first use ---- */

int sy_shm_first_transfer(struct shm_state *shm, const struct sy_transfer *t, bool put)
{
    void *there = shm->host->memory(t->pe, t->window, t->offset, t->length);

    if (!there)
        return -EFAULT;
    if (put)
        sy_apply_store(there, t->local, t->length);
    else
        sy_apply_load(t->local, there, t->length);
    return 0;
}

int sy_shm_first_amo(struct shm_state *shm, const struct sy_amo *a)
{
    void *there = shm->host->memory(a->pe, a->window, a->offset, a->width);
    uint64_t old = 0;

    if (!there)
        return -EFAULT;
    shm->host->amo(a->op, there, a->width, a->operand, a->compare, &old);
    uint32_t narrow = (uint32_t)old;
    if (a->result)
        memcpy(a->result, a->width == 4 ? (void *)&narrow : (void *)&old, a->width);
    return 0;
}
