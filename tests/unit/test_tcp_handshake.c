/* The handshake of the TCP transport: a conversation between PEs that share a key goes through, and
 * nothing else does, whatever has been changed, left out, repeated or taken from elsewhere. */
#include <check.h>
#include <string.h>

#include "transports/tcp/conn/handshake.h"
#include "util/auth.h"
#include "util/siphash.h"
#include "suite.h"

static const unsigned char key[SY_AUTH_KEY] = "a job's key", other_key[SY_AUTH_KEY] = "another's";

/* PE 3 connects to PE 5 of 8. */
static const struct tcp_self connector = {key, 3, 8, NULL}, acceptor = {key, 5, 8, NULL};
static const struct tcp_positions mine = {1000, 2000, 65535}, theirs = {UINT64_MAX, 0, 0};

#define STREAM 2

/* Both sides' transcripts, the messages going from one to the other. */
struct conversation {
    struct tcp_transcript connector, acceptor;
};

/* The first `count` messages. */
static struct conversation converse(unsigned count)
{
    struct conversation c = {0};

    if (count >= 1) {
        ck_assert_int_eq(sy_tcp_say_hello(&c.connector, &connector, 5, STREAM, 0, 7), 0);
        ck_assert_int_eq(sy_tcp_hear(&c.acceptor, &acceptor, sy_tcp_last(&c.connector)), TCP_GOOD);
    }
    if (count >= 2) {
        ck_assert_int_eq(sy_tcp_say_welcome(&c.acceptor, &acceptor), 0);
        ck_assert_int_eq(sy_tcp_hear(&c.connector, &connector, sy_tcp_last(&c.acceptor)), TCP_GOOD);
    }
    if (count >= 3) {
        ck_assert_int_eq(sy_tcp_say_positions(&c.connector, &connector, mine), 0);
        ck_assert_int_eq(sy_tcp_hear(&c.acceptor, &acceptor, sy_tcp_last(&c.connector)), TCP_GOOD);
    }
    if (count >= 4) {
        ck_assert_int_eq(sy_tcp_say_positions(&c.acceptor, &acceptor, theirs), 0);
        ck_assert_int_eq(sy_tcp_hear(&c.connector, &connector, sy_tcp_last(&c.acceptor)), TCP_GOOD);
    }
    return c;
}

/* The message that is due behind `count` ones, in `said`, and who is to judge it, in `hearer`. */
static void next_message(unsigned count, struct tcp_transcript *said, struct tcp_transcript *hearer,
                         const struct tcp_self **judge)
{
    struct conversation c = converse(count);
    bool by_connector = count % 2 == 0;

    *said = by_connector ? c.connector : c.acceptor;
    *hearer = by_connector ? c.acceptor : c.connector;
    *judge = by_connector ? &acceptor : &connector;
    ck_assert_int_eq(count == 0   ? sy_tcp_say_hello(said, &connector, 5, STREAM, 0, 7)
                     : count == 1 ? sy_tcp_say_welcome(said, &acceptor)
                     : count == 2 ? sy_tcp_say_positions(said, &connector, mine)
                                  : sy_tcp_say_positions(said, &acceptor, theirs),
                     0);
}

/* Makes the mac right again, as only somebody with the key can. */
static void seal(const struct tcp_transcript *before, struct tcp_handshake *message)
{
    struct sy_auth_part part[2] = {
        {before->message, before->count * sizeof *message},
        {message, offsetof(struct tcp_handshake, mac)},
    };

    sy_auth_mac(key, part, 2, message->mac);
}

START_TEST(goes_through)
{
    struct conversation c = converse(4);

    ck_assert_uint_eq(c.connector.count, 4);
    ck_assert_mem_eq(&c.connector, &c.acceptor, sizeof c.connector);
    ck_assert_uint_eq(c.acceptor.message[2].requests, 1000);
    ck_assert_uint_eq(c.acceptor.message[2].replies, 2000);
    ck_assert_uint_eq(c.connector.message[3].requests, UINT64_MAX);
    ck_assert_uint_eq(c.connector.message[0].stream, STREAM);
}
END_TEST

START_TEST(refuses)
{
    struct conversation c = converse(1);

    ck_assert_int_eq(sy_tcp_say_refuse(&c.acceptor, &acceptor, TCP_REFUSE_BUSY), 0);
    ck_assert_int_eq(sy_tcp_hear(&c.connector, &connector, sy_tcp_last(&c.acceptor)), TCP_GOOD);
    ck_assert_uint_eq(sy_tcp_last(&c.connector)->kind, TCP_REFUSE);
    ck_assert_uint_eq(sy_tcp_last(&c.connector)->reason, TCP_REFUSE_BUSY);
}
END_TEST

/* Each bit of each message. */
START_TEST(changed_bit)
{
    struct tcp_transcript said, hearer;
    const struct tcp_self *judge;

    next_message((unsigned)_i, &said, &hearer, &judge);
    for (size_t bit = 0; bit < sizeof(struct tcp_handshake) * 8; bit++) {
        struct tcp_handshake message = *sy_tcp_last(&said);
        struct tcp_transcript copy = hearer;
        ((unsigned char *)&message)[bit / 8] ^= (unsigned char)(1 << bit % 8);
        enum tcp_verdict verdict = sy_tcp_hear(&copy, judge, &message);
        ck_assert(verdict == TCP_STRANGE || verdict == TCP_FORGED);
        ck_assert_uint_eq(copy.count, hearer.count);
    }
    ck_assert_int_eq(sy_tcp_hear(&hearer, judge, sy_tcp_last(&said)), TCP_GOOD);
}
END_TEST

/* A message where another one is due, with and without a right mac. */
START_TEST(out_of_turn)
{
    struct tcp_transcript said, hearer;
    const struct tcp_self *judge;

    next_message((unsigned)_i, &said, &hearer, &judge);
    for (unsigned kind = 0; kind < 256; kind++) {
        struct tcp_handshake message = *sy_tcp_last(&said);
        struct tcp_transcript copy = hearer;
        if (kind == message.kind || (_i == 1 && kind == TCP_REFUSE))
            continue;
        message.kind = (uint8_t)kind;
        seal(&hearer, &message);
        ck_assert_int_eq(sy_tcp_hear(&copy, judge, &message), TCP_STRANGE);
    }
}
END_TEST

/* The same message, or one at its place in another conversation. Only HELLO, by which nothing is
 * done, can be repeated. */
START_TEST(replayed)
{
    struct tcp_transcript said, hearer;
    const struct tcp_self *judge;
    struct tcp_handshake old;

    next_message((unsigned)_i, &said, &hearer, &judge);
    old = *sy_tcp_last(&said);
    ck_assert_int_eq(sy_tcp_hear(&hearer, judge, &old), TCP_GOOD);
    ck_assert_int_eq(sy_tcp_hear(&hearer, judge, &old), TCP_STRANGE);
    next_message((unsigned)_i, &said, &hearer, &judge);
    ck_assert_int_eq(sy_tcp_hear(&hearer, judge, &old), _i == 0 ? TCP_GOOD : TCP_FORGED);
}
END_TEST

/* HELLO is repeated to the acceptor, which then waits for the CONFIRM of that conversation. */
START_TEST(replayed_to_the_end)
{
    struct conversation c = converse(4);
    struct tcp_transcript again = {0};

    ck_assert_int_eq(sy_tcp_hear(&again, &acceptor, &c.connector.message[0]), TCP_GOOD);
    ck_assert_int_eq(sy_tcp_say_welcome(&again, &acceptor), 0);
    ck_assert_int_ne(memcmp(again.message[1].nonce, c.acceptor.message[1].nonce, 16), 0);
    ck_assert_int_eq(sy_tcp_hear(&again, &acceptor, &c.connector.message[2]), TCP_FORGED);
}
END_TEST

/* What the acceptor itself says is sent back to it. */
START_TEST(reflected)
{
    struct conversation c = converse(2);
    struct tcp_handshake own = c.acceptor.message[1];

    ck_assert_int_eq(sy_tcp_hear(&c.acceptor, &acceptor, &own), TCP_STRANGE);
    own.kind = TCP_CONFIRM;
    ck_assert_int_eq(sy_tcp_hear(&c.acceptor, &acceptor, &own), TCP_FORGED);
}
END_TEST

START_TEST(wrong_key)
{
    static const struct tcp_self stranger = {other_key, 3, 8, NULL};
    struct tcp_transcript t = {0}, a = {0};

    ck_assert_int_eq(sy_tcp_say_hello(&t, &stranger, 5, STREAM, 0, 7), 0);
    ck_assert_int_eq(sy_tcp_hear(&a, &acceptor, sy_tcp_last(&t)), TCP_FORGED);
    ck_assert_uint_eq(a.count, 0);
}
END_TEST

/* A connection meant for one instance is refused by another of the same job. */
START_TEST(wrong_instance)
{
    static const struct tcp_self a = {key, 3, 8, "@a"}, plain = {key, 5, 8, NULL},
                                 right = {key, 5, 8, "@a"}, wrong = {key, 5, 8, "@b"};
    struct tcp_transcript t = {0}, answer = {0};

    ck_assert_int_eq(sy_tcp_say_hello(&t, &a, 5, STREAM, 0, 7), 0);
    ck_assert_int_eq(sy_tcp_hear(&answer, &wrong, sy_tcp_last(&t)), TCP_FORGED);
    ck_assert_int_eq(sy_tcp_hear(&answer, &plain, sy_tcp_last(&t)), TCP_FORGED);
    ck_assert_int_eq(sy_tcp_hear(&answer, &right, sy_tcp_last(&t)), TCP_GOOD);
}
END_TEST

/* Numbers of PEs that do not exist, this PE itself, another PE. */
START_TEST(pe_numbers)
{
    static const struct {
        uint32_t from, to;
    } wrong[] = {{8, 5}, {UINT32_MAX, 5}, {0x80000000u, 5}, {5, 5}, {3, 4}, {3, 5 + 8}};
    struct tcp_transcript t = {0}, a = {0};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tcp_self from = {key, wrong[i].from, 8, NULL};
        a.count = 0;
        ck_assert_int_eq(sy_tcp_say_hello(&t, &from, (int)wrong[i].to, STREAM, 0, 7), 0);
        ck_assert_int_eq(sy_tcp_hear(&a, &acceptor, sy_tcp_last(&t)), TCP_OTHER_TARGET);
        ck_assert_int_eq(sy_tcp_say_refuse(&a, &acceptor, TCP_REFUSE_TARGET), 0);
    }
}
END_TEST

/* An answer by a PE of the job that was not asked, or for another stream. */
START_TEST(other_answerer)
{
    struct tcp_transcript said, hearer, copy;
    const struct tcp_self *judge;
    struct tcp_handshake message;

    next_message((unsigned)_i, &said, &hearer, &judge);
    message = *sy_tcp_last(&said);
    message.from ^= 1;
    seal(&hearer, &message);
    copy = hearer;
    ck_assert_int_eq(sy_tcp_hear(&copy, judge, &message), TCP_OTHER_TARGET);
    message = *sy_tcp_last(&said);
    message.stream ^= 1;
    seal(&hearer, &message);
    ck_assert_int_eq(sy_tcp_hear(&hearer, judge, &message), TCP_OTHER_TARGET);
}
END_TEST

START_TEST(other_version)
{
    struct tcp_transcript t = {0}, a = {0}, empty = {0};
    struct tcp_handshake message;

    ck_assert_int_eq(sy_tcp_say_hello(&t, &connector, 5, STREAM, 0, 7), 0);
    message = *sy_tcp_last(&t);
    message.version++;
    seal(&empty, &message);
    ck_assert_int_eq(sy_tcp_hear(&a, &acceptor, &message), TCP_OTHER_VERSION);
    /* It is answered, and the answer is understood. */
    ck_assert_int_eq(sy_tcp_say_refuse(&a, &acceptor, TCP_REFUSE_VERSION), 0);
    t.message[0] = message;
    ck_assert_int_eq(sy_tcp_hear(&t, &connector, sy_tcp_last(&a)), TCP_GOOD);

    a.count = 0;
    message.version--;
    message.order ^= 3;
    seal(&empty, &message);
    ck_assert_int_eq(sy_tcp_hear(&a, &acceptor, &message), TCP_OTHER_VERSION);
}
END_TEST

START_TEST(unused_fields)
{
    struct tcp_transcript said, hearer;
    const struct tcp_self *judge;

    for (unsigned count = 0; count < 4; count++)
        for (unsigned field = 0; field < 5; field++) {
            next_message(count, &said, &hearer, &judge);
            struct tcp_handshake message = *sy_tcp_last(&said);
            bool used = field == 0   ? count == 0
                        : field == 1 ? count < 2
                        : field == 3 ? count != 1
                                     : count >= 2;
            if (field == 0)
                message.reason = 1;
            else if (field == 1)
                message.nonce[15] ^= 1;
            else if (field == 2)
                message.udp_port ^= 1;
            else if (field == 3)
                message.requests ^= 1;
            else
                message.replies ^= 1;
            seal(&hearer, &message);
            ck_assert_int_eq(sy_tcp_hear(&hearer, judge, &message), used ? TCP_GOOD : TCP_STRANGE);
        }
}
END_TEST

START_TEST(impossible_port)
{
    struct tcp_transcript said, hearer;
    const struct tcp_self *judge;

    next_message(2, &said, &hearer, &judge);
    struct tcp_handshake message = *sy_tcp_last(&said);
    message.udp_port = 65536;
    seal(&hearer, &message);
    ck_assert_int_eq(sy_tcp_hear(&hearer, judge, &message), TCP_STRANGE);
}
END_TEST

/* Both sides of a connection find the same keys, which differ from each other, from those of every
 * other connection, and with the job's key. */
START_TEST(keys)
{
    struct conversation one = converse(4), other = converse(4);
    struct tcp_self outsider = acceptor;
    unsigned char made[4][32];

    outsider.key = other_key;
    sy_tcp_transcript_keys(&one.connector, &connector, made[0]);
    sy_tcp_transcript_keys(&one.acceptor, &acceptor, made[1]);
    sy_tcp_transcript_keys(&other.acceptor, &acceptor, made[2]);
    sy_tcp_transcript_keys(&one.acceptor, &outsider, made[3]);
    ck_assert_mem_eq(made[0], made[1], 32);
    ck_assert_mem_ne(made[0], made[0] + 16, 16);
    for (int i = 2; i < 4; i++)
        for (int half = 0; half < 4; half++)
            ck_assert_mem_ne(made[0] + half % 2 * 16, made[i] + half / 2 * 16, 16);
}
END_TEST

/* The vectors published with SipHash, for messages of 0, 8, 16 and 24 bytes. */
/* RFC 4231, case 2: a shorter key is one with zeros behind it. */
START_TEST(authenticator)
{
    static const unsigned char jefe[SY_AUTH_KEY] = "Jefe";
    static const unsigned char right[SY_AUTH_MAC] = {
        0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24,
        0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27,
        0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
    const struct sy_auth_part part[2] = {{"what do ya want ", 16}, {"for nothing?", 12}};
    unsigned char mac[SY_AUTH_MAC];

    sy_auth_mac(jefe, part, 2, mac);
    ck_assert_mem_eq(mac, right, sizeof right);
    ck_assert(sy_auth_valid(jefe, part, 2, right));
    ck_assert(!sy_auth_valid(jefe, part, 1, right));
}
END_TEST

START_TEST(siphash)
{
    static const uint64_t expected[] = {0x726fdb47dd0e0e31, 0x93f5f5799a932462, 0x3f2acc7f57c29bdb,
                                        0xb8ad50c6f649af94};
    unsigned char bytes[24];
    uint64_t secret[2], words[3];

    for (unsigned char i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    memcpy(secret, bytes, sizeof secret);
    memcpy(words, bytes, sizeof words);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(sy_siphash(secret, words, i), expected[i]);
}
END_TEST

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* A HELLO of version 5 whose authenticator another program made. */
START_TEST(known_answer)
{
    unsigned char counted[SY_AUTH_KEY];
    const struct tcp_self self = {counted, 5, 8, NULL};
    struct tcp_transcript t = {0};
    struct tcp_handshake hello = {.magic = TCP_MAGIC,
                                  .version = 5,
                                  .kind = TCP_HELLO,
                                  .order = TCP_ORDER_LITTLE,
                                  .from = 3,
                                  .to = 5,
                                  .stream = 2,
                                  .reason = 1,
                                  .serial = 0x0123456789abcdef,
                                  .mac = {0xaf, 0xbd, 0x36, 0x9e, 0x7e, 0x55, 0xf6, 0x6c,
                                          0xf5, 0xc4, 0x82, 0xeb, 0xf8, 0x83, 0x47, 0xa8,
                                          0xc8, 0xdf, 0xbb, 0x43, 0xad, 0x61, 0x33, 0x1b,
                                          0xa3, 0x4a, 0x82, 0xab, 0x99, 0xc6, 0xa4, 0x8e}};

    for (unsigned char i = 0; i < sizeof counted; i++)
        counted[i] = i;
    memcpy(hello.nonce, counted, sizeof hello.nonce);
    ck_assert_int_eq(sy_tcp_hear(&t, &self, &hello), TCP_GOOD);
    t.count = 0;
    hello.serial++;
    ck_assert_int_eq(sy_tcp_hear(&t, &self, &hello), TCP_FORGED);
}
END_TEST
#endif

START_TEST(plausible)
{
    static const char good[] = "SWYDTCP\0and more";

    for (size_t length = 0; length < sizeof good; length++)
        ck_assert(sy_tcp_handshake_plausible(good, length));
    ck_assert(!sy_tcp_handshake_plausible("G", 1));
    ck_assert(!sy_tcp_handshake_plausible("SWYDTCX", 7));
    ck_assert(!sy_tcp_handshake_plausible("SWYDTCPx", 8));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake");
    TCase *cases = tcase_create("handshake");

    tcase_add_test(cases, goes_through);
    tcase_add_test(cases, refuses);
    tcase_add_loop_test(cases, changed_bit, 0, 4);
    tcase_add_loop_test(cases, out_of_turn, 0, 4);
    tcase_add_loop_test(cases, replayed, 0, 4);
    tcase_add_test(cases, replayed_to_the_end);
    tcase_add_test(cases, reflected);
    tcase_add_test(cases, wrong_key);
    tcase_add_test(cases, wrong_instance);
    tcase_add_test(cases, pe_numbers);
    tcase_add_loop_test(cases, other_answerer, 1, 4);
    tcase_add_test(cases, other_version);
    tcase_add_test(cases, unused_fields);
    tcase_add_test(cases, impossible_port);
    tcase_add_test(cases, keys);
    tcase_add_test(cases, authenticator);
    tcase_add_test(cases, siphash);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    tcase_add_test(cases, known_answer);
#endif
    tcase_add_test(cases, plausible);
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
