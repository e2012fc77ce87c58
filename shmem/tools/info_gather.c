/* Gathers what oshinfo shows. Plugins are loaded, to see whether they can be and to learn their
 * options, but not opened: whether a transport works here is known only inside a job. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <switchyard/bootstrap.h>
#include <switchyard/device.h>
#include <switchyard/transport.h>

#include "core/start/config.h"
#include "core/route/route_rule.h"
#include "tools/info.h"

/* Stand-ins for members that a plugin leaves out; oshinfo calls no member of a table. */
static const struct sy_transport no_transport = {.size = sizeof no_transport};
static const struct sy_bootstrap no_bootstrap = {.size = sizeof no_bootstrap};
static const struct sy_device no_device = {.size = sizeof no_device};

enum { TRANSPORT, BOOTSTRAP, DEVICE };
static const struct {
    const char *name;
    unsigned abi;
    size_t size;
    const void *table;
} kinds[INFO_KINDS] = {
    {"transport", SY_TRANSPORT_ABI, sizeof no_transport, &no_transport},
    {"bootstrap", SY_BOOTSTRAP_ABI, sizeof no_bootstrap, &no_bootstrap},
    {"device", SY_DEVICE_ABI, sizeof no_device, &no_device},
};

static const char *info_gather_library_file(void)
{
    void *function = dlsym(RTLD_DEFAULT, "pshmem_init");
    Dl_info where;

    return function && dladdr(function, &where) ? where.dli_fname : "unknown";
}

struct search {
    const char *name;
    bool found;
};

static void info_gather_find_option(const struct sy_option_shown *option, void *arg)
{
    struct search *search = arg;

    search->found |= !strcmp(option->row->name, search->name);
}

/* The rows that no table has yet, or NULL without memory. */
static struct sy_option *info_gather_new_rows(struct info *info, const struct sy_option *rows)
{
    size_t count = 0, kept = 0;

    while (rows[count].name)
        count++;
    struct sy_option *new_rows = calloc(count + 1, sizeof *new_rows);
    for (size_t i = 0; new_rows && i < count; i++) {
        struct search search = {rows[i].name, false};
        sy_options_visit(info->options, info_gather_find_option, &search);
        if (!search.found)
            new_rows[kept++] = rows[i];
    }
    return new_rows;
}

/* Adds the options of a plugin, and of its instances that SHMEM_TRANSPORTS names. Those of a
 * bootstrap that a transport of the same name has too are there already. */
static void info_gather_add_options(struct info *info, const char *plugin,
                                    const struct sy_option *all, void *settings, size_t size)
{
    struct sy_option *rows = info_gather_new_rows(info, all);
    const char *at = sy_config.start.transports;
    struct sy_error err = {""};
    size_t length = strlen(plugin);
    char name[64];

    int rc = rows ? 0 : sy_fail(&err, ENOMEM, "no memory for the options of %s", plugin);
    if (rows && rows->name)
        rc = sy_options_add(info->options, plugin, rows, settings, size, &err);
    for (; rows && rows->name && *at && !rc; at += strcspn(at, ","), at += *at == ',') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ",?"), at);
        if (!strncmp(name, plugin, length) && name[length] == '@')
            rc = sy_options_add(info->options, name, rows, settings, size, &err);
    }
    free(rows);
    if (rc && !*info->problem.text)
        info->problem = err;
}

static void info_gather_add_plugin(struct info *info, int kind, const struct sy_plugin *found)
{
    struct info_plugin *p = &info->plugin[info->plugins++];

    *p = (struct info_plugin){.kind = kinds[kind].name, .name = found->name, .path = found->path};
    if (sy_plugin_open(kinds[kind].name, found->name, kinds[kind].abi, kinds[kind].size,
                       kinds[kind].table, &p->open, &p->reason))
        return;
    p->loaded = true;
    const struct sy_option *options;
    size_t size;
    if (kind == TRANSPORT) {
        const struct sy_transport *t = p->open.table;
        p->priority = t->priority;
        p->protection = t->protection;
        p->counters = t->counters;
        options = t->options;
        size = t->settings_size;
    } else if (kind == DEVICE) {
        const struct sy_device *d = p->open.table;
        p->device = d;
        options = d->options;
        size = d->settings_size;
    } else {
        const struct sy_bootstrap *b = p->open.table;
        p->priority = b->priority;
        options = b->options;
        size = b->settings_size;
    }
    p->settings = calloc(1, size + 1);
    if (options && info->options && p->settings)
        info_gather_add_options(info, p->name, options, p->settings, size);
}

static void info_gather_add_plugins(struct info *info)
{
    size_t count = 0;

    for (int kind = 0; kind < INFO_KINDS; kind++) {
        info->found[kind] = sy_plugins_find(kinds[kind].name, &info->count[kind]);
        count += info->count[kind];
    }
    info->plugin = calloc(count + 1, sizeof *info->plugin);
    if (!info->plugin)
        return;
    for (int kind = 0; kind < INFO_KINDS; kind++)
        for (size_t i = 0; i < info->count[kind]; i++)
            info_gather_add_plugin(info, kind, &info->found[kind][i]);
}

/* sy_options_unknown_env calls back without an argument. */
static struct info *gathering;

static void info_gather_add_stranger(const char *variable, const char *nearest)
{
    struct info *info = gathering;

    if (info->strangers == sizeof info->stranger / sizeof info->stranger[0])
        return;
    struct info_stranger *s = &info->stranger[info->strangers++];
    snprintf(s->variable, sizeof s->variable, "%s", variable);
    snprintf(s->nearest, sizeof s->nearest, "%s", nearest);
}

/* Reports keys and variables that no table has. Those of plugins that do not load are ignored. */
static void info_gather_check_names(struct info *info)
{
    const char **refused = calloc(info->plugins + 1, sizeof *refused);
    size_t count = 0;

    for (size_t i = 0; refused && i < info->plugins; i++)
        if (!info->plugin[i].loaded)
            refused[count++] = info->plugin[i].name;
    if (!*info->problem.text)
        sy_options_check_keys(info->options, refused, &info->problem);
    gathering = info;
    sy_options_unknown_env(info->options, refused, info_gather_add_stranger);
    free(refused);
}

/* Checks SHMEM_ROUTES, one option whose value is in a language of its own. */
static void info_gather_check_rules(struct info *info)
{
    if (!*info->problem.text)
        sy_route_rules_open(sy_config.routes, info->options, &info->problem);
    sy_route_rules_close();
}

void info_gather(struct info *info, const char *file)
{
    memset(info, 0, sizeof *info);
    info->library = info_gather_library_file();
    info->places = sy_plugins_places();
    info->options = sy_config_load(file, &info->problem);
    info_gather_add_plugins(info);
    if (info->options) {
        info_gather_check_names(info);
        info_gather_check_rules(info);
    }
}

void info_free(struct info *info)
{
    for (size_t i = 0; i < info->plugins; i++) {
        sy_plugin_close(&info->plugin[i].open);
        free(info->plugin[i].settings);
    }
    free(info->plugin);
    for (int kind = 0; kind < INFO_KINDS; kind++)
        sy_plugins_free(info->found[kind], info->count[kind]);
    free(info->places);
}

const char *info_type_name(enum sy_option_type type)
{
    static const char *const names[] = {
        [SY_OPTION_BOOL] = "bool",     [SY_OPTION_FLAG] = "flag",       [SY_OPTION_INT] = "integer",
        [SY_OPTION_SIZE] = "size",     [SY_OPTION_SECONDS] = "seconds", [SY_OPTION_STRING] = "text",
        [SY_OPTION_CHOICE] = "choice", [SY_OPTION_LIST] = "list",
    };

    return names[type];
}

const char *info_type_text(const struct sy_option *row, char *buffer, size_t room)
{
    if (row->type == SY_OPTION_INT && row->max == LONG_MAX) {
        snprintf(buffer, room, "integer from %ld", row->min);
    } else if (row->type == SY_OPTION_INT) {
        snprintf(buffer, room, "integer from %ld to %ld", row->min, row->max);
    } else if (row->type == SY_OPTION_CHOICE) {
        return sy_option_allowed(row, buffer, room);
    } else {
        return info_type_name(row->type);
    }
    return buffer;
}
