/* See lock.h.
 *
 * The queue lock of Mellor-Crummey and Scott, with its records in the copies of the variable: it
 * needs no memory beside them, however many locks there are. */
#include <stdint.h>

#include "coll/lock.h"
#include "core/amo.h"
#include "core/rma.h"
#include "core/wait/wait.h"
#include "core/start/world.h"

/* The two halves of the variable are words for 32-bit atomic operations. One PE, which follows from
 * where the variable is, is the lock's home; there the first word is the queue's `tail`, elsewhere
 * it stays 0. The second word is each PE's own, its `link`. PEs are written as number + 1; 0 is
 * none.
 *
 *   tail: the PE that entered the queue last. 0: the lock is free.
 *   link: the PE that comes after this one in the queue, or 0; QUEUED, while this PE is in the
 * queue; GRANTED, which it gets from its predecessor when the lock is its own; and ASLEEP, which it
 * adds when it sleeps until then (core/wait/wait.h), and takes away together with GRANTED.
 *
 * A PE enters by exchanging the tail for itself. If that was 0 the lock is its own; otherwise it
 * enters itself in its predecessor's link and looks at nothing but its own link until GRANTED
 * comes. To leave, the holder changes the tail from itself to 0; if another has entered since, it
 * waits for that one's entry in its own link, and grants. The order of the queue is that of the
 * exchanges, so it is first come, first served; a try changes the tail only from 0, so it passes
 * nobody.
 *
 * Who may write when. The tail: any PE, by exchange (entering), from 0 (trying), from itself to 0
 * (the holder alone, for only a holder that is last finds itself there). A PE's link is 0 while it
 * is not in the queue, so it stores QUEUED itself before it enters; a store does, since nobody else
 * writes before its exchange. While it is in the queue, its successor, the one PE whose exchange
 * returned this PE, adds its number once; its predecessor, the one PE whose number its own exchange
 * returned, adds GRANTED once; it takes GRANTED away itself when it has seen it. Those are atomic
 * operations, since the first two may come at once. The holder stores 0 when the tail has become 0,
 * or after it has seen its successor and before it grants: nobody else writes then, for the
 * predecessor's and the successor's one operation are over, and the PE enters again only itself. So
 * after the last holder has left all copies of the variable are 0, as they were at the beginning,
 * and the memory may be used for anything. A PE that enters and finds QUEUED, or leaves and does
 * not, makes a mistake that would let it wait for ever.
 *
 * Nobody waits for a PE that waits: the holder waits at most for a successor between its exchange
 * and its entry, neither of which waits for anything. Waiting gives way as everywhere
 * (core/wait/wait.h), so any number of PEs may share a processor.
 *
 * All operations on others' words are of the fetching kind, also where the old value is of no use:
 * such an operation has been applied when it returns, whatever a transport gathers before it sends.
 * A PE that computes for long after it has left does not hold up the next. */
#define GRANTED UINT32_C(0x80000000)
#define QUEUED  UINT32_C(0x40000000)
#define ASLEEP  UINT32_C(0x20000000)

struct queue {
    struct sy_target at; /* the variable */
    uint32_t *word;      /* this PE's address of the two words */
    int home;
    uint32_t self; /* this PE, as the words have it */
};

enum { TAIL, LINK };

_Static_assert(sizeof(long) == 2 * sizeof(uint32_t), "a lock's variable has room for two words");

/* Fibonacci hashing: neighbouring variables have distant homes. In a memory space it is the next PE
 * that is a member. All PEs compute the same. */
static int lock_home_of(const struct sy_target *at)
{
    uint64_t mixed = (at->offset / sizeof(long) + at->window) * UINT64_C(0x9e3779b97f4a7c15);

    int home = (int)((mixed >> 32) * (uint64_t)sy_world.npes >> 32);

    while (at->window >= SY_WINDOWS_START && !sy_windows_usable(at->window, home))
        home = home + 1 < sy_world.npes ? home + 1 : 0;
    return home;
}

static struct queue lock_queue_of(const char *what, long *lock)
{
    sy_world_need(what);
    struct sy_target at = sy_rma_target(what, lock, sizeof *lock, sy_world.pe);

    if (SY_UNLIKELY(at.window >= SY_WINDOWS_START) &&
        sy_windows.entry[at.window].own.kind == SY_REGION_DEVICE)
        sy_fatal("%s: the lock at %p is in memory of a device, to which CPUs cannot store; "
                 "shmemx_space_get_caps tells (SHMEMX_SPACE_CAP_DIRECT_ACCESS)",
                 what, (const void *)lock);
    return (struct queue){.at = at,
                          .word = (uint32_t *)lock,
                          .home = lock_home_of(&at),
                          .self = (uint32_t)sy_world.pe + 1};
}

static uint32_t lock_apply(const struct queue *queue, enum sy_amo_op op, int word, uint32_t operand,
                           uint32_t compare, int pe)
{
    uint32_t *here = sy_windows_memory(pe, queue->at.window, queue->at.offset, 2 * sizeof operand),
             old;

    if (SY_LIKELY(here != NULL))
        return sy_amo_here32(op, here + word, operand, compare);
    sy_amo_slow(SHMEM_CTX_DEFAULT, op, queue->word + word, sizeof old, operand, compare, &old, true,
                pe);
    return old;
}

/* Changes the tail from one value to another, if it is the one; returns what it was. */
static uint32_t change_tail(const struct queue *queue, uint32_t from, uint32_t to)
{
    return lock_apply(queue, SY_AMO_CSWAP, TAIL, to, from, queue->home);
}

static uint32_t own_link(const struct queue *queue)
{
    return __atomic_load_n(&queue->word[LINK], __ATOMIC_ACQUIRE);
}

/* Where no other PE writes the link, so that no atomic operation is needed; a PE that writes it
 * later has seen the atomic operation on another word that follows. */
static void write_link(const struct queue *queue, uint32_t link)
{
    __atomic_store_n(&queue->word[LINK], link, __ATOMIC_RELEASE);
}

static SY_COLD void lock_refuse(const char *what, const long *lock)
{
    sy_fatal("%s: this PE has the lock at %p already, or another thread of it waits for it, or the "
             "variable was not 0 before its first use; locks do not nest, and a PE's threads must "
             "take turns by other means",
             what, (const void *)lock);
}

void sy_lock_set(const char *what, long *lock)
{
    struct queue queue = lock_queue_of(what, lock);

    if (SY_UNLIKELY(own_link(&queue)))
        lock_refuse(what, lock);
    write_link(&queue, QUEUED);
    uint32_t before = lock_apply(&queue, SY_AMO_SWAP, TAIL, queue.self, 0, queue.home);
    if (!before)
        return;
    /* Two threads may both have found the link 0. */
    if (SY_UNLIKELY(before == queue.self || before > (uint32_t)sy_world.npes))
        lock_refuse(what, lock);
    lock_apply(&queue, SY_AMO_ADD, LINK, queue.self, 0, (int)before - 1);
    sy_wait_for_bits(queue.word + LINK, GRANTED, ASLEEP);
    lock_apply(&queue, SY_AMO_AND, LINK, ~(GRANTED | ASLEEP), 0, sy_world.pe);
}

bool sy_lock_try(const char *what, long *lock)
{
    struct queue queue = lock_queue_of(what, lock);

    if (own_link(&queue)) /* this PE has it, or waits for it */
        return false;
    write_link(&queue, QUEUED);
    if (!change_tail(&queue, 0, queue.self))
        return true;
    write_link(&queue, 0);
    return false;
}

static void lock_grant(const struct queue *queue, int pe)
{
    uint32_t before = lock_apply(queue, SY_AMO_ADD, LINK, GRANTED, 0, pe), *here;

    if (!(before & ASLEEP))
        return;
    here = sy_windows_memory(pe, queue->at.window, queue->at.offset, sizeof(long));
    if (here)
        sy_wait_wake(here + LINK);
}

void sy_lock_clear(const char *what, long *lock)
{
    struct queue queue = lock_queue_of(what, lock);
    uint32_t link = own_link(&queue), last;

    if (SY_UNLIKELY(!(link & QUEUED)))
        sy_fatal(
            "%s: this PE does not have the lock at %p; only the PE that has set it may clear it",
            what, (void *)lock);
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    if (link == QUEUED) {
        last = change_tail(&queue, queue.self, 0);
        if (SY_UNLIKELY(!last))
            sy_fatal("%s: this PE has the lock at %p, but somebody has written to its variable",
                     what, (void *)lock);
        if (last == queue.self) {
            write_link(&queue, 0);
            return;
        }
    }
    SY_WAIT_UNTIL((link = own_link(&queue)) != QUEUED);
    write_link(&queue, 0);
    lock_grant(&queue, (int)(link & ~QUEUED) - 1);
}
