/* One end of a conversation in frames (control/protocol.h), with a PE or with an agent: frames in,
 * frames out, never blocking. The owner checks the form of frames; the link does not know their
 * meaning. */
#ifndef SY_LAUNCHER_LINK_H
#define SY_LAUNCHER_LINK_H

#include <ev.h>
#include <stdbool.h>

#include "bootstrap/control/frames.h"

enum {
    SY_LINK_QUEUE = 64 << 20, /* of small frames that may wait */
    SY_LINK_LARGE = 2         /* large frames that may wait */
};

struct sy_link {
    struct ev_loop *loop;
    int fd;     /* read from; -1 when closed */
    int fd_out; /* written to: the same for a socket */
    ev_io read, write;
    struct sy_frames_in in;
    struct sy_frames_out out;

    /* What is wrong with a frame that begins like this, or NULL. Called before memory is taken for
     * the body. */
    const char *(*fault)(const struct sy_link *link, const struct sy_frame *header);
    /* A complete frame. May close the link. */
    void (*frame)(struct sy_link *link, const struct sy_frame *header, const char *body);
    /* What came is not a frame, or what is sent is not taken. The link is closed already. */
    void (*malformed)(struct sy_link *link, const char *what);
    /* The other side has closed it, and so the link is closed. May be NULL. */
    void (*ended)(struct sy_link *link);
    void *owner;
};

/* Takes over the descriptors and makes them non-blocking; out may be the same as in. The functions
 * and the owner are set by the caller. */
void sy_link_open(struct sy_link *link, struct ev_loop *loop, int in, int out);

/* Queues a frame. */
void sy_link_send_frame(struct sy_link *link, const struct sy_frame *frame, const void *body);

/* Queues a packet; nothing happens on a closed link. Where more is queued than the other side can
 * have caused by asking and reading, the link takes nothing and is given up as malformed. */
void sy_link_send(struct sy_link *link, struct sy_packet *packet);

/* Whether bytes have arrived that were not read. */
bool sy_link_waiting(const struct sy_link *link);

/* Handles all frames that have arrived: the last words of a PE that is gone. */
void sy_link_drain(struct sy_link *link);

/* Waits, at most that long, until everything that was queued is on its way. */
void sy_link_flush(struct sy_link *link, int milliseconds);

void sy_link_close(struct sy_link *link);

#endif
