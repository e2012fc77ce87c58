/* Frames from a peer that has proved itself and then says anything at all: nothing outside of the
 * windows is touched, nothing is read that is not there, nothing hangs. The real receiving side,
 * with a host table of this file's, two streams on socket pairs, and replies that are awaited.
 *
 * The input is a list of deliveries. Each begins with 4 bytes: stream and manner (bit 0: which
 * stream; bit 1: wrap the bytes into a frame; bit 2: of replies; bit 3: that asks for an
 * acknowledgement; bits 4-7: send it in segments of 1 << n bytes), a byte that is not used, and the
 * number of bytes that follow. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/host.h"
#include "transports/tcp/tcp.h"

enum { NPES = 4, ME = 0, PEER = 2, LANES = 2, WINDOWS = 3 };

static const uint64_t window_length[WINDOWS] = {65536, 40, 0};
static char *window_base[2][WINDOWS]; /* of PE 0 and its neighbour 1, each a block of its own */

/* ---- the host ---- */

static int fail(struct sy_error *err, int code, const char *fmt, ...)
{
    (void)err;
    fprintf(stderr, "frames_fuzz: %s: %s\n", fmt, strerror(code));
    abort();
}

static struct sy_place place(int pe)
{
    return (struct sy_place){.node = pe / 2, .local = pe % 2, .host = "fuzz"};
}

static int window(unsigned index, struct sy_region *w)
{
    if (index == HOST_DEVICE)
        return host_device_window(w);
    if (index >= WINDOWS)
        return -ENOENT;
    *w = (struct sy_region){
        .base = window_base[0][index], .length = window_length[index], .fd = -1};
    return 0;
}

static void *memory(int pe, unsigned index, uint64_t offset, size_t length)
{
    if (pe < 0 || pe > 1 || index >= WINDOWS || offset > window_length[index] ||
        length > window_length[index] - offset)
        return NULL;
    return window_base[pe][index] + offset;
}

static const struct sy_host host = {
    .size = sizeof host,
    .pe = ME,
    .npes = NPES,
    .job_key = (const unsigned char *)"no key is needed for frames here",
    .log = host_no_log,
    .fail = fail,
    .place = place,
    .window = window,
    .memory = memory,
    .amo = host_amo,
    .device_copy = host_device_copy,
    .device_amo = host_device_amo,
    .lost = host_no_lost,
    .rest = host_no_rest,
    .soon = host_no_soon};

/* ---- the streams ---- */

extern const struct sy_transport shmem_transport_2;

static struct tcp *tcp;
static struct tcp_peer *streams[LANES];
static int peer[LANES]; /* the other ends */

static void start(void)
{
    static const char no_address[NPES * 128];
    struct sy_error err;

    static struct tcp_settings settings = {.interfaces = "lo",
                                           .port_range = "",
                                           .advertise = "",
                                           .endpoints = TCP_ENDPOINTS_DIRECT,
                                           .streams = 1,
                                           .stripe = 1 << 22,
                                           .buffer = 256 << 10,
                                           .flush_delay = 50,
                                           .connect_timeout = 1,
                                           .reconnect_timeout = 1000};
    for (int pe = 0; pe < 2; pe++)
        for (int w = 0; w < WINDOWS; w++)
            window_base[pe][w] = malloc(window_length[w]);
    struct sy_instance instance = {.size = sizeof instance, .name = "tcp", .settings = &settings};
    if (shmem_transport_2.open(&host, &instance, (void **)&tcp, &err) ||
        shmem_transport_2.connect(tcp, no_address, sizeof no_address / NPES, 1, &err))
        abort();
    sy_tcp_peers_close(tcp);
}

static void open_streams(void)
{
    static const struct tcp_positions nothing;
    static const unsigned char keys[32];
    struct sy_error err;

    if (sy_tcp_peers_open(tcp, &err))
        abort();
    for (int i = 0; i < LANES; i++) {
        int fds[2], small = 4096;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds))
            abort();
        setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        peer[i] = fds[1];
        streams[i] = sy_tcp_peer_find(tcp, PEER, (unsigned)i);
        sy_tcp_poll_lock(tcp);
        sy_tcp_stream_adopt(&streams[i]->stream, fds[0], &nothing, keys, false);
        sy_tcp_poll_unlock(tcp);
    }
}

static void close_streams(void)
{
    sy_tcp_poll_lock(tcp);
    sy_tcp_peers_close(tcp);
    sy_tcp_poll_unlock(tcp);
    for (int i = 0; i < LANES; i++)
        close(peer[i]);
}

/* Issues gets that await replies of every kind, and puts that await acknowledgements, some of them
 * long. */
static void ask(struct sy_transport_ctx *ctx, char *dest)
{
    static const char source[100000];
    struct sy_transfer t = {.pe = PEER, .local = dest};
    struct sy_strided s = {
        .first = t, .block = 4, .blocks = 50, .remote_stride = 8, .local_stride = 12};
    struct sy_amo a = {.pe = PEER, .op = SY_AMO_ADD, .width = 4, .result = dest + 8};

    t.length = 8;
    sy_engine_get(tcp, ctx, &t, 0);
    sy_engine_amo(tcp, ctx, &a, 0);
    t.length = 100;
    sy_engine_get(tcp, ctx, &t, 0);
    t.length = 5003;
    sy_engine_get(tcp, ctx, &t, 0);
    sy_engine_get_strided(tcp, ctx, &s, 0);
    t.local = (void *)source;
    sy_engine_put(tcp, ctx, &t, 0);
    t.length = sizeof source;
    sy_engine_put(tcp, ctx, &t, 0);
}

static void receive(bool read)
{
    static char nowhere[65536];

    sy_tcp_poll_lock(tcp);
    for (int i = 0; i < LANES; i++)
        sy_tcp_receive(&streams[i]->stream);
    sy_tcp_poll_unlock(tcp);
    for (int i = 0; read && i < LANES; i++)
        while (recv(peer[i], nowhere, sizeof nowhere, 0) > 0)
            ;
}

static void say(unsigned stream, const void *bytes, size_t length, size_t segment, bool read)
{
    for (size_t at = 0; at < length; at += segment) {
        size_t part = length - at < segment ? length - at : segment;
        if (send(peer[stream], (const char *)bytes + at, part, MSG_NOSIGNAL) < 0)
            return;
        receive(read);
    }
}

static size_t deliver(const uint8_t *data, size_t size)
{
    unsigned manner = data[0], stream = manner & 1;
    size_t length = (size_t)data[2] | (size_t)data[3] << 8, segment = (size_t)1 << (manner >> 4);

    bool read = !(data[1] & 1);

    data += 4;
    if (length > size - 4)
        length = size - 4;
    if (length / segment > 64) /* keeps a run short */
        segment = length / 64;
    if (manner & 2) {
        static const char padding[8];
        struct tcp_frame frame = {.length = (uint32_t)(length + 7) & ~7u,
                                  .flags = (manner & 4 ? TCP_FRAME_REPLIES : 0) |
                                           (manner & 8 ? TCP_FRAME_ACK : 0)};
        say(stream, &frame, sizeof frame, sizeof frame, read);
        say(stream, data, length, segment, read);
        say(stream, padding, frame.length - length, 8, read);
    } else {
        say(stream, data, length, segment, read);
    }
    return 4 + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool started;
    struct sy_transport_ctx *ctx;
    char *dest = malloc(5003);

    if (!started)
        start();
    started = true;
    open_streams();
    sy_engine_ctx_open(tcp, 0, &ctx, NULL);
    ask(ctx, dest);
    while (size >= 4) {
        size_t used = deliver(data, size);
        data += used;
        size -= used;
    }
    receive(true);
    close_streams();
    sy_engine_ctx_close(tcp, ctx);
    free(dest);
    return 0;
}
