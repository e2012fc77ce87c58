/* See route.h. Contains no transport's name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/route.h"
#include "core/transport_stubs.h"
#include "core/windows.h"
#include "core/world.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/log.h"
#include "util/option.h"

struct sy_routes sy_routes;

/* ---- which transports ---- */

/* Whether `name` stands in the list "a,b,c". */
static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    while (*list) {
        size_t word = strcspn(list, ",");
        if (word == length && !strncmp(list, name, length))
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

/* Every name of a user's list must exist: a slip must not silently choose another transport. */
static int check_names(const char *list, const struct sy_plugin *found, size_t count,
                       struct sy_error *err)
{
    char have[256] = "";

    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(have);
        if (used + strlen(found[i].name) + 3 < sizeof have)
            sprintf(have + used, "%s%s", used ? ", " : "", found[i].name);
    }
    while (*list) {
        size_t word = strcspn(list, ",");
        bool known = false;
        for (size_t i = 0; i < count && !known; i++)
            known = strlen(found[i].name) == word && !strncmp(list, found[i].name, word);
        if (!known)
            return sy_fail(
                err, ENOENT,
                "SHMEM_TRANSPORTS names '%.*s', but there is no such transport; there is: "
                "%s",
                (int)word, list, *have ? have : "none at all");
        list += word + (list[word] == ',');
    }
    return 0;
}

/* Loads plugin `name` and appends it. */
static int load(const char *name, struct sy_options *options, struct sy_error *err)
{
    if (sy_routes.count == SY_TRANSPORTS_MAX)
        return sy_fail(err, E2BIG, "more than %d transports", SY_TRANSPORTS_MAX);
    struct sy_route_transport *t = &sy_routes.transport[sy_routes.count];
    *t = (struct sy_route_transport){0};
    int rc = sy_plugin_open("transport", name, SY_TRANSPORT_ABI, sizeof sy_transport_stubs,
                            &sy_transport_stubs, &t->plugin, err);
    if (rc)
        return rc;
    t->table = t->plugin.table;
    if (t->table->options)
        rc = sy_options_add(options, name, t->table->options, t->table->settings, err);
    if (rc)
        sy_plugin_close(&t->plugin);
    else
        sy_routes.count++;
    return rc;
}

static int higher_first(const void *a, const void *b)
{
    const struct sy_transport *x = ((const struct sy_route_transport *)a)->table;
    const struct sy_transport *y = ((const struct sy_route_transport *)b)->table;
    return x->priority != y->priority ? (x->priority < y->priority) - (x->priority > y->priority)
                                      : strcmp(x->name, y->name);
}

static int load_named(const char *list, struct sy_options *options, struct sy_error *err)
{
    while (*list) {
        char name[64];
        size_t word = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)word, list);
        int rc = load(name, options, err);
        if (rc)
            return rc;
        list += word + (list[word] == ',');
    }
    return 0;
}

/* Loads all that exist but the excluded ones, highest priority first. */
static int load_auto(const char *excluded, const struct sy_plugin *found, size_t count,
                     struct sy_options *options, struct sy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct sy_error why = {""};
        if (listed(excluded, found[i].name))
            continue;
        int rc = load(found[i].name, options, &why);
        if (rc ==
            -EINVAL) /* a bad option value is the user's to mend, not a reason to go without */
            return sy_fail(err, EINVAL, "%s", why.text);
        if (rc)
            sy_log(SY_LOG_WARN, "routes", "transport %s: %s", found[i].name, why.text);
        else if (sy_routes.transport[sy_routes.count - 1].table->priority < 0)
            sy_plugin_close(&sy_routes.transport[--sy_routes.count].plugin);
    }
    qsort(sy_routes.transport, sy_routes.count, sizeof sy_routes.transport[0], higher_first);
    return 0;
}

static int load_all(const char *wanted, struct sy_options *options, struct sy_error *err)
{
    size_t count;
    struct sy_plugin *found = sy_plugins_find("transport", &count);
    bool exclude = wanted[0] == '^', named = !exclude && strcmp(wanted, "auto") != 0;
    const char *list = exclude ? wanted + 1 : named ? wanted : "";
    int rc = check_names(list, found, count, err);

    if (!rc)
        rc = named ? load_named(list, options, err) : load_auto(list, found, count, options, err);
    sy_plugins_free(found, count);
    return rc;
}

/* ---- opening ---- */

/* Opens transport `i`, registers the windows, and opens the default context's domain in it. */
static int open_one(unsigned i, const struct sy_host *host, struct sy_error *err)
{
    struct sy_route_transport *t = &sy_routes.transport[i];
    int rc = t->table->open(host, err);

    if (rc)
        return rc;
    for (unsigned w = 0; w < sy_windows.count && !rc; w++)
        rc = t->table->mem_register(w, &sy_windows.entry[w].own, err);
    if (!rc)
        rc = t->table->ctx_open(0, &t->ctx, err);
    if (rc)
        t->table->close();
    return rc;
}

static void drop(unsigned i)
{
    sy_plugin_close(&sy_routes.transport[i].plugin);
    sy_routes.count--;
    memmove(&sy_routes.transport[i], &sy_routes.transport[i + 1],
            (sy_routes.count - i) * sizeof sy_routes.transport[0]);
}

int sy_routes_open(const char *wanted, struct sy_options *options, const struct sy_host *host,
                   struct sy_error *err)
{
    bool required = wanted[0] != '^' && strcmp(wanted, "auto") != 0;
    int rc = load_all(wanted, options, err);

    for (unsigned i = 0; i < sy_routes.count && !rc;) {
        struct sy_error why = {""};
        const char *name = sy_routes.transport[i].plugin.name;
        int failed = open_one(i, host, &why);
        if (!failed) {
            i++;
        } else if (required) {
            rc = sy_fail(err, -failed, "transport %s, which SHMEM_TRANSPORTS demands: %s", name,
                         why.text);
        } else {
            sy_log(SY_LOG_DEBUG, "routes", "transport %s: not used: %s", name, why.text);
            drop(i);
        }
    }
    return rc;
}

/* ---- exchange: for each transport its name, NUL, one byte of length, the address ---- */

size_t sy_routes_pack(char *buffer, size_t room)
{
    size_t used = 0;

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *t = &sy_routes.transport[i];
        size_t name = strlen(t->plugin.name) + 1;
        if (used + name + 1 + SY_ADDRESS_MAX + 1 > room)
            break;
        memcpy(buffer + used, t->plugin.name, name);
        size_t length = t->table->address(buffer + used + name + 1, SY_ADDRESS_MAX);
        buffer[used + name] = (char)length;
        used += name + 1 + length;
    }
    buffer[used++] = '\0';
    return used;
}

/* The address of transport `name` in one PE's pack; false where that PE has not opened it. */
static bool unpack(const char *pack, const char *name, char address[SY_ADDRESS_MAX])
{
    while (*pack) {
        size_t length = strlen(pack) + 1, bytes = (unsigned char)pack[length];
        if (!strcmp(pack, name)) {
            memcpy(address, pack + length + 1, bytes <= SY_ADDRESS_MAX ? bytes : 0);
            return true;
        }
        pack += length + 1 + bytes;
    }
    return false;
}

/* Hands a transport everyone's addresses, then takes it for all PEs that have no route yet and that
 * it reaches and that have opened it too. */
static int connect_one(unsigned index, const char *all, size_t stride, int npes, double seconds,
                       struct sy_error *err)
{
    struct sy_route_transport *t = &sy_routes.transport[index];
    char *addresses = calloc((size_t)npes, SY_ADDRESS_MAX);
    bool *has = calloc((size_t)npes, sizeof *has);
    int rc = -ENOMEM;

    if (addresses && has) {
        for (int pe = 0; pe < npes; pe++)
            has[pe] = unpack(all + (size_t)pe * stride, t->plugin.name,
                             addresses + (size_t)pe * SY_ADDRESS_MAX);
        rc = t->table->connect(addresses, SY_ADDRESS_MAX, seconds, err);
        t->connected = !rc;
        for (int pe = 0; !rc && pe < npes; pe++)
            if (has[pe] && sy_routes.of[pe] == SY_TRANSPORT_NONE && t->table->reach(pe))
                sy_routes.of[pe] = (uint8_t)index;
    } else {
        sy_fail(err, ENOMEM, "no memory for the addresses of %d PEs", npes);
    }
    free(addresses);
    free(has);
    return rc;
}

/* Enters PE pe's mapped windows; what is not mapped goes through the transport's data calls. */
static void enter_windows(int pe)
{
    struct sy_route_transport *t = sy_route_to(pe);

    for (unsigned w = 0; w < sy_windows.count; w++) {
        bool usable = w < SY_WINDOW_DATA || !sy_routes.other[pe];
        void *base = NULL;
        if (usable && (t->table->reach(pe) & SY_REACH_MAP))
            base = t->table->mem_pointer(pe, w);
        sy_windows_set_peer(w, pe, base);
        if (usable && !base && sy_windows.entry[w].own.length)
            t->carries = sy_hot.carries = true;
    }
}

/* No transport reaches PE pe: says what each side has. */
static int no_route(int pe, const char *pack, struct sy_error *err)
{
    char ours[128] = "", theirs[128] = "";
    size_t used = 0;

    for (unsigned i = 0; i < sy_routes.count && used < sizeof ours; i++)
        used += (size_t)snprintf(ours + used, sizeof ours - used, "%s%s", i ? ", " : "",
                                 sy_routes.transport[i].plugin.name);
    used = 0;
    for (; *pack && used < sizeof theirs;
         pack += strlen(pack) + 2 + (unsigned char)pack[strlen(pack) + 1])
        used += (size_t)snprintf(theirs + used, sizeof theirs - used, "%s%s", used ? ", " : "",
                                 pack);
    return sy_fail(
        err, EHOSTUNREACH,
        "no transport reaches PE %d on host %s from PE %d on host %s; opened here: %s; "
        "there: %s. Name one that spans both in SHMEM_TRANSPORTS; SHMEM_DEBUG=routes shows "
        "why others were left out",
        pe, sy_world_place(pe).host, sy_world.pe, sy_world.host, *ours ? ours : "none",
        *theirs ? theirs : "none");
}

int sy_routes_connect(const char *all, size_t stride, int npes, bool (*same_layout)(int pe),
                      double seconds, struct sy_error *err)
{
    int rc = 0;

    sy_routes.of = malloc((size_t)npes);
    sy_routes.other = calloc((size_t)npes, 1);
    if (!sy_routes.of || !sy_routes.other)
        return sy_fail(err, ENOMEM, "no memory for routes to %d PEs", npes);
    memset(sy_routes.of, SY_TRANSPORT_NONE, (size_t)npes);
    for (unsigned i = 0; i < sy_routes.count && !rc; i++)
        rc = connect_one(i, all, stride, npes, seconds, err);
    for (int pe = 0; pe < npes && !rc; pe++) {
        sy_routes.other[pe] = !same_layout(pe);
        if (pe == sy_world.pe)
            continue;
        if (sy_routes.of[pe] == SY_TRANSPORT_NONE)
            rc = no_route(pe, all + (size_t)pe * stride, err);
        else
            enter_windows(pe);
    }
    return rc;
}

void sy_routes_close(void)
{
    while (sy_routes.count) {
        struct sy_route_transport *t = &sy_routes.transport[--sy_routes.count];
        t->table->ctx_close(t->ctx);
        t->table->close();
        sy_plugin_close(&t->plugin);
    }
    free(sy_routes.of);
    free(sy_routes.other);
    memset(&sy_routes, 0, sizeof sy_routes);
    sy_hot.carries = false;
}
