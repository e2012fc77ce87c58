/* Bookkeeping of a gather: see gather.h. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/gather.h"

#include <stdint.h>
#include <stdio.h>

#include "bootstrap/launcher/memory.h"

void sy_gather_init(struct sy_gather *gather, int npes)
{
    gather->npes = npes;
    gather->have = sy_memory_zeroed((size_t)npes, sizeof *gather->have);
}

static char *mismatch(const struct sy_gather *gather, int pe, const char *phase, size_t length)
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
        if (length > UINT32_MAX / (size_t)gather->npes) {
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
        *fault = mismatch(gather, pe, phase, length);
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
    char *text = NULL;
    size_t length = 0;
    FILE *out = sy_memory_check(open_memstream(&text, &length));
    const char *between = gather->npes - gather->arrived == 1 ? "PE " : "PEs ";

    for (int pe = 0; pe < gather->npes; pe++) {
        int last = pe;

        if (gather->have[pe])
            continue;
        while (last + 1 < gather->npes && !gather->have[last + 1])
            last++;
        fprintf(out, last > pe ? "%s%d-%d" : "%s%d", between, pe, last);
        between = ", ";
        pe = last;
    }
    if (fclose(out) != 0)
        sy_memory_check(NULL);
    return text;
}

void sy_gather_free(struct sy_gather *gather)
{
    sy_packet_drop(gather->packet);
    free(gather->have);
}
