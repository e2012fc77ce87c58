/* The environment that the flags ask for: see exports.h. */
#include "bootstrap/launcher/options/exports.h"

#include <unistd.h>

#include "bootstrap/launcher/options/environ.h"
#include "bootstrap/launcher/memory.h"
#include "util/bits.h"

/* Settings of this library and of those below it, and where libraries are found: a program that
 * runs here must run there. */
static const char *const PASSED[] = {"SHMEM_*", "SMA_*", "FI_*", "LD_LIBRARY_PATH"};

/* Variables that describe this host and this login, and would be wrong on other hosts. */
static const char *const OWN[] = {"HOSTNAME",   "HOST",   "PWD",         "OLDPWD", "SHLVL",
                                  "_",          "TMPDIR", "SSH_*",       "XDG_*",  "DISPLAY",
                                  "XAUTHORITY", "DBUS_*", "SHMEM_BOOT_*"};

struct changes {
    char **list;
    size_t count;
    char *names; /* of settings that came as flags */
};

static void exports_add(struct changes *changes, char kind, const char *name, const char *value)
{
    sy_memory_add(&changes->list, &changes->count,
                  sy_memory_text("%c%s%s%s", kind, name, value ? "=" : "", value ? value : ""));
}

/* Passes on the variables that match. Returns whether there are any. */
static bool exports_pass(struct changes *changes, const char *pattern, bool all)
{
    bool found = false;

    for (char **entry = environ; *entry; entry++) {
        if (!strchr(*entry, '=') || !sy_environ_matches(pattern, *entry) ||
            sy_environ_matches("SHMEM_BOOT_*", *entry) ||
            (!all && sy_environ_matches_any(OWN, SY_COUNT(OWN), *entry)))
            continue;
        exports_add(changes, '=', *entry, NULL);
        found = true;
    }
    return found;
}

static void exports_note_setting(struct changes *changes, const char *name)
{
    if (strncmp(name, "SHMEM_", 6) != 0)
        return;
    char *longer = sy_memory_text("%s%s%s", changes->names ? changes->names : "",
                                  changes->names ? "," : "", name);
    free(changes->names);
    changes->names = longer;
}

static void exports_add_exports(struct changes *changes, const struct sy_exports *exports,
                                void (*missing)(const char *name, void *arg), void *arg)
{
    for (size_t i = 0; i < exports->count; i++) {
        const struct sy_export *item = &exports->item[i];

        switch (item->kind) {
        case SY_EXPORT_SET:
            exports_add(changes, '=', item->name, item->value);
            if (item->setting)
                exports_note_setting(changes, item->name);
            break;
        case SY_EXPORT_TAKE:
            /* Passes on also variables that would be held back otherwise. */
            if (!exports_pass(changes, item->name, true) && !strchr(item->name, '*'))
                missing(item->name, arg);
            break;
        case SY_EXPORT_UNSET:
            exports_add(changes, '-', item->name, NULL);
            break;
        default:
            exports_add(changes, '^', item->name, item->value);
        }
    }
}

char **sy_exports_make(const struct sy_flags *flags, const struct sy_app *app, bool elsewhere,
                       void (*missing)(const char *name, void *arg), void *arg)
{
    struct changes changes = {.list = sy_memory_zeroed(1, sizeof(char *))};

    if (elsewhere && flags->inherit == SY_INHERIT_ALL)
        exports_pass(&changes, "*", false);
    for (size_t i = 0; elsewhere && flags->inherit == SY_INHERIT_DEFAULT && i < SY_COUNT(PASSED);
         i++)
        exports_pass(&changes, PASSED[i], false);
    exports_add_exports(&changes, &app->exports, missing, arg);
    exports_add_exports(&changes, &flags->exports, missing, arg);
    if (changes.names)
        exports_add(&changes, '=', "SHMEM_BOOT_FLAGS", changes.names);
    free(changes.names);
    return changes.list;
}
