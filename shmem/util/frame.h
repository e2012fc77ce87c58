/* Frames: a header and a body, in the order of bytes that both ends have. This is the only codec of
 * frames: it sends and parses those of the launcher, of its PEs and of the control tree. It knows
 * neither what a frame means nor which loop watches the descriptors. */
#ifndef SY_UTIL_FRAME_H
#define SY_UTIL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sy_frame {
    uint16_t type;
    uint16_t more;   /* as the type has it */
    uint32_t length; /* bytes of body that follow */
    int32_t pe;      /* about which PE */
    int32_t arg;     /* as the type has it */
};

/* ---- frames to send ---- */

/* A frame as bytes. All queues that hold it share it: the answer to a gather is large. */
struct sy_packet {
    unsigned users;
    size_t length; /* of bytes, header included */
    char bytes[];
};

/* The body is `first`, then the rest of frame->length from `second`; where these are NULL the
 * caller fills it, at sy_packet_body. The caller is the packet's one user. Returns NULL without
 * memory. */
struct sy_packet *sy_packet_new(const struct sy_frame *frame, const void *first,
                                size_t first_length, const void *second);
/* Bytes that are no frame. */
struct sy_packet *sy_packet_raw(const void *bytes, size_t length);
struct sy_frame *sy_packet_frame(struct sy_packet *packet);
char *sy_packet_body(struct sy_packet *packet);
/* NULL is allowed. A small packet is wiped, since it may hold a key. */
void sy_packet_drop(struct sy_packet *packet);

/* Sends a frame, its body as above, within the time limit (net/io.h): 0 or -errno. */
int sy_frame_send(int fd, const struct sy_frame *frame, const void *first, size_t first_length,
                  const void *second, double *deadline);

/* ---- what comes, without blocking ---- */

struct sy_frames_in {
    bool pipe; /* else it is a socket */
    char *data;
    size_t length, room, taken; /* bytes of it */
    size_t received;            /* bytes since the beginning */
};

/* Receives at most `most` bytes: how many came; 0: the other end has closed the connection; or
 * -errno, -EAGAIN: nothing is there. Bodies that were taken before are not valid any more. */
ssize_t sy_frames_receive(struct sy_frames_in *in, int fd, size_t most);

/* Bytes that have come and were not taken. */
size_t sy_frames_held(const struct sy_frames_in *in);

/* The header of the next frame, if it has come: to be judged before memory is taken for a body. */
bool sy_frames_next(const struct sy_frames_in *in, struct sy_frame *frame);

/* Takes that frame's body, once all of it has come; else NULL. One byte behind it may be written.
 */
char *sy_frames_take(struct sy_frames_in *in, const struct sy_frame *frame);

/* Takes `length` bytes that are not a frame, once so many have come; else NULL. */
char *sy_frames_take_raw(struct sy_frames_in *in, size_t length);

/* Frees and wipes. */
void sy_frames_in_free(struct sy_frames_in *in);

/* ---- what goes, without blocking ---- */

enum { SY_FRAMES_SMALL = 1 << 20 /* bytes of a frame from which on it counts as large */ };

struct sy_frames_out {
    bool pipe; /* else it is a socket */
    struct sy_outgoing *first, **last;
    size_t sent;    /* bytes of the first */
    size_t queued;  /* bytes of small frames */
    unsigned large; /* large frames */
};

/* Queues a packet, which gets one more user: 0 or -ENOMEM. */
int sy_frames_put(struct sy_frames_out *out, struct sy_packet *packet);

/* Sends what the kernel takes; true: there is more. What is queued for a broken connection is
 * dropped; receiving reports the break. */
bool sy_frames_flush(struct sy_frames_out *out, int fd);

void sy_frames_out_free(struct sy_frames_out *out);

#endif
