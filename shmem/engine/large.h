/* Large transfers beside the messages, for message_*.c: pieces that the transport moves from memory
 * to memory (large_send, large_receive), each announced by a record in the stream of requests.
 *
 * A put: PUT_LARGE, upon which the target has the transport receive into its memory. A get:
 * GET_LARGE, upon which it has it send from there, to where the caller receives already.
 *
 * Order. The transport moves pieces in any order and knows nothing of the stream. So while a put's
 * piece is announced and not there, the target applies none of the requests behind it, except that
 * further pieces begin; it keeps them. What a fence has put behind the piece is then behind it at
 * the target too, as is a signal, and everything else of the stream. A piece that goes to memory of
 * one that is not there waits as well. How far requests have been
 * applied, which a quiet waits for, does not go beyond the first piece that is missing. A get's
 * answer in the stream of replies is not taken before its piece is there (SY_PENDING_BESIDE), nor
 * are those behind it, so a get is complete in its turn.
 *
 * Whole elements. The transport may store a piece byte by byte, so who looks meanwhile may see half
 * of an element. OpenSHMEM promises nothing to who looks at a put that is under way: only what is
 * written by atomic operations and signals may be waited for (1.6, section 9.11). But programs look
 * at the last element of what is put, to see that all is there. So the last word of a put is in the
 * record, and stored when its pieces are there: it is whole, and comes last. */
#ifndef SY_ENGINE_LARGE_H
#define SY_ENGINE_LARGE_H

#include "engine/pending.h"

#define SY_MESSAGE_PIECES 4 /* of a kind, with a PE, at a time: more of them hinder each other */
#define SY_MESSAGE_BEHIND (1024u << 10) /* most bytes of requests that wait for a piece */

struct sy_messages;
struct sy_message_peer;
struct sy_engine;
struct sy_engine_ctx;

struct sy_message_piece {
    struct sy_pending_beside beside; /* `over` for gets alone */
    char *bytes;
    size_t length;
    unsigned region;
    uint64_t last; /* begins with `lasts` bytes to be stored behind these when they are there */
    unsigned lasts;
    uint64_t position; /* in the stream of requests: behind its record for the PE that has issued it,
                          before it for the target */
};

/* Pieces in the order in which they were announced, in a ring. Who may change it:
 *             begun              started            over
 *   puts      producer           producer           producer
 *   gets      producer           producer           receiver, by the answer
 *   coming    receiver           sender             receiver
 *   going     receiver           sender             receiver */
struct sy_message_pieces {
    struct sy_message_piece piece[SY_MESSAGE_PIECES];
    _Atomic uint64_t begun, started, over;
};

/* Of a peer. */
struct sy_message_large {
    struct sy_message_pieces puts, gets;    /* of this PE's calls */
    struct sy_message_pieces coming, going; /* of the other side's: by its puts, for its gets */
    bool asked; /* the other side waits to hear how far its requests have been applied. Receiver */
};

/* As put_large and get_large of struct sy_engine_ops. */
int sy_message_large_put(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                         const struct sy_transfer *t, unsigned flags);
int sy_message_large_get(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                         const struct sy_transfer *t, unsigned flags);

/* As large_done of struct sy_instance. */
void sy_message_large_done(void *receiver, void *ticket);

/* ---- the receiver, with `receiving` ---- */

/* Whether requests of a peer are to wait: not, some, but no piece; all. */
enum sy_message_hold { SY_MESSAGE_FREE, SY_MESSAGE_PIECES_ALONE, SY_MESSAGE_HELD };
enum sy_message_hold sy_message_large_holds(const struct sy_message_peer *peer);

/* Whether the record of a piece of which `have` bytes are at `at` has to wait for another piece, of
 * memory that it writes too: a fence may be between them. Not, as long as the record is not whole. */
bool sy_message_large_collides(const struct sy_message_peer *peer, const char *at, size_t have);

static inline bool sy_message_large_is(uint64_t header)
{
    return sy_record_op(header) == SY_RECORD_PUT_LARGE ||
           sy_record_op(header) == SY_RECORD_GET_LARGE;
}

/* The whole record of a piece, at `position`: enters it. NULL, or how it breaks the rules. */
const char *sy_message_large_announced(struct sy_message_peer *peer, const char *at,
                                       uint64_t position);

/* How far requests have been applied, of which `used` have been taken. */
uint64_t sy_message_large_applied(const struct sy_message_peer *peer, uint64_t used);

/* Drops pieces that are complete. True: there was one. */
bool sy_message_large_retire(struct sy_message_peer *peer);

/* Whether pieces are announced or under way, other than puts of this PE. Any thread. */
bool sy_message_large_busy(const struct sy_message_peer *peer);

/* The same with puts of this PE, of which the transport may still read. */
bool sy_message_large_owes(const struct sy_message_peer *peer);

/* Whether a piece that the other side has asked for is under way from or to a region of this PE. */
bool sy_message_large_uses(const struct sy_message_peer *peer, unsigned region);

/* ---- the sender ---- */

/* Gives the transport the pieces that have been announced. False: it has no room. */
bool sy_message_large_start(struct sy_message_peer *peer);

/* ---- the producer ---- */

/* Whether so many requests are behind a piece that no more may be sent. That the other side gets on
 * is heard of: a put asks for it, a get is answered. */
bool sy_message_large_full(struct sy_message_peer *peer);

#endif
