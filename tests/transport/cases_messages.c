/* Cases of the suite for plugins that carry messages; others pass them by. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/transport/suite.h"

/* ---- room ---- */

/* A sender that is in one call of message_send for so many looks, of 10 ms each, waits in it. They
 * are many, for machines that are busy. */
enum { LOOKS = 500, PUT = 4096, PUTS = 8192 };

/* Waits until a sender is done, and no thread of it is in message_send to this PE. Nothing here
 * calls progress(). */
static void look_at(int pe)
{
    uint64_t calls = 0, seen = 0;

    for (int looks = 0; !atomic_load(&suite.shared->word[pe]) || calls % 2; seen = calls) {
        calls = atomic_load(&suite_trail(pe, suite.pe)->calls);
        looks = calls % 2 && calls == seen ? looks + 1 : 0;
        if (looks > LOOKS)
            suite_give_up("PE %d is in message_send to this PE until this PE calls progress(): it "
                          "must not wait for room, but answer -EAGAIN",
                          pe);
        if (atomic_load(&suite.shared->stop))
            _exit(1);
        usleep(10000);
    }
}

/* Puts until there is no room, or for a plugin that has room without end 32 MiB. */
static void fill(int target)
{
    static char data[PUT];
    struct sy_transfer t = {.pe = target,
                            .window = SUITE_HEAP,
                            .offset = suite_area(SUITE_HEAP, suite.pe),
                            .local = data,
                            .length = PUT};
    int rc = 0;

    for (int k = 0; k < PUTS && !rc; k++)
        rc = suite.table->put(suite.self, suite.ctx, &t, 0);
    CHECK(!rc || rc == -EAGAIN, "put: %s", strerror(-rc));
}

/* While one PE does not call progress(), message_send to it answers -EAGAIN sooner or later, and
 * never waits. */
void case_room(void)
{
    int target = suite.npes - 1;
    bool sends = false;

    if (!suite.loaded->message_size)
        return;
    for (int i = 0; i < suite.peers; i++)
        sends |= suite.peer[i] == target &&
                 !(suite.table->reach(suite.self, target) & SY_REACH_PUT);
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    atomic_store(&suite.shared->word[suite.pe], 0);
    if (suite.pe == target)
        suite_hold(true);
    suite_barrier_asleep();
    if (suite.pe == target) {
        for (int i = 0; i < suite.peers; i++)
            look_at(suite.peer[i]);
        suite_hold(false);
    } else {
        if (sends)
            fill(target);
        atomic_store(&suite.shared->word[suite.pe], 1);
    }
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
}

/* ---- leave ---- */

/* Waits for what a PE has sent that has closed. Long, for machines that are busy. */
static void await_all(int pe)
{
    const struct suite_trail *t = suite_trail(pe, suite.pe);

    while (!atomic_load(&suite.shared->word[pe]))
        suite_poll();
    uint64_t taken = atomic_load(&t->taken);
    time_t begin = time(NULL);
    while (atomic_load(&t->handed) < taken && time(NULL) < begin + 20)
        suite_poll();
    CHECK(atomic_load(&t->handed) == taken,
          "PE %d has closed after message_send had taken %llu messages to this PE, of which %llu "
          "have come",
          pe, (unsigned long long)taken, (unsigned long long)atomic_load(&t->handed));
}

/* Sends messages to every other PE, the last of them when nothing comes any more but the plugin's
 * close(). */
static void send_last(void)
{
    enum { EACH = 8 };

    for (int k = 0; k < EACH; k++)
        for (int i = 0; i < suite.peers; i++)
            if (suite.peer[i] % 2 == 0)
                suite_send_message(suite.peer[i]);
    for (int i = 0; i < suite.peers; i++)
        if (suite.peer[i] % 2 == 0)
            suite_send_at_close(suite.peer[i]);
}

/* Every other PE sends messages and closes at once. They arrive. */
void case_leave(void)
{
    bool leaves = suite.pe % 2;

    suite_up();
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    if (leaves && suite.loaded->message_size)
        send_last();
    if (leaves)
        suite_close();
    atomic_store(&suite.shared->word[suite.pe], 1);
    for (int i = 0; !leaves && i < suite.peers; i++)
        if (suite.peer[i] % 2)
            await_all(suite.peer[i]);
    suite_barrier_asleep();
    if (!leaves)
        suite_close();
    suite_barrier_asleep();
}
