/* Slurm's lists of hosts and of tasks a node: see nodes.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/slurm/nodes.h"

/* The end of the list's first element: a comma that is not inside brackets. */
static size_t slurm_nodes_element_length(const char *list)
{
    size_t i = 0;

    for (bool inside = false; list[i] && (inside || list[i] != ','); i++) {
        if (list[i] == '[')
            inside = true;
        else if (list[i] == ']')
            inside = false;
    }
    return i;
}

/* One piece of what is in brackets, "01-03" or "7": writes number *index of it, or takes off its
 * length. */
static bool slurm_nodes_in_range(const char *piece, size_t length, long *index, char *number,
                                 size_t room)
{
    char text[64], *end;

    if (!length || length >= sizeof text)
        return false;
    memcpy(text, piece, length);
    text[length] = '\0';
    long first = strtol(text, &end, 10), last = first;
    int digits = (int)(end - text);
    if (*end == '-')
        last = strtol(end + 1, &end, 10);
    if (!digits || *end || first < 0 || last < first || last - first > 1 << 20)
        return false;
    if (*index <= last - first) {
        snprintf(number, room, "%0*ld", digits, first + *index);
        *index = -1;
        return true;
    }
    *index -= last - first + 1;
    return true;
}

/* "a[01-03,7]b": as slurm_nodes_in_range. Several brackets in one name are not expanded. */
static bool slurm_nodes_in_element(const char *element, size_t length, long *index, char *host,
                                   size_t room)
{
    const char *open = memchr(element, '[', length);
    const char *close = open ? memchr(open, ']', length - (size_t)(open - element)) : NULL;
    char number[32];

    if (!open) {
        if ((*index)-- == 0)
            snprintf(host, room, "%.*s", (int)length, element);
        return length > 0;
    }
    if (!close)
        return false;
    for (const char *piece = open + 1; piece < close && *index >= 0;) {
        size_t bytes = strcspn(piece, ",]");
        if (!slurm_nodes_in_range(piece, bytes, index, number, sizeof number))
            return false;
        if (*index < 0)
            snprintf(host, room, "%.*s%s%.*s", (int)(open - element), element, number,
                     (int)(element + length - close - 1), close + 1);
        piece += bytes + 1;
    }
    return true;
}

bool sy_slurm_host(const char *list, long index, char *host, size_t room)
{
    while (*list && index >= 0) {
        size_t length = slurm_nodes_element_length(list);
        if (!slurm_nodes_in_element(list, length, &index, host, room))
            return false;
        if (index < 0)
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

long sy_slurm_node_of(const char *tasks, long task)
{
    for (long node = 0; *tasks;) {
        char *end;
        long each = strtol(tasks, &end, 10), nodes = 1;
        if (each < 1 || end == tasks)
            return -1;
        if (!strncmp(end, "(x", 2)) {
            nodes = strtol(end + 2, &end, 10);
            if (nodes < 1 || *end++ != ')')
                return -1;
        }
        if (task / each < nodes)
            return node + task / each;
        task -= each * nodes;
        node += nodes;
        tasks = end + (*end == ',');
        if (*end && *end != ',')
            return -1;
    }
    return -1;
}
