/* Random operations of all PEs, and of several threads of each, beside a model of all their memory
 * (9.4 to 9.12). What every thread of every PE does follows from the seed, so each PE works out
 * what the memory of all of them must hold, and compares it after every round, and what is fetched
 * at once.
 *
 *   model ROUNDS SEED [THREADS [STEPS]]
 *
 * Who may write what: memory has two halves, which change their roles from round to round. One is
 * only read. In the other each thread of each PE, a writer, has a lane of its own on every PE, in
 * which it goes upwards and completes what it has issued before it begins again at the bottom.
 * Words for atomic operations and signals belong to one writer too, but for one that all add to. */
#include "model.h"

/* ---- operations: each draws what it does, keeps the model, and does it if the writer is live ----
 */

struct spot { /* where an operation goes */
    int pe, area, c;
    shmem_ctx_t ctx;
};

static struct spot any_spot(struct writer *w)
{
    struct spot s = {.pe = (int)draw(&w->dice, (uint64_t)npes),
                     .area = draw(&w->dice, 3) ? ON_HEAP : ON_FIXED,
                     .c = (int)draw(&w->dice, CTXS)};

    s.ctx = w->ctx[s.c];
    return s;
}

/* A source of `length` bytes: new private memory, or this PE's half that is only read. *model: the
 * same bytes as the model has them. */
static const unsigned char *any_source(struct writer *w, size_t length, const unsigned char **model)
{
    uint64_t key = draw(&w->dice, UINT64_MAX);

    if (draw(&w->dice, 2)) {
        int which = length < FIXED / 4 && draw(&w->dice, 2) ? ON_FIXED : ON_HEAP;
        size_t at = anywhere(w, which, length, 1);
        *model = models[w->pe].area[which] + at;
        return area(which) + at;
    }
    unsigned char *own = take_own(w, length);
    fill(own, length, key);
    *model = own;
    return own;
}

static void put(struct writer *w)
{
    struct spot s = any_spot(w);
    size_t length = any_length(w, s.area);
    int nbi = draw(&w->dice, 2) != 0, tell = draw(&w->dice, 4) == 0,
        direct = draw(&w->dice, 6) == 0;

    reserve(w, s.pe, s.area, length);
    size_t at = take_lane(w, s.pe, s.area, length, 1);
    const unsigned char *model, *from = any_source(w, length, &model);
    unsigned char *to = area(s.area) + at, *mapped;

    memcpy(models[s.pe].area[s.area] + at, model, length);
    if (tell) {
        models[s.pe].signals[w->index] += 3;
        w->told[w->told_count++] = (struct told){
            .pe = s.pe, .area = s.area, .at = at, .length = length};
    }
    if (!w->live)
        return;
    if (tell)
        (nbi ? shmem_ctx_putmem_signal_nbi : shmem_ctx_putmem_signal)(
            s.ctx, to, from, length, &signals[w->index], 3, SHMEM_SIGNAL_ADD, s.pe);
    else if (direct && (mapped = shmem_ptr(to, s.pe)))
        memcpy(mapped, from, length);
    else
        (nbi ? shmem_ctx_putmem_nbi : shmem_ctx_putmem)(s.ctx, to, from, length, s.pe);
}

/* A put over another one, with a fence between them. */
static void put_twice(struct writer *w)
{
    struct spot s = any_spot(w);
    size_t length = any_length(w, s.area) / 2 + 2, skip = draw(&w->dice, length / 2);

    reserve(w, s.pe, s.area, 2 * length + 32);
    size_t at = take_lane(w, s.pe, s.area, length, 1);
    const unsigned char *model, *model2, *from = any_source(w, length, &model),
                                         *from2 = any_source(w, length - skip, &model2);

    memcpy(models[s.pe].area[s.area] + at, model, length);
    memcpy(models[s.pe].area[s.area] + at + skip, model2, length - skip);
    if (!w->live)
        return;
    shmem_ctx_putmem_nbi(s.ctx, area(s.area) + at, from, length, s.pe);
    shmem_ctx_fence(s.ctx);
    shmem_ctx_putmem(s.ctx, area(s.area) + at + skip, from2, length - skip, s.pe);
}

/* To private memory, or into the writer's own lane. */
static void get(struct writer *w)
{
    struct spot s = any_spot(w);
    size_t length = any_length(w, s.area);
    int nbi = draw(&w->dice, 2) != 0, inside = draw(&w->dice, 2) != 0;

    reserve(w, w->pe, ON_HEAP, length);
    size_t at = anywhere(w, s.area, length, 1);
    const unsigned char *model = models[s.pe].area[s.area] + at;
    unsigned char *to;

    if (inside) {
        size_t mine = take_lane(w, w->pe, ON_HEAP, length, 1);
        to = heap + mine;
        memcpy(models[w->pe].area[ON_HEAP] + mine, model, length);
    } else {
        to = take_own(w, length);
    }
    if (nbi && !inside)
        expect_later(w, to, model, length);
    if (!w->live)
        return;
    (nbi ? shmem_ctx_getmem_nbi : shmem_ctx_getmem)(s.ctx, to, area(s.area) + at, length, s.pe);
    if (!nbi)
        EXPECT(w, memcmp(to, model, length) == 0);
}

/* What the writer itself has put, once it is complete. */
static void get_back(struct writer *w)
{
    struct spot s = any_spot(w);
    size_t length = any_length(w, s.area);

    complete(w);
    reserve(w, s.pe, s.area, length);
    unsigned char *to = take_own(w, length);
    if (!w->live)
        return;
    shmem_ctx_getmem(s.ctx, to, area(s.area) + lane(w, s.area), length, s.pe);
    EXPECT(w, memcmp(to, models[s.pe].area[s.area] + lane(w, s.area), length) == 0);
}

#define STRIDED(BITS)                                                                              \
    do {                                                                                           \
        if (puts)                                                                                  \
            shmem_ctx_iput##BITS(s.ctx, area(s.area) + at, from, dst, sst, count, s.pe);           \
        else                                                                                       \
            shmem_ctx_iget##BITS(s.ctx, mine, area(s.area) + read, dst, sst, count, s.pe);         \
    } while (0)

static void strided(struct writer *w)
{
    struct spot s = any_spot(w);
    size_t size = (size_t)1 << draw(&w->dice, 5), count = 1 + draw(&w->dice, BLOCKS);
    ptrdiff_t dst = 1 + (ptrdiff_t)draw(&w->dice, STRIDE),
              sst = 1 + (ptrdiff_t)draw(&w->dice, STRIDE);
    size_t to_span = size * ((count - 1) * (size_t)dst + 1),
           from_span = size * ((count - 1) * (size_t)sst + 1);
    int puts = draw(&w->dice, 2) != 0;

    while (to_span + 16 > lane_size(s.area) || from_span + 16 > lane_size(s.area)) {
        count = count / 2;
        to_span = size * ((count - 1) * (size_t)dst + 1);
        from_span = size * ((count - 1) * (size_t)sst + 1);
    }
    reserve(w, s.pe, s.area, to_span + from_span + 32);
    if (w->used[s.pe][s.area] + to_span + 16 > lane_size(s.area))
        complete(w);
    size_t at = 0, read = 0;
    unsigned char *mine = NULL, *model_to;
    const unsigned char *from = NULL, *model_from;
    if (puts) {
        at = take_lane(w, s.pe, s.area, to_span, 16);
        uint64_t key = draw(&w->dice, UINT64_MAX);
        unsigned char *own = take_own(w, from_span);
        fill(own, from_span, key);
        from = model_from = own;
        model_to = models[s.pe].area[s.area] + at;
    } else {
        read = anywhere(w, s.area, from_span, 16);
        size_t there = take_lane(w, w->pe, ON_HEAP, to_span, 16);
        mine = heap + there;
        model_from = models[s.pe].area[s.area] + read;
        model_to = models[w->pe].area[ON_HEAP] + there;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(model_to + i * size * (size_t)dst, model_from + i * size * (size_t)sst, size);
    if (!w->live)
        return;
    switch (size) {
    case 1:
        STRIDED(8);
        break;
    case 2:
        STRIDED(16);
        break;
    case 4:
        STRIDED(32);
        break;
    case 8:
        STRIDED(64);
        break;
    default:
        STRIDED(128);
    }
}

#define SCALAR(NAME, TYPE)                                                                         \
    do {                                                                                           \
        TYPE value, seen;                                                                          \
        memcpy(&value, &bits, sizeof value);                                                       \
        size_t at = take_lane(w, s.pe, s.area, sizeof value, sizeof value);                        \
        size_t read = anywhere(w, s.area, 16, 16);                                                 \
        memcpy(models[s.pe].area[s.area] + at, &value, sizeof value);                              \
        if (w->live) {                                                                             \
            shmem_ctx_##NAME##_p(s.ctx, (TYPE *)(void *)(area(s.area) + at), value, s.pe);         \
            seen = shmem_ctx_##NAME##_g(s.ctx, (const TYPE *)(void *)(area(s.area) + read), s.pe); \
            EXPECT(w, memcmp(&seen, models[s.pe].area[s.area] + read, sizeof seen) == 0);          \
        }                                                                                          \
    } while (0)

static void scalar(struct writer *w)
{
    struct spot s = any_spot(w);
    uint64_t bits = draw(&w->dice, UINT64_MAX), type = draw(&w->dice, 4);

    reserve(w, s.pe, s.area, 32);
    switch (type) {
    case 0:
        SCALAR(char, char);
        break;
    case 1:
        SCALAR(short, short);
        break;
    case 2:
        SCALAR(uint, unsigned);
        break;
    default:
        SCALAR(ulong, unsigned long);
    }
}

/* ---- atomic operations ---- */

enum kind {
    FETCH,
    SET,
    COMPARE_SWAP,
    SWAP,
    FETCH_INC,
    INC,
    FETCH_ADD,
    ADD,
    FETCH_AND,
    AND,
    FETCH_OR,
    OR,
    FETCH_XOR,
    XOR,
    KINDS
};

static uint64_t after(enum kind kind, uint64_t old, uint64_t value, uint64_t condition)
{
    switch (kind) {
    case FETCH:
        return old;
    case SET:
    case SWAP:
        return value;
    case COMPARE_SWAP:
        return old == condition ? value : old;
    case FETCH_INC:
    case INC:
        return old + 1;
    case FETCH_ADD:
    case ADD:
        return old + value;
    case FETCH_AND:
    case AND:
        return old & value;
    case FETCH_OR:
    case OR:
        return old | value;
    default:
        return old ^ value;
    }
}

static int fetches(enum kind kind)
{
    return kind != SET && kind != INC && kind != ADD && kind != AND && kind != OR && kind != XOR;
}

#define CASE(KIND, CALL)                                                                           \
    case KIND:                                                                                     \
        CALL;                                                                                      \
        break
/* What a fetching operation brings, and otherwise nothing of use. */
#define PERFORM(NAME, TYPE)                                                                        \
    static TYPE perform_##NAME(enum kind kind, shmem_ctx_t ctx, TYPE *word, TYPE value,            \
                               TYPE condition, int pe)                                             \
    {                                                                                              \
        TYPE seen = 0;                                                                             \
        switch (kind) {                                                                            \
            CASE(FETCH, seen = shmem_ctx_##NAME##_atomic_fetch(ctx, word, pe));                    \
            CASE(SET, shmem_ctx_##NAME##_atomic_set(ctx, word, value, pe));                        \
            CASE(COMPARE_SWAP,                                                                     \
                 seen = shmem_ctx_##NAME##_atomic_compare_swap(ctx, word, condition, value, pe));  \
            CASE(SWAP, seen = shmem_ctx_##NAME##_atomic_swap(ctx, word, value, pe));               \
            CASE(FETCH_INC, seen = shmem_ctx_##NAME##_atomic_fetch_inc(ctx, word, pe));            \
            CASE(INC, shmem_ctx_##NAME##_atomic_inc(ctx, word, pe));                               \
            CASE(FETCH_ADD, seen = shmem_ctx_##NAME##_atomic_fetch_add(ctx, word, value, pe));     \
            CASE(ADD, shmem_ctx_##NAME##_atomic_add(ctx, word, value, pe));                        \
            CASE(FETCH_AND, seen = shmem_ctx_##NAME##_atomic_fetch_and(ctx, word, value, pe));     \
            CASE(AND, shmem_ctx_##NAME##_atomic_and(ctx, word, value, pe));                        \
            CASE(FETCH_OR, seen = shmem_ctx_##NAME##_atomic_fetch_or(ctx, word, value, pe));       \
            CASE(OR, shmem_ctx_##NAME##_atomic_or(ctx, word, value, pe));                          \
            CASE(FETCH_XOR, seen = shmem_ctx_##NAME##_atomic_fetch_xor(ctx, word, value, pe));     \
            CASE(XOR, shmem_ctx_##NAME##_atomic_xor(ctx, word, value, pe));                        \
        case KINDS:                                                                                \
            break;                                                                                 \
        }                                                                                          \
        return seen;                                                                               \
    }
PERFORM(uint64, uint64_t)
PERFORM(uint32, uint32_t)

/* On a word of the writer. */
static void atomic(struct writer *w)
{
    struct spot s = any_spot(w);
    enum kind kind = (enum kind)draw(&w->dice, KINDS);
    int wide = draw(&w->dice, 2) != 0, *last = &w->word_ctx[s.pe];
    struct model *model = &models[s.pe];
    uint64_t value = draw(&w->dice, UINT64_MAX),
             old = wide ? model->words[w->index] : model->halves[w->index],
             condition = draw(&w->dice, 2) ? old : old + 1, seen;

    if (w->live && *last == s.c) /* what came before has not returned a value */
        shmem_ctx_fence(s.ctx);
    else if (w->live && *last >= 0)
        shmem_ctx_quiet(w->ctx[*last]);
    *last = s.c;
    if (wide)
        model->words[w->index] = after(kind, old, value, condition);
    else
        model->halves[w->index] = (uint32_t)after(kind, old, (uint32_t)value, (uint32_t)condition);
    if (!w->live)
        return;
    if (wide)
        seen = perform_uint64(kind, s.ctx, &words[w->index], value, condition, s.pe);
    else
        seen = perform_uint32(kind, s.ctx, &halves[w->index], (uint32_t)value, (uint32_t)condition,
                              s.pe);
    if (fetches(kind))
        EXPECT(w, seen == old);
}

/* A result that comes later. Nothing else changes the word until it is there. */
static void atomic_nbi(struct writer *w)
{
    struct spot s = any_spot(w);
    uint64_t value = draw(&w->dice, UINT64_MAX);

    complete(w);
    uint64_t old = models[s.pe].words[w->index];
    unsigned char *to = take_own(w, sizeof old);
    expect_later(w, to, (unsigned char *)&old, sizeof old);
    models[s.pe].words[w->index] = old + value;
    w->word_ctx[s.pe] = s.c;
    if (w->live)
        shmem_ctx_uint64_atomic_fetch_add_nbi(s.ctx, (uint64_t *)(void *)to, &words[w->index],
                                              value, s.pe);
}

/* The word that all add to. */
static void add_together(struct writer *w)
{
    struct spot s = any_spot(w);
    long value = 1 + (long)draw(&w->dice, 1000);

    w->shared += value;
    if (!w->live)
        return;
    if (value & 1)
        EXPECT(w, shmem_ctx_long_atomic_fetch_add(s.ctx, &shared, value, 0) >= shared_model);
    else
        shmem_ctx_long_atomic_add(s.ctx, &shared, value, 0);
}

/* A counter on PE 0 that a lock guards. A PE must not ask for a lock that it holds, so one thread
 * does this. */
static void count_locked(struct writer *w)
{
    if (w->thread)
        return;
    w->counter++;
    if (!w->live)
        return;
    shmem_set_lock(&lock);
    shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
    shmem_clear_lock(&lock);
}

/* ---- collective routines ---- */

/* The first thread of each member calls them in the middle of its steps, when others are busy. */
static void together(struct writer *w)
{
    struct dice dice = {mix(seed, 1000003 + (uint64_t)turn)};
    shmem_team_t team = teams[draw(&dice, 3)];
    int size = shmem_team_n_pes(team), kind = (int)draw(&dice, 3);
    size_t count = 1 + draw(&dice, draw(&dice, 2) ? 30 : TOGETHER);
    uint64_t key = draw(&dice, UINT64_MAX);

    if (!w->live || w->thread || team == SHMEM_TEAM_INVALID)
        return;
    int root = (int)(draw(&dice, (uint64_t)size));
    for (size_t i = 0; i < count; i++)
        sum_of[i] = (long)(mix(key, i + count * (size_t)me) >> 8);
    if (kind == 0)
        shmem_long_sum_reduce(team, sum_to, sum_of, count);
    else if (kind == 1)
        shmem_long_fcollect(team, sum_to, sum_of, count);
    else
        shmem_long_broadcast(team, sum_to, sum_of, count, root);
    for (size_t i = 0; i < count; i++) {
        long expected = 0;
        for (int m = 0; m < size; m++) {
            int pe = shmem_team_translate_pe(team, m, SHMEM_TEAM_WORLD);
            long part = (long)(mix(key, i + count * (size_t)pe) >> 8);
            expected += kind == 0 || (kind == 2 && m == root) ? part : 0;
            if (kind == 1)
                EXPECT(w, sum_to[(size_t)m * count + i] == part);
        }
        if (kind != 1)
            EXPECT(w, sum_to[i] == expected);
    }
    shmem_team_sync(team); /* before sum_of changes again */
}

/* ---- rounds ---- */

typedef void operation(struct writer *w);

static operation *const operations[] = {
    put,     put,    put,    put_twice, get,    get,        get_back,     scalar,       strided,
    strided, atomic, atomic, atomic,    scalar, atomic_nbi, add_together, count_locked, complete};

static void work(struct writer *w)
{
    enum { ALL = sizeof operations / sizeof *operations };

    memset(w->used, 0, sizeof w->used);
    memset(w->word_ctx, -1, sizeof w->word_ctx);
    w->own_used = 0;
    w->later_count = w->told_count = 0;
    w->shared = w->counter = 0;
    w->dice.state = mix(mix(seed, (uint64_t)turn), (uint64_t)w->index);
    for (int i = 0; i < steps; i++) {
        if (i == steps / 2)
            together(w);
        operations[draw(&w->dice, ALL)](w);
    }
}

static void *begin(void *arg)
{
    static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED};
    struct writer *w = arg;

    if (shmem_ctx_create(options[(w->thread + turn) % 3], &w->ctx[CTX_OWN]))
        w->ctx[CTX_OWN] = SHMEM_CTX_DEFAULT;
    w->ctx[CTX_DEFAULT] = SHMEM_CTX_DEFAULT;
    work(w);
    struct told told[LATER];
    int count = w->told_count;
    memcpy(told, w->told, sizeof told);
    complete(w);
    memcpy(w->told, told, sizeof told);
    w->told_count = count;
    if (w->ctx[CTX_OWN] != SHMEM_CTX_DEFAULT)
        shmem_ctx_destroy(w->ctx[CTX_OWN]);
    return NULL;
}

/* What puts with signals have brought is there with the last signal, before any barrier. */
static void check_told(void)
{
    for (int i = 0; i < writers; i++) {
        shmem_signal_wait_until(&signals[i], SHMEM_CMP_EQ, models[me].signals[i]);
        for (int k = 0; k < crew[i].told_count; k++) {
            const struct told *t = &crew[i].told[k];
            if (t->pe == me)
                EXPECT(&crew[i], memcmp(area(t->area) + t->at, models[me].area[t->area] + t->at,
                                        t->length) == 0);
        }
    }
}

static void check_all(void)
{
    struct writer *w = &crew[me * threads];
    int pe = (int)(mix(seed, (uint64_t)(turn * npes + me)) % (uint64_t)npes);

    for (int a = 0; a < AREAS; a++) {
        EXPECT(w, memcmp(area(a), models[me].area[a], area_size[a]) == 0);
        if (a == ON_FIXED) {
            unsigned char *copy = malloc(FIXED);
            shmem_getmem(copy, fixed, FIXED, pe);
            EXPECT(w, memcmp(copy, models[pe].area[a], FIXED) == 0);
            free(copy);
        }
    }
    for (int i = 0; i < writers; i++) {
        EXPECT(w, words[i] == models[me].words[i]);
        EXPECT(w, halves[i] == models[me].halves[i]);
    }
    for (int i = 0; i < writers; i++) {
        shared_model += crew[i].shared;
        counter_model += crew[i].counter;
    }
    EXPECT(w, shmem_long_atomic_fetch(&shared, 0) == shared_model);
    EXPECT(w, shmem_long_g(&counter, 0) == counter_model);
}

/* The block of the heap moves and keeps what is in it. */
static void move_heap(void)
{
    static void *between;
    static int larger;

    shmem_free(between);
    between = shmem_malloc(mix(seed, (uint64_t)turn) % 5000 + 1);
    larger = !larger;
    heap = shmem_realloc(heap, HEAP + (larger ? EXTRA : 0));
    if (!heap)
        shmem_global_exit(2);
}

static void one_round(void)
{
    pthread_t ids[MOST_THREADS];

    for (int t = 1; t < threads; t++)
        if (pthread_create(&ids[t], NULL, begin, &crew[me * threads + t]))
            shmem_global_exit(2);
    begin(&crew[me * threads]);
    for (int t = 1; t < threads; t++)
        pthread_join(ids[t], NULL);
    for (int i = 0; i < writers; i++)
        if (!crew[i].live)
            work(&crew[i]);
    check_told();
    shmem_barrier_all();
    check_all();
    shmem_barrier_all();
    if (mix(seed, (uint64_t)turn) % 4 == 0)
        move_heap();
}

static unsigned char *must(size_t size)
{
    unsigned char *at = calloc(1, size);

    if (!at)
        shmem_global_exit(2);
    return at;
}

static void set_up(void)
{
    writers = npes * threads;
    if (npes > MOST_PES || threads > MOST_THREADS || writers > MOST_WRITERS) {
        fprintf(stderr, "model: at most %d PEs, %d threads\n", MOST_PES, MOST_THREADS);
        shmem_global_exit(2);
    }
    heap = shmem_calloc(1, HEAP);
    if (!heap)
        shmem_global_exit(2);
    for (int pe = 0; pe < npes; pe++)
        for (int a = 0; a < AREAS; a++)
            models[pe].area[a] = must(area_size[a]);
    for (int i = 0; i < writers; i++) {
        struct writer *w = &crew[i];
        w->pe = i / threads;
        w->thread = i % threads;
        w->index = i;
        w->live = w->pe == me;
        w->own_size = lane_size(ON_HEAP) * 2 + 1024;
        w->own = must(w->own_size);
    }
    teams[0] = SHMEM_TEAM_WORLD;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (npes + 1) / 2, NULL, 0, &teams[1]);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, npes / 2, 1, npes - npes / 2, NULL, 0, &teams[2]);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10, level;

    seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
    threads = argc > 3 ? atoi(argv[3]) : 1;
    steps = argc > 4 ? atoi(argv[4]) : 60;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) || level != SHMEM_THREAD_MULTIPLE)
        return 2;
    me = shmem_my_pe();
    npes = shmem_n_pes();
    set_up();
    shmem_barrier_all();
    for (turn = 0; turn < rounds; turn++)
        one_round();
    int status = check_end("model");
    shmem_finalize();
    return status;
}
