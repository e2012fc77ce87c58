/* Waits where PEs outnumber processors (run it so): what ends a wait wakes the PE that sleeps, and
 * a PE that has waited, or waits in a signal handler, serves others again. It tests no single
 * routine, but the progress that all routines make (4.1). */
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include "check.h"

#define ROUNDS 100

/* Shorter than a sleep that only the safety timeout ends, longer than other processes keep a
 * processor busy. */
#define LATE_NS UINT64_C(45000000)

static long token, answer, lots[1000];
static uint64_t sig;
static long door;
static volatile long released; /* by a put to a PE that makes no call */
static int me, npes, to;
static int late, hops;

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void pause_for(long milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

static void note(uint64_t begin)
{
    hops++;
    late += now() - begin > LATE_NS;
}

/* ---- what ends a wait ---- */

/* Each PE that has sent the token on reads the next PE's answer. */
static void hop(long round, int from, void (*send)(long value))
{
    if (me == from) {
        uint64_t begin = now();
        send(round);
        shmem_long_wait_until(&answer, SHMEM_CMP_GE, round);
        note(begin);
    } else if (me == (from + 1) % npes) {
        shmem_long_wait_until(&token, SHMEM_CMP_GE, round);
        shmem_long_p(&answer, round, from);
        shmem_quiet();
    }
}

static void send_p(long value)
{
    shmem_long_p(&token, value, to);
}

static void send_add(long value)
{
    (void)value;
    shmem_long_atomic_inc(&token, to);
}

static void send_after_put(long value)
{
    for (int i = 0; i < 1000; i++)
        lots[i] = value;
    shmem_long_put_nbi(lots, lots, 1000, to);
    shmem_fence();
    shmem_long_p(&token, value, to);
}

static void send_get(long value)
{
    long seen = shmem_long_g(&token, to);

    CHECK(seen < value);
    shmem_long_p(&token, value, to);
}

static void tokens(void (*send)(long value))
{
    token = answer = 0;
    shmem_barrier_all();
    for (long round = 1; round <= ROUNDS; round++)
        for (int from = 0; from < npes; from += 2)
            hop(round, from, send);
    shmem_barrier_all();
}

static void locks(void)
{
    for (int i = 0; i < ROUNDS / 4; i++) {
        uint64_t begin = now();
        shmem_set_lock(&door);
        shmem_clear_lock(&door);
        hops++;
        late += now() - begin > LATE_NS * (uint64_t)npes;
    }
    shmem_barrier_all();
    CHECK(door == 0);
}

static void signals(void)
{
    sig = 0;
    shmem_barrier_all();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t begin = now();
        shmem_uint64_put_signal(&sig, &round, 0, &sig, round, SHMEM_SIGNAL_SET, to);
        shmem_signal_wait_until(&sig, SHMEM_CMP_GE, round);
        note(begin);
    }
    shmem_barrier_all();
}

/* ---- service ---- */

/* Computes, without a call of the library, for as long as a test may hang. */
static void compute_until_released(long round)
{
    uint64_t begin = now();

    while (released < round && now() - begin < UINT64_C(20000000000))
        ;
}

/* Service by a PE that makes no call. */
static void be_served(long round)
{
    uint64_t begin = now();

    CHECK(shmem_long_g(&token, 0) <= round);
    shmem_long_atomic_fetch_add((long *)(uintptr_t)&released, 1, 0);
    note(begin);
}

/* PE 0 computes after a wait, and others need its service meanwhile. */
static void serve_after_wait(void)
{
    released = token = answer = 0;
    late = hops = 0;
    shmem_barrier_all();
    for (long round = 1; round <= ROUNDS / 2; round++) {
        if (me == 0) {
            shmem_long_wait_until(&token, SHMEM_CMP_GE, round);
            compute_until_released(round);
            CHECK(released == round);
            shmem_long_p(&answer, round, npes - 1);
        } else if (me == npes - 1) {
            shmem_long_p(lots, round, 0); /* something that does not end the wait */
            shmem_quiet();
            pause_for(2);
            shmem_long_p(&token, round, 0);
            be_served(round);
            shmem_long_wait_until(&answer, SHMEM_CMP_GE, round);
        }
    }
    CHECK(late * 2 <= hops);
    shmem_barrier_all();
}

static void on_alarm(int number)
{
    (void)number;
    compute_until_released(1);
}

/* The same in a handler, which runs while PE 0 waits. */
static void serve_in_handler(void)
{
    const struct itimerval soon = {.it_value.tv_usec = 50000}, never = {0};

    released = token = 0;
    shmem_barrier_all();
    if (me == 0) {
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &soon, NULL);
        shmem_long_wait_until(&token, SHMEM_CMP_EQ, 1);
        setitimer(ITIMER_REAL, &never, NULL);
        CHECK(released == 1);
    } else if (me == npes - 1) {
        pause_for(150);
        CHECK(shmem_long_atomic_fetch_add((long *)(uintptr_t)&released, 1, 0) == 0);
        shmem_long_p(&token, 1, 0);
    }
    shmem_barrier_all();
}

static void run(void)
{
    tokens(send_p);
    tokens(send_add);
    tokens(send_after_put);
    tokens(send_get);
    locks();
    signals();
    CHECK(late * 8 < hops);
    if (late)
        printf("PE %d: %d of %d waits were long\n", me, late, hops);
    serve_after_wait();
    serve_in_handler();
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    if (npes > 1)
        run();
    else
        locks();
    int status = check_end("crowd");
    shmem_finalize();
    return status;
}
