/* What oshinfo knows, gathered once; shown as text, Markdown, JSON, a schema, or devices alone. */
#ifndef SY_TOOLS_INFO_H
#define SY_TOOLS_INFO_H

#include <stdbool.h>
#include <stddef.h>

#include <switchyard/counter.h>
#include <switchyard/device.h>

#include "util/error.h"
#include "util/option.h"
#include "util/plugin.h"

enum { INFO_KINDS = 3 };

struct info_plugin {
    const char *kind; /* "transport", "bootstrap" or "device" */
    const char *name;
    const char *path;                      /* its file, or "builtin" */
    bool loaded;                           /* it can be loaded */
    long priority;                         /* if so */
    const char *protection;                /* of a transport, if so; or NULL */
    const struct sy_counter_row *counters; /* the same */
    struct sy_plugin open;                 /* if so */
    const struct sy_device *device;        /* of a device, if so: its table; or NULL */
    void *settings;                        /* if so: its options' values */
    struct sy_error reason;                /* if not */
};

/* A variable of the environment that is no option's name. */
struct info_stranger {
    char variable[128], nearest[128];
};

struct info {
    const char *library; /* the file that programs are run with */
    char *places;        /* where plugins are searched, divided by colons */
    struct info_plugin *plugin;
    size_t plugins;
    struct sy_plugin *found[INFO_KINDS]; /* what `plugin` points into, one list for each kind */
    size_t count[INFO_KINDS];
    struct sy_options *options; /* NULL where the core's could not be read */
    struct info_stranger stranger[32];
    size_t strangers;
    struct sy_error problem; /* what is wrong with the configuration, or "" */
};

/* Fills *info; of configuration files only `file` is read, unless it is NULL. No error is fatal:
 * errors are part of the information. */
void info_gather(struct info *info, const char *file);
void info_free(struct info *info);

/* "size", as the listings call an option's type; and with what it allows, as "one of auto, remap".
 */
const char *info_type_name(enum sy_option_type type);
const char *info_type_text(const struct sy_option *row, char *buffer, size_t room);

/* The words of a list, which may be NULL, as an array of strings. */
struct json_t *info_json_words(const char *list, const char *divide);

/* Prints a document, and frees it; NULL: there was no memory for it. 0, or -ENOMEM. */
int info_json_print(struct json_t *root);

/* Compiler and flags, the same for the same build. */
#define INFO_BUILD_COMPILER SY_BUILD_CC " (" __VERSION__ ")"
#define INFO_BUILD_FLAGS    SY_BUILD_FLAGS
#define INFO_BUILD_HOST     SY_BUILD_HOST

void info_print_text(const struct info *info);
void info_print_markdown(const struct info *info);
void info_print_devices(const struct info *info);
int info_print_json(const struct info *info);   /* 0, or -ENOMEM */
int info_print_schema(const struct info *info); /* the same */

#endif
