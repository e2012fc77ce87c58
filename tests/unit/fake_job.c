#include "fake_job.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/amo.h"
#include "core/callsite.h"
#include "core/ctx.h"
#include "core/fatal.h"
#include "core/memory/staged.h"
#include "core/rma.h"
#include "core/start/config.h"
#include "core/start/world.h"
#include "core/wait/wait.h"
#include "coll/check.h"

enum { STACK = 1 << 18, TEAMS = 2, LINE = 128, DOMAINS = FAKE_PES };

char fake_what[200];
bool fake_long_line;
long fake_latencies;

/* ---- the core's state of one PE at a time ---- */

struct sy_world sy_world;
struct sy_config sy_config;
struct sy_windows sy_windows;
struct sy_hot sy_hot;
struct sy_team sy_team_world;
struct sy_ctx sy_ctx_control;
const char sy_wait_inside[] = "";
uint32_t sy_wait_looks = 1; /* every look that is in vain lets others go on */
_Atomic bool sy_wait_gathered;

static struct fake_pe {
    ucontext_t context;
    char *stack, *heap, *control;
    size_t used; /* of the heap */
    uint64_t own, common;
    struct sy_team team[TEAMS];
    int teams;
    bool live;
} pe_state[FAKE_PES];

static ucontext_t scheduler;
static uint64_t dice;
static const int *place;
static void (*body)(struct sy_group *world);
static char *peers[DOMAINS][2][FAKE_PES]; /* of each node, window and PE; NULL: not mapped */
static long idle;     /* turns since something has happened */
static uint64_t slow; /* how slow messages are */

static uint64_t fake_roll(uint64_t *state, uint64_t limit)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t x = *state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % limit;
}

uint64_t fake_own(uint64_t limit)
{
    return fake_roll(&pe_state[sy_world.pe].own, limit);
}

uint64_t fake_common(uint64_t limit)
{
    return fake_roll(&pe_state[sy_world.pe].common, limit);
}

void fake_same(long is, long wanted, const char *what, int line)
{
    if (is != wanted)
        ck_abort_msg("line %d: %s: PE %d: %s: %ld, wanted %ld", line, fake_what, sy_world.pe, what, is, wanted);
}

static void fake_switch(void)
{
    swapcontext(&pe_state[sy_world.pe].context, &scheduler);
}

void fake_yield(void)
{
    fake_switch();
    idle = 0;
}

void *fake_alloc(size_t bytes)
{
    struct fake_pe *pe = &pe_state[sy_world.pe];
    char *block = pe->heap + pe->used;

    pe->used += (bytes + LINE - 1) / LINE * LINE;
    ck_assert(pe->used <= FAKE_HEAP);
    return block;
}

/* ---- messages ---- */

struct message {
    struct message *next;
    int from, to;
    unsigned window;
    uint64_t offset, length, epoch, mark; /* mark: a signal's place in the control window, or -1 */
    shmem_ctx_t ctx;
    const void *source; /* NULL: the data follow */
    enum { PUT, ADD, SET, RAISE } kind, then;
    uint64_t value;
    char data[];
};

static struct message *messages;
static uint64_t epochs[FAKE_PES][2]; /* of each PE's two contexts: a fence begins another one */

static uint64_t *message_epoch(int pe, shmem_ctx_t ctx)
{
    return &epochs[pe][ctx != SHMEM_CTX_DEFAULT];
}

/* Without `copied` the bytes stay in the caller's memory until the message arrives. */
static struct message *message_add(shmem_ctx_t ctx, int to, unsigned window, uint64_t offset, const void *source,
                                   size_t length, bool copied)
{
    struct message *m = calloc(1, sizeof *m + (copied ? length : 0)), **last = &messages;

    while (*last)
        last = &(*last)->next;
    *last = m;
    m->from = sy_world.pe;
    m->to = to;
    m->ctx = ctx;
    m->window = window;
    m->offset = offset;
    m->length = length;
    m->epoch = *message_epoch(m->from, ctx);
    m->mark = UINT64_MAX;
    m->source = copied ? NULL : source;
    if (copied && length)
        memcpy(m->data, source, length);
    return m;
}

static char *message_memory(int pe, unsigned window)
{
    return window == SY_WINDOW_CONTROL ? pe_state[pe].control : pe_state[pe].heap;
}

static void message_word(const struct message *m, int kind, uint64_t offset)
{
    uint64_t *word = (uint64_t *)(message_memory(m->to, SY_WINDOW_CONTROL) + offset);

    if (m->window == SY_WINDOW_HEAP && m->kind != PUT)
        word = (uint64_t *)(message_memory(m->to, SY_WINDOW_HEAP) + offset);
    if (kind == ADD)
        *word += m->value;
    else if (kind == SET || *word < m->value)
        *word = m->value;
}

static bool message_may_arrive(const struct message *m)
{
    for (const struct message *other = messages; other && m->kind != RAISE; other = other->next)
        if (other->kind != RAISE && other->from == m->from && other->to == m->to && other->ctx == m->ctx &&
            other->epoch < m->epoch)
            return false;
    return true;
}

static void message_arrives(struct message **at)
{
    struct message *m = *at;

    if (m->kind == PUT) {
        if (m->length)
            memcpy(message_memory(m->to, m->window) + m->offset, m->source ? m->source : m->data, m->length);
        if (m->mark != UINT64_MAX)
            message_word(m, m->then, m->mark);
    } else {
        message_word(m, m->kind, m->offset);
    }
    *at = m->next;
    free(m);
    idle = 0;
}

/* A few of those that are under way. */
static void messages_move(void)
{
    for (struct message **at = &messages; *at;) {
        if (fake_roll(&dice, slow) == 0 && message_may_arrive(*at))
            message_arrives(at);
        else
            at = &(*at)->next;
    }
}

/* All that are under way, once nobody goes on without them. */
static void messages_pass_long_line(void)
{
    if (!messages || idle < 30L * sy_world.npes)
        return;
    while (messages)
        message_arrives(&messages);
    fake_latencies++;
}

static bool messages_are_left(shmem_ctx_t ctx, int to)
{
    for (const struct message *m = messages; m; m = m->next)
        if (m->kind != RAISE && m->from == sy_world.pe && m->ctx == ctx && (to == SY_ALL_PES || m->to == to))
            return true;
    return false;
}

/* Where a test sets it all arrays are as those of a device. */
_Atomic unsigned sy_staged_windows;

bool sy_staged_find(const void *address, unsigned *window, uint64_t *offset)
{
    (void)address, (void)window, (void)offset;
    return true;
}

void sy_fence_transports(shmem_ctx_t ctx)
{
    ++*message_epoch(sy_world.pe, ctx);
}

void sy_quiet_transports(shmem_ctx_t ctx, int pe)
{
    while (messages_are_left(ctx, pe))
        fake_switch();
}

/* ---- the core's calls ---- */

_Noreturn void sy_fatal(const char *fmt, ...)
{
    char text[300];
    va_list arguments;

    va_start(arguments, fmt);
    vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    ck_abort_msg("%s: PE %d ends the job: %s", fake_what, sy_world.pe, text);
    abort();
}

uint32_t sy_wait_rest(uint64_t *since, const char *where)
{
    (void)where;
    *since = 1;
    fake_switch();
    return 1;
}

void sy_wait_passed(void)
{
}

void sy_wait_rested(void)
{
    idle = 0;
}

void sy_wait_poll_sometimes(void)
{
    fake_yield();
}

const char *sy_callsite_routine(const char *otherwise)
{
    return otherwise;
}

void sy_coll_check(const struct sy_group *group, struct sy_coll_call call)
{
    (void)group, (void)call;
    sy_fatal("nobody has asked for checks");
}

void sy_coll_check_extent(enum sy_coll_routine routine, const void *address, size_t length)
{
    (void)routine, (void)address, (void)length;
}

int sy_ctx_pe_checked(shmem_ctx_t ctx, int pe)
{
    (void)ctx;
    sy_fatal("a context that is none, or PE %d", pe);
}

int sy_world_domain(int pe)
{
    return place[pe];
}

int sy_world_domains(void)
{
    return DOMAINS;
}

int sy_members_find(const struct sy_members *m, int pe)
{
    for (int i = 0; i < m->size; i++)
        if (m->start + i * m->stride == pe)
            return i;
    return -1;
}

int sy_windows_find(const void *address, unsigned *window, uint64_t *offset)
{
    uint64_t at = (uint64_t)((uintptr_t)address - (uintptr_t)pe_state[sy_world.pe].heap);

    *window = SY_WINDOW_HEAP;
    *offset = at;
    return at < FAKE_HEAP ? 0 : -1;
}

void *sy_windows_own(uint64_t window, uint64_t offset, size_t length)
{
    return window == SY_WINDOW_HEAP && offset <= FAKE_HEAP && length <= FAKE_HEAP - offset
               ? pe_state[sy_world.pe].heap + offset
               : NULL;
}

char *sy_windows_first_use(unsigned window, int pe)
{
    (void)window, (void)pe;
    sy_fatal("no window is mapped late");
}

void *sy_windows_memory(int pe, unsigned window, uint64_t offset, size_t length)
{
    char *base = sy_windows_peer(window, pe);

    (void)length;
    return base ? base + offset : NULL;
}

static uint64_t fake_offset(const void *address, size_t length)
{
    unsigned window;
    uint64_t offset;

    if (sy_windows_find(address, &window, &offset) || offset + length > FAKE_HEAP)
        sy_fatal("an address that is not symmetric");
    return offset;
}

struct sy_target sy_rma_target(const char *what, const void *address, size_t length, int pe)
{
    (void)what, (void)pe;
    return (struct sy_target){.window = SY_WINDOW_HEAP, .offset = fake_offset(address, length)};
}

void sy_put_far(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe, unsigned flags)
{
    message_add(ctx, pe, SY_WINDOW_HEAP, fake_offset(dest, length), source, length, flags & SY_BLOCKING);
}

void sy_put_elsewhere(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe, unsigned flags)
{
    sy_put_far(ctx, dest, source, length, pe, flags);
}

void sy_put_strided(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dest_stride, ptrdiff_t source_stride,
                    size_t block, size_t blocks, int pe, unsigned flags)
{
    for (size_t i = 0; i < blocks; i++)
        sy_put(ctx, (char *)dest + (ptrdiff_t)i * dest_stride, (const char *)source + (ptrdiff_t)i * source_stride, block,
               1, pe, flags);
}

/* An answer takes a while; the value that it brings is that of some moment in between. */
void sy_get_far(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe, unsigned flags)
{
    (void)ctx, (void)flags;
    fake_yield();
    memcpy(dest, pe_state[pe].heap + fake_offset(source, length), length);
    fake_yield();
}

void sy_get_elsewhere(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe, unsigned flags)
{
    sy_get_far(ctx, dest, source, length, pe, flags);
}

void sy_get_strided(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dest_stride, ptrdiff_t source_stride,
                    size_t block, size_t blocks, int pe, unsigned flags)
{
    for (size_t i = 0; i < blocks; i++)
        sy_get(ctx, (char *)dest + (ptrdiff_t)i * dest_stride, (const char *)source + (ptrdiff_t)i * source_stride, block,
               1, pe, flags);
}

static void fake_word_message(shmem_ctx_t ctx, int pe, unsigned window, uint64_t offset, int kind, uint64_t value)
{
    struct message *m = message_add(ctx, pe, window, offset, NULL, 0, true);

    m->kind = kind;
    m->value = value;
}

void sy_amo_update_far(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width, uint64_t operand, int pe)
{
    if (width != sizeof(uint64_t))
        sy_fatal("an atomic operation of %u bytes", width);
    fake_word_message(ctx, pe, SY_WINDOW_HEAP, fake_offset(address, width), op == SY_AMO_ADD ? ADD : SET, operand);
}

void sy_amo_update_elsewhere(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width, uint64_t operand,
                             int pe)
{
    sy_amo_update_far(ctx, op, address, width, operand, pe);
}

uint64_t sy_control_offset(const void *mine)
{
    return (uint64_t)((const char *)mine - pe_state[sy_world.pe].control);
}

void sy_control_update(int pe, enum sy_amo_op op, void *mine, uint64_t value)
{
    sy_fence_transports(&sy_ctx_control);
    fake_word_message(&sy_ctx_control, pe, SY_WINDOW_CONTROL, sy_control_offset(mine), op == SY_AMO_ADD ? ADD : SET,
                      value);
}

void sy_control_raise(int pe, void *mine, uint64_t value)
{
    fake_word_message(&sy_ctx_control, pe, SY_WINDOW_CONTROL, sy_control_offset(mine), RAISE, value);
}

/* Of some: both ways are taken. */
bool sy_control_keeps(int pe)
{
    return pe % 2 == 0;
}

void sy_control_get(int pe, void *dest, const void *mine, size_t length)
{
    uint64_t offset = sy_control_offset(mine);

    fake_yield();
    memcpy(dest, pe_state[pe].control + offset, length);
    fake_yield();
}

void sy_control_put(int pe, unsigned window, uint64_t offset, const void *source, size_t length, enum sy_amo_op op,
                    void *mine, uint64_t value, unsigned flags)
{
    message_add(&sy_ctx_control, pe, window, offset, source, length, flags & SY_BLOCKING);
    sy_control_update(pe, op, mine, value);
}

/* ---- jobs ---- */

struct sy_group fake_team(int start, int stride, int size)
{
    struct fake_pe *pe = &pe_state[sy_world.pe];
    struct sy_team *team = &pe->team[pe->teams];

    ck_assert(pe->teams < TEAMS);
    *team = (struct sy_team){.members = {.start = start, .stride = stride, .size = size}, .slot = (unsigned)pe->teams++};
    team->members.me = sy_members_find(&team->members, sy_world.pe);
    ck_assert(team->members.me >= 0 && sy_nodes_open(&team->nodes, &team->members, &team->own) == 0);
    return sy_group_of_team(team);
}

/* Makes PE pe's state the core's. */
static void fake_become(int pe)
{
    int node = place[pe];

    sy_world.pe = pe;
    sy_hot.heap.base = (uintptr_t)pe_state[pe].heap;
    sy_hot.heap.peer = peers[node][SY_WINDOW_HEAP];
    for (unsigned window = 0; window < 2; window++) {
        sy_windows.entry[window].own.base = message_memory(pe, window);
        sy_windows.entry[window].own.length = FAKE_HEAP;
        sy_windows.entry[window].peer = peers[node][window];
    }
}

static void fake_main(void)
{
    struct sy_group world = fake_team(0, 1, sy_world.npes);

    body(&world);
    pe_state[sy_world.pe].live = false;
    idle = 0;
    fake_switch();
}

static void fake_begin(uint64_t seed, int npes)
{
    dice = seed;
    slow = 2u << fake_roll(&dice, 6);
    sy_world = (struct sy_world){.npes = npes,
                                 .depth = 1,
                                 .thread_level = SHMEM_THREAD_MULTIPLE,
                                 .nodes_crowd = sy_world.nodes_crowd, /* the test's choice, and the next */
                                 .crowd_processors = sy_world.crowd_processors};
    sy_hot = (struct sy_hot){.npes = (unsigned)npes, .carries = true, .looks = SY_LOOKS_POLL_ALL};
    sy_hot.heap.length = FAKE_HEAP;
    sy_windows.count = 2;
    sy_ctx_control.members = (struct sy_members){.stride = 1, .size = npes};
    memset(peers, 0, sizeof peers);
    memset(epochs, 0, sizeof epochs);
    for (int i = 0; i < npes; i++) {
        struct fake_pe *pe = &pe_state[i];
        *pe = (struct fake_pe){.own = seed + 1000 + (uint64_t)i, .common = seed, .live = true};
        pe->stack = malloc(STACK);
        pe->heap = aligned_alloc(LINE, FAKE_HEAP); /* of which only what is used costs anything */
        pe->control = mmap(NULL, SY_CONTROL_SPACE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ck_assert_ptr_ne(pe->control, MAP_FAILED);
        for (int k = 0; k < npes; k++)
            if (place[k] == place[i]) {
                peers[place[k]][SY_WINDOW_HEAP][i] = pe->heap;
                peers[place[k]][SY_WINDOW_CONTROL][i] = pe->control;
            }
        getcontext(&pe->context);
        pe->context.uc_stack.ss_sp = pe->stack;
        pe->context.uc_stack.ss_size = STACK;
        pe->context.uc_link = NULL;
        makecontext(&pe->context, fake_main, 0);
    }
}

static void fake_end(int npes)
{
    while (messages)
        message_arrives(&messages);
    for (int i = 0; i < npes; i++) {
        for (int k = 0; k < pe_state[i].teams; k++)
            sy_nodes_free(&pe_state[i].team[k].nodes);
        free(pe_state[i].stack);
        free(pe_state[i].heap);
        munmap(pe_state[i].control, SY_CONTROL_SPACE);
    }
}

void fake_run(uint64_t seed, int npes, const int *nodes, void (*program)(struct sy_group *world))
{
    int live[FAKE_PES];

    place = nodes;
    body = program;
    fake_begin(seed, npes);
    for (idle = 0;; idle++) {
        int count = 0;
        for (int i = 0; i < npes; i++)
            if (pe_state[i].live)
                live[count++] = i;
        if (!count)
            break;
        if (idle > 1000L * npes && !messages)
            ck_abort_msg("%s: %d PEs wait for ever", fake_what, count);
        if (fake_long_line)
            messages_pass_long_line();
        else
            messages_move();
        int next = live[fake_roll(&dice, (uint64_t)count)];
        fake_become(next);
        swapcontext(&scheduler, &pe_state[next].context);
    }
    fake_end(npes);
}
