/* One end of a conversation in frames (protocol.h), with a PE or with an agent: frames in, frames
 * out, never blocking. What a frame may look like is asked of the owner; its sense is not known
 * here. */
#ifndef SY_LAUNCHER_LINK_H
#define SY_LAUNCHER_LINK_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootstrap/launcher/protocol.h"

enum {
    SY_LINK_SMALL = 1 << 20,  /* bytes of a frame from which on it counts as large */
    SY_LINK_QUEUE = 64 << 20, /* of small frames that may wait */
    SY_LINK_LARGE = 2         /* large frames that may wait */
};

/* A frame to be sent, shared by all links that send it: the answer to a GATHER is large. */
struct sy_packet {
    unsigned users;
    size_t length; /* of bytes, header included */
    char bytes[];
};

/* One user: the caller. The body is at sy_packet_body and is to be filled. */
struct sy_packet *sy_packet_new(unsigned type, int64_t arg, size_t length);
struct sy_packet *sy_packet_copy(const struct sy_launch_header *header, const void *body);
struct sy_launch_header *sy_packet_header(struct sy_packet *packet);
char *sy_packet_body(struct sy_packet *packet);
void sy_packet_drop(struct sy_packet *packet); /* NULL is allowed */

struct sy_outgoing;

struct sy_link {
    struct ev_loop *loop;
    int fd;     /* read from; -1 when closed */
    int fd_out; /* written to: the same for a socket */
    ev_io read, write;
    struct sy_launch_header header;
    size_t got; /* of header and body */
    char *body;
    struct sy_outgoing *first, **last;
    size_t sent;     /* of the first */
    size_t queued;   /* bytes of small frames that wait */
    unsigned large;  /* large frames that wait */
    size_t received; /* bytes so far: whoever sends is alive, also within a long frame */

    /* What is wrong with a frame that begins like this, or NULL. Called before memory is taken for
     * the body. */
    const char *(*fault)(const struct sy_link *link, const struct sy_launch_header *header);
    /* A complete frame. May close the link. */
    void (*frame)(struct sy_link *link, const struct sy_launch_header *header, const char *body);
    /* What came is not a frame, or what is sent is not taken. The link is closed already. */
    void (*malformed)(struct sy_link *link, const char *what);
    /* The other side has closed it, and so the link is closed. May be NULL. */
    void (*ended)(struct sy_link *link);
    void *owner;
};

/* Takes over the descriptors and makes them non-blocking; out may be the same as in. The functions
 * and the owner are set by the caller. */
void sy_link_open(struct sy_link *link, struct ev_loop *loop, int in, int out);

/* Queues a packet; nothing happens on a closed link. Where more waits than the other side can have
 * caused by asking and reading, it takes nothing, and the link is given up as malformed. */
void sy_link_send(struct sy_link *link, struct sy_packet *packet);

/* Whether bytes have arrived that were not read. */
bool sy_link_waiting(const struct sy_link *link);

/* Handles all frames that have arrived: the last words of a PE that is gone. */
void sy_link_drain(struct sy_link *link);

/* Waits, at most that long, until everything that was queued is on its way. */
void sy_link_flush(struct sy_link *link, int milliseconds);

void sy_link_close(struct sy_link *link);

#endif
