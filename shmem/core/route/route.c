/* See route.h. Contains no transport's name. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/guard.h"
#include "core/route/route.h"
#include "core/route/route_check.h"
#include "core/route/route_rule.h"
#include "core/start/transport_stubs.h"
#include "core/memory/windows.h"
#include "core/wait/stall.h"
#include "engine/message.h"
#include "engine/producer.h"
#include "util/error.h"
#include "util/log.h"
#include "util/option.h"
#include "util/words.h"

struct sy_routes sy_routes;

/* Transports that this PE has left out. */
static struct sy_route_drop dropped[SY_TRANSPORTS_MAX];
static unsigned drops;

/* ---- which transports ---- */

/* One word of a list "a,b?,^c": its letters, without the mark behind it, and whether the mark is
 * there. False at the end. */
static bool route_next_name(const char **list, char name[SY_ROUTE_NAME], bool *optional)
{
    size_t word = strcspn(*list, ",");

    if (!**list)
        return false;
    *optional = word && (*list)[word - 1] == '?';
    snprintf(name, SY_ROUTE_NAME, "%.*s", (int)(word - *optional), *list);
    *list += word + ((*list)[word] == ',');
    return true;
}

/* The plugin of an instance. */
static const struct sy_plugin *route_find(const char *name, const struct sy_plugin *found,
                                          size_t count)
{
    size_t length = strcspn(name, "@");

    for (size_t i = 0; i < count; i++)
        if (strlen(found[i].name) == length && !memcmp(found[i].name, name, length))
            return &found[i];
    return NULL;
}

/* A name has nothing behind the plugin's, or @ and a word; and stands once, since PEs find each
 * other's instances by it. */
static int route_check_instance(const char *name, const char *rest, struct sy_error *err)
{
    const char *word = strchr(name, '@');
    char other[SY_ROUTE_NAME];
    bool optional, good = !word || word[1];

    while (good && word && *++word)
        good = isalnum((unsigned char)*word) || *word == '_' || *word == '-';
    if (strlen(name) == SY_ROUTE_NAME - 1 || !good)
        return sy_fail(
            err, EINVAL,
            "SHMEM_TRANSPORTS names '%s', but a name has fewer than %d characters, and behind @ "
            "stands a word of letters, digits, _ and -, such as name@a",
            name, SY_ROUTE_NAME - 1);
    while (route_next_name(&rest, other, &optional))
        if (!strcmp(name, other))
            return sy_fail(err, EINVAL,
                           "SHMEM_TRANSPORTS names '%s' twice; instances of a transport have "
                           "different names, such as name@a,name@b",
                           name);
    return 0;
}

/* Every name of a user's list must exist: a slip must not silently choose another transport. */
static int route_check_names(const char *list, bool exclude, const struct sy_plugin *found,
                             size_t count, struct sy_error *err)
{
    char have[256] = "", name[SY_ROUTE_NAME];
    bool optional;

    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(have);
        if (used + strlen(found[i].name) + 3 < sizeof have)
            sprintf(have + used, "%s%s", used ? ", " : "", found[i].name);
    }
    while (route_next_name(&list, name, &optional)) {
        if (!*name)
            return sy_fail(err, EINVAL, "SHMEM_TRANSPORTS has an empty name; a list is a,b,c");
        int rc = exclude ? 0 : route_check_instance(name, list, err);
        if (rc)
            return rc;
        if (!optional && (!route_find(name, found, count) || (exclude && strchr(name, '@'))))
            return sy_fail(err, ENOENT,
                           "SHMEM_TRANSPORTS names '%s', but there is no such transport; there is: "
                           "%s%s",
                           name, *have ? have : "none at all",
                           *name == '^'        ? " (a ^ stands once, before the whole list)"
                           : strchr(name, '/') ? " (a plugin's folder belongs in SHMEM_PLUGIN_PATH)"
                                               : "");
    }
    return 0;
}

/* ---- loading ---- */

static void route_unload(struct sy_route_transport *t)
{
    sy_plugin_close(&t->plugin);
    free(t->settings);
}

static int route_add_options(struct sy_route_transport *t, struct sy_options *options,
                             struct sy_error *err)
{
    t->settings = calloc(1, t->table->settings_size);
    return t->settings
               ? sy_options_add(options, t->plugin.name, t->table->options, t->settings,
                                t->table->settings_size, err)
               : sy_fail(err, ENOMEM, "no memory for the settings of transport %s", t->plugin.name);
}

/* Loads a plugin and appends an instance of it. */
static int route_load(const struct sy_plugin *found, const char *name, struct sy_options *options,
                      struct sy_error *err)
{
    if (sy_routes.loaded == SY_TRANSPORTS_MAX)
        return sy_fail(err, E2BIG, "more than %d transports", SY_TRANSPORTS_MAX);
    struct sy_route_transport *t = &sy_routes.transport[sy_routes.loaded];
    *t = (struct sy_route_transport){0};
    int rc = sy_plugin_open_found("transport", found, SY_TRANSPORT_ABI, sizeof sy_transport_stubs,
                                  &sy_transport_stubs, &t->plugin, err);
    if (rc)
        return rc;
    t->table = t->plugin.table;
    t->rank = t->table->priority < INT32_MAX ? -(int32_t)t->table->priority : -INT32_MAX;
    struct sy_error why = {""};
    if (!sy_plugin_rename(&t->plugin, name))
        rc = sy_fail(err, ENOMEM, "no memory for transport %s", name);
    else if (sy_route_check_table(t->table, &why))
        rc = sy_fail(err, EPROTO, "transport plugin %s: %s", found->name, why.text);
    else if (t->table->options)
        rc = route_add_options(t, options, err);
    if (rc)
        route_unload(t);
    else
        sy_routes.loaded++;
    return rc;
}

static int route_load_named(const char *list, const struct sy_plugin *found, size_t count,
                            struct sy_options *options, struct sy_error *err)
{
    char name[SY_ROUTE_NAME];
    bool optional;

    for (int32_t rank = 0; route_next_name(&list, name, &optional); rank++) {
        const struct sy_plugin *plugin = route_find(name, found, count);
        if (!plugin) /* route_check_names has seen to it that it is optional */
            continue;
        int rc = route_load(plugin, name, options, err);
        if (rc)
            return rc;
        sy_routes.transport[sy_routes.loaded - 1].rank = rank;
        sy_routes.transport[sy_routes.loaded - 1].required = !optional;
        sy_routes.transport[sy_routes.loaded - 1].named = true;
    }
    return 0;
}

static int route_lower_first(const void *a, const void *b)
{
    const struct sy_route_transport *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : strcmp(x->plugin.name, y->plugin.name);
}

/* Loads all that exist but the excluded ones, and those that are only for who names them, unless a
 * rule does. */
static int route_load_auto(const char *excluded, const struct sy_plugin *found, size_t count,
                           struct sy_options *options, struct sy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct sy_error why = {""};
        bool wanted = sy_route_rules_want(found[i].name);
        if (sy_words_have(excluded, ',', found[i].name, strlen(found[i].name)))
            continue;
        int rc = route_load(&found[i], found[i].name, options, &why);
        struct sy_route_transport *t = &sy_routes.transport[sy_routes.loaded - !rc];
        if (rc ==
            -EINVAL) /* a bad option value is the user's to mend, not a reason to go without */
            return sy_fail(err, EINVAL, "%s", why.text);
        if (rc)
            sy_log(SY_LOG_WARN, "routes", "transport %s: %s", found[i].name, why.text);
        else if (t->table->priority < 0 && !wanted)
            route_unload(&sy_routes.transport[--sy_routes.loaded]);
        else
            t->ruled = wanted;
    }
    qsort(sy_routes.transport, sy_routes.loaded, sizeof sy_routes.transport[0], route_lower_first);
    return 0;
}

int sy_routes_load(const char *wanted, struct sy_options *options, struct sy_error *err)
{
    size_t count;
    struct sy_plugin *found = sy_plugins_find("transport", &count);
    /* Those that are listed by name must each open. */
    bool exclude = wanted[0] == '^', named = !exclude && strcmp(wanted, "auto") != 0;
    const char *list = exclude ? wanted + 1 : named ? wanted : "";
    int rc = route_check_names(list, exclude, found, count, err);

    drops = 0;
    if (!rc)
        rc = named ? route_load_named(list, found, count, options, err)
                   : route_load_auto(list, found, count, options, err);
    sy_plugins_free(found, count);
    return rc;
}

/* ---- opening ---- */

/* Makes window w known to a transport, and takes its key. */
static int route_attach(struct sy_route_transport *t, unsigned w, struct sy_error *err)
{
    int rc = t->table->region_attach(t->self, w, &sy_windows.entry[w].own, t->key[w], SY_REGION_KEY,
                                     err);

    if (rc > SY_REGION_KEY)
        return sy_fail(err, EPROTO,
                       "its region_attach() answers %d, but a key has at most %d bytes", rc,
                       SY_REGION_KEY);
    if (rc > t->key_bytes)
        t->key_bytes = (uint8_t)rc;
    return sy_route_check_step("region_attach", rc < 0 ? rc : 0, err);
}

static void route_close_one(struct sy_route_transport *t)
{
    sy_stall_enter(t->plugin.name, "close");
    t->table->close(t->self);
    sy_stall_leave();
}

/* What only carries messages has the library's data calls, which can. */
static bool route_is_lone(const struct sy_transport *table)
{
    const struct sy_transport *stubs = &sy_transport_stubs;
    bool calls = table->put != stubs->put || table->get != stubs->get || table->amo != stubs->amo;

    return table->threads == stubs->threads && (calls || !table->message_size);
}

/* Opens transport `i`, attaches the windows, and opens the default context's domain in it. */
static int route_open_one(unsigned i, const struct sy_host *host, struct sy_error *err)
{
    struct sy_route_transport *t = &sy_routes.transport[i];
    struct sy_instance instance = {.size = sizeof instance,
                                   .name = t->plugin.name,
                                   .settings = t->settings,
                                   .named = t->named};

    t->lone = route_is_lone(t->table);
    sy_stall_enter(t->plugin.name, "open");
    int rc = sy_route_check_step("open", sy_message_open(&t->table, host, &instance, &t->self, err),
                                 err);
    sy_stall_leave();
    if (rc)
        return rc;
    /* The library's own first: most others are in the file that this one is in. */
    rc = route_attach(t, SY_WINDOW_CONTROL, err);
    for (unsigned w = 0; w < sy_windows.count && !rc; w++)
        rc = w == SY_WINDOW_CONTROL ? 0 : route_attach(t, w, err);
    if (!rc)
        rc = sy_route_check_step("ctx_open", t->table->ctx_open(t->self, 0, &t->ctx, err), err);
    if (rc)
        route_close_one(t);
    return rc;
}

static void route_forget(unsigned i, int code, const char *why)
{
    struct sy_route_transport *t = &sy_routes.transport[i];
    struct sy_route_drop *drop = &dropped[drops++]; /* each of the loaded ones at most once */

    snprintf(drop->name, sizeof drop->name, "%s", t->plugin.name);
    snprintf(drop->why, sizeof drop->why, "%s", why);
    drop->code = code;
    drop->named = t->named;
    route_unload(t);
    sy_routes.loaded--;
    memmove(t, t + 1, (sy_routes.loaded - i) * sizeof *t);
}

void sy_routes_drop(unsigned i, int code, const char *why)
{
    struct sy_route_transport *t = &sy_routes.transport[i];

    t->table->ctx_close(t->self, t->ctx);
    route_close_one(t);
    sy_routes.count--;
    route_forget(i, code, why);
}

const struct sy_route_drop *sy_routes_dropped(unsigned i)
{
    return i < drops ? &dropped[i] : NULL;
}

/* Whether the last open transport reaches all PEs of the node. Not if rules may prefer a later one
 * there. */
bool sy_routes_span_node(void)
{
    return sy_routes.count &&
           sy_routes.transport[sy_routes.count - 1].table->capabilities & SY_NODE_ONLY &&
           !sy_route_rules_name(0);
}

/* A transport that is rarely the best choice leaves itself out where it is not named. Where a rule
 * names it, it comes last, and so is used for the rule's pairs alone where others reach. Returns
 * whether it is to be opened once more. */
static bool route_put_last(unsigned i)
{
    struct sy_route_transport t = sy_routes.transport[i];
    unsigned behind = sy_routes.loaded - i - 1;

    if (!t.ruled || t.named)
        return false;
    t.named = true;
    t.rank = INT32_MAX;
    memmove(&sy_routes.transport[i], &sy_routes.transport[i + 1], behind * sizeof t);
    sy_routes.transport[i + behind] = t;
    return true;
}

/* A child process must not use its parent's connections: what it sent or received would be missing
 * there. */
static void route_after_fork_in_child(void)
{
    for (unsigned i = 0; i < sy_routes.count; i++)
        sy_routes.transport[i].table = &sy_transport_stubs;
    sy_routes.in_child = true;
}

static int route_open_all(const struct sy_host *host, bool beyond, struct sy_error *err)
{
    while (sy_routes.count < sy_routes.loaded) {
        struct sy_error why = {""};
        const struct sy_route_transport *t = &sy_routes.transport[sy_routes.count];
        if (!beyond && (!(t->table->capabilities & SY_NODE_ONLY) || sy_routes_span_node()))
            return 0;
        int failed = route_open_one(sy_routes.count, host, &why);
        bool needless = failed == -ENODEV && host->npes == 1; /* nobody is there to be reached */
        if (failed == -ENODEV && !needless && route_put_last(sy_routes.count))
            continue;
        if (!failed) {
            sy_routes.count++;
        } else if (t->required && !needless) {
            return sy_fail(err, -failed, "transport %s, which SHMEM_TRANSPORTS demands: %s",
                           t->plugin.name, why.text);
        } else {
            sy_log(SY_LOG_DEBUG, "routes", "transport %s: not used: %s", t->plugin.name, why.text);
            route_forget(sy_routes.count, failed, why.text);
        }
    }
    return 0;
}

/* Only what leads beyond the node may have to wait, for a device or its driver. */
int sy_routes_open(const struct sy_host *host, bool beyond, struct sy_error *err)
{
    static bool registered;

    if (!registered) {
        pthread_atfork(NULL, NULL, route_after_fork_in_child);
        sy_producer_prepare();
    }
    registered = true;
    if (beyond)
        sy_guard_listen();
    int rc = route_open_all(host, beyond, err);
    sy_guard_stop();
    return rc;
}

/* ---- exchange: for each transport its name, NUL, rank, bytes of a key, one byte of length, the
 * address ---- */

enum { PACK_HEAD = sizeof(int32_t) + 2, PACK_MOST = 0xff };

static size_t route_pack_one(char *at, const char *name, int32_t rank, uint8_t key_bytes,
                             size_t length)
{
    size_t used = strlen(name) + 1;

    memcpy(at, name, used);
    memcpy(at + used, &rank, sizeof rank);
    at[used + sizeof rank] = (char)key_bytes;
    at[used + sizeof rank + 1] = (char)length;
    return used + PACK_HEAD;
}

size_t sy_routes_pack_room(void)
{
    return (sy_routes.loaded + (sy_route_rules_use_nets() ? 2 : 0)) * SY_TRANSPORT_RECORD + 1;
}

size_t sy_routes_pack(char *buffer, size_t room)
{
    size_t used = 0;

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *t = &sy_routes.transport[i];
        size_t head = strlen(t->plugin.name) + 1 + PACK_HEAD;
        if (used + head + SY_ADDRESS_MAX + 1 > room)
            break;
        size_t length = t->table->address(t->self, buffer + used + head, SY_ADDRESS_MAX);
        if (length > SY_ADDRESS_MAX) {
            sy_log(SY_LOG_ERROR, "routes",
                   "transport %s: its address() answers %zu, but an address has at most %d bytes; "
                   "it is taken as none",
                   t->plugin.name, length, SY_ADDRESS_MAX);
            length = 0;
        }
        used += route_pack_one(buffer + used, t->plugin.name, t->rank, t->key_bytes, length) +
                length;
    }
    if (sy_route_rules_use_nets() && used + sizeof SY_ROUTE_NETS + PACK_HEAD + PACK_MOST < room) {
        char *nets = buffer + used + sizeof SY_ROUTE_NETS + PACK_HEAD;
        size_t length = sy_route_rules_addresses(nets, PACK_MOST);
        used += route_pack_one(buffer + used, SY_ROUTE_NETS, 0, 0, length) + length;
    }
    buffer[used++] = '\0';
    return used;
}

bool sy_routes_check_pack(const char *pack, size_t room)
{
    while (room && *pack) {
        size_t name = strnlen(pack, room) + 1;
        if (name > SY_ROUTE_NAME || name + PACK_HEAD > room)
            return false;
        unsigned char key_bytes = (unsigned char)pack[name + sizeof(int32_t)];
        size_t length = (unsigned char)pack[name + sizeof(int32_t) + 1];
        size_t most = strcmp(pack, SY_ROUTE_NETS) != 0 ? SY_ADDRESS_MAX : PACK_MOST;
        if (key_bytes > SY_REGION_KEY || length > most || length > room - name - PACK_HEAD)
            return false;
        pack += name + PACK_HEAD + length;
        room -= name + PACK_HEAD + length;
    }
    return room > 0;
}

bool sy_routes_unpack(const char **pack, struct sy_route_entry *entry)
{
    const char *at = *pack;

    if (!*at)
        return false;
    entry->name = at;
    at += strlen(at) + 1;
    memcpy(&entry->rank, at, sizeof entry->rank);
    entry->key_bytes = (uint8_t)at[sizeof entry->rank];
    entry->length = (unsigned char)at[sizeof entry->rank + 1];
    entry->address = at + PACK_HEAD;
    *pack = entry->address + entry->length;
    return true;
}

void sy_routes_close(void)
{
    if (sy_routes.count && !sy_routes_span_node())
        sy_guard_listen();
    for (unsigned i = sy_routes.loaded; i--;) {
        struct sy_route_transport *t = &sy_routes.transport[i];
        if (i < sy_routes.count) {
            sy_route_tell_counters(t, SY_LOG_DEBUG, "counters", "");
            t->table->ctx_close(t->self, t->ctx);
            route_close_one(t);
            sy_routes.count = i; /* those that close after it may wait, and let others progress */
        }
        route_unload(t);
    }
    sy_guard_stop();
    sy_route_rules_close();
    free(sy_routes.of);
    free(sy_routes.other);
    memset(&sy_routes, 0, sizeof sy_routes);
    sy_hot.carries = false;
    sy_hot.looks = SY_LOOKS_MERELY;
}
