/* The environment of the PEs: see environ.h. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/environ.h"

#include <fnmatch.h>
#include <stdio.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/protocol.h"

/* What a launcher around oshrun tells its own process. A PE that believed it would join the wrong
 * job. */
static const char *const FOREIGN[] = {
    "PMI_*",          "PMIX_*",       "OMPI_*",       "PRTE_*",         "HYDI_*",
    "MPI_LOCAL*",     "SLURM_STEP*",  "SLURM_PROCID", "SLURM_LOCALID",  "SLURM_NODEID",
    "SLURM_TASK_PID", "SLURM_GTIDS",  "SLURM_PMI*",   "SLURM_MPI_TYPE", "SLURM_SRUN_COMM_*",
    "SLURM_LAUNCH_*", "SHMEM_BOOT_*",
};

static bool matches(const char *pattern, const char *entry)
{
    size_t name = strcspn(entry, "=");
    char *text = sy_memory_check(strndup(entry, name));
    bool yes = fnmatch(pattern, text, 0) == 0;

    free(text);
    return yes;
}

static bool is_foreign(const char *entry)
{
    for (size_t i = 0; i < sizeof FOREIGN / sizeof *FOREIGN; i++) {
        if (matches(FOREIGN[i], entry))
            return true;
    }
    return false;
}

static void add(struct sy_environ *env, char *entry)
{
    if (env->count + 1 >= env->room) {
        env->room = env->room ? env->room * 2 : 64;
        env->list = sy_memory_resize(env->list, env->room * sizeof *env->list);
    }
    env->list[env->count++] = entry;
    env->list[env->count] = NULL;
}

void sy_environ_set(struct sy_environ *env, const char *name, const char *value)
{
    size_t length = strlen(name);
    char *entry;

    if (asprintf(&entry, "%s=%s", name, value) < 0)
        sy_memory_check(NULL);
    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->list[i], name, length) == 0 && env->list[i][length] == '=') {
            free(env->list[i]);
            env->list[i] = entry;
            return;
        }
    }
    add(env, entry);
}

/* -x NAME or -x GLOB: takes them over even where they would be held back. */
static bool export_matching(struct sy_environ *env, const char *pattern)
{
    bool any = false;

    for (char **entry = environ; *entry; entry++) {
        size_t name = strcspn(*entry, "=");

        if (!(*entry)[name] || !matches(pattern, *entry) || matches("SHMEM_BOOT_*", *entry))
            continue;
        char *text = sy_memory_check(strndup(*entry, name));

        sy_environ_set(env, text, *entry + name + 1);
        free(text);
        any = true;
    }
    return any;
}

/* A setting that came as a flag, and is told from one that the user's environment had. */
static void set_flag(struct sy_environ *env, char **names, const char *name, const char *value)
{
    char *longer;

    if (!value)
        return;
    sy_environ_set(env, name, value);
    if (strncmp(name, "SHMEM_", 6) != 0)
        return;
    if (asprintf(&longer, "%s%s%s", *names ? *names : "", *names ? "," : "", name) < 0)
        sy_memory_check(NULL);
    free(*names);
    *names = longer;
}

void sy_environ_build(struct sy_environ *env, const struct sy_flags *flags, int boot_fd,
                      void (*missing)(const char *name, void *arg), void *arg)
{
    char number[16];
    char *names = NULL;

    for (char **entry = environ; *entry; entry++) {
        if (!is_foreign(*entry))
            add(env, sy_memory_string(*entry));
    }
    for (size_t i = 0; i < flags->exports; i++) {
        const struct sy_export *item = &flags->export[i];

        if (item->value)
            set_flag(env, &names, item->name, item->value);
        else if (!export_matching(env, item->name) && !strchr(item->name, '*'))
            missing(item->name, arg);
    }
    set_flag(env, &names, "SHMEM_SYMMETRIC_SIZE", flags->heap);
    set_flag(env, &names, "SHMEM_TRANSPORTS", flags->transports);
    set_flag(env, &names, "SHMEM_CONFIG", flags->config);
    if (names)
        sy_environ_set(env, "SHMEM_BOOT_FLAGS", names);
    free(names);
    snprintf(number, sizeof number, "%d", boot_fd);
    sy_environ_set(env, SY_LAUNCH_FD_ENV, number);
    snprintf(number, sizeof number, "%d", flags->npes);
    sy_environ_set(env, "SHMEM_BOOT_NPES", number);
}

void sy_environ_free(struct sy_environ *env)
{
    for (size_t i = 0; i < env->count; i++)
        free(env->list[i]);
    free(env->list);
    env->list = NULL;
    env->count = env->room = 0;
}
