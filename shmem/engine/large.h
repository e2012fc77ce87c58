/* Large transfers beside the messages, for message_*.c. The data travel in *pieces*, which the
 * transport moves from memory to memory (large_send, large_receive). Each piece is announced by a
 * record in the stream of requests:
 *
 *   PUT_LARGE   the target has the transport receive the piece into its memory
 *   GET_LARGE   the target has the transport send the piece; the caller has begun to receive it
 *
 * Order. The transport moves pieces in any order and knows nothing of the stream. While a put's
 * piece is announced and not complete, the target keeps the requests behind it and applies none of
 * them; only further pieces may begin, unless they overlap one that is not complete. So a fence and
 * a signal keep their meaning. The position up to which requests have been applied, for which a
 * quiet waits, stops at the first incomplete piece. The answer to a get in the stream of replies is
 * not taken before its piece is complete (SY_PENDING_BESIDE), nor are those behind it.
 *
 * Whole elements. The transport may store a piece byte by byte, so a reader may see half of an
 * element while the put is under way. OpenSHMEM allows that: a program may wait only for words that
 * are written by atomic operations and signals (1.6, section 9.11). But programs poll the last
 * element of a put to see that all of it is there. So the last word of a put is in the record, and
 * is stored, whole, when its pieces are complete. */
#ifndef SY_ENGINE_LARGE_H
#define SY_ENGINE_LARGE_H

#include "engine/pending.h"

#define SY_MESSAGE_PIECES 4 /* of a kind and peer at a time; more slow each other down */
#define SY_MESSAGE_BEHIND (1024u << 10) /* most bytes of requests that wait for a piece */

struct sy_message_peer;
struct sy_engine;
struct sy_engine_ctx;

struct sy_message_piece {
    struct sy_pending_beside beside; /* `over` for gets alone */
    char *bytes;
    size_t length;
    unsigned region;
    uint64_t last;     /* the word that follows these bytes, stored when they are complete */
    unsigned lasts;    /* how many bytes of that word count */
    uint64_t position; /* in the stream of requests: at the end of its record for the PE that has
                          issued it, at the beginning for the target */
};

/* A ring of pieces in the order in which they were announced. Who may write what:
 *             begun              started            over
 *   puts      producer           -                  producer
 *   gets      producer           -                  receiver, by the answer
 *   coming    receiver           sender             receiver
 *   going     receiver           sender             receiver */
struct sy_message_pieces {
    struct sy_message_piece piece[SY_MESSAGE_PIECES];
    _Atomic uint64_t begun, started, over;
};

/* The large transfers with a peer. */
struct sy_message_large {
    struct sy_message_pieces puts, gets;    /* of this PE's calls */
    struct sy_message_pieces coming, going; /* of the peer's calls: of its puts, for its gets */
    bool asked; /* the peer waits to hear how far its requests have been applied. Receiver */
};

/* put_large and get_large of struct sy_engine_ops. */
int sy_message_large_put(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                         const struct sy_transfer *t, unsigned flags);
int sy_message_large_get(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                         const struct sy_transfer *t, unsigned flags);

/* large_done of struct sy_instance. */
void sy_message_large_done(void *receiver, void *ticket);

/* ---- the receiver, with `receiving` ---- */

/* Which requests of a peer may be applied now: all; those that announce pieces; none. */
enum sy_message_hold { SY_MESSAGE_FREE, SY_MESSAGE_PIECES_ALONE, SY_MESSAGE_HELD };
enum sy_message_hold sy_message_large_holds(const struct sy_message_peer *peer);

/* Whether a record that announces a piece has to wait for an earlier piece that writes the same
 * memory: there may be a fence between them. `have` bytes of the record are at `at`; false while it
 * is not complete. */
bool sy_message_large_collides(const struct sy_message_peer *peer, const char *at, size_t have);

static inline bool sy_message_large_is(uint64_t header)
{
    return sy_record_op(header) == SY_RECORD_PUT_LARGE ||
           sy_record_op(header) == SY_RECORD_GET_LARGE;
}

/* Enters the piece that the complete record at `position` announces. NULL, or how the record breaks
 * the rules. */
const char *sy_message_large_announced(struct sy_message_peer *peer, const char *at,
                                       uint64_t position);

/* The position up to which requests have been applied, if those up to `used` have been taken. */
uint64_t sy_message_large_applied(const struct sy_message_peer *peer, uint64_t used);

/* Drops pieces that are complete. True: there was one. */
bool sy_message_large_retire(struct sy_message_peer *peer);

/* Whether pieces are announced or under way, other than puts of this PE. Any thread. */
bool sy_message_large_busy(const struct sy_message_peer *peer);

/* sy_message_large_busy, with puts of this PE: the transport may still read their source. */
bool sy_message_large_owes(const struct sy_message_peer *peer);

/* Whether a piece that the other side has asked for is under way from or to a region of this PE. */
bool sy_message_large_uses(const struct sy_message_peer *peer, unsigned region);

/* ---- the sender ---- */

/* Hands the announced pieces to the transport. False: it has no room. */
bool sy_message_large_start(struct sy_message_peer *peer);

/* ---- the producer ---- */

/* Whether so many requests are behind a piece that no more may be sent. The peer reports its
 * progress: a put asks for that, a get is answered. */
bool sy_message_large_full(struct sy_message_peer *peer);

#endif
