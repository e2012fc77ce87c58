/* What records do to memory. Every record comes from another process, so all that it says is
 * checked: apply_find_memory is the only way to an address. Under the poll lock.
 *
 * Elements of 1, 2, 4 and 8 bytes are stored whole and with release order, so a thread that waits
 * for one sees all that came before it on the lane. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/tcp/tcp.h"

int sy_tcp_apply_open(struct tcp *tcp, struct sy_error *err)
{
    unsigned size = 0;
    int node = tcp->host->place(tcp->host->pe).node;

    for (int pe = 0; pe < tcp->host->npes; pe++)
        size += tcp->host->place(pe).node == node;
    tcp->memory.span = calloc(size + 1, sizeof *tcp->memory.span);
    tcp->memory.targets = size;
    pthread_mutex_init(&tcp->memory.filling, NULL);
    return tcp->memory.span
               ? 0
               : tcp->host->fail(err, ENOMEM, "no memory for %u PEs of this node", size);
}

/* Whether all of the PE's memory is mapped here. */
static bool apply_fill_spans(struct tcp *tcp, struct tcp_span *span, int pe)
{
    struct sy_window window;
    bool all = true;

    for (unsigned w = 0; w < TCP_WINDOWS && !tcp->host->window(w, &window); w++) {
        span[w].base = tcp->host->memory(pe, w, 0, window.length);
        span[w].length = span[w].base ? window.length : 0;
        all = all && (span[w].base || !window.length);
    }
    return all;
}

/* A thread that sends its lane's first frame and one that receives may both be the first. */
static void apply_fill(struct tcp *tcp)
{
    struct tcp_memory *memory = &tcp->memory;
    int node = tcp->host->place(tcp->host->pe).node;
    bool all = true;

    pthread_mutex_lock(&memory->filling);
    for (int pe = 0; pe < tcp->host->npes && !atomic_load(&memory->filled); pe++) {
        struct sy_place place = tcp->host->place(pe);
        if (place.node == node)
            all = apply_fill_spans(tcp, memory->span[place.local], pe) && all;
    }
    if (!atomic_load(&memory->filled))
        memory->serves_node = apply_fill_spans(tcp, memory->span[memory->targets], tcp->host->pe) &&
                              all;
    atomic_store_explicit(&memory->filled, true, memory_order_release);
    pthread_mutex_unlock(&memory->filling);
}

SY_INLINE void apply_ensure_filled(struct tcp *tcp)
{
    if (SY_UNLIKELY(!atomic_load_explicit(&tcp->memory.filled, memory_order_acquire)))
        apply_fill(tcp);
}

bool sy_tcp_apply_serves_node(struct tcp *tcp)
{
    apply_ensure_filled(tcp);
    return tcp->memory.serves_node;
}

/* The address of bytes of a PE of this node, or NULL. target: its index, or TCP_TARGET_SELF. */
SY_INLINE char *apply_find_memory(const struct tcp_memory *memory, unsigned target, unsigned window,
                                  uint64_t offset, size_t length)
{
    unsigned index = target == TCP_TARGET_SELF ? memory->targets : target;

    if (SY_UNLIKELY(index > memory->targets || window >= TCP_WINDOWS))
        return NULL;
    const struct tcp_span *span = &memory->span[index][window];
    if (SY_UNLIKELY(offset > span->length || length > span->length - offset))
        return NULL;
    return span->base ? span->base + offset : NULL;
}

/* ---- small helpers ---- */

static uint64_t apply_word(const char *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof value);
    return value;
}

static size_t apply_padded(size_t length)
{
    return (length + 7) & ~(size_t)7;
}

#define STORE_WHOLE(TYPE)                                                                          \
    do {                                                                                           \
        TYPE value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        if ((uintptr_t)to % sizeof value)                                                          \
            memcpy(to, &value, sizeof value);                                                      \
        else                                                                                       \
            __atomic_store_n((TYPE *)(void *)to, value, __ATOMIC_RELEASE);                         \
    } while (0)

/* One element of 1 << code bytes. */
SY_ORDERED_ELSEWHERE static inline void apply_store_element(char *to, const char *from,
                                                            unsigned code)
{
    switch (code) {
    case 0:
        STORE_WHOLE(uint8_t);
        break;
    case 1:
        STORE_WHOLE(uint16_t);
        break;
    case 2:
        STORE_WHOLE(uint32_t);
        break;
    default:
        STORE_WHOLE(uint64_t);
    }
}

#define STORE_NEXT(TYPE)                                                                           \
    do {                                                                                           \
        STORE_WHOLE(TYPE);                                                                         \
        to += sizeof(TYPE);                                                                        \
        from += sizeof(TYPE);                                                                      \
        length -= sizeof(TYPE);                                                                    \
    } while (0)

/* Bytes that may be several elements, in the largest pieces that are aligned, so that none is torn,
 * and in ascending order: a run may have data and the flag that was put after them. */
SY_ORDERED_ELSEWHERE static void apply_store_bytes(char *to, const char *from, size_t length)
{
    if (length > TCP_LONG) {
        memcpy(to, from, length);
        return;
    }
    if ((uintptr_t)to & 1 && length >= 1)
        STORE_NEXT(uint8_t);
    if ((uintptr_t)to & 2 && length >= 2)
        STORE_NEXT(uint16_t);
    if ((uintptr_t)to & 4 && length >= 4)
        STORE_NEXT(uint32_t);
    while (length >= 8)
        STORE_NEXT(uint64_t);
    if (length & 4)
        STORE_NEXT(uint32_t);
    if (length & 2)
        STORE_NEXT(uint16_t);
    if (length & 1)
        STORE_NEXT(uint8_t);
}

SY_ORDERED_ELSEWHERE static void apply_load_bytes(char *to, const char *from, size_t length)
{
    switch (length) {
    case 8:
        if ((uintptr_t)from % 8 == 0) {
            uint64_t value = __atomic_load_n((const uint64_t *)(const void *)from,
                                             __ATOMIC_ACQUIRE);
            memcpy(to, &value, 8);
            return;
        }
        break;
    case 4:
        if ((uintptr_t)from % 4 == 0) {
            uint32_t value = __atomic_load_n((const uint32_t *)(const void *)from,
                                             __ATOMIC_ACQUIRE);
            memcpy(to, &value, 4);
            return;
        }
        break;
    default:
        break;
    }
    memcpy(to, from, length);
}

/* ---- replies that this side gives ---- */

/* Room for a reply. The other side asks for no more than fits, so none is a breach of the rules. */
static char *apply_reply_room(struct tcp_lane *lane, size_t bytes, const char **why)
{
    char *room = sy_tcp_log_reserve(&lane->log[TCP_REPLIES], bytes);

    if (SY_UNLIKELY(!room))
        *why = "it asks for more replies at a time than agreed";
    return room;
}

/* Bytes of memory here: short ones are copied; long ones are sent from where they are. */
static void apply_reply_bytes(struct tcp_lane *lane, const char *from, size_t length,
                              const char **why)
{
    struct tcp_log *log = &lane->log[TCP_REPLIES];

    if (length > TCP_LONG) {
        if (sy_tcp_log_has_piece(log))
            sy_tcp_log_commit_piece(log, 0, from, length, NULL);
        else
            *why = "it asks for more long replies at a time than agreed";
        return;
    }
    char *room = apply_reply_room(lane, apply_padded(length), why);
    if (!room)
        return;
    memset(room + apply_padded(length) - 8, 0, 8);
    apply_load_bytes(room, from, length);
    sy_tcp_log_commit(log, apply_padded(length));
}

/* ---- strided ---- */

/* The extent of blocks that begin `stride` apart: where the lowest byte lies relative to the first
 * block, and how many bytes there are. False: too far. */
static bool apply_extent(uint64_t block, uint64_t blocks, int64_t stride, int64_t *low,
                         uint64_t *length)
{
    int64_t reach;

    if (!block || !blocks || block * blocks > TCP_PACKED ||
        __builtin_mul_overflow(stride, (int64_t)(blocks - 1), &reach))
        return false;
    *low = reach < 0 ? reach : 0;
    *length = (reach < 0 ? -(uint64_t)reach : (uint64_t)reach) + block;
    return true;
}

struct strided {
    char *first;
    uint64_t block, blocks;
    int64_t stride;
};

/* Checks a strided record's words; the memory it names, or a reason. */
static bool apply_strided_memory(struct tcp *tcp, uint64_t header, const char *words,
                                 struct strided *s)
{
    int64_t low;
    uint64_t length, offset = sy_tcp_header_offset(header);

    s->block = apply_word(words) & 0xffffffff;
    s->blocks = apply_word(words) >> 32;
    s->stride = (int64_t)apply_word(words + 8);
    if (!apply_extent(s->block, s->blocks, s->stride, &low, &length) ||
        (low < 0 && -(uint64_t)low > offset))
        return false;
    char *base = apply_find_memory(&tcp->memory, sy_tcp_header_target(header),
                                   sy_tcp_header_window(header), offset + (uint64_t)low, length);
    s->first = base ? base - low : NULL;
    return base != NULL;
}

/* Copies blocks; elements whole. */
static void apply_move_blocks(char *to, ptrdiff_t to_stride, const char *from,
                              ptrdiff_t from_stride, size_t block, size_t blocks)
{
    bool element = block == 1 || block == 2 || block == 4 || block == 8;
    unsigned code = (unsigned)__builtin_ctzl(block);

    for (;;) {
        if (element)
            apply_store_element(to, from, code);
        else
            memcpy(to, from, block);
        if (!--blocks)
            break; /* there need be no address beyond the last block */
        to += to_stride;
        from += from_stride;
    }
}

/* ---- requests ---- */

static const char outside[] = "a request names memory that is not symmetric, or not mapped here";

static const char too_long[] = "a record is longer than agreed";

/* The size of a record of whose `have` bytes are there; 0: its words are not all there, or *why. */
static size_t apply_record_size(uint64_t header, const char *from, size_t have, const char **why)
{
    uint64_t length;

    switch (sy_tcp_header_op(header)) {
    case TCP_OP_GET:
        return 8;
    case TCP_OP_PUT_LONG:
        if (have < 16)
            return 0;
        length = apply_word(from + 8);
        if (length > TCP_CHUNK)
            *why = too_long;
        return *why ? 0 : 16 + apply_padded(length);
    case TCP_OP_PUT_STRIDED:
        if (have < 24)
            return 0;
        length = (apply_word(from + 8) & 0xffffffff) * (apply_word(from + 8) >> 32);
        if (length > TCP_PACKED)
            *why = too_long;
        return *why ? 0 : 24 + apply_padded(length);
    case TCP_OP_GET_STRIDED:
    case TCP_OP_AMO + SY_AMO_CSWAP:
    case TCP_OP_AMO_FETCH + SY_AMO_CSWAP:
        return 24;
    default:
        return 16;
    }
}

/* A put whose payload has come only in part: what is there is stored, the rest will be received in
 * place. */
static size_t apply_begin_payload(struct tcp_lane *lane, uint64_t header, const char *from,
                                  size_t have, size_t frame_left, const char **why)
{
    size_t length = (size_t)apply_word(from + 8);
    char *to = apply_find_memory(&lane->tcp->memory, sy_tcp_header_target(header),
                                 sy_tcp_header_window(header), sy_tcp_header_offset(header),
                                 length);

    if (!to || 16 + apply_padded(length) > frame_left) {
        *why = to ? "a record crosses the end of its frame" : outside;
        return 0;
    }
    size_t part = sy_tcp_receive_cut(to, have - 16, length);
    memcpy(to, from + 16, part);
    lane->in.payload = to + part;
    lane->in.payload_left = length - part;
    lane->in.payload_padding = apply_padded(length) - length;
    lane->in.payload_record = 16 + apply_padded(length);
    return 16 + part;
}

static void apply_put_long(struct tcp *tcp, uint64_t header, const char *from, const char **why)
{
    size_t length = (size_t)apply_word(from + 8);
    char *to = apply_find_memory(&tcp->memory, sy_tcp_header_target(header),
                                 sy_tcp_header_window(header), sy_tcp_header_offset(header),
                                 length);

    if (to)
        apply_store_bytes(to, from + 16, length);
    else
        *why = outside;
}

static void apply_get(struct tcp_lane *lane, uint64_t header, size_t length, const char **why)
{
    const char *from = apply_find_memory(&lane->tcp->memory, sy_tcp_header_target(header),
                                         sy_tcp_header_window(header), sy_tcp_header_offset(header),
                                         length);

    if (!from || !length || length > TCP_CHUNK)
        *why = outside;
    else
        apply_reply_bytes(lane, from, length, why);
}

static void apply_get_strided(struct tcp_lane *lane, uint64_t header, const char *from,
                              const char **why)
{
    struct strided s;

    if (!apply_strided_memory(lane->tcp, header, from + 8, &s)) {
        *why = outside;
        return;
    }
    size_t length = s.block * s.blocks;
    char *packed = length > TCP_LONG ? malloc(length)
                                     : apply_reply_room(lane, apply_padded(length), why);
    if (!packed) {
        if (!*why)
            *why = "there is no memory for a strided reply";
        return;
    }
    if (length > TCP_LONG && !sy_tcp_log_has_piece(&lane->log[TCP_REPLIES])) {
        *why = "it asks for more long replies at a time than agreed";
        free(packed);
        return;
    }
    if (length <= TCP_LONG)
        memset(packed + apply_padded(length) - 8, 0, 8);
    apply_move_blocks(packed, (ptrdiff_t)s.block, s.first, s.stride, s.block, s.blocks);
    if (length > TCP_LONG)
        sy_tcp_log_commit_piece(&lane->log[TCP_REPLIES], 0, packed, length, packed);
    else
        sy_tcp_log_commit(&lane->log[TCP_REPLIES], apply_padded(length));
}

static void apply_amo(struct tcp_lane *lane, uint64_t header, const char *from, const char **why)
{
    unsigned op = sy_tcp_header_op(header), code = sy_tcp_header_code(header);
    bool fetch = op >= TCP_OP_AMO_FETCH;
    enum sy_amo_op what = (enum sy_amo_op)(op & 7);
    size_t width = code == 2 ? 4 : 8;
    char *at = apply_find_memory(&lane->tcp->memory, sy_tcp_header_target(header),
                                 sy_tcp_header_window(header), sy_tcp_header_offset(header), width);
    uint64_t old;

    if (!at || code < 2 || code > 3 || (uintptr_t)at % width) {
        *why = outside;
        return;
    }
    uint64_t compare = what == SY_AMO_CSWAP ? apply_word(from + 16) : 0;
    char *room = fetch ? apply_reply_room(lane, 8, why) : NULL;
    if (fetch && !room)
        return;
    lane->tcp->host->amo(what, at, width, apply_word(from + 8), compare, fetch ? &old : NULL);
    if (fetch) {
        uint32_t narrow = (uint32_t)old;
        memset(room, 0, 8);
        memcpy(room, width == 4 ? (void *)&narrow : (void *)&old, width);
        sy_tcp_log_commit(&lane->log[TCP_REPLIES], 8);
    }
}

SY_ORDERED_ELSEWHERE int sy_tcp_apply_raise(struct tcp *tcp, uint64_t header, uint64_t value)
{
    apply_ensure_filled(tcp);
    char *at = apply_find_memory(&tcp->memory, sy_tcp_header_target(header),
                                 sy_tcp_header_window(header), sy_tcp_header_offset(header),
                                 sizeof value);

    if (!at || (uintptr_t)at % sizeof value || sy_tcp_header_code(header) != 3)
        return -1;
    uint64_t *word = (uint64_t *)(void *)at, before = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (before < value)
        if (__atomic_compare_exchange_n(word, &before, value, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return 1;
    return 0;
}

static void apply_raise_by_lane(struct tcp_lane *lane, uint64_t header, const char *from,
                                const char **why)
{
    int news = sy_tcp_apply_raise(lane->tcp, header, apply_word(from + 8));

    if (news < 0)
        *why = outside;
    else
        sy_tcp_herald_note(lane, news, sy_tcp_header_op(header) == TCP_OP_REPEAT);
}

/* AWAIT: true if the lane must stop behind this record. */
static bool apply_await(struct tcp_lane *lane, uint64_t header, const char *from, const char **why)
{
    unsigned number = sy_tcp_header_target(header);
    struct tcp_lane *other = sy_tcp_lane_find(lane->tcp, lane->pe, number);

    if (!other || other == lane) {
        *why = "it names a lane that cannot be";
        return false;
    }
    lane->in.awaits = other;
    lane->in.awaits_at = apply_word(from + 8);
    if (atomic_load_explicit(&other->got[TCP_REQUESTS], memory_order_relaxed) >= lane->in.awaits_at)
        lane->in.awaits = NULL;
    return lane->in.awaits != NULL;
}

/* Any record but a plain put; it is there as a whole. */
static void apply_one(struct tcp_lane *lane, uint64_t header, const char *from, const char **why)
{
    struct strided s;

    switch (sy_tcp_header_op(header)) {
    case TCP_OP_PUT_LONG:
        apply_put_long(lane->tcp, header, from, why);
        break;
    case TCP_OP_GET:
        apply_get(lane, header,
                  sy_tcp_header_code(header) > 3 ? 0 : (size_t)1 << sy_tcp_header_code(header),
                  why);
        break;
    case TCP_OP_GET_LONG:
        apply_get(lane, header, (size_t)apply_word(from + 8), why);
        break;
    case TCP_OP_PUT_STRIDED:
        if (apply_strided_memory(lane->tcp, header, from + 8, &s))
            apply_move_blocks(s.first, s.stride, from + 24, (ptrdiff_t)s.block, s.block, s.blocks);
        else
            *why = outside;
        break;
    case TCP_OP_GET_STRIDED:
        apply_get_strided(lane, header, from, why);
        break;
    case TCP_OP_RAISE:
    case TCP_OP_REPEAT:
        apply_raise_by_lane(lane, header, from, why);
        break;
    case TCP_OP_AMO ... TCP_OP_AMO_FETCH + SY_AMO_XOR:
        apply_amo(lane, header, from, why);
        break;
    default:
        *why = "a record is of no known kind";
    }
}

/* There is one writer, under the poll lock. */
static void apply_count(_Atomic uint64_t *word, uint64_t more, memory_order order)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more, order);
}

/* Each is released: who finds room for a reply by one of them asks for it in a frame that says too
 * that the replies before it have come. */
static void apply_answered(struct tcp_lane *lane, uint64_t replies, uint64_t bytes, uint64_t longs)
{
    apply_count(&lane->answered_bytes, bytes, memory_order_release);
    apply_count(&lane->answered_long, longs, memory_order_release);
    apply_count(&lane->answered, replies, memory_order_release);
}

void sy_tcp_apply_done(struct tcp_lane *lane, enum tcp_channel channel, uint64_t bytes)
{
    apply_count(&lane->got[channel], bytes, memory_order_release);
    if (channel == TCP_REPLIES)
        apply_answered(lane, 1, 0, 1);
}

size_t sy_tcp_apply_requests(struct tcp_lane *lane, const char *from, size_t length,
                             const char **why)
{
    const struct tcp_memory *memory = &lane->tcp->memory;
    size_t used = 0, done = 0; /* done: bytes of whole records */

    apply_ensure_filled(lane->tcp);
    while (length - used >= 8) {
        const char *at = from + used;
        uint64_t header = apply_word(at);
        size_t have = length - used, size;
        if (SY_LIKELY((header & 63) == TCP_OP_PUT && have >= 16)) {
            unsigned code = sy_tcp_header_code(header);
            char *to = code > 3
                           ? NULL
                           : apply_find_memory(memory, sy_tcp_header_target(header),
                                               sy_tcp_header_window(header),
                                               sy_tcp_header_offset(header), (size_t)1 << code);
            if (SY_UNLIKELY(!to)) {
                *why = outside;
                break;
            }
            apply_store_element(to, at + 8, code);
            used = done = used + 16;
            continue;
        }
        size = apply_record_size(header, at, have, why);
        if (!size || size > have) {
            if (size > TCP_LONG + 16 && sy_tcp_header_op(header) == TCP_OP_PUT_LONG)
                used += apply_begin_payload(lane, header, at, have, lane->in.frame_left - used,
                                            why);
            break;
        }
        if (sy_tcp_header_op(header) == TCP_OP_AWAIT) {
            bool stop = apply_await(lane, header, at, why);
            if (*why)
                break;
            used += size;
            if (stop)
                break; /* it counts as applied when it is over: receive.c, resume */
            done = used;
            continue;
        }
        apply_one(lane, header, at, why);
        if (SY_UNLIKELY(*why != NULL))
            break;
        used = done = used + size;
    }
    if (done)
        sy_tcp_apply_done(lane, TCP_REQUESTS, done);
    return used;
}

/* ---- replies that this side asked for ---- */

static void apply_give(const struct tcp_want *want, const char *from)
{
    if (want->kind == TCP_WANT_BYTES) {
        if (want->length == 8)
            memcpy(want->dest, from, 8);
        else
            memcpy(want->dest, from, want->length);
        return;
    }
    struct tcp_blocks *blocks = want->dest;
    apply_move_blocks(blocks->dest, blocks->stride, from, (ptrdiff_t)blocks->block, blocks->block,
                      blocks->blocks);
    free(blocks);
}

/* A long reply has come in part: the rest will be received in place. */
static size_t apply_begin_reply(struct tcp_lane *lane, const struct tcp_want *want,
                                const char *from, size_t have, size_t frame_left, const char **why)
{
    size_t length = want->length, part = have < length ? have : length;

    if (apply_padded(length) > frame_left) {
        *why = "a record crosses the end of its frame";
        return 0;
    }
    memcpy(want->dest, from, part);
    lane->in.payload = (char *)want->dest + part;
    lane->in.payload_left = length - part;
    lane->in.payload_padding = apply_padded(length) - length;
    lane->in.payload_record = apply_padded(length);
    return part;
}

size_t sy_tcp_apply_replies(struct tcp_lane *lane, const char *from, size_t length,
                            const char **why)
{
    uint64_t wanted = atomic_load_explicit(&lane->wanted, memory_order_acquire);
    uint64_t next = atomic_load_explicit(&lane->answered, memory_order_relaxed), first = next;
    size_t used = 0, done = 0;
    uint64_t bytes = 0, longs = 0;

    while (used < length) {
        if (next == wanted) {
            *why = "a reply comes that nobody asked for";
            break;
        }
        const struct tcp_want *want = sy_tcp_want_at(lane, next);
        size_t size = apply_padded(want->length);
        if (size > length - used) {
            if (size > TCP_LONG && want->kind == TCP_WANT_BYTES)
                used += apply_begin_reply(lane, want, from + used, length - used,
                                          lane->in.frame_left - used, why);
            break;
        }
        apply_give(want, from + used);
        used = done = used + size;
        bytes += want->length > TCP_LONG ? 0 : size;
        longs += want->length > TCP_LONG;
        next++;
    }
    if (done) {
        apply_count(&lane->got[TCP_REPLIES], done, memory_order_release);
        apply_answered(lane, next - first, bytes, longs);
    }
    return used;
}
