/* oshinfo --devices: what kinds of memory there are here for memory spaces. Each plugin is opened,
 * as when a space of its type is asked for, and describes what it finds. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "space/device.h"
#include "tools/info.h"
#include "util/printable.h"

static void __attribute__((format(printf, 3, 4)))
info_devices_log(enum sy_log_level level, const char *category, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    if (level > SY_LOG_WARN)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sy_print(stderr, "oshinfo: %s: %s\n", category, text);
}

/* There is no job: what a plugin's open may use of the host. */
static const struct sy_host host = {
    .size = sizeof host, .npes = 1, .log = info_devices_log, .fail = sy_fail};

static void info_devices_describe(const struct sy_device *device, void *self)
{
    char text[4096] = "";

    if (!device->describe || device->describe(self, text, sizeof text) <= 0)
        snprintf(text, sizeof text, "(nothing is said of it)");
    for (const char *line = text; *line; line += *line == '\n') {
        int length = (int)strcspn(line, "\n");
        sy_print(stdout, "    %.*s\n", length, line);
        line += length;
    }
}

static void info_devices_print(const struct info_plugin *p)
{
    const struct sy_device *device = p->device;
    struct sy_error why = {""};
    char number[24];
    void *self = NULL;

    if (!device) {
        sy_print(stdout, "%s\n    refused: %s\n", p->name, p->reason.text);
        return;
    }
    sy_print(stdout, "%s (%s)\n", p->name,
             sy_device_type_text(device->type, number, sizeof number));
    if (device->open && device->open(&host, p->settings, &self, &why)) {
        sy_print(stdout, "    none here: %s\n",
                 *why.text ? why.text : "the plugin gives no reason");
        return;
    }
    info_devices_describe(device, self);
    if (device->close)
        device->close(self);
}

void info_print_devices(const struct info *info)
{
    for (size_t i = 0; i < info->plugins; i++)
        if (!strcmp(info->plugin[i].kind, "device"))
            info_devices_print(&info->plugin[i]);
}
