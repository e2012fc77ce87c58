/* The environment of PEs: see environ.h. */
#include "bootstrap/launcher/options/environ.h"

#include <fnmatch.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "util/bits.h"

/* Variables that a launcher around oshrun sets for its own process. A PE that read them would join
 * the wrong job. */
static const char *const FOREIGN[] = {
    "PMI_*",          "PMIX_*",       "OMPI_*",       "PRTE_*",         "HYDI_*",
    "MPI_LOCAL*",     "SLURM_STEP*",  "SLURM_PROCID", "SLURM_LOCALID",  "SLURM_NODEID",
    "SLURM_TASK_PID", "SLURM_GTIDS",  "SLURM_PMI*",   "SLURM_MPI_TYPE", "SLURM_SRUN_COMM_*",
    "SLURM_LAUNCH_*", "SHMEM_BOOT_*",
};

bool sy_environ_matches(const char *pattern, const char *entry)
{
    size_t name = strcspn(entry, "=");
    char *text = sy_memory_check(strndup(entry, name));
    bool yes = fnmatch(pattern, text, 0) == 0;

    free(text);
    return yes;
}

bool sy_environ_matches_any(const char *const *patterns, size_t count, const char *entry)
{
    for (size_t i = 0; i < count; i++) {
        if (sy_environ_matches(patterns[i], entry))
            return true;
    }
    return false;
}

static void environ_add(struct sy_environ *env, char *entry)
{
    if (env->count + 1 >= env->room) {
        env->room = env->room ? env->room * 2 : 64;
        env->list = sy_memory_resize(env->list, env->room * sizeof *env->list);
    }
    env->list[env->count++] = entry;
    env->list[env->count] = NULL;
}

/* The place of a variable whose name has `length` characters, or NULL. */
static char **environ_find(const struct sy_environ *env, const char *name, size_t length)
{
    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->list[i], name, length) == 0 && env->list[i][length] == '=')
            return &env->list[i];
    }
    return NULL;
}

/* entry: NAME=VALUE, allocated. */
static void environ_put(struct sy_environ *env, char *entry)
{
    char **place = environ_find(env, entry, strcspn(entry, "="));

    if (!place) {
        environ_add(env, entry);
        return;
    }
    free(*place);
    *place = entry;
}

void sy_environ_set(struct sy_environ *env, const char *name, const char *value)
{
    environ_put(env, sy_memory_text("%s=%s", name, value));
}

const char *sy_environ_get(const struct sy_environ *env, const char *name)
{
    char **place = environ_find(env, name, strlen(name));

    return place ? *place + strlen(name) + 1 : NULL;
}

static void environ_leave_out(struct sy_environ *env, const char *pattern)
{
    size_t kept = 0;

    for (size_t i = 0; i < env->count; i++) {
        if (sy_environ_matches(pattern, env->list[i]))
            free(env->list[i]);
        else
            env->list[kept++] = env->list[i];
    }
    env->count = kept;
    if (env->list)
        env->list[kept] = NULL;
}

static void environ_put_before(struct sy_environ *env, const char *text)
{
    size_t length = strcspn(text, "=");
    char **place = environ_find(env, text, length);

    environ_put(env, sy_memory_text("%s%s", text, place ? *place + length + 1 : ""));
}

void sy_environ_build(struct sy_environ *env, bool bare, char *const *changes)
{
    for (char **entry = environ; !bare && *entry; entry++) {
        if (!sy_environ_matches_any(FOREIGN, SY_COUNT(FOREIGN), *entry))
            environ_add(env, sy_memory_string(*entry));
    }
    for (; *changes; changes++) {
        const char *text = *changes + 1;

        if (**changes == '-')
            environ_leave_out(env, text);
        else if (**changes == '^')
            environ_put_before(env, text);
        else
            environ_put(env, sy_memory_string(text));
    }
}

void sy_environ_free(struct sy_environ *env)
{
    for (size_t i = 0; i < env->count; i++)
        free(env->list[i]);
    free(env->list);
    env->list = NULL;
    env->count = env->room = 0;
}
