/* libFuzzer target: what PEs may send to a transport that only carries messages. An input is a row
 * of steps, taken by PE 0 of a job of four: an operation of its own towards some PE, so that
 * replies are due; a message that comes, in parts as they please; a poll; or messages have no room
 * for a while. The engine is the real one, over a transport that takes every message and forgets
 * it.
 *
 * What must hold: nothing is touched outside of the windows (AddressSanitizer), a reply changes
 * only what has been asked of its PE, what is owed has its bound, and who breaks the rules is told
 * of. */
#include <errno.h>
#include <stdlib.h>

#include "engine/message.h"
#include "tests/fuzz/input.h"
#include "tests/host.h"

enum { NPES = 4, WINDOWS = 3, RESULTS = 64, MESSAGE = 2048 };

static const size_t window_length[WINDOWS] = {64, 256, 4096};
static char *window_base[WINDOWS];
static uint64_t results[NPES][RESULTS];
static bool is_lost, is_full;

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* ---- the core ---- */

static struct sy_place place(int pe)
{
    return (struct sy_place){.node = pe, .host = "host"};
}

static int window(unsigned index, struct sy_region *out)
{
    if (index == HOST_DEVICE)
        return host_device_window(out);
    if (index >= WINDOWS)
        return -ENOENT;
    *out = (struct sy_region){.base = window_base[index], .length = window_length[index], .fd = -1};
    return 0;
}

static void *memory(int pe, unsigned index, uint64_t offset, size_t length)
{
    if (pe || index >= WINDOWS || offset > window_length[index] ||
        length > window_length[index] - offset)
        return NULL;
    return window_base[index] + offset;
}

static void lost(int pe, int code, const char *why)
{
    require(pe > 0 && pe < NPES && code == EPROTO && why);
    is_lost = true;
}

/* Where messages have room nobody waits for long. */
static void rest(uint64_t *since)
{
    require(++*since < 10 || is_full);
}

static const struct sy_host host = {.size = sizeof host,
                                    .npes = NPES,
                                    .fail = host_fail,
                                    .place = place,
                                    .window = window,
                                    .memory = memory,
                                    .amo = host_amo,
                                    .device_copy = host_device_copy,
                                    .device_amo = host_device_amo,
                                    .lost = lost,
                                    .rest = rest,
                                    .soon = host_no_soon};

/* ---- the transport ---- */

static struct sy_instance instance;
static int itself;

static int carrier_open(const struct sy_host *core, const struct sy_instance *given, void **self,
                        struct sy_error *err)
{
    (void)core, (void)err;
    instance = *given;
    *self = &itself;
    return 0;
}

static void carrier_close(void *self)
{
    require(self == &itself);
}

static int carrier_connect(void *self, const void *addresses, size_t stride, double seconds,
                           struct sy_error *err)
{
    (void)self, (void)addresses, (void)stride, (void)seconds, (void)err;
    return 0;
}

static unsigned carrier_reach(void *self, int pe)
{
    (void)self, (void)pe;
    return SY_REACH_MESSAGE;
}

static int carrier_ctx_open(void *self, long options, struct sy_transport_ctx **ctx,
                            struct sy_error *err)
{
    (void)self, (void)options, (void)err;
    *ctx = NULL;
    return 0;
}

static void carrier_ctx_close(void *self, struct sy_transport_ctx *ctx)
{
    require(self == &itself && !ctx);
}

static int carrier_progress(void *self, unsigned flags)
{
    (void)self, (void)flags;
    return 0;
}

static int carrier_send(void *self, int pe, const void *bytes, size_t length)
{
    struct sy_message_head head;

    require(self == &itself && pe > 0 && pe < NPES && length >= sizeof head && length <= MESSAGE);
    memcpy(&head, bytes, sizeof head);
    require(head.length == length - sizeof head);
    return is_full ? -EAGAIN : 0;
}

static const struct sy_transport carrier = {.size = sizeof carrier,
                                            .open = carrier_open,
                                            .close = carrier_close,
                                            .connect = carrier_connect,
                                            .reach = carrier_reach,
                                            .ctx_open = carrier_ctx_open,
                                            .ctx_close = carrier_ctx_close,
                                            .progress = carrier_progress,
                                            .message_size = MESSAGE,
                                            .message_send = carrier_send};

/* ---- steps ---- */

static const struct sy_transport *table;
static struct sy_messages *messages;
static struct sy_transport_ctx *ctx;

static void ask(struct input *in)
{
    int pe = 1 + byte(in) % (NPES - 1);
    uint8_t kind = byte(in), which = byte(in) % RESULTS;
    struct sy_transfer t = {.pe = pe, .local = &results[pe][which], .length = 1 + kind / 32};
    struct sy_strided s = {
        .first = t, .block = 2, .blocks = 3, .remote_stride = 4, .local_stride = 2};
    struct sy_amo a = {.pe = pe, .op = kind / 32, .width = 8, .result = &results[pe][which]};

    s.first.local = &results[pe][which < RESULTS - 1 ? which : 0];
    switch (kind % 5) {
    case 0:
        table->get(messages, ctx, &t, 0);
        break;
    case 1:
        table->amo(messages, ctx, &a, 0);
        break;
    case 2:
        table->get_strided(messages, ctx, &s, 0);
        break;
    case 3:
        table->put(messages, ctx, &t, SY_BLOCKING);
        break;
    default:
        table->quiet(messages, ctx, SY_ALL_PES);
    }
}

/* Bytes of a message come in a block of exactly their number. */
static void come(struct input *in)
{
    static uint64_t before[NPES][RESULTS];
    int pe = 1 + byte(in) % (NPES - 1);
    const struct sy_tx *tx = &sy_message_peer(messages, pe)->engine.tx;
    uint8_t how = byte(in);
    struct sy_message_head head = {.channel = byte(in), .flags = byte(in)};
    uint16_t length;

    take(in, &length, sizeof length);
    length = length > in->left ? (uint16_t)in->left : length;
    size_t size = sizeof head + length;
    char *message = malloc(size);
    require(message);
    take(in, message + sizeof head, length);
    head.length = how & 1 ? how : length;
    head.applied = how & 2 ? how : how & 4 ? sy_tx_tail(tx) : sy_tx_applied(tx);
    memcpy(message, &head, sizeof head);
    memcpy(before, results, sizeof results);
    instance.received(instance.receiver, pe, message, how & 8 ? size / 2 : size);
    for (int other = 0; other < NPES; other++)
        require(other == pe || !memcmp(before[other], results[other], sizeof results[other]));
    free(message);
}

static void run(struct input *in)
{
    while (in->left && !is_lost) {
        switch (byte(in) % 6) {
        case 0:
            ask(in);
            break;
        case 1:
            table->progress(messages, 0);
            break;
        case 2:
            is_full = !is_full;
            break;
        default:
            come(in);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sy_instance plain = {.size = sizeof plain, .name = "carrier"};
    struct input in = {data, size};
    struct sy_error err;
    void *self;

    table = &carrier;
    is_lost = is_full = false;
    memset(results, 0, sizeof results);
    for (int w = 0; w < WINDOWS; w++)
        require((window_base[w] = calloc(1, window_length[w])) != NULL);
    require(!sy_message_open(&table, &host, &plain, &self, &err));
    messages = self;
    require(!table->ctx_open(messages, 0, &ctx, &err));
    require(!table->connect(messages, NULL, 0, 1, &err));
    run(&in);
    is_full = false;
    table->ctx_close(messages, ctx);
    table->close(messages);
    for (int w = 0; w < WINDOWS; w++)
        free(window_base[w]);
    return 0;
}
