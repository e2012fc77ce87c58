/* See boot.h. Contains no bootstrap's name: it finds the plugins that exist, and probes them in
 * order of priority. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/start/boot.h"
#include "util/error.h"
#include "util/log.h"
#include "util/option.h"
#include "util/plugin.h"

const struct sy_bootstrap *sy_boot;
void *sy_boot_self;

static struct sy_plugin chosen;
static void *settings; /* of the chosen one */
static struct sy_job joined;
static unsigned char *key; /* of the job */

/* ---- stand-ins for what a plugin leaves out ---- */

static void boot_no_note(void *self, const char *text, double seconds, int asked)
{
    (void)self, (void)asked;
    sy_log(SY_LOG_WARN, "boot", "this PE has been waiting for %.0f seconds: it is %s", seconds,
           text);
}

// clang-format off
/* Each: what it returns, the member, the answer, the parameters. */
#define STUBS(X) \
    X(int, probe, sy_fail(err, ENODEV, "the plugin has no probe"), struct sy_error *err) \
    X(int, open, sy_fail(err, EOPNOTSUPP, "the plugin has no open"), const struct sy_host *host, \
      const void *values, void **self, struct sy_job *job, struct sy_error *err) \
    X(int, allgather, sy_fail(err, EOPNOTSUPP, "%s: the plugin has no allgather", phase), \
      void *self, const char *phase, const void *mine, void *all, size_t length, double seconds, \
      struct sy_error *err) \
    X(void, mark, , void *self, enum sy_mark mark) \
    X(void, abort, , void *self, int status, const char *why) \
    X(int, wait_fd, -1, void *self) \
    X(int, event, SY_EVENT_NONE, void *self, int *status) \
    X(void, close, , void *self) \
    X(void, failing, , void *self, int status) \
    X(void, blocked, , void *self, uint64_t wait, unsigned flags) \
    X(void, leave, , void *self)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define DEFINE(TYPE, MEMBER, ANSWER, ...) \
    static TYPE boot_no_##MEMBER(__VA_ARGS__) { return ANSWER; }
STUBS(DEFINE)
#undef DEFINE
#pragma GCC diagnostic pop

#define ROW(TYPE, MEMBER, ANSWER, ...) .MEMBER = boot_no_##MEMBER,
static const struct sy_bootstrap stubs = {
    .size = sizeof stubs, .note = boot_no_note, STUBS(ROW)};
#undef ROW
// clang-format on

/* ---- choice ---- */

/* The plugin that the launcher names: if it agrees, the others are not loaded. */
#define HINT "SHMEM_BOOT_PLUGIN"

static long priority_of(const struct sy_plugin *plugin)
{
    return ((const struct sy_bootstrap *)plugin->table)->priority;
}

static int higher_first(const void *a, const void *b)
{
    long x = priority_of(a), y = priority_of(b);
    return (x < y) - (x > y);
}

static int boot_probe(const struct sy_bootstrap *b, const struct sy_host *host,
                      struct sy_error *err)
{
    return b->probe_for ? b->probe_for(host, err) : b->probe(err);
}

/* Probes opened plugins in order. *yes: the first that knows its launcher, or objects. */
static int boot_ask(struct sy_plugin *plugins, size_t count, size_t *yes,
                    const struct sy_host *host, struct sy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct sy_bootstrap *b = plugins[i].table;
        struct sy_error why = {""};
        if (b->priority < 0)
            continue;
        int rc = boot_probe(b, host, &why);
        sy_log(SY_LOG_DEBUG, "boot", "bootstrap %s: %s", plugins[i].name,
               rc ? why.text : "this launcher");
        *yes = i;
        if (!rc)
            return 0;
        if (rc != -ENODEV)
            return sy_fail(err, -rc, "bootstrap %s: %s", plugins[i].name, why.text);
    }
    return sy_fail(err, ENODEV,
                   "no bootstrap plugin fits the way this process was started; "
                   "SHMEM_DEBUG=boot shows what each one looked for");
}

static int boot_none_found(struct sy_error *err)
{
    char unread[400];

    sy_plugins_unread(unread, sizeof unread);
    return *unread
               ? sy_fail(err, EACCES, "no bootstrap plugin was found; their directory %s", unread)
               : sy_fail(err, ENOENT,
                         "no bootstrap plugin was found; the installation lacks its directory "
                         "switchyard/ beside libsma.so, or set SHMEM_PLUGIN_PATH");
}

/* Opens all bootstrap plugins and keeps the one that recognises its launcher. */
static int boot_choose_from(const struct sy_plugin *names, size_t found, const struct sy_host *host,
                            struct sy_error *err)
{
    size_t opened = 0, yes = 0;
    struct sy_plugin *plugins = calloc(found + 1, sizeof *plugins);
    struct sy_error why = {""};
    int rc = plugins ? 0 : sy_fail(err, ENOMEM, "no memory for %zu plugins", found);

    for (size_t i = 0; plugins && i < found; i++) {
        if (!sy_plugin_open_found("bootstrap", &names[i], SY_BOOTSTRAP_ABI, sizeof stubs, &stubs,
                                  &plugins[opened], &why))
            opened++;
        else
            sy_log(SY_LOG_WARN, "boot", "bootstrap %s: %s", names[i].name, why.text);
    }
    if (plugins && !opened)
        rc = boot_none_found(err);
    if (!rc) {
        qsort(plugins, opened, sizeof *plugins, higher_first);
        rc = boot_ask(plugins, opened, &yes, host, err);
        if (rc && yes == opened - 1) { /* an earlier one may be broken, or missing */
            const struct sy_error objection = *err;
            if (!*why.text)
                sy_plugins_tell(names, found, why.text, sizeof why.text);
            sy_fail(err, -rc, "%s; %s", objection.text, why.text);
        }
    }
    for (size_t i = 0; plugins && i < opened; i++) {
        if (!rc && i == yes)
            chosen = plugins[i];
        else
            sy_plugin_close(&plugins[i]);
    }
    free(plugins);
    return rc;
}

/* variable: says the name. -ENODEV: the plugin says no. */
static int boot_choose_named(const char *variable, const char *name, const struct sy_host *host,
                             struct sy_error *err)
{
    struct sy_error why = {""};
    int rc = sy_plugin_open("bootstrap", name, SY_BOOTSTRAP_ABI, sizeof stubs, &stubs, &chosen,
                            &why);

    if (rc)
        return sy_fail(err, -rc, "%s=%s: %s%s", variable, name, why.text,
                       !strcmp(variable, HINT)
                           ? "; the launcher needs it: install it again, or set "
                             "SHMEM_BOOTSTRAP=single for jobs of one PE"
                           : "");
    rc = boot_probe(chosen.table, host, &why);
    if (!rc || rc == -EEXIST) { /* EEXIST: an objection that naming the plugin overrules */
        sy_log(SY_LOG_DEBUG, "boot", "bootstrap %s: this launcher (%s)", name, variable);
        return 0;
    }
    sy_plugin_close(&chosen);
    return sy_fail(err, -rc, "%s=%s: %s", variable, name, why.text);
}

/* If the plugin that the launcher names is not there nobody knows which PE this is. */
static int boot_choose_auto(const struct sy_host *host, struct sy_error *err)
{
    const char *name = secure_getenv(HINT);
    int rc = name && *name ? boot_choose_named(HINT, name, host, err) : -ENODEV;

    if (rc != -ENODEV)
        return rc;
    size_t count;
    struct sy_plugin *found = sy_plugins_find("bootstrap", &count);
    rc = boot_choose_from(found, count, host, err);
    sy_plugins_free(found, count);
    return rc;
}

static int boot_add_options(const struct sy_bootstrap *b, struct sy_options *options,
                            struct sy_error *err)
{
    return b->options
               ? sy_options_add(options, b->name, b->options, settings, b->settings_size, err)
               : 0;
}

static void boot_drop(void)
{
    free(settings);
    settings = NULL;
    sy_plugin_close(&chosen);
}

const unsigned char *sy_boot_key(void)
{
    return key;
}

static int boot_keep_key(struct sy_error *err)
{
    void *page = mmap(NULL, sizeof joined.key, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);

    if (page == MAP_FAILED)
        return sy_fail(err, errno, "no memory for the job's key: %s", strerror(errno));
    madvise(page, sizeof joined.key, MADV_DONTDUMP);
    key = memcpy(page, joined.key, sizeof joined.key);
    explicit_bzero(joined.key, sizeof joined.key);
    return 0;
}

static void boot_wipe_key(void)
{
    if (!key)
        return;
    explicit_bzero(key, sizeof joined.key);
    munmap(key, sizeof joined.key);
    key = NULL;
}

/* Reads the settings of the chosen plugin, and joins. */
static int boot_join(const struct sy_bootstrap *b, struct sy_options *options,
                     const struct sy_host *host, struct sy_error *err)
{
    settings = calloc(1, b->settings_size + 1);
    int rc = settings ? boot_add_options(b, options, err) : sy_fail(err, ENOMEM, "no memory");

    joined = (struct sy_job){.size = sizeof joined};
    if (!rc)
        rc = b->open(host, settings, &sy_boot_self, &joined, err);
    if (!rc || sy_boot_self) /* also where it fails: it may know how to tell the others */
        sy_boot = b;
    return rc;
}

int sy_boot_open(const char *wanted, struct sy_options *options, const struct sy_host *host,
                 struct sy_job *job, struct sy_error *err)
{
    if (sy_boot) {
        *job = joined;
        return boot_add_options(sy_boot, options, err);
    }
    int rc = !strcmp(wanted, "auto") ? boot_choose_auto(host, err)
                                     : boot_choose_named("SHMEM_BOOTSTRAP", wanted, host, err);
    if (rc)
        return rc;
    struct sy_error why = {""};
    rc = boot_join(chosen.table, options, host, &why);
    if (rc)
        sy_fail(err, -rc, "bootstrap %s: %s", chosen.name, why.text);
    else
        rc = boot_keep_key(err);
    if (rc && !sy_boot)
        boot_drop();
    *job = joined;
    return rc;
}

void sy_boot_leave(void)
{
    if (sy_boot)
        sy_boot->leave(sy_boot_self);
}

void sy_boot_close(void)
{
    if (!sy_boot)
        return;
    sy_boot_leave();
    sy_boot->close(sy_boot_self);
    sy_boot = NULL;
    sy_boot_self = NULL;
    boot_wipe_key();
    boot_drop();
}
