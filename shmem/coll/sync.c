/* Synchronisation through the counters of the control windows (core/control.h). Knows no transport.
 *
 * Up to SMALL PEs: each writes how many syncs it has entered and reads what all others wrote. One
 * cache-line transfer of latency, no leader, and with more PEs than processors the last to arrive
 * passes at once while every other needs to run just once more.
 *
 * More PEs: groups of SMALL add to a counter of their first member; the last of a group goes on to
 * add for the group one level up; the last of all writes one word that all read. n additions, no
 * leader.
 *
 * Who writes: `arrived` and `vote` the owner only; `gathered` the group by atomic addition;
 * `released` whoever arrives last, which each sync makes one PE. Release stores and acquire loads
 * make what a PE wrote before its sync visible to all that leave it. */
#include <stdatomic.h>

#include "coll/sync.h"
#include "core/control.h"
#include "core/rma.h"
#include "core/wait.h"
#include "core/world.h"

#define SMALL 8

/* Syncs and agreements that this process has entered. They are never reset, like the counters. */
static uint64_t syncs, agreements;

static struct sy_control_sync *sync_of(int local)
{
    return &sy_control_of(sy_world.node_pe[local])->world;
}

static void await(struct sy_counter *counter, uint64_t value)
{
    SY_WAIT_UNTIL(atomic_load_explicit(&counter->value, memory_order_acquire) >= value);
}

static void sync_small(uint64_t epoch)
{
    atomic_store_explicit(&sync_of(sy_world.local)->arrived.value, epoch, memory_order_release);
    for (int i = 0; i < sy_world.node_size; i++)
        if (i != sy_world.local)
            await(&sync_of(i)->arrived, epoch);
}

static void sync_large(uint64_t epoch)
{
    int members = sy_world.node_size, index = sy_world.local, span = SMALL;

    for (int level = 0; members > 1; level++, span *= SMALL) {
        int group = index / SMALL;
        int size = members - group * SMALL < SMALL ? members - group * SMALL : SMALL;
        struct sy_counter *gathered = &sync_of(group * span)->gathered[level];
        uint64_t count = 1 + atomic_fetch_add_explicit(&gathered->value, 1, memory_order_acq_rel);
        if (count < epoch * (uint64_t)size) {
            await(&sync_of(0)->released, epoch);
            return;
        }
        index = group;
        members = (members + SMALL - 1) / SMALL;
    }
    atomic_store_explicit(&sync_of(0)->released.value, epoch, memory_order_release);
}

void sy_sync_world(void)
{
    uint64_t epoch = ++syncs;

    if (sy_world.node_size <= SMALL)
        sync_small(epoch);
    else
        sync_large(epoch);
}

void sy_barrier_world(void)
{
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    sy_sync_world();
}

/* The two votes are used in turn: nobody writes the same one again before all have left the sync of
 * the agreement between, and so have read it. */
bool sy_agree_world(bool yes)
{
    unsigned turn = agreements++ & 1;
    bool all = true;

    atomic_store_explicit(&sync_of(sy_world.local)->vote[turn].value, yes, memory_order_relaxed);
    sy_sync_world();
    for (int i = 0; i < sy_world.node_size; i++)
        all = atomic_load_explicit(&sync_of(i)->vote[turn].value, memory_order_relaxed) && all;
    return all;
}
