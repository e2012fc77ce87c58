/* See flush.h. The numbers were measured on two virtual processors. Each stands between quantities
 * that lie far apart on any machine, so it holds within a factor of several. */
#include "engine/flush.h"

/* Nanoseconds without a send that make a peer idle: far more than a put in a loop takes (10 to
 * 100), about what a system call that sends does. An operation within it is one of a sequence. */
#define IDLE 3000

/* Nanoseconds: more than a round trip for which one polls, less than it pays to sleep for. */
#define REST 100000

/* Habits: what was seen so many times in a row. They count events, so no machine changes them. */
#define BURSTS 3
#define KEPT   4
#define QUIETS 3
#define ROW    8 /* more than the neighbours in most programs */
#define ASKS   2 /* of the quiets */
#define LEAVES 3

/* Where a program leaves what it issues: how many operations in a row are sent for that, a message
 * and its flag for instance; and how many in all, until the habit has to show itself again. */
#define TOGETHER 4
#define TRUST    32

/* Times the delay. Timers are dear on virtual machines; where the program has sent all by itself of
 * late the timer is only a net, and may hang lower. */
#define LATE 20

/* Bytes: several times what a socket takes at once, so that the cost of a call vanishes; and a
 * share of the buffer, so that the producer goes on while the rest is under way. */
#define BYTES (256u << 10)
#define SHARE 4

/* Bytes: a producer in full flow gathers more in one delay (in 50 us at 160 MB/s). */
#define BUSY (8u << 10)

/* Bytes: two or three small operations. As many sends of their own cost no more than the timer. */
#define FEW 128

static int flush_get(const _Atomic int *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

static void flush_set(_Atomic int *count, int value)
{
    atomic_store_explicit(count, value, memory_order_relaxed);
}

/* Counts up to a bound, or from the beginning. */
static int flush_count(_Atomic int *count, bool again, int most)
{
    int before = flush_get(count), now = !again ? 0 : before < most ? before + 1 : most;

    flush_set(count, now);
    return now;
}

static bool flush_take(_Atomic bool *flag)
{
    bool was = atomic_load_explicit(flag, memory_order_relaxed);

    if (was)
        atomic_store_explicit(flag, false, memory_order_relaxed);
    return was;
}

static uint64_t flush_since(const _Atomic uint64_t *then, uint64_t now)
{
    return now - atomic_load_explicit(then, memory_order_relaxed);
}

size_t sy_flush_limit(size_t buffer)
{
    return buffer / SHARE < BYTES ? buffer / SHARE : BYTES;
}

unsigned sy_flush_delay(unsigned option, bool late)
{
    return late ? option * LATE : option;
}

/* If a quiet follows such operations as a rule, asking for the acknowledgement right away saves the
 * quiet a message of its own. */
static enum sy_flush_when flush_alone(struct sy_flush *flush)
{
    int quiets = flush_get(&flush->quiets);

    if (flush_take(&flush->alone) && quiets > 0)
        flush_set(&flush->quiets, --quiets);
    atomic_store_explicit(&flush->alone, true, memory_order_relaxed);
    return quiets >= ASKS ? SY_FLUSH_ALONE_ACK : SY_FLUSH_ALONE;
}

/* Whether an operation that found its peer idle is one of a row. followed: others followed the last
 * one that did so with this peer, and then a pause of the row says nothing: all were gathered. */
static bool flush_in_row(struct sy_flush_row *row, uint64_t now, bool followed)
{
    if (flush_since(&row->ended, now) <= IDLE)
        return flush_count(&row->count, true, ROW) == ROW;
    if (!followed)
        flush_set(&row->count, 0);
    return flush_get(&row->count) == ROW;
}

static void flush_gather(struct sy_flush *flush, struct sy_flush_row *row, uint64_t now,
                         uint64_t bytes, uint64_t limit)
{
    atomic_store_explicit(&flush->gathered_at, now, memory_order_relaxed);
    atomic_store_explicit(&flush->first, bytes, memory_order_relaxed);
    atomic_store_explicit(&flush->limit, limit, memory_order_relaxed);
    atomic_store_explicit(&row->ended, now, memory_order_relaxed);
}

/* Whether a request is like the one that others followed the last time. */
static bool flush_leads(const struct sy_flush *flush, uint64_t bytes)
{
    uint64_t leader = atomic_load_explicit(&flush->leader, memory_order_relaxed);

    return bytes < 2 * leader && leader < 2 * bytes;
}

static void flush_lead(struct sy_flush *flush, uint64_t leader, uint64_t followers)
{
    atomic_store_explicit(&flush->leader, leader, memory_order_relaxed);
    atomic_store_explicit(&flush->followers, followers, memory_order_relaxed);
}

/* Whether the program would leave this request to the progress thread, as it did before. idle:
 * nothing has been sent just now. After TRUST of them the habit has to show itself again. */
static bool flush_would_be_left(struct sy_flush *flush, bool idle)
{
    int leaves = flush_get(&flush->leaves);

    if (leaves < LEAVES || flush_count(&flush->together, !idle, TOGETHER) == TOGETHER)
        return false;
    flush_set(&flush->leaves, leaves - 1);
    return true;
}

/* So this one does not stay. The second of two in a row follows the first, which waits for it the
 * next time: one message costs half of what two cost. */
static enum sy_flush_when flush_not_left(struct sy_flush *flush, struct sy_flush_row *row,
                                         uint64_t now, bool idle, uint64_t bytes)
{
    if (flush_leads(flush, bytes)) {
        flush_gather(flush, row, now, bytes,
                     bytes + atomic_load_explicit(&flush->followers, memory_order_relaxed));
        return SY_FLUSH_LATE;
    }
    if (!idle && flush_get(&flush->together) == 1 && bytes < FEW)
        flush_lead(flush, atomic_load_explicit(&flush->first, memory_order_relaxed), bytes);
    atomic_store_explicit(&flush->first, bytes, memory_order_relaxed);
    return flush_alone(flush);
}

enum sy_flush_when sy_flush_first(struct sy_flush *flush, struct sy_flush_row *row, uint64_t now,
                                  uint64_t begin, uint64_t end, bool batch)
{
    bool idle = flush_since(&flush->sent_at, now) > IDLE, burst = false, one_of_row = false;

    if (idle) {
        bool followed = begin > atomic_load_explicit(&flush->burst_end, memory_order_relaxed);
        burst = flush_count(&flush->bursts, followed, BURSTS) == BURSTS;
        one_of_row = flush_in_row(row, now, followed);
        atomic_store_explicit(&flush->burst_end, end, memory_order_relaxed);
    }
    if (!batch && !one_of_row) {
        if (flush_would_be_left(flush, idle))
            return flush_not_left(flush, row, now, idle, end - begin);
        if (idle && !burst)
            return flush_alone(flush);
    }
    flush_gather(flush, row, now, end - begin, flush->most);
    if (batch)
        return SY_FLUSH_LATE;
    bool left = flush_take(&flush->left);
    if (!left)
        flush_set(&flush->leaves, 0);
    return flush_count(&flush->kept, !left, KEPT) == KEPT ? SY_FLUSH_LATE : SY_FLUSH_SOON;
}

void sy_flush_quiet(struct sy_flush *flush)
{
    if (flush_take(&flush->alone))
        flush_count(&flush->quiets, true, QUIETS);
    flush_set(&flush->leaves, 0);
}

/* A few requests were left: the first, and behind it `followers` bytes. One that waited for its
 * follower in vain waited for long, so the habit is to be shown anew. */
static void flush_learn(struct sy_flush *flush, uint64_t first, uint64_t followers)
{
    bool in_vain = !followers && flush_leads(flush, first);

    if (flush_count(&flush->leaves, !in_vain, LEAVES) == LEAVES)
        flush_set(&flush->leaves, LEAVES + TRUST - 1);
    if (followers || in_vain)
        flush_lead(flush, followers ? first : 0, followers);
}

void sy_flush_taken(struct sy_flush *flush, uint64_t bytes, uint64_t delay, bool crowded)
{
    uint64_t sent = atomic_load_explicit(&flush->sent_at, memory_order_relaxed);
    uint64_t first = atomic_load_explicit(&flush->first, memory_order_relaxed);
    uint64_t waited = flush_since(&flush->gathered_at, sent);
    uint64_t followers = bytes > first ? bytes - first : 0;

    if (waited < delay)
        return;
    if (followers < FEW && !crowded)
        flush_learn(flush, first, followers);
    else
        flush_set(&flush->leaves, 0);
    if (followers * delay < BUSY * waited)
        atomic_store_explicit(&flush->left, true, memory_order_relaxed);
}

bool sy_flush_is_due(const struct sy_flush *flush, uint64_t now, uint64_t delay)
{
    return flush_since(&flush->gathered_at, now) >= delay;
}

bool sy_flush_has_rested(const struct sy_flush *flush, uint64_t now)
{
    return flush_since(&flush->sent_at, now) > REST;
}
