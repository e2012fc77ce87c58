/* Bookkeeping of a gather: see gather.h. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/head/gather.h"

#include <stdint.h>
#include <stdio.h>

#include "bootstrap/launcher/memory.h"
#include "util/list.h"

void sy_gather_init(struct sy_gather *gather, int npes)
{
    gather->npes = npes;
    gather->have = sy_memory_zeroed((size_t)npes, sizeof *gather->have);
}

static char *head_gather_mismatch(const struct sy_gather *gather, int pe, const char *phase,
                                  size_t length)
{
    char *text;
    int n;

    if (strcmp(phase, gather->phase) != 0)
        n = asprintf(&text, "PE %d is at '%s' while PE %d is at '%s'", pe, phase, gather->first,
                     gather->phase);
    else
        n = asprintf(&text, "PE %d sends %zu bytes for '%s' where PE %d sent %zu", pe, length,
                     phase, gather->first, gather->length);
    return sy_memory_check(n < 0 ? NULL : text);
}

bool sy_gather_add(struct sy_gather *gather, int pe, const char *phase, const char *blob,
                   size_t length, char **fault)
{
    *fault = NULL;
    if (!gather->packet) {
        if (length > SY_LAUNCH_GATHERED_MAX / (size_t)gather->npes) {
            if (asprintf(fault, "PE %d sends %zu bytes for '%s': too much for %d PEs", pe, length,
                         phase, gather->npes) < 0)
                *fault = sy_memory_check(NULL);
            return false;
        }
        snprintf(gather->phase, sizeof gather->phase, "%s", phase);
        gather->first = pe;
        gather->length = length;
        gather->packet = sy_packet_new(SY_LAUNCH_GATHERED, 0, length * (size_t)gather->npes);
    }
    if (length != gather->length || strncmp(phase, gather->phase, sizeof gather->phase - 1) != 0) {
        *fault = head_gather_mismatch(gather, pe, phase, length);
        return false;
    }
    memcpy(sy_packet_body(gather->packet) + (size_t)pe * length, blob, length);
    gather->have[pe] = true;
    return ++gather->arrived == gather->npes;
}

struct sy_packet *sy_gather_take(struct sy_gather *gather)
{
    struct sy_packet *packet = gather->packet;

    gather->packet = NULL;
    gather->arrived = 0;
    memset(gather->have, 0, (size_t)gather->npes * sizeof *gather->have);
    return packet;
}

bool sy_gather_waits(const struct sy_gather *gather)
{
    return gather->packet != NULL;
}

char *sy_gather_missing(const struct sy_gather *gather)
{
    char text[SY_LIST_TEXT];
    struct sy_list list = sy_list_begin(text, sizeof text);

    for (int pe = 0; pe < gather->npes; pe++)
        if (!gather->have[pe])
            sy_list_add(&list, pe);
    return sy_memory_string(sy_list_end(&list));
}

void sy_gather_free(struct sy_gather *gather)
{
    sy_packet_drop(gather->packet);
    free(gather->have);
}
