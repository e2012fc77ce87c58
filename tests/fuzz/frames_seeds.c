/* Writes seeds for frames_fuzz into a directory: every valid record once, in the ways in which it
 * can be cut into frames and pieces, and some with one error. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "switchyard/host.h"
#include "transports/tcp/wire.h"

enum { ROOM = 1 << 17, FRAMED = 2, REPLIES = 4, ACK = 8, PIECES_OF_8 = 3 << 4, WHOLE = 15 << 4 };

static char seed[ROOM];
static size_t length;
static const char *directory;
static int seeds;

static void add(const void *bytes, size_t count)
{
    if (length + count > sizeof seed)
        abort();
    memcpy(seed + length, bytes, count);
    length += count;
}

static void word(uint64_t value)
{
    add(&value, sizeof value);
}

static void payload(size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 8)
        word(i * 0x0101010101010101u);
}

/* A delivery that wraps what `body` adds. */
static void delivery(unsigned manner, void (*body)(void))
{
    size_t begin = length;

    word(0);
    length = begin + 4;
    body();
    size_t bytes = length - begin - 4;
    seed[begin] = (char)manner;
    seed[begin + 2] = (char)bytes;
    seed[begin + 3] = (char)(bytes >> 8);
}

static void write_seed(void)
{
    char name[4096];
    FILE *file;

    snprintf(name, sizeof name, "%s/seed%d", directory, seeds++);
    file = fopen(name, "wb");
    if (!file || fwrite(seed, 1, length, file) != length || fclose(file)) {
        perror(name);
        exit(1);
    }
    length = 0;
}

/* ---- records ---- */

static void puts_of_all_sizes(void)
{
    for (unsigned code = 0; code < 4; code++) {
        word(sy_record(SY_RECORD_PUT, code, 0, 0, 8 * code));
        word(0x1122334455667788u);
        word(sy_record(SY_RECORD_PUT, code, SY_RECORD_TARGET_SELF, 1, 32));
        word(1);
    }
}

static void long_put(void)
{
    word(sy_record(SY_RECORD_PUT_LONG, 0, 1, 0, 1000));
    word(100);
    payload(104);
}

static void longer_put(void)
{
    word(sy_record(SY_RECORD_PUT_LONG, 0, 0, 0, 17));
    word(9001);
    payload(9008);
}

static void gets_of_all_sizes(void)
{
    for (unsigned code = 0; code < 4; code++)
        word(sy_record(SY_RECORD_GET, code, 0, 0, 4096));
    word(sy_record(SY_RECORD_GET_LONG, 0, 0, 0, 3));
    word(1001);
    word(sy_record(SY_RECORD_GET_LONG, 0, 0, 0, 0));
    word(60000);
}

static void strided(void)
{
    word(sy_record(SY_RECORD_PUT_STRIDED, 0, 0, 0, 256));
    word(4 | UINT64_C(10) << 32);
    word(12);
    payload(40);
    word(sy_record(SY_RECORD_GET_STRIDED, 0, 1, 0, 8000));
    word(8 | UINT64_C(100) << 32);
    word((uint64_t)-16);
    word(sy_record(SY_RECORD_GET_STRIDED, 0, 1, 0, 8));
    word(100 | UINT64_C(100) << 32);
    word(400);
}

static void atomics(void)
{
    for (unsigned op = 0; op < 8; op++)
        for (unsigned code = 2; code < 4; code++) {
            word(sy_record(SY_RECORD_AMO + op, code, 0, 0, 64));
            word(op);
            if (op == SY_AMO_CSWAP)
                word(7);
            word(sy_record(SY_RECORD_AMO_FETCH + op, code, SY_RECORD_TARGET_SELF, 1, 8));
            word(op);
            if (op == SY_AMO_CSWAP)
                word(7);
        }
}

/* For the region of a device, which fuzz targets have beside the windows. */
static void of_a_device(void)
{
    const unsigned self = SY_RECORD_TARGET_SELF, device = 3;

    word(sy_record(SY_RECORD_PUT, 3, self, device, 8));
    word(5);
    word(sy_record(SY_RECORD_AMO_FETCH + SY_AMO_ADD, 3, self, device, 8));
    word(1);
    word(sy_record(SY_RECORD_GET_LONG, 0, self, device, 3));
    word(9001);
    word(sy_record(SY_RECORD_PUT_STRIDED, 0, self, device, 256));
    word(4 | UINT64_C(10) << 32);
    word(12);
    payload(40);
    word(sy_record(SY_RECORD_PUT_LONG, 0, self, device, 17));
    word(9001);
    payload(9008);
}

static void await_alone(void)
{
    word(sy_record(SY_RECORD_AWAIT, 0, 1, 0, 0));
    word(16);
}

static void await_other(void)
{
    await_alone();
    word(sy_record(SY_RECORD_PUT, 3, 0, 0, 0));
    word(1);
}

static void one_put(void)
{
    word(sy_record(SY_RECORD_PUT, 3, 0, 0, 0));
    word(2);
}

/* Replies to the gets of frames_fuzz: 8, 4, 100, 5003 and 200 bytes. */
static void replies(void)
{
    payload(8);
    payload(8);
    payload(104);
    payload(5008);
    payload(200);
}

static void last_bytes(void)
{
    word(sy_record(SY_RECORD_PUT, 3, 0, 0, 65536 - 8));
    word(3);
    word(sy_record(SY_RECORD_PUT, 3, 0, 0, 65536 - 7));
    word(3);
}

static void overflowing(void)
{
    word(sy_record(SY_RECORD_PUT_STRIDED, 0, 0, 0, 0));
    word(1 | UINT64_C(2) << 32);
    word(UINT64_C(1) << 63);
    word(0);
}

static void unknown(void)
{
    word(sy_record(15, 0, 0, 0, 0));
    word(0);
}

static void whole_frames(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        struct tcp_frame frame = {.length = i == 3 ? 0 : 16,
                                  .flags = i == 3 ? TCP_FRAME_BYE : i & 2};
        add(&frame, sizeof frame);
        if (i < 3)
            one_put();
    }
}

static void shifted_frames(void)
{
    static const char shift[TCP_SHIFT];

    for (int i = 0; i < 3; i++) {
        struct tcp_frame frame = {.length = 16, .flags = i == 1 ? 0 : TCP_FRAME_SHIFTED};
        add(&frame, sizeof frame);
        add(shift, i == 1 ? 0 : sizeof shift);
        one_put();
    }
}

static void wrong_frames(void)
{
    struct tcp_frame frame = {.length = 13}, ack = {.requests = 1 << 30},
                     huge = {.length = 1u << 31};

    add(&frame, sizeof frame);
    add(&ack, sizeof ack);
    add(&huge, sizeof huge);
}

static void acknowledgements(void)
{
    for (uint32_t i = 0; i < 40; i++) {
        struct tcp_frame frame = {.requests = i * 8, .flags = TCP_FRAME_ACK};
        add(&frame, sizeof frame);
    }
}

int main(int argc, char **argv)
{
    static void (*const bodies[])(void) = {
        puts_of_all_sizes, long_put,   longer_put,  gets_of_all_sizes, strided,    atomics,
        one_put,           last_bytes, overflowing, unknown,           of_a_device};

    if (argc != 2) {
        fprintf(stderr, "usage: frames_seeds DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        delivery(FRAMED | WHOLE, bodies[i]);
        write_seed();
        delivery(FRAMED | ACK | PIECES_OF_8, bodies[i]);
        delivery(FRAMED | WHOLE, bodies[(i + 1) % 7]);
        write_seed();
    }
    for (unsigned pieces = 0; pieces < 16; pieces += 3) {
        delivery(FRAMED | REPLIES | pieces << 4, replies);
        write_seed();
    }
    delivery(FRAMED | WHOLE, await_other);
    delivery(1 | FRAMED | WHOLE, one_put);
    write_seed();
    delivery(FRAMED | WHOLE, await_alone);
    delivery(1 | FRAMED | WHOLE, one_put);
    delivery(FRAMED | WHOLE, one_put);
    write_seed();
    delivery(WHOLE, whole_frames);
    write_seed();
    delivery(WHOLE, shifted_frames);
    delivery(PIECES_OF_8, shifted_frames);
    write_seed();
    delivery(PIECES_OF_8, wrong_frames);
    write_seed();
    delivery(WHOLE, acknowledgements);
    write_seed();
    return 0;
}
