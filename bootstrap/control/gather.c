/* Bookkeeping of a gather: see gather.h. */
#include "bootstrap/control/gather.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/control/protocol.h"

int sy_gather_init(struct sy_gather *gather, int npes)
{
    gather->npes = npes;
    gather->have = calloc((size_t)npes, sizeof *gather->have);
    return gather->have ? 0 : -ENOMEM;
}

/* "PE 3", or "PE 3 on host a". */
static const char *gather_pe(const struct sy_gather *gather, int pe, char text[96])
{
    const char *host = gather->host_of ? gather->host_of(gather->owner, pe) : NULL;

    snprintf(text, 96, host ? "PE %d on host %.64s" : "PE %d", pe, host);
    return text;
}

static int gather_mismatch(const struct sy_gather *gather, int pe, const char *phase, size_t length,
                           char fault[SY_GATHER_FAULT])
{
    char it[96], other[96];

    gather_pe(gather, pe, it);
    gather_pe(gather, gather->first, other);
    if (strncmp(phase, gather->phase, sizeof gather->phase - 1) != 0)
        snprintf(fault, SY_GATHER_FAULT, "%s is at '%.47s' while %s is at '%.47s'", it, phase,
                 other, gather->phase);
    else
        snprintf(fault, SY_GATHER_FAULT, "%s sends %zu bytes for '%.47s' where %s sent %zu", it,
                 length, phase, other, gather->length);
    return -EPROTO;
}

static int gather_begin(struct sy_gather *gather, int pe, const char *phase, size_t length,
                        char fault[SY_GATHER_FAULT])
{
    struct sy_frame frame = {.type = SY_CONTROL_GATHERED};
    char it[96];

    if (length > SY_LAUNCH_GATHERED_MAX / (size_t)gather->npes) {
        snprintf(fault, SY_GATHER_FAULT, "%s sends %zu bytes for '%.47s': too much for %d PEs",
                 gather_pe(gather, pe, it), length, phase, gather->npes);
        return -EMSGSIZE;
    }
    frame.length = (uint32_t)(length * (size_t)gather->npes);
    gather->packet = sy_packet_new(&frame, NULL, 0, NULL);
    snprintf(gather->phase, sizeof gather->phase, "%s", phase);
    gather->first = pe;
    gather->length = length;
    return gather->packet ? 0 : -ENOMEM;
}

int sy_gather_add(struct sy_gather *gather, int pe, const char *phase, const char *blob,
                  size_t length, char fault[SY_GATHER_FAULT])
{
    int rc = gather->packet ? 0 : gather_begin(gather, pe, phase, length, fault);

    if (rc)
        return rc;
    if (length != gather->length || strncmp(phase, gather->phase, sizeof gather->phase - 1) != 0)
        return gather_mismatch(gather, pe, phase, length, fault);
    if (length)
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

void sy_gather_free(struct sy_gather *gather)
{
    sy_packet_drop(gather->packet);
    gather->packet = NULL;
    free(gather->have);
    gather->have = NULL;
}
