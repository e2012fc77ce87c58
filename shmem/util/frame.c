#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/frame.h"
#include "util/net/io.h"

enum {
    SECRET = 4096, /* bytes of the longest frame that may hold a key */
    LEAST = 128,   /* bytes of a buffer */
    KEPT = 1 << 17 /* and of one that is kept when it is empty */
};

struct sy_outgoing {
    struct sy_packet *packet;
    struct sy_outgoing *next;
};

/* ---- packets ---- */

static struct sy_packet *frame_packet(size_t length)
{
    struct sy_packet *packet = malloc(sizeof *packet + length);

    if (packet)
        *packet = (struct sy_packet){.users = 1, .length = length};
    return packet;
}

struct sy_packet *sy_packet_new(const struct sy_frame *frame, const void *first,
                                size_t first_length, const void *second)
{
    struct sy_packet *packet = frame_packet(sizeof *frame + frame->length);

    if (!packet)
        return NULL;
    memcpy(packet->bytes, frame, sizeof *frame);
    if (first && first_length)
        memcpy(sy_packet_body(packet), first, first_length);
    if (second && frame->length > first_length)
        memcpy(sy_packet_body(packet) + first_length, second, frame->length - first_length);
    return packet;
}

struct sy_packet *sy_packet_raw(const void *bytes, size_t length)
{
    struct sy_packet *packet = frame_packet(length);

    if (packet)
        memcpy(packet->bytes, bytes, length);
    return packet;
}

struct sy_frame *sy_packet_frame(struct sy_packet *packet)
{
    return (struct sy_frame *)(void *)packet->bytes;
}

char *sy_packet_body(struct sy_packet *packet)
{
    return packet->bytes + sizeof(struct sy_frame);
}

void sy_packet_drop(struct sy_packet *packet)
{
    if (!packet || --packet->users)
        return;
    if (packet->length <= SECRET)
        explicit_bzero(packet->bytes, packet->length);
    free(packet);
}

int sy_frame_send(int fd, const struct sy_frame *frame, const void *first, size_t first_length,
                  const void *second, double *deadline)
{
    struct sy_packet *packet = sy_packet_new(frame, first, first_length, second);
    int rc = packet ? sy_net_send(fd, packet->bytes, packet->length, deadline) : -ENOMEM;

    sy_packet_drop(packet);
    return rc;
}

/* ---- what comes ---- */

static int frame_make_room(struct sy_frames_in *in, size_t more)
{
    size_t room = in->room ? in->room : LEAST;
    char *data;

    in->length -= in->taken;
    if (in->taken && in->length)
        memmove(in->data, in->data + in->taken, in->length);
    in->taken = 0;
    while (room <= in->length + more)
        room *= 2;
    if (room == in->room)
        return 0;
    data = realloc(in->data, room);
    if (!data)
        return -ENOMEM;
    in->data = data;
    in->room = room;
    return 0;
}

void sy_frames_in_free(struct sy_frames_in *in)
{
    if (in->data)
        explicit_bzero(in->data, in->room);
    free(in->data);
    in->data = NULL;
    in->length = in->room = in->taken = 0;
}

ssize_t sy_frames_receive(struct sy_frames_in *in, int fd, size_t most)
{
    ssize_t n;

    if (in->room > KEPT && in->taken == in->length)
        sy_frames_in_free(in);
    if (frame_make_room(in, most))
        return -ENOMEM;
    do {
        char *at = in->data + in->length;
        n = in->pipe ? read(fd, at, most) : recv(fd, at, most, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    in->length += (size_t)n;
    in->received += (size_t)n;
    return n;
}

size_t sy_frames_held(const struct sy_frames_in *in)
{
    return in->length - in->taken;
}

bool sy_frames_next(const struct sy_frames_in *in, struct sy_frame *frame)
{
    if (sy_frames_held(in) < sizeof *frame)
        return false;
    memcpy(frame, in->data + in->taken, sizeof *frame);
    return true;
}

char *sy_frames_take_raw(struct sy_frames_in *in, size_t length)
{
    if (sy_frames_held(in) < length)
        return NULL;
    in->taken += length;
    return in->data + in->taken - length;
}

char *sy_frames_take(struct sy_frames_in *in, const struct sy_frame *frame)
{
    char *bytes = sy_frames_take_raw(in, sizeof *frame + (size_t)frame->length);

    return bytes ? bytes + sizeof *frame : NULL;
}

/* ---- what goes ---- */

static void frame_count(struct sy_frames_out *out, const struct sy_packet *packet, int sign)
{
    if (packet->length > SY_FRAMES_SMALL)
        out->large += (unsigned)sign;
    else
        out->queued += (size_t)sign * packet->length;
}

int sy_frames_put(struct sy_frames_out *out, struct sy_packet *packet)
{
    struct sy_outgoing *outgoing = malloc(sizeof *outgoing);

    if (!outgoing)
        return -ENOMEM;
    *outgoing = (struct sy_outgoing){.packet = packet};
    packet->users++;
    if (!out->first)
        out->last = &out->first;
    *out->last = outgoing;
    out->last = &outgoing->next;
    frame_count(out, packet, 1);
    return 0;
}

static void frame_drop_first(struct sy_frames_out *out)
{
    struct sy_outgoing *first = out->first;

    out->first = first->next;
    out->sent = 0;
    frame_count(out, first->packet, -1);
    sy_packet_drop(first->packet);
    free(first);
}

bool sy_frames_flush(struct sy_frames_out *out, int fd)
{
    while (out->first) {
        const struct sy_packet *packet = out->first->packet;
        const char *at = packet->bytes + out->sent;
        size_t left = packet->length - out->sent;
        ssize_t n = out->pipe ? write(fd, at, left)
                              : send(fd, at, left, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        out->sent += n > 0 ? (size_t)n : 0;
        if (n < 0 || out->sent == packet->length)
            frame_drop_first(out);
    }
    return false;
}

void sy_frames_out_free(struct sy_frames_out *out)
{
    while (out->first)
        frame_drop_first(out);
}
