/* Long records for memory of a device of this PE. What is put there is received in memory of the
 * host, and replies are sent from such. Where the device copies by itself (host->device_begin) the
 * first part of a payload is copied while the rest of it is received, and a reply is copied while
 * the one before is sent.
 *
 * A payload is applied when all of it has come and been copied; only then does its stream go on. Of
 * replies, which are in the order of their requests, some are copied at a time; before any other
 * reply is entered, and when all that the socket had has been read, those go first. So nothing here
 * outlives a turn of reading, but for the parts of a payload that has come in part: of those the
 * connection may break, and then it comes once more. Under the poll lock. */
#include <stdlib.h>
#include <string.h>

#include "transports/tcp/tcp.h"

#define PART     (64u << 10) /* of a payload: so much is copied while more comes */
#define PARTS    (SY_RECORD_CHUNK / PART + 1)
#define READINGS 4

#define MAP_LEAST ((size_t)256 << 10) /* to map less costs as much as to copy it */

/* A reply that is being copied. */
struct reading {
    char *copy;
    size_t length;
    struct sy_device_copying copying;
};

struct tcp_device {
    struct reading reading[READINGS];
    const char *mapped; /* replies are sent from there; NULL: nothing is mapped */
    uint64_t place;     /* of the first, as a header */
    size_t bytes;
    uint64_t header; /* of the payload */
    size_t length, begun;
    unsigned parts;
    struct sy_device_copying part[PARTS];
    char payload[SY_RECORD_CHUNK];
};

static struct tcp_device *device_of(struct tcp_peer *peer)
{
    if (!peer->device)
        peer->device = calloc(1, sizeof *peer->device);
    return peer->device;
}

static void device_wait(struct tcp_peer *peer, struct sy_device_copying *copying)
{
    sy_device_end(&peer->tcp->regions, copying);
}

/* ---- payloads ---- */

static void device_end_parts(struct tcp_peer *peer, struct tcp_device *device)
{
    for (unsigned i = 0; i < device->parts; i++)
        device_wait(peer, &device->part[i]);
    device->parts = 0;
}

/* Copies what has come beyond what is being copied, up to `end`. No aligned element is divided. */
static bool device_begin_part(struct tcp_peer *peer, struct tcp_device *device, size_t end)
{
    size_t from = device->begun, over = (sy_record_offset(device->header) + end) % 8;

    if (end < device->length)
        end -= over;
    device->begun = end;
    return sy_device_begin(&peer->tcp->regions, sy_record_behind(device->header, from), true,
                           device->payload + from, end - from, &device->part[device->parts++]);
}

char *sy_tcp_device_place(struct tcp_peer *peer, uint64_t header, size_t length)
{
    struct tcp_device *device = NULL;

    if (sy_device_is(&peer->tcp->regions, header) && length <= SY_RECORD_CHUNK)
        device = device_of(peer);
    if (!device)
        return NULL;
    device_end_parts(peer, device);
    device->header = header;
    device->length = length;
    device->begun = 0;
    peer->stream.in.follow = sy_device_is_ahead(&peer->tcp->regions, header);
    return device->payload;
}

void sy_tcp_device_follow(struct tcp_stream *stream)
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);
    struct tcp_device *device = peer->device;
    size_t there = (size_t)(stream->in.payload - device->payload);

    while (there - device->begun >= PART + 8 && device->begun + PART < device->length)
        if (!device_begin_part(peer, device, device->begun + PART))
            return; /* it is found out when all has come */
}

bool sy_tcp_device_placed(struct tcp_peer *peer)
{
    struct tcp_device *device = peer->device;
    bool done = device_begin_part(peer, device, device->length);

    device_end_parts(peer, device);
    return done;
}

/* ---- replies ---- */

/* Has the frame that is being sent go on from a copy of what it was sent from. Under the send lock.
 */
static void device_move_parts(struct tcp_out *out, const char *from, size_t length, char *to)
{
    for (int i = out->first; out->left && i < out->count; i++) {
        uintptr_t at = (uintptr_t)out->part[i].iov_base - (uintptr_t)from;
        if (at < length)
            out->part[i].iov_base = to + at;
    }
}

/* How many bytes the requests that have come ask for, as far as each goes on where the one before
 * ends. `at`: `have` bytes, the first record is whole. */
static size_t device_asked(const char *at, size_t have)
{
    uint64_t header = sy_record_word(at);
    size_t asked = 0;

    for (; have >= 16 && sy_record_word(at) == sy_record_behind(header, asked); at += 16) {
        uint64_t length = sy_record_word(at + 8);
        if (length <= SY_RECORD_LONG || length > SY_RECORD_CHUNK)
            break;
        asked += length;
        have -= 16;
    }
    return asked;
}

void sy_tcp_device_unmap(struct tcp_peer *peer)
{
    struct tcp_device *device = peer->device;

    if (!device || !device->mapped)
        return;
    sy_device_unmap(&peer->tcp->regions, device->place, device->mapped);
    device->mapped = NULL;
}

/* Maps what a request asks for. To map takes as long for much as for little, so what the requests
 * behind it ask for is mapped with it. */
static const char *device_map(struct tcp_peer *peer, const char *at, size_t have)
{
    struct tcp_stream *stream = &peer->stream;
    struct tcp_device *device;
    size_t asked = device_asked(at, have);

    if (asked < MAP_LEAST || peer->readings || !(device = device_of(peer)) ||
        atomic_load_explicit(&stream->queue[TCP_REQUESTS].tx->blocked, memory_order_relaxed))
        return NULL;
    device->place = sy_record_word(at);
    device->bytes = asked;
    device->mapped = sy_device_map(&peer->tcp->regions, device->place, asked);
    if (device->mapped)
        sy_count(&peer->tcp->counters.mappings, 1);
    return device->mapped;
}

/* The address of what a request asks for; NULL: it cannot be mapped now. */
static const char *device_address(struct tcp_peer *peer, const char *at, size_t have)
{
    struct tcp_device *device = peer->device;
    uint64_t header = sy_record_word(at);

    if (!device || !device->mapped)
        return device_map(peer, at, have);
    uint64_t offset = sy_record_offset(header - device->place);
    if (offset < device->bytes && header == sy_record_behind(device->place, offset) &&
        sy_record_word(at + 8) <= device->bytes - offset)
        return device->mapped + offset;
    sy_tcp_device_unmap(peer);
    return device_map(peer, at, have);
}

/* What the kernel has not taken by the end of this call is copied, and what it loses with the
 * connection will be. */
static void device_send(struct tcp_peer *peer, uint64_t header, const char *from, size_t length,
                        char *copy)
{
    struct tcp_stream *stream = &peer->stream;
    struct tcp_queue *queue = &stream->queue[TCP_REPLIES];
    uint64_t tail = sy_tcp_queue_commit_segment(queue, 0, from, length, NULL);

    sy_count(&peer->tcp->counters.replies_mapped, 1);
    sy_tcp_send(stream);
    sy_tcp_send_lock(stream);
    if (atomic_load_explicit(&stream->handed[TCP_REPLIES], memory_order_relaxed) >= tail) {
        sy_tcp_queue_uncopy(queue, copy, sy_record_padded(length));
        copy = NULL;
    } else {
        sy_copy_bytes(copy, from, length);
        device_move_parts(&stream->out, from, length, copy);
    }
    sy_tcp_queue_let_go(queue, copy, header);
    sy_tcp_send_unlock(stream);
}

/* The memory stays mapped while the requests are applied that it was mapped for, which are the next
 * ones, and no longer. */
bool sy_tcp_device_send(struct tcp_peer *peer, const char *at, size_t have, size_t length)
{
    struct tcp_queue *queue = &peer->stream.queue[TCP_REPLIES];
    uint64_t header = sy_record_word(at);
    char *copy = NULL;

    if (sy_tcp_queue_has_segment(queue))
        copy = sy_tcp_queue_copy(queue, sy_record_padded(length));
    const char *from = copy ? device_address(peer, at, have) : NULL;
    if (!from) {
        sy_tcp_device_unmap(peer);
        sy_tcp_queue_uncopy(queue, copy, sy_record_padded(length));
        return false;
    }
    device_send(peer, header, from, length, copy);
    if (sy_record_behind(header, length) ==
        sy_record_behind(peer->device->place, peer->device->bytes))
        sy_tcp_device_unmap(peer);
    return true;
}

bool sy_tcp_device_again(struct tcp_stream *stream, uint64_t header, char *to, size_t length)
{
    return sy_device_get(&sy_tcp_peer_with(stream)->tcp->regions, header, to, length);
}

bool sy_tcp_device_read(struct tcp_peer *peer, uint64_t header, size_t length, const char **why)
{
    struct tcp_device *device;
    struct reading *reading;

    if (!sy_device_is_ahead(&peer->tcp->regions, header) || !(device = device_of(peer)))
        return false;
    if (peer->readings == READINGS)
        *why = sy_tcp_device_reply(peer);
    reading = &device->reading[peer->readings];
    reading->length = length;
    reading->copy =
        *why ? NULL : sy_tcp_queue_copy(&peer->stream.queue[TCP_REPLIES], sy_record_padded(length));
    if (!reading->copy)
        return false;
    memset(reading->copy + sy_record_padded(length) - 8, 0, 8);
    if (sy_device_begin(&peer->tcp->regions, header, false, reading->copy, length,
                        &reading->copying)) {
        peer->readings++;
        peer->stream.in.owes = true;
        return true;
    }
    sy_tcp_queue_uncopy(&peer->stream.queue[TCP_REPLIES], reading->copy, sy_record_padded(length));
    *why = sy_apply_outside;
    return false;
}

const char *sy_tcp_device_reply(struct tcp_peer *peer)
{
    struct tcp_queue *queue = &peer->stream.queue[TCP_REPLIES];
    const char *why = NULL;

    for (unsigned i = 0; i < peer->readings; i++) {
        struct reading *reading = &peer->device->reading[i];
        device_wait(peer, &reading->copying);
        if (why || !sy_tcp_queue_has_segment(queue)) {
            why = sy_tcp_too_many;
            sy_tcp_queue_uncopy(queue, reading->copy, sy_record_padded(reading->length));
            continue;
        }
        sy_tcp_queue_commit_segment(queue, 0, reading->copy, reading->length, reading->copy);
        sy_tcp_send(&peer->stream);
    }
    peer->readings = 0;
    peer->stream.in.owes = false;
    return why;
}

void sy_tcp_device_close(struct tcp_peer *peer)
{
    if (peer->device)
        device_end_parts(peer, peer->device);
    free(peer->device);
    peer->device = NULL;
}
