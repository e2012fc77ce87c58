/* Large transfers among small ones, of several threads and contexts, between all PEs at once, in
 * the heap, in variables and in a space: what is put, over what was put before a fence, is what
 * comes back; and what a signal, or a word behind a fence, tells of is there.
 *
 *   large ROUNDS SEED [THREADS]     in each thread; 0 threads: the program's alone */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "dice.h"
#include "shmemx.h"

enum {
    MOST_PES = 16,
    MOST_THREADS = 4,
    KINDS = 3,
    AREA = 3 << 20,  /* bytes that a thread writes in each PE, of heap and space; */
    STATIC = 300000, /* of variables */
    OPS = 24,
    GETS = 200 /* of 32 KiB, which wait behind one large get */
};

static _Alignas(64) char variables[MOST_THREADS * 2][STATIC];
static uint64_t arrived[MOST_PES][MOST_THREADS], taken[MOST_THREADS];
static char *memory[KINDS];
static int me, npes, threads;
static long rounds;

static const size_t sizes[] = {
    1,     7,      64,      4096,          32768,         65528,   65535,  65536,  65537, 65545,
    99999, 131072, 1 << 20, (1 << 20) + 1, (1 << 20) - 1, 3 << 19, 200000, 100003, 8,     70000};

/* A thread's own. */
struct work {
    pthread_t thread;
    int number;
    shmem_ctx_t ctx;
    uint64_t random;
    long round;
    char *shadow; /* what its area of the PE has; */
    char *from;   /* what is put, not changed before a quiet */
    char *back;
    size_t used; /* of `from` */
};

static uint64_t draw(struct work *w, uint64_t limit)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (w->random >> 11) % limit;
}

static void expect(int holds, int line, const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    __atomic_fetch_add(&check_count, 1, __ATOMIC_RELAXED);
    if (holds)
        return;
    pthread_mutex_lock(&lock);
    check_fail(__FILE__, line, text);
    pthread_mutex_unlock(&lock);
}

#define EXPECT(CONDITION) expect(CONDITION, __LINE__, #CONDITION)

/* ---- where ---- */

static size_t area_length(int kind)
{
    return kind == 1 ? STATIC : AREA;
}

/* The area that a thread of PE `writer` has in every PE. Variables have room for two writers. */
static char *area(int kind, int writer, int thread)
{
    if (kind == 1)
        return variables[thread * 2 + writer % 2];
    return memory[kind] + ((size_t)writer * (size_t)threads + (size_t)thread) * AREA;
}

static int any_kind(struct work *w)
{
    int kind = (int)draw(w, KINDS);

    return (kind == 1 && npes > 2) || !memory[kind] ? 0 : kind;
}

static void fill(struct work *w, char *at, size_t length)
{
    uint64_t x = draw(w, UINT64_MAX);

    for (size_t i = 0; i < length; i++) {
        at[i] = (char)(x >> i % 57);
        x += i % 57 == 56 ? 0x9e3779b97f4a7c15u : 0;
    }
}

/* ---- one PE's area, over and over ---- */

static void quiet(struct work *w)
{
    shmem_ctx_quiet(w->ctx);
    w->used = 0;
}

/* Bytes to put, at the same place in the shadow. */
static char *source(struct work *w, size_t at, size_t length)
{
    if (w->used + length > AREA)
        quiet(w);
    char *from = w->from + w->used;
    w->used += length;
    fill(w, from, length);
    memcpy(w->shadow + at, from, length);
    return from;
}

static void put(struct work *w, char *to, size_t at, size_t length, int pe)
{
    char *from = source(w, at, length);

    switch (draw(w, 4)) {
    case 0:
        shmem_ctx_putmem(w->ctx, to + at, from, length, pe);
        memset(from, 0, length); /* a blocking put's source is the caller's again */
        break;
    case 1:
        shmem_ctx_putmem_signal(w->ctx, to + at, from, length, &taken[w->number], 0,
                                SHMEM_SIGNAL_ADD, pe);
        memset(from, 0, length);
        break;
    case 2:
        shmem_ctx_putmem_signal_nbi(w->ctx, to + at, from, length, &taken[w->number], 0,
                                    SHMEM_SIGNAL_ADD, pe);
        break;
    default:
        shmem_ctx_putmem_nbi(w->ctx, to + at, from, length, pe);
    }
}

/* Every other element of twice the length, of 8 bytes. */
static void put_strided(struct work *w, char *to, size_t length, int pe)
{
    size_t count = length / 16;
    uint64_t *from = (uint64_t *)(void *)w->back;

    fill(w, w->back, count * 8);
    for (size_t i = 0; i < count; i++)
        memcpy(w->shadow + i * 16, &from[i], 8);
    shmem_ctx_uint64_iput(w->ctx, (uint64_t *)(void *)to, from, 2, 1, count, pe);
}

static void look(struct work *w, const char *to, size_t length, int pe)
{
    size_t step = 1 + draw(w, 300000), at;

    memset(w->back, 0x55, length);
    if (draw(w, 2)) {
        shmem_ctx_getmem(w->ctx, w->back, to, length, pe);
    } else {
        for (at = 0; at < length; at += step)
            shmem_ctx_getmem_nbi(w->ctx, w->back + at, to + at,
                                 length - at < step ? length - at : step, pe);
        shmem_ctx_quiet(w->ctx);
    }
    EXPECT(!memcmp(w->back, w->shadow, length));
}

/* Many replies that wait for the data of a large get. */
static void pile(struct work *w, const char *to, size_t length, int pe)
{
    size_t part = length < AREA ? 0 : 32768;

    shmem_ctx_getmem_nbi(w->ctx, w->back, to, length, pe);
    for (int i = 0; i < GETS && part; i++) {
        size_t at = (size_t)i % 64 * part;
        shmem_ctx_getmem_nbi(w->ctx, w->from + at, to + at, part, pe);
    }
    shmem_ctx_quiet(w->ctx);
    EXPECT(!memcmp(w->back, w->shadow, length));
    EXPECT(!part || !memcmp(w->from, w->shadow, 64 * part));
    w->used = 0;
}

/* Requests behind many gets, without a wait. */
static void rush(struct work *w, char *to, size_t length, int pe)
{
    if (length < AREA)
        return;
    for (int i = 0; i < 16; i++)
        shmem_ctx_getmem_nbi(w->ctx, w->back + (size_t)i * 70000, to + (size_t)i * 70000, 70000,
                             pe);
    for (int i = 0; i < 32; i++)
        put(w, to, (2 << 20) + (size_t)i * 32768, 32768 - 8, pe);
    quiet(w);
    EXPECT(!memcmp(w->back, w->shadow, 16 * 70000));
}

/* Large puts of which each covers a part of the one before. */
static void cover(struct work *w, char *to, size_t length, int pe)
{
    for (int i = 0; i < 12; i++) {
        size_t size = 65536 + draw(w, 100000);
        put(w, to, draw(w, length - size) / 4, size, pe);
        shmem_ctx_fence(w->ctx);
    }
    quiet(w);
}

static void overwrite(struct work *w, int kind, int pe)
{
    size_t length = area_length(kind), end = 0;
    char *to = area(kind, me, w->number);

    fill(w, w->shadow, length);
    memcpy(w->back, w->shadow, length);
    shmem_ctx_putmem(w->ctx, to, w->back, length, pe);
    shmem_ctx_fence(w->ctx);
    for (int i = 0; i < OPS; i++) {
        size_t size = sizes[draw(w, sizeof sizes / sizeof *sizes)], at;
        size = size > length ? length : size;
        at = end + draw(w, 40000);
        if (draw(w, 4) == 0 || at + size > length) { /* over what has been put before */
            shmem_ctx_fence(w->ctx);
            at = draw(w, length - size + 1);
        }
        put(w, to, at, size, pe);
        end = at + size;
    }
    quiet(w);
    if (draw(w, 3) == 0) {
        put_strided(w, to, length, pe);
        quiet(w);
    }
    look(w, to, length, pe);
    cover(w, to, length, pe);
    draw(w, 2) ? pile(w, to, length, pe) : rush(w, to, length, pe);
    look(w, to, length, pe);
}

/* ---- from each PE to all ---- */

static unsigned char seed_of(int pe, int thread, long round)
{
    return (unsigned char)(pe * 53 + thread * 19 + round * 7 + 1);
}

static size_t told_length(long round, int pe)
{
    return sizes[(size_t)(round * 5 + pe) % (sizeof sizes / sizeof *sizes)];
}

static void tell(struct work *w, int pe)
{
    size_t length = told_length(w->round, me);
    char *to = area(0, me, w->number);

    memset(w->from, seed_of(me, w->number, w->round), length);
    if (w->round % 3 == 0) {
        shmem_ctx_putmem_nbi(w->ctx, to, w->from, length, pe);
        shmem_ctx_fence(w->ctx);
        shmem_ctx_uint64_atomic_inc(w->ctx, &arrived[me][w->number], pe);
    } else if (w->round % 3 == 1) {
        shmem_ctx_putmem_signal_nbi(w->ctx, to, w->from, length, &arrived[me][w->number], 1,
                                    SHMEM_SIGNAL_ADD, pe);
    } else {
        shmem_ctx_putmem(w->ctx, to, w->from, length, pe);
        shmem_ctx_fence(w->ctx);
        shmem_ctx_uint64_p(w->ctx, &arrived[me][w->number], (uint64_t)w->round, pe);
    }
}

static void hear(const struct work *w, int writer)
{
    size_t length = told_length(w->round, writer);
    const unsigned char *at = (const unsigned char *)area(0, writer, w->number);
    unsigned char seed = seed_of(writer, w->number, w->round);
    size_t right = 0;

    shmem_uint64_wait_until(&arrived[writer][w->number], SHMEM_CMP_GE, (uint64_t)w->round);
    while (right < length && at[right] == seed)
        right++;
    EXPECT(right == length);
    shmem_uint64_atomic_inc(&taken[w->number], writer);
}

static void *run(void *arg)
{
    struct work *w = arg;

    for (w->round = 1; w->round <= rounds; w->round++) {
        for (int i = 0; i < npes; i++)
            tell(w, (me + i) % npes);
        for (int i = 0; i < npes; i++)
            hear(w, (me + i) % npes);
        shmem_uint64_wait_until(&taken[w->number], SHMEM_CMP_GE, (uint64_t)(w->round * npes));
        quiet(w);
        overwrite(w, any_kind(w), (int)draw(w, (uint64_t)npes));
    }
    shmem_ctx_quiet(w->ctx);
    return NULL;
}

/* ---- a job ---- */

static void prepare(struct work *w, int number)
{
    *w = (struct work){.number = number,
                       .random = any(UINT64_MAX) * 2 + (uint64_t)me * 3571 + 1,
                       .ctx = SHMEM_CTX_DEFAULT,
                       .shadow = malloc(AREA),
                       .from = malloc(AREA),
                       .back = malloc(AREA)};
    if (!w->shadow || !w->from || !w->back)
        shmem_global_exit(2);
    if (number)
        CHECK(!shmem_ctx_create(number % 2 ? SHMEM_CTX_SERIALIZED : 0, &w->ctx));
}

int main(int argc, char **argv)
{
    static struct work work[MOST_THREADS];
    int count = argc > 3 ? atoi(argv[3]) : 2, provided;
    shmemx_space_t space = SHMEMX_SPACE_INVALID;
    shmem_team_t team;

    rounds = argc > 1 ? atol(argv[1]) : 3;
    dice_state = argc > 2 ? (uint64_t)atol(argv[2]) : 1;
    threads = count ? count : 1;
    shmem_init_thread(count ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    if (npes > MOST_PES || count > MOST_THREADS)
        shmem_global_exit(2);
    size_t room = (size_t)npes * (size_t)threads * AREA;
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_CPU, .size = room};
    memory[0] = shmem_malloc(room);
    if (!shmemx_space_create(&config, &space, &team))
        memory[2] = shmemx_space_malloc(space, room);
    if (!memory[0])
        shmem_global_exit(2);
    for (int i = 0; i < threads; i++)
        prepare(&work[i], i);
    shmem_barrier_all();
    for (int i = 0; i < count; i++)
        if (pthread_create(&work[i].thread, NULL, run, &work[i]))
            shmem_global_exit(3);
    if (!count)
        run(&work[0]);
    for (int i = 0; i < count; i++)
        pthread_join(work[i].thread, NULL);
    shmem_barrier_all();
    int status = check_end("large");
    shmem_finalize();
    return status;
}
