/* A plugin that carries messages, looked at from both sides: what message_send has taken for a PE
 * is handed up there once, whole and in order, by one thread at a time. The plugin's table is put
 * behind one that compares; the engine above knows nothing of it. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "engine/message.h"
#include "tests/transport/suite.h"
#include "util/bits.h"

/* What the suite has put between the engine and an instance of the plugin. */
static struct watched {
    void *self, *receiver;
    void (*received)(void *receiver, int pe, const void *bytes, size_t length);
    void (*large_done)(void *receiver, void *ticket);
    bool (*settled)(void *receiver);
    atomic_bool inside;
} watched[SUITE_INSTANCES];

static const struct sy_transport *plugin;

static bool at_close[SUITE_PES]; /* the PE is to be sent a message just before close() */

static _Thread_local bool sending; /* this thread is in message_send */
static _Thread_local int up;       /* messages that this thread has handed up */

/* Tickets of large data under way, of this PE. */
static void *live[SUITE_PES * 32];
static pthread_mutex_t lives = PTHREAD_MUTEX_INITIALIZER;

/* Has one in the list give place to another; NULL is an empty place. */
static bool watch_ticket(const void *was, void *becomes)
{
    bool found = false;

    pthread_mutex_lock(&lives);
    for (size_t i = 0; i < sizeof live / sizeof *live && !found; i++)
        if ((found = live[i] == was))
            live[i] = becomes;
    pthread_mutex_unlock(&lives);
    atomic_fetch_add(&suite.shared->larges[suite.pe], !was - !becomes);
    return found;
}

/* ---- at the sender ---- */

static struct suite_trail *trail(const struct watched *w, int from, int to)
{
    return &suite.shared->trail[w - watched][from][to];
}

/* The message's sum is there before the other side can get it. For one PE one thread at a time. */
static int watch_send(void *self, int pe, const void *bytes, size_t length)
{
    const struct watched *w = watched;

    while (w->self != self)
        w++;
    struct suite_trail *t = trail(w, suite.pe, pe);
    uint64_t number = atomic_load(&t->taken);

    if (length > plugin->message_size)
        suite_give_up("the library has made a message of %zu bytes", length);
    atomic_store(&t->sum[number % SUITE_TRAIL], sy_hash(bytes, length, number));
    atomic_store(&t->length[number % SUITE_TRAIL], length);
    atomic_fetch_add(&t->calls, 1);
    sending = true;
    int rc = plugin->message_send(self, pe, bytes, length);
    sending = false;
    atomic_fetch_add(&t->calls, 1);
    if (rc > 0)
        suite_give_up("message_send answers %d, which is neither 0 nor -errno", rc);
    if (!rc)
        atomic_store(&t->taken, number + 1);
    return rc;
}

static int watch_large_send(void *self, int pe, uint64_t number, const void *bytes, size_t length,
                            void *ticket)
{
    watch_ticket(NULL, ticket);
    int rc = plugin->large_send(self, pe, number, bytes, length, ticket);
    if (rc)
        watch_ticket(ticket, NULL);
    return rc;
}

/* ---- at the target ---- */

static int watch_large_receive(void *self, int pe, uint64_t number, void *bytes, size_t length,
                               void *ticket)
{
    watch_ticket(NULL, ticket);
    return plugin->large_receive(self, pe, number, bytes, length, ticket);
}

static void watch_large_done(void *receiver, void *ticket)
{
    struct watched *w = receiver;

    if (!watch_ticket(ticket, NULL))
        suite_give_up("large_done is called for data that are not under way, or once more");
    w->large_done(w->receiver, ticket);
}

/* Message `number` of PE pe is expected, and another one has come. Its sum tells which. */
_Noreturn static void say_what_came(const struct suite_trail *t, int pe, uint64_t number,
                                    const void *bytes, size_t length)
{
    uint64_t first = number > SUITE_TRAIL / 2 ? number - SUITE_TRAIL / 2 : 0,
             taken = atomic_load(&t->taken), sent = atomic_load(&t->length[number % SUITE_TRAIL]);
    unsigned long long shown = number + 1;

    for (uint64_t k = first; k <= taken && k < first + SUITE_TRAIL; k++) {
        if (k == number || atomic_load(&t->sum[k % SUITE_TRAIL]) != sy_hash(bytes, length, k))
            continue;
        if (k < number)
            suite_give_up("message %llu of PE %d comes a second time, in place of message %llu",
                          (unsigned long long)k + 1, pe, shown);
        suite_give_up("message %llu of PE %d is missing: message %llu comes in its place", shown,
                      pe, (unsigned long long)k + 1);
    }
    if (length != sent)
        suite_give_up("message %llu of PE %d has %zu bytes, but %llu were sent", shown, pe, length,
                      (unsigned long long)sent);
    suite_give_up("message %llu of PE %d, of %zu bytes, has been changed on its way", shown, pe,
                  length);
}

/* What must hold of any message, before its bytes are looked at. */
static void check_message(int pe, size_t length)
{
    if (sending)
        suite_give_up("`received` is called from inside message_send");
    if (pe < 0 || pe >= suite.npes || pe == suite.pe)
        suite_give_up("a message of PE %d is handed up", pe);
    if (!length || length > plugin->message_size)
        suite_give_up("a message of %zu bytes of PE %d is handed up, but one has 1 to %zu", length,
                      pe, plugin->message_size);
}

static void watch_received(void *receiver, int pe, const void *bytes, size_t length)
{
    struct watched *w = receiver;

    check_message(pe, length);
    if (atomic_exchange(&w->inside, true))
        suite_give_up("`received` is called by two threads at once");
    struct suite_trail *t = trail(w, pe, suite.pe);
    uint64_t number = atomic_load(&t->handed), sum = atomic_load(&t->sum[number % SUITE_TRAIL]);
    uint64_t taken = atomic_load(&t->taken); /* not yet this one's, perhaps */

    if (number > taken)
        suite_give_up("PE %d has sent %llu messages, and one more is handed up", pe,
                      (unsigned long long)taken);
    if (taken - number < SUITE_TRAIL && sum != sy_hash(bytes, length, number))
        say_what_came(t, pe, number, bytes, length);
    up++;
    atomic_store(&t->handed, number + 1);
    w->received(w->receiver, pe, bytes, length);
    atomic_store(&w->inside, false);
}

static int watch_progress(void *self, unsigned flags)
{
    int before = up, rc = plugin->progress(self, flags), more = up - before;

    if (more && rc <= 0)
        suite_give_up("progress() answers %d, as if nothing had been done, but has handed up %d "
                      "messages",
                      rc, more);
    if (rc < 0 && flags & SY_PROGRESS_EVENT)
        suite_give_up("progress() answers %d to the progress thread, as if it had yielded", rc);
    return rc;
}

static void watch_close(void *self)
{
    for (int pe = 0; pe < suite.npes; pe++) {
        if (at_close[pe])
            suite_send_message(pe);
        at_close[pe] = false;
    }
    plugin->close(self);
}

static bool watch_settled(void *receiver)
{
    struct watched *w = receiver;

    return w->settled(w->receiver);
}

static int watch_open(const struct sy_host *host, const struct sy_instance *instance, void **self,
                      struct sy_error *err)
{
    struct watched *w = &watched[suite_instance()];
    struct sy_instance below = *instance;

    for (int pe = 0; pe < suite.npes; pe++) {
        atomic_store(&trail(w, suite.pe, pe)->taken, 0);
        atomic_store(&trail(w, pe, suite.pe)->handed, 0);
    }
    *w = (struct watched){.receiver = instance->receiver,
                          .received = instance->received,
                          .large_done = instance->large_done,
                          .settled = instance->settled};
    below.received = watch_received;
    below.large_done = watch_large_done;
    below.settled = watch_settled;
    below.receiver = w;
    int rc = plugin->open(host, &below, self, err);
    w->self = *self;
    return rc;
}

const struct sy_transport *suite_watch_messages(const struct sy_transport *loaded)
{
    static struct sy_transport table;

    plugin = loaded;
    table = *loaded;
    if (!loaded->message_size)
        return loaded;
    table.open = watch_open;
    table.close = watch_close;
    table.message_send = watch_send;
    table.progress = watch_progress;
    if (loaded->large_size) {
        table.large_send = watch_large_send;
        table.large_receive = watch_large_receive;
    }
    return &table;
}

void suite_say_messages(void)
{
    for (int pe = 0; pe < suite.npes; pe++) {
        if (suite.shared->larges[pe])
            fprintf(stderr, "  PE %d has %d large data for which large_done has not been called\n",
                    pe, suite.shared->larges[pe]);
    }
    for (int i = 0; i < SUITE_INSTANCES; i++)
        for (int from = 0; from < suite.npes; from++)
            for (int to = 0; to < suite.npes; to++) {
                const struct suite_trail *t = trail(&watched[i], from, to);
                if (t->calls % 2)
                    fprintf(stderr, "  PE %d is in message_send to PE %d, which must not wait\n",
                            from, to);
                if (t->taken > t->handed)
                    fprintf(stderr, "  PE %d has sent %llu messages to PE %d; handed up: %llu\n",
                            from, (unsigned long long)t->taken, to, (unsigned long long)t->handed);
            }
}

const struct suite_trail *suite_trail(int from, int to)
{
    return trail(watched, from, to);
}

/* The engine's lock keeps its own messages away; what they were left for is owed. */
void suite_send_message(int pe)
{
    struct sy_messages *messages = (struct sy_messages *)suite.self;
    struct sy_message_peer *peer = sy_message_peer(messages, pe);
    int rc = -EAGAIN;

    while (rc == -EAGAIN) {
        while (atomic_exchange(&peer->sending, true))
            suite_poll();
        struct sy_message_head head = {.applied = atomic_load(&peer->applied)};
        rc = messages->inner->message_send(messages->self, pe, &head, sizeof head);
        atomic_store(&peer->sending, false);
        sy_message_owe(peer);
        if (rc == -EAGAIN)
            suite_poll();
    }
    if (rc)
        suite_give_up("message_send to PE %d: %s", pe, strerror(-rc));
}

void suite_send_at_close(int pe)
{
    at_close[pe] = true;
}
