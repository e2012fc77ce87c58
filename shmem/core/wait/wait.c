#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/wait/displaced.h"
#include "core/wait/pause.h"
#include "core/wait/progress.h"
#include "core/route/route.h"
#include "core/wait/sleep.h"
#include "core/wait/stall.h"
#include "core/wait/wait.h"
#include "core/memory/windows.h"
#include "core/start/config.h"
#include "core/start/world.h"
#include "util/clock.h"

/* Looks before the first rest. Alone, that is where every PE has a processor: about 50 us, longer
 * than a running peer makes one wait. */
#define LOOKS_ALONE            20000
#define LOOKS_CROWDED          100
#define LOOKS_AFTER_REST       10
#define LONGEST_BLIND_SLEEP_NS UINT64_C(1000000)

/* On a node with many PEs each sleep is longer: 2,000 PEs that look every millisecond leave no
 * processor for the one that they wait for. */
#define BLIND_SLEEP_A_PE_NS UINT64_C(50000)

/* The longest sleep that an arrival ends, a safeguard only: at first, and after a long wait. It
 * grows with the wait, since hundreds of PEs that wait on a host leave little to others if each of
 * them looks twenty times a second. */
#define SAFE_SLEEP_NS    UINT64_C(50000000)
#define LONGEST_SLEEP_NS UINT64_C(400000000) /* less than FRESH_NS of stall.c */
#define SAFE_SLEEP_PART  16

/* Times since the first rest: how long a thread polls transports without yielding, and how long it
 * only yields. Where PEs outnumber processors and only exchange messages, a yield and a poll cost a
 * third of what a sleep and the wake-up that ends it do, and most waits end after a few of them. */
#define POLLING_NS         UINT64_C(75000)
#define POLLING_CROWDED_NS UINT64_C(1500)
#define YIELDING_NS        UINT64_C(1000000)

/* How long a thread only yields where every PE has a processor: nobody else needs it, and after so
 * long a wait nobody notices the microseconds that waking up takes. */
#define YIELDING_ALONE_NS UINT64_C(100000000)

/* How long a thread only yields after it has slept and been woken. */
#define YIELDING_AGAIN_NS YIELDING_NS

/* Between two polls of a thread whose waits are over at the first look. */
#define PASSES_APART_NS UINT64_C(50000)

/* Polls for each yield where every PE has a processor: only processes other than PEs gain by a
 * yield then, and it takes as long as a poll, during which arrivals go unnoticed. */
#define POLLS_A_YIELD 8

/* Where every PE has a processor, and memory is mapped: how long a thread does not yield after a
 * long yield, as beside a busy process. PEs that look for microseconds then hardly run together. */
#define KEEPS_NS UINT64_C(4000000)

uint32_t sy_wait_looks = LOOKS_ALONE;
_Atomic bool sy_wait_gathered;
const char sy_wait_inside[] = "a routine of the library";

static struct {
    bool crowded;
    int mode;              /* enum sy_wait_mode */
    uint64_t sleeps_after; /* time since the first rest */
    uint64_t longest_sleep;
    bool polls;       /* transports, while it waits */
    bool descriptors; /* transports have some, on which a waiting thread may sleep */
    bool takes_over;  /* from the progress thread, as soon as it waits */
    bool tells;       /* each transport through which data arrive has a descriptor */
    bool by_arrival; /* all that other PEs write here comes through a transport with a descriptor */
    bool sleeps_soon; /* where others compute: PEs outnumber processors, and arrivals end a sleep */
    bool alone;       /* no other thread of this PE ends a wait */
    unsigned polled;  /* transports */
} policy;

static void wait_find_transports(bool alone)
{
    policy.polled = 0;
    policy.tells = true;
    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *t = &sy_routes.transport[i];
        policy.polled += t->polled;
        policy.descriptors |= t->wait_fd >= 0;
        if (t->carries && t->wait_fd < 0)
            policy.tells = false;
    }
    policy.by_arrival = policy.tells && sy_hot.carries && !sy_routes.maps;
    policy.takes_over = policy.crowded && policy.descriptors;
    policy.alone = alone;
    policy.polls = policy.polled > 0;
}

static uint64_t wait_sleeps_after(void)
{
    if (policy.mode == SY_WAIT_SPIN || policy.mode == SY_WAIT_YIELD)
        return UINT64_MAX;
    return policy.crowded ? YIELDING_NS : YIELDING_ALONE_NS;
}

int sy_wait_open(int mode, bool crowded, bool alone, struct sy_error *err)
{
    policy.mode = mode;
    policy.crowded = crowded;
    policy.longest_sleep = BLIND_SLEEP_A_PE_NS * (uint64_t)sy_world.node_size;
    if (policy.longest_sleep < LONGEST_BLIND_SLEEP_NS)
        policy.longest_sleep = LONGEST_BLIND_SLEEP_NS;
    wait_find_transports(alone);
    policy.sleeps_after = wait_sleeps_after();
    policy.sleeps_soon = policy.by_arrival && policy.sleeps_after == YIELDING_NS;
    /* Where data arrive through transports, a waiting thread helps them along early. */
    sy_wait_looks = policy.crowded || sy_hot.carries ? LOOKS_CROWDED : LOOKS_ALONE;
    return policy.descriptors ? sy_sleep_open(err) : 0;
}

bool sy_wait_crowded(void)
{
    return policy.crowded;
}

bool sy_wait_told(void)
{
    return policy.by_arrival && sy_progress_tells();
}

void sy_wait_threads(void)
{
    policy.alone = false;
}

void sy_wait_close(void)
{
    memset(&policy, 0, sizeof policy);
    sy_sleep_close();
}

/* When this thread last moved something in a wait. */
static _Thread_local uint64_t moved_at;

/* sy_sleep_count before the last look at what this thread waits for. */
static _Thread_local uint32_t counted;

/* How long to sleep if the next look is in vain too; 0: not. */
static _Thread_local uint64_t sleep_due;

/* The last sleep ended by something that came, and nothing has been polled since. */
static _Thread_local bool woken;

/* This thread has taken over from the progress thread because its wait is long. */
static _Thread_local bool took_over;

/* This thread's sleeps where every PE has a processor. */
static _Thread_local struct sy_pause pauses = SY_PAUSE_START;

/* The length of a sleep at whose end memory is looked at. Mapped memory changes without a wake-up,
 * so where others need the processor a sleep is a sixteenth of the wait so far and never adds more
 * than that to it. */
static uint64_t wait_blind_length(uint64_t waited)
{
    uint64_t length = waited / 16;

    if (!policy.crowded)
        length = sy_pause_length(&pauses);
    return length < policy.longest_sleep ? length : policy.longest_sleep;
}

static uint64_t wait_safe_length(uint64_t waited)
{
    uint64_t length = waited / SAFE_SLEEP_PART;

    if (length < SAFE_SLEEP_NS)
        return SAFE_SLEEP_NS;
    return length < LONGEST_SLEEP_NS ? length : LONGEST_SLEEP_NS;
}

/* An arrival through a transport ends the sleep; its length matters only where something else may
 * end the wait. told: the descriptors tell of all that arrives. kept: this thread has taken over
 * from the progress thread until its wait is over. Else that one may leave the transports to
 * threads that poll while this one sleeps, and a message wakes nobody. */
static uint64_t wait_sleep_length(uint64_t waited, bool told, bool kept)
{
    if (!policy.by_arrival || !told)
        return wait_blind_length(waited);
    if (policy.alone && kept)
        return wait_safe_length(waited);
    return waited < policy.longest_sleep ? waited : policy.longest_sleep;
}

/* What this thread waits for, in sy_wait_for_bits. */
static _Thread_local struct {
    uint32_t *word;
    uint32_t bits, asleep;
} awaited;

/* Whether who sleeps on the word is woken: by PEs that have it mapped, and by the progress thread
 * where others change it. told: as in wait_sleep_length. */
static bool wait_word_wakes(bool told)
{
    return awaited.word && told && policy.tells && policy.alone && sy_routes.maps &&
           sy_progress_tells() && (policy.takes_over || took_over);
}

/* Where the bits come first, or another bit changes, the kernel does not let the thread sleep. The
 * word may be shared: no private futex. The transports are left to the progress thread. */
static void wait_sleep_on_word(uint64_t length)
{
    struct timespec time = {(time_t)(length / 1000000000), (long)(length % 1000000000)};

    if (policy.descriptors) {
        atomic_store(&sy_sleep.bits, awaited.bits);
        atomic_store(&sy_sleep.word, awaited.word);
        sy_progress_hand_back();
    }
    uint32_t value = __atomic_or_fetch(awaited.word, awaited.asleep, __ATOMIC_SEQ_CST);
    if (!(value & awaited.bits))
        syscall(SYS_futex, awaited.word, FUTEX_WAIT, value, &time, NULL, 0);
    if (policy.descriptors) {
        sy_progress_take_over();
        atomic_store(&sy_sleep.word, NULL);
        while (atomic_load(&sy_sleep.readers))
            sy_clock_sleep(1000);
    }
}

static bool wait_sleep(uint64_t length, bool on_descriptors)
{
    if (on_descriptors && !wait_word_wakes(true))
        return sy_sleep_until_arrival(counted, length);
    if (awaited.word)
        wait_sleep_on_word(length);
    else
        sy_clock_sleep((long)length);
    return false;
}

/* wait_sleep, and measures what a sleep costs where the length of sleeps depends on it. */
static bool wait_sleep_measured(uint64_t length, bool on_descriptors)
{
    if (policy.crowded)
        return wait_sleep(length, on_descriptors);
    sy_pause_begin(&pauses);
    bool any = wait_sleep(length, on_descriptors);
    sy_pause_end(&pauses);
    return any;
}

/* Prepares a sleep. Transports poll when they are armed, and may move something without saying so,
 * such as a write into this PE's memory. So the sleep comes after one more look. ends: sy_wait_over
 * follows the wait. */
static void wait_sleep_briefly(uint64_t waited, bool ends)
{
    if (!policy.descriptors) {
        /* Where all memory is mapped, who sets the bits finds this thread asleep, and wakes it. */
        bool wakes = awaited.word && !sy_hot_carries();
        wait_sleep_measured(wakes ? wait_safe_length(waited) : wait_blind_length(waited), false);
        return;
    }
    if (ends && !policy.takes_over && !took_over) {
        took_over = true;
        sy_progress_take_over();
    }
    int done = sy_progress_arm();
    if (done > 0)
        moved_at = sy_clock_ns();
    else
        sleep_due = wait_word_wakes(done == 0)
                        ? wait_safe_length(waited)
                        : wait_sleep_length(waited, done == 0, policy.crowded || took_over);
}

/* Takes the sleep that wait_sleep_briefly has prepared; false: there is none. */
static bool wait_sleep_taken(bool first)
{
    uint64_t length = sleep_due;

    sleep_due = 0;
    if (!length)
        return false;
    if (first) {
        sy_progress_awake(); /* the wait for which it was prepared is over */
        return false;
    }
    woken = wait_sleep_measured(length, true);
    return true;
}

/* Of this thread's yields. */
static _Thread_local struct sy_displaced displaced;

/* Until then this thread does not yield. */
static _Thread_local uint64_t keeps_until;

static void wait_yield(uint64_t now)
{
    sched_yield();
    uint64_t back = sy_clock_ns();
    if (policy.sleeps_soon)
        sy_displaced_yielded(&displaced, now, back);
    else if (!policy.crowded && !policy.polls && back - now >= SY_DISPLACED_NS)
        keeps_until = back + KEEPS_NS;
}

static uint64_t wait_yields_for(uint64_t now)
{
    if (took_over)
        return YIELDING_AGAIN_NS;
    return SY_UNLIKELY(now < displaced.until) ? 0 : policy.sleeps_after;
}

/* Polls the transports. What has woken this thread may be for another one, which then needs the
 * processor. */
static int wait_poll_transports(void)
{
    int moved = sy_progress_poll();

    if (woken && moved == 0 && SY_LIKELY(sy_clock_ns() >= displaced.until)) {
        sched_yield();
        moved = -1;
    }
    woken = false;
    return moved;
}

static bool wait_yield_due(uint64_t now)
{
    static _Thread_local unsigned polls;

    if (policy.mode == SY_WAIT_SPIN || now < keeps_until)
        return false;
    return policy.crowded || !policy.polls || ++polls % POLLS_A_YIELD == 0;
}

/* Yields or sleeps as the age of the wait, `waited` until now, asks for. yielded: the transport has
 * yielded already. */
static void wait_give_way(uint64_t now, uint64_t waited, bool yielded, bool ends)
{
    if (waited >= wait_yields_for(now))
        wait_sleep_briefly(waited, ends);
    else if (!yielded && wait_yield_due(now))
        wait_yield(now);
}

static uint64_t wait_waited_since(uint64_t *since)
{
    uint64_t time = sy_clock_ns();

    if (!*since)
        *since = time;
    return time - *since;
}

/* How long a wait has been idle. A thread that serves others while it waits has work, so the age
 * begins anew. */
static uint64_t idle_for(uint64_t since, uint64_t waited)
{
    return moved_at > since ? since + waited - moved_at : waited;
}

static bool still_polling(uint64_t waited)
{
    return waited < (policy.crowded ? POLLING_CROWDED_NS : POLLING_NS);
}

static void wait_rest(uint64_t *since, const char *where)
{
    bool slept = wait_sleep_taken(!*since), first = !*since;
    int moved = !slept && policy.polls ? wait_poll_transports() : 0;
    uint64_t waited = wait_waited_since(since);

    sy_displaced_judge(&displaced, first || moved > 0);
    if (first)
        sy_stall_opened(*since, where);
    if (SY_UNLIKELY(waited > SY_STALL_NOTED_NS))
        sy_stall_note(*since, *since + waited, where);
    if (moved > 0)
        moved_at = *since + waited;
    if (moved > 0 || slept)
        return;
    uint64_t idle = idle_for(*since, waited);
    if (!policy.polls || !still_polling(idle))
        wait_give_way(*since + waited, idle, moved < 0, true);
}

uint32_t sy_wait_rest(uint64_t *since, const char *where)
{
    if (!*since && policy.takes_over)
        sy_progress_take_over();
    wait_rest(since, where);
    counted = sy_sleep_count();
    return LOOKS_AFTER_REST;
}

/* Polls, now and then: else what a program sends that passes many waits which are over at once
 * would stay gathered. */
void sy_wait_passed(void)
{
    static _Thread_local uint64_t passed_at;
    uint64_t now = sy_clock_ns();

    if (now - passed_at < PASSES_APART_NS)
        return;
    passed_at = now;
    sy_progress_poll();
}

void sy_wait_rested(void)
{
    sy_stall_opened(0, NULL);
    if (policy.takes_over || took_over)
        sy_progress_hand_back();
    took_over = false;
}

void sy_wait_for_bits(uint32_t *word, uint32_t bits, uint32_t asleep)
{
    awaited.word = word;
    awaited.bits = bits;
    awaited.asleep = asleep;
    SY_WAIT_UNTIL(__atomic_load_n(word, __ATOMIC_ACQUIRE) & bits);
    awaited.word = NULL;
}

void sy_wait_wake(const uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The other transports are polled. If only one is polled at all it is the caller, which polls
 * itself. */
void sy_wait_rest_inside(uint64_t *since)
{
    bool slept = wait_sleep_taken(!*since);
    uint64_t waited = wait_waited_since(since);
    int moved = 0;

    if (SY_UNLIKELY(waited > SY_STALL_NOTED_NS))
        sy_stall_note(*since, *since + waited, "a wait of a transport");
    if (policy.polled > 1 && !slept) {
        moved = wait_poll_transports();
    } else {
        sy_progress_enter();
        sy_sleep_polled(); /* the transport has polled itself */
    }
    sy_displaced_judge(&displaced, moved > 0);
    if (!slept && moved <= 0 && !still_polling(waited))
        wait_give_way(*since + waited, waited, moved < 0, false);
    counted = sy_sleep_count();
}

void sy_wait_poll_sometimes(void)
{
    static _Thread_local uint32_t looks;

    if (++looks % LOOKS_CROWDED == 0)
        sy_progress_poll();
}

void sy_wait_missed(void)
{
    static _Thread_local uint32_t misses;

    if ((policy.polls || sy_hot_carries()) && sy_progress_poll() > 0)
        return;
    if (++misses < sy_wait_looks)
        return;
    misses = 0;
    if (policy.mode != SY_WAIT_SPIN)
        sched_yield();
}
