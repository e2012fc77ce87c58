/* Slurm's lists of hosts and of tasks a node: see nodes.h. */
#include <stdio.h>

#include "bootstrap/slurm/nodes.h"
#include "util/net/host_pattern.h"

enum { MOST = 1 << 20 /* hosts of one element */ };

/* The host that is looked for. */
struct wanted {
    long before; /* hosts that come before it */
    char *host;
    size_t room;
};

static int slurm_nodes_take(void *arg, const char *name)
{
    struct wanted *wanted = arg;

    if (wanted->before--)
        return 0;
    snprintf(wanted->host, wanted->room, "%s", name);
    return 1;
}

bool sy_slurm_host(const char *list, long index, char *host, size_t room)
{
    struct wanted wanted = {.before = index, .host = host, .room = room};
    int rc = 0;

    while (*list && !rc && index >= 0) {
        size_t length = sy_host_pattern_length(list);
        rc = sy_host_pattern_expand(list, length, MOST, slurm_nodes_take, &wanted, NULL);
        list += length + (list[length] == ',');
    }
    return rc > 0;
}

long sy_slurm_node_of(const char *tasks, long task)
{
    long node = 0, each, nodes;

    while ((tasks = sy_host_pattern_number(tasks, &each, &nodes)) && each > 0 && nodes > 0) {
        if (task / each < nodes)
            return node + task / each;
        task -= each * nodes;
        node += nodes;
    }
    return -1;
}
