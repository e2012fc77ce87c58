/* A plugin that carries messages, looked at from both sides: what message_send has taken for a PE
 * is handed up there once, whole and in order, by one thread at a time. The plugin's table is put
 * behind one that compares; the engine above knows nothing of it. */
#include <pthread.h>
#include <stdio.h>

#include "tests/transport/suite.h"
#include "util/bits.h"

/* What the suite has put between the engine and an instance of the plugin. */
static struct watched {
    void *self, *receiver;
    void (*received)(void *receiver, int pe, const void *bytes, size_t length);
    void (*large_done)(void *receiver, void *ticket);
    atomic_bool inside;
} watched[SUITE_INSTANCES];

static const struct sy_transport *plugin;

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
    atomic_store(&suite.shared->sending[suite.pe], true);
    int rc = plugin->message_send(self, pe, bytes, length);
    atomic_store(&suite.shared->sending[suite.pe], false);
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

static void watch_received(void *receiver, int pe, const void *bytes, size_t length)
{
    struct watched *w = receiver;

    if (pe < 0 || pe >= suite.npes || pe == suite.pe)
        suite_give_up("a message of PE %d is handed up", pe);
    if (atomic_exchange(&w->inside, true))
        suite_give_up("`received` is called by two threads at once");
    struct suite_trail *t = trail(w, pe, suite.pe);
    uint64_t number = atomic_load(&t->handed), sum = atomic_load(&t->sum[number % SUITE_TRAIL]);
    uint64_t taken = atomic_load(&t->taken); /* not yet this one's, perhaps */

    if (number > taken)
        suite_give_up("PE %d has sent %llu messages, and one more is handed up", pe,
                      (unsigned long long)taken);
    if (taken - number < SUITE_TRAIL && sum != sy_hash(bytes, length, number))
        suite_give_up("message %llu of PE %d is not what was sent: %zu bytes are handed up, which "
                      "have been changed, come twice, or before or without others",
                      (unsigned long long)number + 1, pe, length);
    atomic_store(&t->handed, number + 1);
    w->received(w->receiver, pe, bytes, length);
    atomic_store(&w->inside, false);
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
                          .large_done = instance->large_done};
    below.received = watch_received;
    below.large_done = watch_large_done;
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
    table.message_send = watch_send;
    if (loaded->large_size) {
        table.large_send = watch_large_send;
        table.large_receive = watch_large_receive;
    }
    return &table;
}

void suite_say_messages(void)
{
    for (int pe = 0; pe < suite.npes; pe++) {
        if (suite.shared->sending[pe])
            fprintf(stderr, "  PE %d is in message_send, which must not wait\n", pe);
        if (suite.shared->larges[pe])
            fprintf(stderr, "  PE %d has %d large data for which large_done has not been called\n",
                    pe, suite.shared->larges[pe]);
    }
    for (int i = 0; i < SUITE_INSTANCES; i++)
        for (int from = 0; from < suite.npes; from++)
            for (int to = 0; to < suite.npes; to++) {
                const struct suite_trail *t = trail(&watched[i], from, to);
                if (t->taken > t->handed)
                    fprintf(stderr, "  PE %d has sent %llu messages to PE %d; handed up: %llu\n",
                            from, (unsigned long long)t->taken, to, (unsigned long long)t->handed);
            }
}
