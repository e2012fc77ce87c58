/* Option values from the environment: names, aliases, unknown variables. See option.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/bits.h"
#include "util/log.h"
#include "util/option_set.h"
#include "util/parse.h"
#include "util/secure.h"
#include "util/words.h"

static const char prefix[] = "SHMEM_", old_prefix[] = "SMA_", launcher_prefix[] = "SHMEM_BOOT_";

static bool begins(const char *text, const char *head)
{
    return !strncmp(text, head, strlen(head));
}

bool sy_option_is_flag(const char *variable)
{
    return sy_words_have(secure_getenv("SHMEM_BOOT_FLAGS"), ',', variable, strlen(variable));
}

/* Steps through a row's aliases: copies the next one into name and returns true, or false at the
 * end. */
static bool option_env_next_alias(const char **at, char *name, size_t room)
{
    if (!*at)
        return false;
    *at += strspn(*at, " ");
    size_t length = strcspn(*at, " ");
    snprintf(name, room, "%.*s", (int)length, *at);
    *at += length;
    return length > 0;
}

const char *sy_options_getenv(struct sy_options *set, const struct sy_option_entry *entry,
                              const char **variable)
{
    const char *value = secure_getenv(entry->env), *at = entry->row.aliases;
    char alias[128];

    *variable = entry->env;
    if (!value && entry->general_env) {
        value = secure_getenv(entry->general_env);
        *variable = entry->general_env;
    }
    while (!value && option_env_next_alias(&at, alias, sizeof alias)) {
        value = secure_getenv(alias);
        if (value)
            *variable = sy_options_keep(set, "%s", alias);
    }
    if (!value)
        *variable = NULL;
    return value;
}

/* ---- names that are not what they seem ---- */

static void option_env_explain_aliases(const struct sy_option_entry *entry)
{
    const char *at = entry->row.aliases;
    char alias[128];

    while (option_env_next_alias(&at, alias, sizeof alias)) {
        /* The specification has the SMA_ names too: nothing to explain. */
        if (begins(alias, old_prefix) || !secure_getenv(alias))
            continue;
        char origin[160];
        snprintf(origin, sizeof origin, "environment %s", alias);
        if (!strcmp(entry->origin, origin))
            sy_log(SY_LOG_INFO, "options", "%s is taken as %s, its name here", alias, entry->env);
        else
            sy_log(SY_LOG_INFO, "options", "%s is not used, since another name of %s is set", alias,
                   entry->env);
    }
}

static void option_env_explain(const struct sy_options *set)
{
    for (size_t i = 0; i < set->entries; i++) {
        const struct sy_option_entry *entry = &set->entry[i];
        if (!(entry->row.flags & SY_OPTION_INERT))
            option_env_explain_aliases(entry);
        else if (strcmp(entry->origin, "default") != 0)
            sy_log(SY_LOG_INFO, "options", "%s has no effect here: %s", entry->env,
                   entry->row.help);
    }
}

/* ---- an environment that is not trusted ---- */

/* Whether this library, its bootstraps or what they load would have read a variable. */
static bool option_env_concerns(const char *variable)
{
    static const char *const heads[] = {
        "SHMEM_", "SMA_", "XT_SYMMETRIC_HEAP_SIZE=", "PMI_", "PMIX_", "FI_", "OMPI_", "MPICH_",
        "MPIR_",  "OCL_"};

    for (size_t i = 0; i < SY_COUNT(heads); i++)
        if (begins(variable, heads[i]))
            return true;
    return false;
}

void sy_options_warn_secure(void)
{
    char names[600] = "";
    size_t used = 0;
    int more = 0;

    for (char **at = environ; sy_secure() && at && *at; at++) {
        size_t length = strcspn(*at, "=");
        if (!option_env_concerns(*at))
            continue;
        if (used + length + 3 > sizeof names)
            more++;
        else
            used += (size_t)sprintf(names + used, "%s%.*s", used ? ", " : "", (int)length, *at);
    }
    if (used || more)
        sy_log(SY_LOG_WARN, "options",
               "this program has rights that the user who started it lacks (setuid, setgid or file "
               "capabilities), so the environment is ignored, and no job is joined by it: %s%s",
               names, more ? ", ..." : "");
}

/* ---- unknown names ---- */

/* Where an installation is and what it compiles with: for oshcc, build systems and modules. */
static const char *const of_installations[] = {"SHMEM_HOME", "SHMEM_DIR", "SHMEM_CC", "SHMEM_CXX"};

static bool option_env_is_known(const struct sy_options *set, const char *variable)
{
    for (size_t i = 0; i < SY_COUNT(of_installations); i++)
        if (!strcmp(of_installations[i], variable))
            return true;
    for (size_t i = 0; i < set->entries; i++) {
        const struct sy_option_entry *entry = &set->entry[i];
        if (!strcmp(entry->env, variable) ||
            (entry->general_env && !strcmp(entry->general_env, variable)) ||
            sy_words_have(entry->row.aliases, ' ', variable, strlen(variable)))
            return true;
    }
    return false;
}

/* Whether a variable belongs to a plugin of `others`: SHMEM_TCP_X belongs to tcp. */
static bool option_env_is_others(const struct sy_options *set, const char *const *others,
                                 const char *variable)
{
    const char *name = variable + strlen(prefix);

    for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_'))
        if (sy_options_is_other(set, others, name, (size_t)(at - name)))
            return true;
    return false;
}

/* The name nearest to a variable, of rows that have an effect. The prefix that all have does not
 * count. */
static const char *option_env_nearest_variable(const struct sy_options *set, const char *variable)
{
    size_t count = 0, skip = strlen(prefix);
    size_t head = begins(variable, prefix) ? skip : strlen(old_prefix);
    const char **names = calloc(2 * set->entries + 1, sizeof *names);

    if (!names)
        return "";
    for (size_t i = 0; i < set->entries; i++) {
        const struct sy_option_entry *entry = &set->entry[i];
        if (entry->row.flags & SY_OPTION_INERT)
            continue;
        names[count++] = entry->env + skip;
        if (entry->general_env)
            names[count++] = entry->general_env + skip;
    }
    const char *nearest = sy_nearest(variable + head, names, count);
    free(names);
    return nearest ? nearest - skip : "";
}

void sy_options_unknown_env(struct sy_options *set, const char *const *others,
                            void (*say)(const char *variable, const char *nearest))
{
    option_env_explain(set);
    for (char **at = environ; !sy_secure() && at && *at; at++) {
        char name[256];
        size_t length = strcspn(*at, "=");
        bool old = begins(*at, old_prefix);
        if ((!begins(*at, prefix) && !old) || begins(*at, launcher_prefix) || length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *at);
        /* Others may have variables of that name: a slip is one that is near. */
        if (old && (option_env_is_known(set, name) || !*option_env_nearest_variable(set, name)))
            continue;
        if (!option_env_is_known(set, name) && !option_env_is_others(set, others, name))
            say(name, option_env_nearest_variable(set, name));
    }
}
