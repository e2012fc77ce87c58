/* libFuzzer target: what PEs and strangers may send over libfabric. An input is a row of steps,
 * taken by PE 0 of a job of four: an operation of its own towards some PE, so that replies are
 * due; a message that comes, with a right authenticator or not; a poll. Or it is the addresses of
 * all PEs. The transport is the real one, over an endpoint that takes every message and forgets it.
 *
 * What must hold: nothing is touched outside of the windows (AddressSanitizer), a message without a
 * right authenticator changes nothing, and a reply changes only what has been asked of its PE. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/input.h"
#include "tests/host.h"
#include "transports/ofi/ofi.h"
#include "util/file.h"

enum { NPES = 4, WINDOWS = 3, RESULTS = 64, STRIDE = 128 };

static const size_t window_length[WINDOWS] = {64, 256, 4096};
static char *window_base[WINDOWS];
static const unsigned char key[32] = "a job's key";
static bool is_lost;

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

static void *memory(int pe, unsigned window, uint64_t offset, size_t length)
{
    if (pe || window >= WINDOWS || offset > window_length[window] ||
        length > window_length[window] - offset)
        return NULL;
    return window_base[window] + offset;
}

static int window(unsigned index, struct sy_region *out)
{
    if (index == HOST_DEVICE)
        return host_device_window(out);
    if (index >= WINDOWS)
        return -ENOENT;
    *out = (struct sy_region){.base = window_base[index], .length = window_length[index]};
    return 0;
}

static void lost(int pe, int code, const char *why)
{
    (void)code, (void)why;
    require(pe >= 0 && pe < NPES);
    is_lost = true;
}

static const struct sy_host host = {.size = sizeof host,
                                    .npes = NPES,
                                    .job_key = key,
                                    .log = host_no_log,
                                    .fail = host_fail,
                                    .place = place,
                                    .memory = memory,
                                    .window = window,
                                    .amo = host_amo,
                                    .device_copy = host_device_copy,
                                    .device_amo = host_device_amo,
                                    .lost = lost,
                                    .soon = host_no_soon,
                                    .unattended = true};

/* ---- the provider ---- */

static struct ofi_state ofi;               /* of the transport that is tested */
static const struct ofi_settings settings; /* no first contact */
static void *sent[OFI_REQUESTS + OFI_REPLIES];
static unsigned sent_count;
static fi_addr_t inserted;

static ssize_t take_message(struct fid_ep *ep, const struct fi_msg *message, uint64_t flags)
{
    const struct ofi_header *header = message->msg_iov->iov_base;

    (void)ep, (void)flags;
    require(message->iov_count == 1 && message->msg_iov->iov_len == header->length &&
            header->length <= OFI_MESSAGE && !header->source && message->addr < NPES &&
            header->mac == sy_ofi_header_mac(&ofi.peer[message->addr], header));
    if (sent_count == sizeof sent / sizeof sent[0])
        return -FI_EAGAIN;
    sent[sent_count++] = message->context;
    return 0;
}

static ssize_t take_buffer(struct fid_ep *ep, void *buffer, size_t length, void *descriptor,
                           fi_addr_t from, void *context)
{
    (void)ep, (void)buffer, (void)length, (void)descriptor, (void)from, (void)context;
    return 0;
}

static ssize_t tell_sent(struct fid_cq *cq, void *buffer, size_t room)
{
    struct fi_cq_msg_entry *entry = buffer;
    size_t count = 0;

    (void)cq;
    while (sent_count && count < room)
        entry[count++] = (struct fi_cq_msg_entry){.op_context = sent[--sent_count]};
    return count ? (ssize_t)count : -FI_EAGAIN;
}

static int name(fid_t fid, void *address, size_t *length)
{
    (void)fid;
    *length = 16;
    memset(address, 0, *length);
    return 0;
}

static int insert(struct fid_av *av, const void *address, size_t count, fi_addr_t *to,
                  uint64_t flags, void *context)
{
    (void)av, (void)address, (void)flags, (void)context;
    *to = inserted++;
    return (int)count;
}

static const char *words(int code)
{
    (void)code;
    return "words";
}

static struct fi_ops_msg messages = {
    .size = sizeof messages, .sendmsg = take_message, .recv = take_buffer};
static struct fi_ops_cm names = {.size = sizeof names, .getname = name};
static struct fi_ops_cq completions = {.size = sizeof completions, .read = tell_sent};
static struct fi_ops_av addresses = {.size = sizeof addresses, .insert = insert};
static struct fid_ep fid = {.msg = &messages, .cm = &names};
static struct fid_cq queue = {.ops = &completions};
static struct fid_av vector = {.ops = &addresses};
static struct fi_fabric_attr fabric = {.prov_name = (char *)"fuzz", .name = (char *)"fuzz"};
static struct fi_domain_attr domain = {.mr_key_size = 8};
static struct fi_tx_attr tx;
static struct fi_info info = {.fabric_attr = &fabric, .domain_attr = &domain, .tx_attr = &tx};

/* ---- the transport ---- */

extern const struct sy_transport shmem_transport_2;

static struct sy_transport_ctx *ctx;
static uint64_t results[NPES][RESULTS]; /* where those of each PE go */

/* A new one for each input would take most of the time. */
static void give_back_all(struct ofi_pool *pool)
{
    pool->taken = 0;
    pool->free = NULL;
    for (unsigned i = pool->count; i--;) {
        pool->all[i].next = pool->free;
        pool->free = &pool->all[i];
    }
}

static void begin_pools(void)
{
    static struct ofi_pool requests, replies, receives;
    struct sy_error err;

    if (!requests.all) {
        require(!sy_ofi_pools_open(&ofi, &err));
        requests = ofi.requests;
        replies = ofi.replies;
        receives = ofi.receives;
    }
    give_back_all(&requests);
    give_back_all(&replies);
    give_back_all(&receives);
    ofi.requests = requests;
    ofi.replies = replies;
    ofi.receives = receives;
}

static void begin(void)
{
    struct sy_error err;

    for (int w = 0; w < WINDOWS; w++) {
        window_base[w] = calloc(window_length[w], 1);
        require(window_base[w]);
    }
    sy_ofi_reset(&ofi, &host);
    sy_ofi_library.strerror = words;
    ofi.settings = &settings;
    ofi.name = "ofi";
    ofi.info = &info;
    ofi.av = &vector;
    ofi.endpoint[0].ep = &fid;
    ofi.endpoint[0].cq = &queue;
    ofi.traits = (struct ofi_traits){.window = 32, .at_once = 4, .small = SIZE_MAX};
    require(!sy_ofi_keys_open(&ofi, &err));
    begin_pools();
    sent_count = 0;
    inserted = 0;
    is_lost = false;
    memset(results, 0, sizeof results);
}

static void end(void)
{
    if (ctx)
        shmem_transport_2.ctx_close(&ofi, ctx);
    ctx = NULL;
    sy_file_close(&ofi.wakeup.fd);
    sy_ofi_serve_close(&ofi);
    sy_ofi_disconnect(&ofi);
    for (int w = 0; w < WINDOWS; w++)
        free(window_base[w]);
}

/* All PEs have this one's address. */
static void meet(void)
{
    static char all[NPES][STRIDE];
    struct sy_error err;

    memset(all, 0, sizeof all);
    require(sy_ofi_address(&ofi, all[0], STRIDE));
    for (int pe = 1; pe < NPES; pe++)
        memcpy(all[pe], all[0], STRIDE);
    require(!sy_ofi_connect(&ofi, all, STRIDE, 1, &err));
    for (unsigned w = 0; w < WINDOWS; w++)
        require(!sy_ofi_region_connect(&ofi, w, NULL, 0, &err));
    for (int pe = 0; pe < NPES; pe++)
        require(ofi.peer[pe].known);
    require(!shmem_transport_2.ctx_open(&ofi, 0, &ctx, &err));
}

/* ---- steps ---- */

static void ask(struct input *in)
{
    uint8_t kind = byte(in), pe = byte(in) % NPES, which = byte(in) % RESULTS;
    struct sy_transfer t = {.pe = pe, .window = 1, .local = &results[pe][which], .length = 8};
    struct sy_amo a = {.pe = pe, .window = 1, .op = kind >> 4 & 7, .width = kind & 8 ? 8 : 4};

    switch (kind & 3) {
    case 0:
        t.length = kind & 4 ? 8 : 3;
        shmem_transport_2.get(&ofi, ctx, &t, 0);
        break;
    case 1:
        a.result = &results[pe][which];
        shmem_transport_2.amo(&ofi, ctx, &a, 0);
        break;
    case 2:
        shmem_transport_2.put(&ofi, ctx, &t, SY_BLOCKING);
        break;
    default:
        shmem_transport_2.quiet(&ofi, ctx, SY_ALL_PES);
    }
}

/* Bytes of a message come in a block of exactly their number. */
static void come(struct input *in)
{
    struct ofi_header header = {0};
    uint8_t how = byte(in);
    uint16_t length;
    static char before[WINDOWS][4096];
    static uint64_t asked[NPES][RESULTS];

    header.source = byte(in) % (NPES + (how >> 7));
    header.flags = byte(in) & 15;
    header.ack = byte(in);
    take(in, &length, sizeof length);
    length %= OFI_MESSAGE - sizeof header + 1;
    length = length > in->left ? (uint16_t)in->left : length;
    size_t size = sizeof header + length;
    char *message = malloc(size);
    require(message);
    take(in, message + sizeof header, length);
    header.length = how & 1 ? (uint16_t)size : (uint16_t)(how << 8 | header.ack);
    bool there = header.source < NPES, sealed = there && !(how & 2);
    struct ofi_peer *peer = there ? &ofi.peer[header.source] : NULL;
    header.sequence = there && !(how & 4)
                          ? (header.flags & OFI_REQUEST ? peer->received : peer->heard) + 1
                          : header.ack;
    header.ack = there && !(how & 8) ? (uint32_t)peer->sent : header.ack;
    header.mac = sealed ? sy_ofi_header_mac(peer, &header) : 0x1234567890abcdefu;
    memcpy(message, &header, sizeof header);
    for (int w = 0; w < WINDOWS; w++)
        memcpy(before[w], window_base[w], window_length[w]);
    memcpy(asked, results, sizeof results);
    sy_ofi_serve(&ofi, (struct ofi_header *)(void *)message, how & 16 ? size / 2 : size);
    for (int w = 0; w < WINDOWS; w++)
        require((sealed && header.flags & OFI_REQUEST) ||
                !memcmp(before[w], window_base[w], window_length[w]));
    for (uint32_t pe = 0; pe < NPES; pe++)
        require((sealed && pe == header.source) ||
                !memcmp(asked[pe], results[pe], sizeof results[pe]));
    free(message);
}

static void check(void)
{
    unsigned deferred = 0;

    for (const struct ofi_deferred *d = ofi.deferred; d; d = d->next)
        deferred++;
    require(deferred <= NPES * ofi.traits.window);
    require(ofi.requests.taken <= OFI_REQUESTS && ofi.replies.taken <= OFI_REPLIES);
}

static void run(struct input *in)
{
    meet();
    while (in->left && !is_lost) {
        switch (byte(in) % 4) {
        case 0:
            ask(in);
            break;
        case 1:
            sy_ofi_lock(&ofi.endpoint[0]);
            sy_ofi_poll(&ofi);
            sy_ofi_unlock(&ofi.endpoint[0]);
            break;
        default:
            sy_ofi_lock(&ofi.endpoint[0]);
            come(in);
            sy_ofi_unlock(&ofi.endpoint[0]);
        }
        check();
    }
}

static void read_addresses(struct input *in)
{
    static char all[NPES][STRIDE];
    struct sy_error err;

    ofi.traits.virt_addr = byte(in) & 1;
    require(sy_ofi_address(&ofi, all[0], STRIDE));
    for (int pe = 1; pe < NPES; pe++)
        memcpy(all[pe], all[0], STRIDE);
    size_t skip = byte(in) % STRIDE;
    for (int pe = 0; pe < NPES; pe++)
        take(in, all[pe] + skip, STRIDE - skip);
    sy_ofi_connect(&ofi, all, STRIDE, 1, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};

    begin();
    if (byte(&in) == 1)
        read_addresses(&in);
    else
        run(&in);
    end();
    return 0;
}
