/* See handshake.h. What is read here comes from anybody: nothing of it is used before it has been
 * checked, and the mac is checked before anything is answered. */
#include <string.h>

#include "transports/tcp/conn/handshake.h"
#include "util/auth.h"

_Static_assert(sizeof(struct tcp_handshake) == 96, "the message has holes");
_Static_assert(sizeof(((struct tcp_handshake *)0)->mac) == SY_AUTH_MAC, "the mac fills its field");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER TCP_ORDER_LITTLE
#else
#define OWN_ORDER TCP_ORDER_BIG
#endif

const char *sy_tcp_verdict_words(enum tcp_verdict verdict)
{
    switch (verdict) {
    case TCP_STRANGE:
        return "is not a PE of this library";
    case TCP_FORGED:
        return "does not know this job's key, or wants another instance of the transport";
    case TCP_OTHER_VERSION:
        return "has another version of the library or another byte order";
    case TCP_OTHER_TARGET:
        return "wants another PE";
    default:
        return "is welcome";
    }
}

bool sy_tcp_handshake_plausible(const void *bytes, size_t length)
{
    static const char magic[8] = TCP_MAGIC;

    return memcmp(bytes, magic, length < sizeof magic ? length : sizeof magic) == 0;
}

/* The instance's word goes before what is authenticated. It is shorter than a message, so that two
 * words never make the same of two transcripts. */
static struct sy_auth_part handshake_word(const struct tcp_self *self)
{
    return (struct sy_auth_part){self->word, self->word ? strlen(self->word) : 0};
}

enum { PARTS = 3 };

/* What the mac of a message is taken over, when it follows the transcript. */
static void handshake_parts_of(const struct tcp_transcript *t, const struct tcp_self *self,
                               const struct tcp_handshake *message, struct sy_auth_part part[PARTS])
{
    part[0] = handshake_word(self);
    part[1] = (struct sy_auth_part){t->message, t->count * sizeof *message};
    part[2] = (struct sy_auth_part){message, offsetof(struct tcp_handshake, mac)};
}

/* ---- saying ---- */

/* Adds a message, after its nonce and its mac have been made. */
static int handshake_say(struct tcp_transcript *t, const struct tcp_self *self,
                         const struct tcp_handshake *what)
{
    struct tcp_handshake *message = &t->message[t->count];
    struct sy_auth_part part[PARTS];
    int rc = 0;

    *message = *what;
    memcpy(message->magic, TCP_MAGIC, sizeof message->magic);
    message->version = TCP_WIRE_VERSION;
    message->order = OWN_ORDER;
    message->from = self->pe;
    if (message->kind == TCP_HELLO || message->kind == TCP_WELCOME)
        rc = sy_auth_random(message->nonce, sizeof message->nonce);
    if (rc)
        return rc;
    handshake_parts_of(t, self, message, part);
    sy_auth_mac(self->key, part, PARTS, message->mac);
    t->count++;
    return 0;
}

int sy_tcp_say_hello(struct tcp_transcript *t, const struct tcp_self *self, int pe, unsigned stream,
                     unsigned refusals, uint64_t serial)
{
    t->count = 0;
    return handshake_say(t, self,
                         &(struct tcp_handshake){.kind = TCP_HELLO,
                                                 .to = (uint32_t)pe,
                                                 .stream = stream,
                                                 .reason = refusals,
                                                 .serial = serial});
}

/* Answers the peer of the transcript. HELLO has its number: `from` for the acceptor, `to` for the
 * connector. */
static struct tcp_handshake handshake_reply(const struct tcp_transcript *t,
                                            enum tcp_handshake_kind kind)
{
    const struct tcp_handshake *hello = &t->message[0];

    return (struct tcp_handshake){.kind = (uint8_t)kind,
                                  .to = kind == TCP_CONFIRM ? hello->to : hello->from,
                                  .stream = hello->stream};
}

int sy_tcp_say_welcome(struct tcp_transcript *t, const struct tcp_self *self)
{
    struct tcp_handshake what = handshake_reply(t, TCP_WELCOME);

    return handshake_say(t, self, &what);
}

int sy_tcp_say_refuse(struct tcp_transcript *t, const struct tcp_self *self,
                      enum tcp_refusal reason)
{
    struct tcp_handshake what = handshake_reply(t, TCP_REFUSE);

    what.reason = reason;
    return handshake_say(t, self, &what);
}

int sy_tcp_say_positions(struct tcp_transcript *t, const struct tcp_self *self,
                         struct tcp_positions positions)
{
    struct tcp_handshake what = handshake_reply(
        t, sy_tcp_last(t)->kind == TCP_WELCOME ? TCP_CONFIRM : TCP_RESUME);

    what.requests = positions.requests;
    what.replies = positions.replies;
    what.udp_port = positions.udp_port;
    return handshake_say(t, self, &what);
}

/* ---- hearing ---- */

/* Whether it is this message's turn. Byte-sized fields only, which have no byte order. */
static bool handshake_due(const struct tcp_transcript *t, const struct tcp_handshake *message)
{
    static const uint8_t kinds[TCP_HANDSHAKE_MESSAGES] = {TCP_HELLO, TCP_WELCOME, TCP_CONFIRM,
                                                          TCP_RESUME};

    if (t->count >= TCP_HANDSHAKE_MESSAGES)
        return false;
    return message->kind == kinds[t->count] || (t->count == 1 && message->kind == TCP_REFUSE);
}

static bool handshake_is_zero(const uint8_t *bytes, size_t length)
{
    while (length && !bytes[length - 1])
        length--;
    return !length;
}

/* Whether fields that the kind does not use are zero: an authentic sender leaves them so, and a
 * later version may then use them. */
static bool handshake_tidy(const struct tcp_handshake *message)
{
    bool nonce = message->kind == TCP_HELLO || message->kind == TCP_WELCOME;
    bool reason = message->kind == TCP_HELLO || message->kind == TCP_REFUSE;
    bool positions = message->kind == TCP_CONFIRM || message->kind == TCP_RESUME;

    return (positions ? message->udp_port <= UINT16_MAX : !message->udp_port) &&
           (nonce || handshake_is_zero(message->nonce, sizeof message->nonce)) &&
           (reason || !message->reason) &&
           (positions || message->kind == TCP_HELLO || !message->requests) &&
           (positions || !message->replies);
}

/* Whether the expected PE has sent it, to this PE. */
static bool handshake_addressed(const struct tcp_transcript *t, const struct tcp_self *self,
                                const struct tcp_handshake *message)
{
    const struct tcp_handshake *hello = &t->message[0];

    if (message->to != self->pe)
        return false;
    if (message->kind == TCP_HELLO)
        return message->from < self->npes && message->from != self->pe;
    return message->stream == hello->stream &&
           message->from == (message->kind == TCP_CONFIRM ? hello->from : hello->to);
}

enum tcp_verdict sy_tcp_hear(struct tcp_transcript *t, const struct tcp_self *self,
                             const struct tcp_handshake *message)
{
    struct sy_auth_part part[PARTS];
    enum tcp_verdict verdict = TCP_GOOD;

    if (!sy_tcp_handshake_plausible(message, sizeof *message) || !handshake_due(t, message))
        return TCP_STRANGE;
    handshake_parts_of(t, self, message, part);
    if (!sy_auth_valid(self->key, part, PARTS, message->mac))
        return TCP_FORGED;
    if (message->version != TCP_WIRE_VERSION || message->order != OWN_ORDER)
        verdict = TCP_OTHER_VERSION;
    else if (!handshake_addressed(t, self, message))
        verdict = TCP_OTHER_TARGET;
    else if (!handshake_tidy(message))
        return TCP_STRANGE;
    t->message[t->count++] = *message;
    return verdict;
}

/* ---- beside the connection ---- */

_Static_assert(SY_AUTH_MAC == 32, "a mac makes two keys");

/* Derives the keys of datagrams. What they are taken over cannot be the beginning of a message. */
void sy_tcp_transcript_keys(const struct tcp_transcript *t, const struct tcp_self *self,
                            unsigned char keys[32])
{
    static const char purpose[8] = "SWYDKEYS";
    const struct sy_auth_part part[2] = {{purpose, sizeof purpose},
                                         {t->message, t->count * sizeof t->message[0]}};

    sy_auth_mac(self->key, part, 2, keys);
}
