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

#include "transports/shm/shm.h"
#include "util/bits.h"
#include "util/denied.h"
#include "util/memfd.h"

#define SLOTS 16
#define CHUNK 8192 /* bytes of data a request */

enum slot_state { FREE, TAKEN, READY, SERVED, DONE };
enum slot_kind { PUT, GET, AMO };

struct slot {
    _Atomic uint32_t state;
    uint32_t kind, window, length, op, answer;
    uint64_t offset, operand, compare, result;
    char data[CHUNK];
} __attribute__((aligned(64)));

struct shm_mailbox {
    struct slot slot[SLOTS];
};

size_t sy_shm_mailbox_size(void)
{
    return sizeof(struct shm_mailbox);
}

/* ---- owner ---- */

int sy_shm_service_open(struct shm_state *shm, struct sy_error *err)
{
    void *box = MAP_FAILED;
    int fd = sy_memfd_create("openshmem-mailbox"), bell = -1;

    errno = fd < 0 ? -fd : 0;
    if (fd >= 0 && !ftruncate(fd, sizeof(struct shm_mailbox)) && !sy_memfd_seal(fd))
        box = mmap(NULL, sizeof(struct shm_mailbox), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (box != MAP_FAILED)
        bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell < 0) {
        int code = errno;
        if (box != MAP_FAILED)
            munmap(box, sizeof(struct shm_mailbox));
        if (fd >= 0)
            close(fd);
        return shm->host->fail(err, code, "a mailbox for static variables: %s%s", strerror(code),
                               sy_denied_hint(code));
    }
    shm->mailbox = box;
    shm->mailbox_fd = fd;
    shm->doorbell = bell;
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

#define MOVE_WHOLE(TYPE)                                                                           \
    for (size_t i = 0; i < length; i += sizeof(TYPE))                                              \
    __atomic_store_n((TYPE *)(to + i),                                                             \
                     __atomic_load_n((const TYPE *)(from + i), __ATOMIC_RELAXED),                  \
                     __ATOMIC_RELAXED)

/* Elements that are aligned are moved whole: another thread may be looking at them. */
SY_ORDERED_ELSEWHERE static void service_move_whole(char *to, const char *from, size_t length)
{
    uintptr_t places = (uintptr_t)to | (uintptr_t)from | length;

    if (places % 8 == 0)
        MOVE_WHOLE(uint64_t);
    else if (places % 4 == 0)
        MOVE_WHOLE(uint32_t);
    else if (places % 2 == 0)
        MOVE_WHOLE(uint16_t);
    else
        MOVE_WHOLE(uint8_t);
}
#undef MOVE_WHOLE

/* Applies a request to this PE's memory. Everything in the slot is a peer's word, so it is checked.
 */
static uint32_t service_apply(struct shm_state *shm, struct slot *slot)
{
    const struct sy_host *host = shm->host;
    size_t length = slot->length;
    void *here = host->memory(host->pe, slot->window, slot->offset, length);

    if (!here || length > CHUNK)
        return EFAULT;
    switch (slot->kind) {
    case PUT:
        service_move_whole(here, slot->data, length);
        return 0;
    case GET:
        service_move_whole(slot->data, here, length);
        return 0;
    case AMO:
        if ((length != 4 && length != 8) || slot->offset % length || slot->op > SY_AMO_XOR)
            return EINVAL;
        host->amo((enum sy_amo_op)slot->op, here, length, slot->operand, slot->compare,
                  &slot->result);
        return 0;
    default:
        return EINVAL;
    }
}

int sy_shm_service_progress(struct shm_state *shm)
{
    uint64_t rings;
    int served = 0;

    if (!shm->mailbox)
        return 0;
    /* The doorbell is emptied before the slots are read: a request that comes later rings again. */
    if (read(shm->doorbell, &rings, sizeof rings) < 0 && errno != EAGAIN)
        return 0;
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &shm->mailbox->slot[i];
        uint32_t ready = READY;
        if (!atomic_compare_exchange_strong_explicit(&slot->state, &ready, SERVED,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        slot->answer = service_apply(shm, slot);
        atomic_store_explicit(&slot->state, DONE, memory_order_release);
        served++;
    }
    return served;
}

/* ---- requester ---- */

/* Takes a free slot. None free means that many requests are under way, which end without this PE,
 * so waiting here is safe; this PE serves others meanwhile. */
static struct slot *service_take(struct shm_state *shm, struct shm_mailbox *box)
{
    for (;;) {
        for (int i = 0; i < SLOTS; i++) {
            uint32_t none = FREE;
            if (atomic_compare_exchange_strong_explicit(&box->slot[i].state, &none, TAKEN,
                                                        memory_order_acquire, memory_order_relaxed))
                return &box->slot[i];
        }
        sy_shm_service_progress(shm);
        sched_yield();
    }
}

/* Hands a filled slot over and waits for the answer, an errno value. */
static uint32_t service_ask(struct shm_state *shm, struct shm_peer *peer, struct slot *slot)
{
    const uint64_t one = 1;

    atomic_store_explicit(&slot->state, READY, memory_order_release);
    while (write(peer->doorbell, &one, sizeof one) < 0 && errno == EINTR)
        ;
    while (atomic_load_explicit(&slot->state, memory_order_acquire) != DONE) {
        sy_shm_service_progress(shm);
        sched_yield();
    }
    return slot->answer;
}

static void service_give_back(struct slot *slot)
{
    atomic_store_explicit(&slot->state, FREE, memory_order_release);
}

/* A transfer, in chunks. Chunks begin at multiples of CHUNK from an aligned start, so no aligned
 * element is divided. */
static int service_transfer(struct shm_state *shm, struct shm_peer *peer,
                            const struct sy_transfer *t, enum slot_kind kind)
{
    char *local = t->local;
    uint64_t offset = t->offset;
    uint32_t answer = 0;

    for (size_t left = t->length; left && !answer;) {
        struct slot *slot = service_take(shm, peer->mailbox);
        size_t length = CHUNK - offset % 16 < left ? CHUNK - offset % 16 : left;
        slot->kind = kind;
        slot->window = t->window;
        slot->offset = offset;
        slot->length = (uint32_t)length;
        if (kind == PUT)
            memcpy(slot->data, local, length);
        answer = service_ask(shm, peer, slot);
        if (kind == GET && !answer)
            memcpy(local, slot->data, length);
        service_give_back(slot);
        offset += length;
        local += length;
        left -= length;
    }
    return -(int)answer;
}

int sy_shm_service_put(struct shm_state *shm, struct shm_peer *peer, const struct sy_transfer *t)
{
    return service_transfer(shm, peer, t, PUT);
}

int sy_shm_service_get(struct shm_state *shm, struct shm_peer *peer, const struct sy_transfer *t)
{
    return service_transfer(shm, peer, t, GET);
}

int sy_shm_service_amo(struct shm_state *shm, struct shm_peer *peer, const struct sy_amo *a)
{
    struct slot *slot = service_take(shm, peer->mailbox);

    slot->kind = AMO;
    slot->window = a->window;
    slot->offset = a->offset;
    slot->length = a->width;
    slot->op = a->op;
    slot->operand = a->operand;
    slot->compare = a->compare;
    uint32_t answer = service_ask(shm, peer, slot), narrow = (uint32_t)slot->result;
    if (!answer && a->result)
        memcpy(a->result, a->width == 4 ? (void *)&narrow : (void *)&slot->result, a->width);
    service_give_back(slot);
    return -(int)answer;
}

/* ---- first use ---- */

/* Where it is, after the core has had it mapped. */
static void *first_use(struct shm_state *shm, int pe, unsigned window, uint64_t offset,
                       size_t length)
{
    return shm->host->memory(pe, window, offset, length);
}

int sy_shm_first_put(struct shm_state *shm, const struct sy_transfer *t)
{
    void *there = first_use(shm, t->pe, t->window, t->offset, t->length);

    if (there)
        service_move_whole(there, t->local, t->length);
    return there ? 0 : -EFAULT;
}

int sy_shm_first_get(struct shm_state *shm, const struct sy_transfer *t)
{
    const void *there = first_use(shm, t->pe, t->window, t->offset, t->length);

    if (there)
        service_move_whole(t->local, there, t->length);
    return there ? 0 : -EFAULT;
}

int sy_shm_first_amo(struct shm_state *shm, const struct sy_amo *a)
{
    void *there = first_use(shm, a->pe, a->window, a->offset, a->width);
    uint64_t old = 0;

    if (!there)
        return -EFAULT;
    shm->host->amo(a->op, there, a->width, a->operand, a->compare, &old);
    uint32_t narrow = (uint32_t)old;
    if (a->result)
        memcpy(a->result, a->width == 4 ? (void *)&narrow : (void *)&old, a->width);
    return 0;
}
