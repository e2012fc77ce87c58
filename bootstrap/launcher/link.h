/* oshrun's end of the socket to one PE: frames in, frames out, never blocking. It checks the form
 * of frames (protocol.h), not their sense. */
#ifndef SY_LAUNCHER_LINK_H
#define SY_LAUNCHER_LINK_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootstrap/launcher/protocol.h"

/* A frame to be sent, shared by all links that send it: the answer to a GATHER is large. */
struct sy_packet {
    unsigned users;
    size_t length; /* of bytes, header included */
    char bytes[];
};

/* One user: the caller. The body is at sy_packet_body and is to be filled. */
struct sy_packet *sy_packet_new(enum sy_launch_type type, int64_t arg, size_t length);
char *sy_packet_body(struct sy_packet *packet);
void sy_packet_drop(struct sy_packet *packet); /* NULL is allowed */

struct sy_outgoing;

struct sy_link {
    struct ev_loop *loop;
    int fd; /* -1 when closed */
    ev_io read, write;
    struct sy_launch_header header;
    size_t got; /* of header and body */
    char *body;
    struct sy_outgoing *first, **last;
    size_t sent; /* of the first */

    /* A complete frame. May close the link. */
    void (*frame)(struct sy_link *link, const struct sy_launch_header *header, const char *body);
    /* What came is not a frame. The link is closed already. */
    void (*malformed)(struct sy_link *link, const char *what);
    void *owner;
};

/* Takes over fd, non-blocking. frame, malformed and owner are set by the caller. */
void sy_link_open(struct sy_link *link, struct ev_loop *loop, int fd);

/* Queues a packet; nothing happens on a closed link. */
void sy_link_send(struct sy_link *link, struct sy_packet *packet);

/* Handles all frames that have arrived: the last words of a PE that is gone. */
void sy_link_drain(struct sy_link *link);

void sy_link_close(struct sy_link *link);

#endif
