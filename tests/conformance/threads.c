/* SHMEM_THREAD_MULTIPLE (9.2): all that several threads of each PE may do at once. Threads of one
 * PE meet by pthreads, threads of different PEs through the library. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

enum {
    THREADS = 4,
    TICKETS = 300, /* that each thread takes */
    UPDATES = 200,
    ROUNDS = 40,
    BLOCK = 100, /* elements of a transfer */
    LARGE = 2000,
    FLAGS = 24, /* that each thread sets in a round */
};

static int me, npes, to, from; /* to: the next PE in a circle; from: the one before */
static pthread_barrier_t meeting;

/* Counting must not order the threads, or ThreadSanitizer could not see what the library fails to
 * order. */
static void expect(int holds, const char *file, int line, const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    __atomic_fetch_add(&check_count, 1, __ATOMIC_RELAXED);
    if (holds)
        return;
    pthread_mutex_lock(&lock);
    check_fail(file, line, text);
    pthread_mutex_unlock(&lock);
}

#define EXPECT(CONDITION) expect(CONDITION, __FILE__, __LINE__, #CONDITION)

typedef void body(int thread);

struct start {
    pthread_t thread;
    body *work;
    int number;
};

static void *begin(void *arg)
{
    struct start *start = arg;

    start->work(start->number);
    return NULL;
}

/* Runs THREADS threads on every PE, between barriers of the job. */
static void run(const char *name, body *work)
{
    struct start start[THREADS];

    check_case = name;
    shmem_barrier_all();
    for (int t = 0; t < THREADS; t++) {
        start[t].work = work;
        start[t].number = t;
        if (pthread_create(&start[t].thread, NULL, begin, &start[t]))
            shmem_global_exit(3);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(start[t].thread, NULL);
    shmem_barrier_all();
}

static void meet(void)
{
    pthread_barrier_wait(&meeting);
}

static void rest(long milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

/* ---- atomic operations ---- */

static long counter;
static int taken[THREADS * TICKETS];

/* Tickets of one counter on PE 0: no number is given twice, none is left out. */
static void take_tickets(int thread)
{
    long last = -1;
    int level = -1;

    shmem_query_thread(&level);
    EXPECT(level == SHMEM_THREAD_MULTIPLE);
    for (int i = 0; i < TICKETS; i++) {
        long ticket = shmem_long_atomic_fetch_inc(&counter, 0);
        EXPECT(ticket > last && ticket < (long)npes * THREADS * TICKETS);
        shmem_int_atomic_inc(&taken[ticket / npes], (int)(ticket % npes));
        last = ticket;
    }
    (void)thread;
}

static void check_tickets(void)
{
    CHECK(shmem_long_atomic_fetch(&counter, 0) == (long)npes * THREADS * TICKETS);
    for (int i = 0; i < THREADS * TICKETS; i++)
        CHECK(taken[i] == 1);
}

/* The low bits are a sum, above them is a bit of each thread number, the highest is inverted. */
#define SUM_BITS 48
#define HIGHEST  (UINT64_C(1) << 63)
static uint64_t mixed;
static unsigned hand = 1, given, got;

static void increment_by_swap(uint64_t *word, int pe)
{
    uint64_t seen = shmem_uint64_atomic_fetch(word, pe), before;

    while ((before = shmem_uint64_atomic_compare_swap(word, seen, seen + 1, pe)) != seen)
        seen = before;
}

static void mix(int thread)
{
    uint64_t bit = UINT64_C(1) << (SUM_BITS + thread);

    for (int i = 0; i < UPDATES; i++) {
        int pe = (me + thread + i) % npes;
        shmem_uint64_atomic_or(&mixed, bit, pe);
        shmem_uint64_atomic_inc(&mixed, pe);
        shmem_uint64_atomic_xor(&mixed, HIGHEST, pe);
        shmem_uint64_atomic_add(&mixed, 5, pe);
        increment_by_swap(&mixed, pe);
        shmem_uint64_atomic_fetch_add(&mixed, 3, pe);
        shmem_uint64_atomic_fetch_xor(&mixed, HIGHEST, pe);
        shmem_uint64_atomic_fetch_and(&mixed, ~bit, pe);
    }
}

/* What threads swap into a word comes out again once: sums modulo 2^32 of both are equal. */
static void swap(int thread)
{
    unsigned in = 0, out = 0;

    for (unsigned i = 0; i < UPDATES; i++) {
        unsigned value = (unsigned)(me * THREADS + thread + 1) * 2654435761u + i;
        in += value;
        out += shmem_uint_atomic_swap(&hand, value, 0);
    }
    shmem_uint_atomic_add(&given, in, 0);
    shmem_uint_atomic_add(&got, out, 0);
}

static void check_mixed(void)
{
    uint64_t all = 0;

    CHECK(mixed >> SUM_BITS == 0);
    for (int pe = 0; pe < npes; pe++)
        all += shmem_uint64_atomic_fetch(&mixed, pe);
    CHECK(all == (uint64_t)npes * THREADS * UPDATES * (1 + 5 + 1 + 3));
    CHECK(me != 0 || given + 1 == got + hand);
}

/* ---- transfers ---- */

/* Each thread of a PE sends to the thread of its number on the next PE. */
static struct lane {
    long data[2][BLOCK];
    uint64_t arrived, consumed;
} lanes[THREADS];
static uint64_t round_of[THREADS];
static shmem_ctx_t ctx_of[THREADS];
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static int take_turns; /* for a context that may not be used by two threads at once */

static void enter(void)
{
    if (take_turns)
        pthread_mutex_lock(&turns);
}

static void leave(void)
{
    if (take_turns)
        pthread_mutex_unlock(&turns);
}

static long element(int pe, int thread, uint64_t round, int i)
{
    return pe * 100000000L + thread * 10000000L + (long)round * 1000 + i;
}

/* Data in one of the ways there are, then after a fence the word that says so. */
static void send(shmem_ctx_t ctx, struct lane *lane, const long *block, uint64_t round)
{
    long *dest = lane->data[round & 1];

    switch (round % 4) {
    case 0:
        shmem_ctx_long_put(ctx, dest, block, BLOCK, to);
        break;
    case 1:
        shmem_ctx_long_put_nbi(ctx, dest, block, BLOCK, to);
        break;
    case 2:
        for (int i = 0; i < BLOCK; i++)
            shmem_ctx_long_p(ctx, &dest[i], block[i], to);
        break;
    default:
        shmem_ctx_long_iput(ctx, dest, block, 2, 2, BLOCK / 2, to);
        shmem_ctx_long_iput(ctx, dest + 1, block + 1, 2, 2, BLOCK / 2, to);
    }
    shmem_ctx_fence(ctx);
    shmem_ctx_uint64_atomic_set(ctx, &lane->arrived, round, to);
}

static void transfer(int thread)
{
    struct lane *lane = &lanes[thread];
    shmem_ctx_t ctx = ctx_of[thread];
    long block[BLOCK], back[BLOCK];

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t round = ++round_of[thread];
        for (int k = 0; k < BLOCK; k++)
            block[k] = element(me, thread, round, k);
        if (round > 2)
            shmem_uint64_wait_until(&lane->consumed, SHMEM_CMP_GE, round - 2);
        enter();
        send(ctx, lane, block, round);
        shmem_ctx_quiet(ctx);
        shmem_ctx_long_get(ctx, back, lane->data[round & 1], BLOCK, to);
        leave();
        EXPECT(!memcmp(block, back, sizeof back));
        shmem_uint64_wait_until(&lane->arrived, SHMEM_CMP_GE, round);
        for (int k = 0; k < BLOCK; k++)
            block[k] = element(from, thread, round, k);
        EXPECT(!memcmp(block, lane->data[round & 1], sizeof block));
        enter();
        shmem_ctx_uint64_atomic_set(ctx, &lane->consumed, round, from);
        shmem_ctx_quiet(ctx);
        leave();
    }
}

static void transfer_on_own(int thread)
{
    EXPECT(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx_of[thread]) == 0);
    transfer(thread);
    shmem_ctx_destroy(ctx_of[thread]);
}

static void use_context(shmem_ctx_t ctx)
{
    for (int t = 0; t < THREADS; t++)
        ctx_of[t] = ctx;
}

static void check_transfers(void)
{
    shmem_ctx_t shared = SHMEM_CTX_INVALID, serialized = SHMEM_CTX_INVALID;

    use_context(SHMEM_CTX_DEFAULT);
    run("transfers on the default context", transfer);
    CHECK(shmem_ctx_create(0, &shared) == 0);
    use_context(shared);
    run("transfers on a shared context", transfer);
    shmem_ctx_destroy(shared);
    CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &serialized) == 0);
    use_context(serialized);
    take_turns = 1;
    run("transfers in turns on a serialized context", transfer);
    take_turns = 0;
    shmem_ctx_destroy(serialized);
    run("transfers on private contexts", transfer_on_own);
}

/* ---- contexts come and go ---- */

enum { MOST_CONTEXTS = 6 };
static long boxes[THREADS][MOST_CONTEXTS];

static void churn(int thread)
{
    static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED};
    shmem_ctx_t ctx[MOST_CONTEXTS];

    for (int i = 1; i <= ROUNDS; i++) {
        int count = 1 + (i + thread) % MOST_CONTEXTS;
        for (int k = 0; k < count; k++) {
            shmem_team_t team = SHMEM_TEAM_INVALID;
            shmem_team_t wanted = k % 2 ? SHMEM_TEAM_SHARED : SHMEM_TEAM_WORLD;
            EXPECT(shmem_team_create_ctx(wanted, options[(i + k) % 3], &ctx[k]) == 0);
            EXPECT(shmem_ctx_get_team(ctx[k], &team) == 0 && team == wanted);
            shmem_ctx_long_p(ctx[k], &boxes[thread][k], 100 * i + k, shmem_team_my_pe(wanted));
        }
        for (int k = 0; k < count; k++)
            shmem_ctx_destroy(ctx[i % 2 ? k : count - 1 - k]);
        for (int k = 0; k < count; k++)
            EXPECT(boxes[thread][k] == 100 * i + k);
    }
}

/* ---- collectives on different teams ---- */

static shmem_team_t teams[THREADS];
static long *sources[THREADS], *dests[THREADS];

static void make_teams(void)
{
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &teams[0]));
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &teams[1]));
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, (npes + 1) / 2, NULL, 0, &teams[2]));
    teams[3] = SHMEM_TEAM_WORLD;
    for (int t = 0; t < THREADS; t++) {
        sources[t] = shmem_malloc(LARGE * sizeof(long));
        dests[t] = shmem_malloc((size_t)npes * LARGE * sizeof(long));
    }
}

/* The members' parts of one collective: element i of member m is of_member(m, key) + i. */
static long of_member(int m, long key)
{
    return m * 7L + key * 100000;
}

static void check_sum(shmem_team_t team, int thread, int count, long key)
{
    int size = shmem_team_n_pes(team), wrong = 0;
    long members = (long)size * (size - 1) / 2 * 7;

    EXPECT(shmem_long_sum_reduce(team, dests[thread], sources[thread], (size_t)count) == 0);
    for (int i = 0; i < count; i++)
        wrong += dests[thread][i] != members + size * (key * 100000 + i);
    EXPECT(!wrong);
}

static void check_gathered(shmem_team_t team, int thread, int count, long key)
{
    int size = shmem_team_n_pes(team), wrong = 0;

    EXPECT(shmem_long_fcollect(team, dests[thread], sources[thread], (size_t)count) == 0);
    for (int m = 0; m < size; m++)
        for (int i = 0; i < count; i++)
            wrong += dests[thread][m * count + i] != of_member(m, key) + i;
    EXPECT(!wrong);
}

static void check_broadcast(shmem_team_t team, int thread, int count, long key)
{
    int root = (int)(key % shmem_team_n_pes(team)), wrong = 0;

    EXPECT(shmem_long_broadcast(team, dests[thread], sources[thread], (size_t)count, root) == 0);
    for (int i = 0; i < count; i++)
        wrong += dests[thread][i] != of_member(root, key) + i;
    EXPECT(!wrong);
}

static void collectives(int thread)
{
    shmem_team_t team = teams[thread];

    if (team == SHMEM_TEAM_INVALID)
        return;
    for (long key = 1; key <= ROUNDS; key++) {
        int count = key % 4 ? (int)key % 9 + 1 : LARGE;
        for (int i = 0; i < count; i++)
            sources[thread][i] = of_member(shmem_team_my_pe(team), key) + i;
        check_sum(team, thread, count, key);
        check_gathered(team, thread, count, key);
        check_broadcast(team, thread, count, key);
        if (teams[thread] == SHMEM_TEAM_WORLD)
            shmem_barrier_all();
        else
            EXPECT(shmem_team_sync(team) == 0);
    }
}

/* Teams are made of different parents at once, so they compete for what a team needs. */
static void split(int thread)
{
    shmem_team_t parent = teams[thread];

    if (parent == SHMEM_TEAM_INVALID)
        return;
    int size = shmem_team_n_pes(parent), mine = shmem_team_my_pe(parent);
    for (int i = 1; i <= ROUNDS / 2; i++) {
        shmem_team_t child = SHMEM_TEAM_INVALID;
        int count = i % 2 ? size : (size + 1) / 2;
        EXPECT(shmem_team_split_strided(parent, 0, 1, count, NULL, 0, &child) == 0);
        EXPECT((child != SHMEM_TEAM_INVALID) == (mine < count));
        if (child == SHMEM_TEAM_INVALID)
            continue;
        EXPECT(shmem_team_my_pe(child) == mine && shmem_team_n_pes(child) == count);
        for (int k = 0; k < 3; k++)
            sources[thread][k] = of_member(mine, i) + k;
        check_sum(child, thread, 3, i);
        check_gathered(child, thread, 3, i);
        shmem_team_destroy(child);
    }
}

/* ---- a blocked thread blocks nobody else ---- */

static long word, words[2], passing, ready, lock, guarded;
static uint64_t signal_word;

/* The waiting thread is released by another one of its PE, which communicates before. */
static void wait_for_thread(int thread)
{
    if (thread == 0) {
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 2);
    } else if (thread == 1) {
        uint64_t value = shmem_signal_wait_until(&signal_word, SHMEM_CMP_NE, 0);
        EXPECT(value == 17);
    } else if (thread == 2) {
        shmem_long_wait_until_all(words, 2, NULL, SHMEM_CMP_NE, 0);
        EXPECT(shmem_long_atomic_fetch(&words[1], me) == 5);
    } else {
        rest(3);
        shmem_long_p(&passing, me, to);
        shmem_quiet();
        EXPECT(shmem_long_g(&passing, to) == me);
        shmem_long_atomic_inc(&word, me);
        shmem_long_atomic_set(&words[1], 5, me);
        shmem_long_atomic_inc(&word, me);
        shmem_long_atomic_inc(&words[0], me);
        shmem_uint64_put_signal(&mixed, &(uint64_t){0}, 1, &signal_word, 17, SHMEM_SIGNAL_SET, me);
    }
}

/* PE 0 holds the lock, and releases it when another thread of each waiting PE has reported. */
static void wait_for_lock(int thread)
{
    if (thread == 0 && me == 0) {
        shmem_long_wait_until(&ready, SHMEM_CMP_EQ, npes - 1);
        shmem_clear_lock(&lock);
    } else if (thread == 0) {
        shmem_set_lock(&lock);
        shmem_long_p(&guarded, shmem_long_g(&guarded, 0) + 1, 0);
        shmem_clear_lock(&lock);
    } else if (thread == 1 && me != 0) {
        while (
            !__atomic_load_n((uint32_t *)&lock + 1, __ATOMIC_RELAXED)) /* coll/lock.c: the link */
            rest(1);
        EXPECT(shmem_test_lock(&lock) == 1);
        shmem_long_atomic_inc(&ready, 0);
    }
}

/* The same with a synchronisation that PE 0 enters late. */
static void wait_for_team(int thread)
{
    if (thread == 0) {
        if (me == 0)
            shmem_long_wait_until(&ready, SHMEM_CMP_EQ, 2L * (npes - 1));
        EXPECT(shmem_team_sync(teams[0]) == 0);
    } else if (thread == 1 && me != 0) {
        rest(3);
        shmem_quiet();
        shmem_long_atomic_inc(&ready, 0);
    }
}

static void check_blocking(void)
{
    run("waits that another thread ends", wait_for_thread);
    CHECK(word == 2 && words[0] == 1);
    if (me == 0)
        shmem_set_lock(&lock);
    run("a lock that another thread sees to", wait_for_lock);
    CHECK(me != 0 || guarded == npes - 1);
    run("a sync that another thread sees to", wait_for_team);
}

/* ---- completion by another thread ---- */

static long halves[2][BLOCK];
static uint64_t complete;

/* Threads 0 and 1 put; thread 2 completes and notifies the other PE, whose thread 3 checks. */
static void complete_others(int thread)
{
    shmem_ctx_t ctx = ctx_of[0];
    long block[BLOCK];
    int wrong = 0;

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < BLOCK; i++)
            block[i] = element(me, thread, round, i);
        if (thread < 2)
            shmem_ctx_long_put_nbi(ctx, halves[thread], block, BLOCK, to);
        meet();
        if (thread == 2) {
            shmem_ctx_quiet(ctx);
            shmem_uint64_atomic_set(&complete, round, to);
        } else if (thread == 3) {
            shmem_uint64_wait_until(&complete, SHMEM_CMP_EQ, round);
            for (int i = 0; i < 2 * BLOCK; i++)
                wrong += halves[i / BLOCK][i % BLOCK] != element(from, i / BLOCK, round, i % BLOCK);
        }
        meet();
        if (thread == 3)
            shmem_sync_all();
        meet();
    }
    EXPECT(!wrong);
}

/* A quiet and a barrier wait for what was issued before, though another thread goes on issuing. */
static void complete_beside_puts(int thread)
{
    static char flooded[65536], source[65536];
    static int over;

    if (thread == 0) {
        for (int i = 0; i < 40; i++) {
            shmem_quiet();
            shmem_barrier_all();
        }
        __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    }
    while (thread == 1 && !__atomic_load_n(&over, __ATOMIC_RELAXED))
        shmem_putmem_nbi(flooded, source, sizeof flooded, to);
}

static void check_completion(void)
{
    use_context(SHMEM_CTX_DEFAULT);
    run("quiet by another thread", complete_others);
    complete = 0;
    shmem_ctx_t shared = SHMEM_CTX_INVALID;
    CHECK(shmem_ctx_create(0, &shared) == 0);
    use_context(shared);
    run("quiet of a context by another thread", complete_others);
    shmem_ctx_destroy(shared);
}

/* ---- sets of variables ---- */

static long flags[THREADS * FLAGS];

/* One call of the kind that this thread makes; returns how many indices it gave, 0 for a test that
 * found none. */
static size_t look(int thread, size_t *indices, const int *status, long round)
{
    size_t all = THREADS * FLAGS;

    switch (thread) {
    case 0:
        indices[0] = shmem_long_wait_until_any(flags, all, status, SHMEM_CMP_GE, round);
        return 1;
    case 1:
        return shmem_long_test_some(flags, all, indices, status, SHMEM_CMP_GE, round);
    case 2:
        return shmem_long_wait_until_some(flags, all, indices, status, SHMEM_CMP_GE, round);
    default:
        indices[0] = shmem_long_test_any(flags, all, status, SHMEM_CMP_GE, round);
        return indices[0] != SIZE_MAX;
    }
}

/* All threads wait for all variables, which another PE sets: each variable is found once. What is
 * set in a round must not arrive after what is set in the next one. */
static void find_flags(int thread)
{
    for (long round = 1; round <= 8; round++) {
        shmem_fence();
        int status[THREADS * FLAGS] = {0}, left = THREADS * FLAGS;
        size_t indices[THREADS * FLAGS];
        for (int i = 0; i < FLAGS; i++)
            shmem_long_atomic_set(&flags[thread * FLAGS + (i * 7 + round) % FLAGS], round, to);
        while (left > 0) {
            size_t count = look(thread, indices, status, round);
            for (size_t i = 0; i < count; i++) {
                EXPECT(indices[i] < THREADS * FLAGS && !status[indices[i]]);
                status[indices[i]] = 1;
            }
            left -= (int)count;
        }
        EXPECT(shmem_long_wait_until_any(flags, THREADS * FLAGS, status, SHMEM_CMP_EQ, -1) ==
               SIZE_MAX);
    }
}

/* With an argument: the case that is not for transports which accept puts without bound. */
int main(int argc, char **argv)
{
    int provided = -1;

    (void)argv;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) || provided != SHMEM_THREAD_MULTIPLE)
        return 2;
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    from = (me + npes - 1) % npes;
    pthread_barrier_init(&meeting, NULL, THREADS);
    if (argc > 1) {
        run("quiets and barriers beside puts without end", complete_beside_puts);
        CHECK(shmem_my_pe() == me);
        return check_end("threads");
    }
    run("tickets", take_tickets);
    check_tickets();
    run("all operations on one word", mix);
    run("swaps", swap);
    check_mixed();
    check_transfers();
    run("contexts come and go", churn);
    make_teams();
    run("collectives", collectives);
    run("splits", split);
    check_blocking();
    check_completion();
    run("sets", find_flags);
    for (int t = 0; t < THREADS - 1; t++)
        shmem_team_destroy(teams[t]);
    int status = check_end("threads");
    pthread_barrier_destroy(&meeting);
    shmem_finalize();
    return status;
}
