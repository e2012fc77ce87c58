/* Opens device plugins: see device.h. Knows no plugin's name: what type a plugin is of stands in
 * its table. The list of those that are open is written under its lock. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/start/config.h"
#include "core/start/world.h"
#include "space/device.h"
#include "util/error.h"
#include "util/log.h"
#include "util/option.h"
#include "util/plugin.h"

/* ---- stand-ins for what a plugin leaves out ---- */

// clang-format off
/* Each: what it returns, the member, the answer, the parameters. copy_begin and copy_end stay NULL:
 * core/memory/staged.c copies instead. */
#define KEEPS_NOTHING sy_fail(err, ENOTSUP, "the device keeps nothing")
#define MAPS_NOTHING  sy_fail(err, ENOTSUP, "the device maps nothing")
#define STUBS(X) \
    X(int, open, (*self = (void *)host, 0), const struct sy_host *host, const void *settings, void **self, \
      struct sy_error *err) \
    X(void, close, , void *self) \
    X(int, describe, snprintf(text, room, "%s", ""), void *self, char *text, size_t room) \
    X(int, pool_create, sy_fail(err, ENOTSUP, "the plugin makes no pools"), void *self, \
      const struct sy_pool_config *config, void **pool, struct sy_pool_info *info, \
      struct sy_error *err) \
    X(void, pool_destroy, , void *self, void *pool) \
    X(int, copy, sy_fail(err, ENOTSUP, "the device does not copy"), void *self, void *pool, \
      enum sy_device_way way, uint64_t offset, void *local, size_t length, struct sy_error *err) \
    X(int, amo, sy_fail(err, ENOTSUP, "the device has no atomic operations"), void *self, \
      void *pool, enum sy_amo_op op, uint64_t offset, size_t width, uint64_t operand, \
      uint64_t compare, uint64_t *result, struct sy_error *err) \
    X(int, sync, KEEPS_NOTHING, void *self, void *pool, uint64_t generation, struct sy_error *err) \
    X(int, commit, KEEPS_NOTHING, void *self, void *pool, uint64_t generation, bool keep, \
      struct sy_error *err) \
    X(int, restore, KEEPS_NOTHING, void *self, void *pool, uint64_t generation, uint64_t *origin, \
      struct sy_error *err) \
    X(int, handle, -ENOTSUP, void *self, void *pool, void *buffer, size_t room) \
    X(int, map, MAPS_NOTHING, void *self, void *pool, enum sy_device_way way, uint64_t offset, \
      size_t length, void **address, struct sy_error *err) \
    X(int, unmap, MAPS_NOTHING, void *self, void *pool, void *address, struct sy_error *err)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define DEFINE(TYPE, MEMBER, ANSWER, ...) \
    static TYPE device_no_##MEMBER(__VA_ARGS__) { return ANSWER; }
STUBS(DEFINE)
#undef DEFINE
#pragma GCC diagnostic pop

#define ROW(TYPE, MEMBER, ANSWER, ...) .MEMBER = device_no_##MEMBER,
static const struct sy_device stubs = {.size = sizeof stubs, STUBS(ROW)};
#undef ROW
// clang-format on

/* ---- opening ---- */

/* One for each type. `plugin.table` NULL: not open. */
#define TYPES 32

static struct entry {
    struct sy_device_instance instance;
    struct sy_plugin plugin;
    void *settings;
} devices[TYPES];

/* Why there is none of a type: it is not tried again, since each attempt adds the rows of its
 * options. */
static struct sy_error lacks[TYPES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void device_unload(struct entry *e)
{
    sy_plugin_close(&e->plugin);
    free(e->settings);
    *e = (struct entry){.settings = NULL};
}

int sy_device_answer(const struct sy_device *table, int rc, struct sy_error *err)
{
    rc = rc > 0 ? -rc : rc; /* errno without its sign */
    if (rc && !*err->text)
        sy_fail(err, -rc, "device %s: %s (the plugin gives no reason)", table->name, strerror(-rc));
    return rc;
}

/* Opens an instance of a plugin that has been loaded. */
static int device_start(struct entry *e, struct sy_error *err)
{
    const struct sy_device *table = e->plugin.table;
    int rc = 0;

    e->settings = calloc(1, table->settings_size + 1);
    if (!e->settings)
        return sy_fail(err, ENOMEM, "no memory for the settings of device %s", table->name);
    if (table->options)
        rc = sy_options_add(sy_config_options(), table->name, table->options, e->settings,
                            table->settings_size, err);
    if (!rc)
        rc = table->open(sy_world_host(), e->settings, &e->instance.self, err);
    e->instance.table = table;
    return sy_device_answer(table, rc, err);
}

/* Whether the plugin is of the type and has been opened; what goes wrong with one that is, or that
 * cannot be loaded, is in err. */
static bool device_try(const struct sy_plugin *found, int type, struct sy_error *err)
{
    struct entry e = {.settings = NULL};
    struct sy_error why = {""};
    int rc = sy_plugin_open_found("device", found, SY_DEVICE_ABI, sizeof stubs, &stubs, &e.plugin,
                                  &why);

    int own = rc ? type : ((const struct sy_device *)e.plugin.table)->type;

    if (own < 0 || own >= TYPES)
        rc = sy_fail(&why, EPROTO, "its type is %d, but types are 0 to %d", own, TYPES - 1);
    else if (own != type) {
        device_unload(&e);
        return false;
    }
    if (!rc)
        rc = device_start(&e, &why);
    if (!rc) {
        devices[type] = e;
        return true;
    }
    if (e.plugin.table)
        device_unload(&e);
    if (rc != -ENODEV)
        sy_log(SY_LOG_WARN, "space", "device plugin %s is left out: %s", found->name, why.text);
    *err = why;
    return false;
}

static void device_find(int type, struct sy_error *err)
{
    struct sy_error why = {""};
    size_t count;
    struct sy_plugin *found = sy_plugins_find("device", &count);
    char unread[400];
    bool open = false;

    for (size_t i = 0; i < count && !open; i++)
        open = device_try(&found[i], type, &why);
    sy_plugins_free(found, count);
    if (open)
        return;
    sy_plugins_unread(unread, sizeof unread);
    if (*why.text)
        *err = why;
    else if (*unread)
        sy_fail(err, ENODEV, "the plugins for devices were not found; their directory %s", unread);
    else
        sy_fail(err, ENODEV, "there is no plugin for this type of device");
}

const struct sy_device_instance *sy_device_open(int type, struct sy_error *err)
{
    if (type < 0 || type >= TYPES) {
        sy_fail(err, EINVAL, "%d is not a type of device", type);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    if (!devices[type].plugin.table && !*lacks[type].text)
        device_find(type, &lacks[type]);
    *err = lacks[type];
    bool open = devices[type].plugin.table != NULL;
    pthread_mutex_unlock(&lock);
    return open ? &devices[type].instance : NULL;
}

void sy_devices_close(void)
{
    for (int type = 0; type < TYPES; type++)
        if (devices[type].plugin.table) {
            devices[type].instance.table->close(devices[type].instance.self);
            device_unload(&devices[type]);
        }
    memset(lacks, 0, sizeof lacks);
}
