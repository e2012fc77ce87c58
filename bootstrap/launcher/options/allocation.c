/* The hosts that a job is to run on, which a batch system may have given: Slurm, PBS, LSF, and what
 * descends from Grid Engine. */
#include <stdio.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/options/flags.h"
#include "bootstrap/launcher/options/hostlist.h"
#include "util/bits.h"
#include "util/net/host_pattern.h"
#include "util/text_file.h"

static int allocation_slots(long count)
{
    return count < 1 ? 1 : count > SY_HOST_SLOTS_MAX ? SY_HOST_SLOTS_MAX : (int)count;
}

static void allocation_set_counts(struct sy_hostlist *list, const char *text)
{
    long count, times;
    int host = 0;

    while ((text = sy_host_pattern_number(text, &count, &times)))
        for (; times > 0 && host < list->count; times--)
            list->host[host++].slots = allocation_slots(count);
}

static char *allocation_of_slurm(struct sy_hostlist *list, const char *names)
{
    const char *counts = getenv("SLURM_TASKS_PER_NODE");

    if (!counts)
        counts = getenv("SLURM_JOB_CPUS_PER_NODE");
    char *fault = sy_hostlist_add(list, names);
    if (!fault && counts)
        allocation_set_counts(list, counts);
    return fault;
}

/* "a 4 b 8" */
static char *allocation_of_lsf(struct sy_hostlist *list, const char *hosts)
{
    char *text = sy_memory_string(hosts), *save = NULL;
    char *name = strtok_r(text, " ", &save), *fault = NULL;

    while (name && !fault) {
        const char *count = strtok_r(NULL, " ", &save);

        if (!count)
            break;
        fault = sy_hostlist_put(list, name, allocation_slots(strtol(count, NULL, 10)), 0);
        name = strtok_r(NULL, " ", &save);
    }
    free(text);
    return fault;
}

/* Lines "host slots queue processors". */
static char *allocation_of_grid_engine(struct sy_hostlist *list, const char *path)
{
    char *text, *rest, *line, *fault = NULL;
    struct sy_error why;

    if (sy_text_file_read(path, SY_TEXT_FILE_LIST, &text, &why))
        return sy_memory_text("cannot read PE_HOSTFILE=%s: %s", path, why.text);
    for (rest = text; !fault && (line = strsep(&rest, "\n"));) {
        char name[256], slots[16];

        if (sscanf(line, "%255s %15s", name, slots) == 2 && atoi(slots) > 0)
            fault = sy_hostlist_put(list, name, allocation_slots(strtol(slots, NULL, 10)), 0);
    }
    free(text);
    return fault;
}

/* A host stands on as many lines as it has slots. */
static char *allocation_of_node_file(struct sy_hostlist *list, const char *path)
{
    char *fault = sy_hostlist_read(list, path);

    for (int i = 0; i < list->count; i++) {
        if (!list->host[i].slots)
            list->host[i].slots = 1;
    }
    return fault;
}

char *sy_hostlist_of_allocation(struct sy_hostlist *list, const char **source)
{
    static const struct {
        const char *job; /* also has to be set; NULL: nothing */
        const char *variable, *source;
        char *(*read)(struct sy_hostlist *list, const char *value);
    } SYSTEMS[] = {
        {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "Slurm", allocation_of_slurm},
        {"SLURM_JOB_ID", "SLURM_NODELIST", "Slurm", allocation_of_slurm},
        {NULL, "PBS_NODEFILE", "PBS", allocation_of_node_file},
        {NULL, "LSB_DJOB_HOSTFILE", "LSF", allocation_of_node_file},
        {NULL, "LSB_MCPU_HOSTS", "LSF", allocation_of_lsf},
        {NULL, "PE_HOSTFILE", "Grid Engine", allocation_of_grid_engine},
    };

    for (size_t i = 0; i < SY_COUNT(SYSTEMS); i++) {
        const char *value = getenv(SYSTEMS[i].variable);

        *source = SYSTEMS[i].source;
        if (value && (!SYSTEMS[i].job || getenv(SYSTEMS[i].job)))
            return SYSTEMS[i].read(list, value);
    }
    *source = NULL;
    return NULL;
}

int sy_flags_find_hosts(struct sy_flags *flags, bool *slurm)
{
    const char *source = NULL;

    *slurm = false;
    if (!flags->hosts.count) {
        char *why = sy_hostlist_of_allocation(&flags->hosts, &source);

        if (why)
            return sy_flags_complain(why);
        *slurm = source && strcmp(source, "Slurm") == 0;
        if (source && flags->verbose)
            fprintf(stderr, "%s: %d host%s of the %s job\n", sy_flags_tool, flags->hosts.count,
                    flags->hosts.count == 1 ? "" : "s", source);
    }
    if (!flags->hosts.count)
        free(sy_hostlist_put(&flags->hosts, "localhost", 0, 0));
    for (int i = 0; flags->skip_own_host && i < flags->hosts.count; i++) {
        if (sy_hostlist_is_here(flags->hosts.host[i].name))
            sy_hostlist_remove(&flags->hosts, i--);
    }
    if (!flags->hosts.count)
        return sy_flags_complain(sy_memory_string("--skip-launch-node leaves no host"));
    return -1;
}
