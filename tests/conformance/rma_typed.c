/* Remote memory access (9.6): each routine, for each type and size, with and without a context, on
 * static and heap objects, on this PE and the next one. A row of the table is a type with its
 * routines behind thunks of one signature, so that the checks themselves are ordinary functions on
 * bytes. */
#include <stdlib.h>
#include <string.h>
#include "check.h"

enum {
    AREA = 2048, /* bytes of the object that is written; all of it is compared */
    BEFORE = 48, /* bytes before the data: a multiple of 16, the largest element, and of no more */
    MOST = 40,   /* elements in the largest call; with stride 3 of 16 bytes they fit in an area */
    CANARY = 0xc5
};

enum { PLAIN, CTX, FORMS };

typedef void contiguous(void *dest, const void *source, size_t nelems, int pe);
typedef void strided(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                     int pe);
typedef void blocked(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                     size_t nblocks, int pe);
typedef void single(void *here, void *there, int pe);

struct row {
    const char *name;
    size_t size;  /* bytes of an element */
    size_t value; /* bytes of it that carry the value: fewer for long double */
    size_t shift; /* bytes off alignment, for the routines that have none */
    contiguous *put[FORMS], *get[FORMS], *put_nbi[FORMS], *get_nbi[FORMS];
    strided *iput[FORMS], *iget[FORMS];   /* NULL where the size has none */
    blocked *ibput[FORMS], *ibget[FORMS]; /* NULL where the size has none */
    single *p[FORMS], *g[FORMS];          /* NULL where there is no type */
};

#define CONTIGUOUS(NAME, CALL, CTX_CALL)                                                           \
    static void NAME(void *dest, const void *source, size_t nelems, int pe)                        \
    {                                                                                              \
        CALL(dest, source, nelems, pe);                                                            \
    }                                                                                              \
    static void ctx_##NAME(void *dest, const void *source, size_t nelems, int pe)                  \
    {                                                                                              \
        CTX_CALL(SHMEM_CTX_DEFAULT, dest, source, nelems, pe);                                     \
    }

#define STRIDED(NAME, CALL, CTX_CALL)                                                              \
    static void NAME(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,  \
                     int pe)                                                                       \
    {                                                                                              \
        CALL(dest, source, dst, sst, nelems, pe);                                                  \
    }                                                                                              \
    static void ctx_##NAME(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,           \
                           size_t nelems, int pe)                                                  \
    {                                                                                              \
        CTX_CALL(SHMEM_CTX_DEFAULT, dest, source, dst, sst, nelems, pe);                           \
    }

#define BLOCKED(NAME, CALL, CTX_CALL)                                                              \
    static void NAME(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,   \
                     size_t nblocks, int pe)                                                       \
    {                                                                                              \
        CALL(dest, source, dst, sst, bsize, nblocks, pe);                                          \
    }                                                                                              \
    static void ctx_##NAME(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,           \
                           size_t bsize, size_t nblocks, int pe)                                   \
    {                                                                                              \
        CTX_CALL(SHMEM_CTX_DEFAULT, dest, source, dst, sst, bsize, nblocks, pe);                   \
    }

#define SINGLE(TYPENAME, TYPE)                                                                     \
    static void TYPENAME##_p(void *here, void *there, int pe)                                      \
    {                                                                                              \
        shmem_##TYPENAME##_p((TYPE *)there, *(TYPE *)here, pe);                                    \
    }                                                                                              \
    static void ctx_##TYPENAME##_p(void *here, void *there, int pe)                                \
    {                                                                                              \
        shmem_ctx_##TYPENAME##_p(SHMEM_CTX_DEFAULT, (TYPE *)there, *(TYPE *)here, pe);             \
    }                                                                                              \
    static void TYPENAME##_g(void *here, void *there, int pe)                                      \
    {                                                                                              \
        *(TYPE *)here = shmem_##TYPENAME##_g((const TYPE *)there, pe);                             \
    }                                                                                              \
    static void ctx_##TYPENAME##_g(void *here, void *there, int pe)                                \
    {                                                                                              \
        *(TYPE *)here = shmem_ctx_##TYPENAME##_g(SHMEM_CTX_DEFAULT, (const TYPE *)there, pe);      \
    }

#define TYPED_THUNKS(TYPENAME, TYPE)                                                               \
    CONTIGUOUS(TYPENAME##_put, shmem_##TYPENAME##_put, shmem_ctx_##TYPENAME##_put)                 \
    CONTIGUOUS(TYPENAME##_get, shmem_##TYPENAME##_get, shmem_ctx_##TYPENAME##_get)                 \
    CONTIGUOUS(TYPENAME##_put_nbi, shmem_##TYPENAME##_put_nbi, shmem_ctx_##TYPENAME##_put_nbi)     \
    CONTIGUOUS(TYPENAME##_get_nbi, shmem_##TYPENAME##_get_nbi, shmem_ctx_##TYPENAME##_get_nbi)     \
    STRIDED(TYPENAME##_iput, shmem_##TYPENAME##_iput, shmem_ctx_##TYPENAME##_iput)                 \
    STRIDED(TYPENAME##_iget, shmem_##TYPENAME##_iget, shmem_ctx_##TYPENAME##_iget)                 \
    BLOCKED(TYPENAME##_ibput, shmem_##TYPENAME##_ibput, shmem_ctx_##TYPENAME##_ibput)              \
    BLOCKED(TYPENAME##_ibget, shmem_##TYPENAME##_ibget, shmem_ctx_##TYPENAME##_ibget)              \
    SINGLE(TYPENAME, TYPE)
SY_RMA_TYPES(TYPED_THUNKS)

#define SIZE_THUNKS(SIZE, BYTES)                                                                   \
    CONTIGUOUS(put_##SIZE, shmem_put##SIZE, shmem_ctx_put##SIZE)                                   \
    CONTIGUOUS(get_##SIZE, shmem_get##SIZE, shmem_ctx_get##SIZE)                                   \
    CONTIGUOUS(put_nbi_##SIZE, shmem_put##SIZE##_nbi, shmem_ctx_put##SIZE##_nbi)                   \
    CONTIGUOUS(get_nbi_##SIZE, shmem_get##SIZE##_nbi, shmem_ctx_get##SIZE##_nbi)
SY_SIZES_AND_MEM(SIZE_THUNKS)

#define SIZE_STRIDED_THUNKS(SIZE, BYTES)                                                           \
    STRIDED(iput_##SIZE, shmem_iput##SIZE, shmem_ctx_iput##SIZE)                                   \
    STRIDED(iget_##SIZE, shmem_iget##SIZE, shmem_ctx_iget##SIZE)                                   \
    BLOCKED(ibput_##SIZE, shmem_ibput##SIZE, shmem_ctx_ibput##SIZE)                                \
    BLOCKED(ibget_##SIZE, shmem_ibget##SIZE, shmem_ctx_ibget##SIZE)
SY_SIZES(SIZE_STRIDED_THUNKS)

#define BOTH(NAME)                                                                                 \
    {                                                                                              \
        NAME, ctx_##NAME                                                                           \
    }

static const struct row rows[] = {
#define TYPED_ROW(TYPENAME, TYPE)                                                                  \
    {.name = #TYPENAME,                                                                            \
     .size = sizeof(TYPE),                                                                         \
     .value = VALUE_BYTES(TYPE),                                                                   \
     .put = BOTH(TYPENAME##_put),                                                                  \
     .get = BOTH(TYPENAME##_get),                                                                  \
     .put_nbi = BOTH(TYPENAME##_put_nbi),                                                          \
     .get_nbi = BOTH(TYPENAME##_get_nbi),                                                          \
     .iput = BOTH(TYPENAME##_iput),                                                                \
     .iget = BOTH(TYPENAME##_iget),                                                                \
     .ibput = BOTH(TYPENAME##_ibput),                                                              \
     .ibget = BOTH(TYPENAME##_ibget),                                                              \
     .p = BOTH(TYPENAME##_p),                                                                      \
     .g = BOTH(TYPENAME##_g)},
    SY_RMA_TYPES(TYPED_ROW)
#define SIZE_ROW(SIZE, BYTES)                                                                      \
    {.name = #SIZE,                                                                                \
     .size = BYTES,                                                                                \
     .value = BYTES,                                                                               \
     .put = BOTH(put_##SIZE),                                                                      \
     .get = BOTH(get_##SIZE),                                                                      \
     .put_nbi = BOTH(put_nbi_##SIZE),                                                              \
     .get_nbi = BOTH(get_nbi_##SIZE),                                                              \
     .iput = BOTH(iput_##SIZE),                                                                    \
     .iget = BOTH(iget_##SIZE),                                                                    \
     .ibput = BOTH(ibput_##SIZE),                                                                  \
     .ibget = BOTH(ibget_##SIZE)},
        SY_SIZES(SIZE_ROW){.name = "mem",
                           .size = 1,
                           .value = 1,
                           .shift = 1,
                           .put = BOTH(put_mem),
                           .get = BOTH(get_mem),
                           .put_nbi = BOTH(put_nbi_mem),
                           .get_nbi = BOTH(get_nbi_mem)},
};

static _Alignas(64) unsigned char static_area[AREA];

/* One way to reach a symmetric area: the PE whose copy this PE accesses, and the PE that accesses
 * this PE's copy. */
struct place {
    unsigned char *area;
    int to, from;
};

/* Bytes that differ between PEs and between positions, and never are a canary. With all of them
 * below 0x7f no floating type reads a NaN, which a move by value could change on some machines. */
static void fill(unsigned char *bytes, size_t count, int pe)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)((17 + 31 * (size_t)pe + 7 * i + i / 256) % 0x7f);
}

static int same(const struct row *row, const unsigned char *a, const unsigned char *b)
{
    return check_same(a, b, AREA / row->size, row->size, row->value);
}

/* What the model does: nblocks blocks of bsize elements, from one byte image to another. */
static void model(const struct row *row, unsigned char *dest, const unsigned char *source,
                  size_t dst, size_t sst, size_t bsize, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++)
        memcpy(dest + i * dst * row->size, source + i * sst * row->size, bsize * row->size);
}

struct shape {
    size_t dst, sst, bsize, nblocks;
};

/* Calls a put or get routine of the kind that the arguments say; a call with NULL addresses if
 * empty. */
enum kind { CONTIGUOUS_KIND, NONBLOCKING_KIND, STRIDED_KIND, BLOCKED_KIND, SINGLE_KIND, KINDS };

static int exists(const struct row *row, enum kind kind)
{
    return kind == SINGLE_KIND                            ? row->p[0] != NULL
           : kind == STRIDED_KIND || kind == BLOCKED_KIND ? row->iput[0] != NULL
                                                          : 1;
}

static void call_put(const struct row *row, enum kind kind, int form, void *dest, void *source,
                     const struct shape *s, int pe)
{
    if (kind == CONTIGUOUS_KIND)
        row->put[form](dest, source, s->bsize * s->nblocks, pe);
    else if (kind == NONBLOCKING_KIND)
        row->put_nbi[form](dest, source, s->bsize * s->nblocks, pe);
    else if (kind == STRIDED_KIND)
        row->iput[form](dest, source, (ptrdiff_t)s->dst, (ptrdiff_t)s->sst, s->nblocks, pe);
    else if (kind == BLOCKED_KIND)
        row->ibput[form](dest, source, (ptrdiff_t)s->dst, (ptrdiff_t)s->sst, s->bsize, s->nblocks,
                         pe);
    else
        row->p[form](source, dest, pe);
}

static void call_get(const struct row *row, enum kind kind, int form, void *dest, void *source,
                     const struct shape *s, int pe)
{
    if (kind == CONTIGUOUS_KIND)
        row->get[form](dest, source, s->bsize * s->nblocks, pe);
    else if (kind == NONBLOCKING_KIND)
        row->get_nbi[form](dest, source, s->bsize * s->nblocks, pe);
    else if (kind == STRIDED_KIND)
        row->iget[form](dest, source, (ptrdiff_t)s->dst, (ptrdiff_t)s->sst, s->nblocks, pe);
    else if (kind == BLOCKED_KIND)
        row->ibget[form](dest, source, (ptrdiff_t)s->dst, (ptrdiff_t)s->sst, s->bsize, s->nblocks,
                         pe);
    else
        row->g[form](dest, source, pe);
}

/* Every PE puts into its target's area. Then each compares its own area with what its writer did.
 * The source of a blocking put is overwritten at once, that of a nonblocking one after a quiet. */
static void check_put(const struct row *row, enum kind kind, int form, const struct place *place,
                      const struct shape *s)
{
    _Alignas(64) unsigned char source[AREA], expected[AREA];
    size_t at = BEFORE + row->shift, from = BEFORE + 3 * row->shift;

    memset(place->area, CANARY, AREA);
    memset(expected, CANARY, AREA);
    fill(source, AREA, place->from);
    model(row, expected + at, source + from, s->dst, s->sst, s->bsize, s->nblocks);
    fill(source, AREA, shmem_my_pe());
    shmem_barrier_all();
    call_put(row, kind, form, place->area + at, source + from, s, place->to);
    if (kind == NONBLOCKING_KIND)
        shmem_quiet();
    memset(source, 0xee, sizeof source);
    shmem_barrier_all();
    CHECK(same(row, place->area, expected));
}

/* Every PE gets from its target's area into its stack. */
static void check_get(const struct row *row, enum kind kind, int form, const struct place *place,
                      const struct shape *s)
{
    _Alignas(64) unsigned char dest[AREA], expected[AREA], theirs[AREA];
    size_t at = BEFORE + row->shift, from = BEFORE + 3 * row->shift;

    fill(place->area, AREA, shmem_my_pe());
    fill(theirs, AREA, place->to);
    memset(dest, CANARY, AREA);
    memset(expected, CANARY, AREA);
    model(row, expected + at, theirs + from, s->dst, s->sst, s->bsize, s->nblocks);
    shmem_barrier_all();
    call_get(row, kind, form, dest + at, place->area + from, s, place->to);
    if (kind == NONBLOCKING_KIND)
        shmem_quiet();
    CHECK(same(row, dest, expected));
    shmem_sync_all();
}

/* The shapes that a kind of routine is called with; ends with a row of zeros. */
static const struct shape *shapes(enum kind kind)
{
    static const struct shape contiguous_shapes[] = {
        {1, 1, 1, 1}, {3, 3, 3, 1}, {MOST, MOST, MOST, 1}, {0}};
    static const struct shape strided_shapes[] = {{1, 1, 1, 7}, {3, 2, 1, 5}, {1, 3, 1, MOST}, {0}};
    static const struct shape blocked_shapes[] = {
        {3, 4, 3, 5}, {5, 3, 2, 6}, {1, 1, 1, 4}, {20, 25, 20, 2}, {0}};
    static const struct shape single_shapes[] = {{1, 1, 1, 1}, {0}};

    return kind == STRIDED_KIND   ? strided_shapes
           : kind == BLOCKED_KIND ? blocked_shapes
           : kind == SINGLE_KIND  ? single_shapes
                                  : contiguous_shapes;
}

/* Counts of zero do nothing, and the addresses may then be NULL. */
static void check_empty(const struct row *row, int form, const struct place *place)
{
    static const struct shape empty[] = {{1, 1, 0, 0}, {1, 1, 1, 0}, {1, 1, 0, 3}};
    unsigned char expected[AREA];

    memset(place->area, CANARY, AREA);
    memset(expected, CANARY, AREA);
    shmem_barrier_all();
    for (int kind = 0; kind < SINGLE_KIND; kind++)
        for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
            if (!exists(row, kind) || (kind == STRIDED_KIND && empty[i].nblocks != 0))
                continue;
            call_put(row, kind, form, NULL, NULL, &empty[i], place->to);
            call_get(row, kind, form, NULL, NULL, &empty[i], place->to);
            call_put(row, kind, form, place->area, expected, &empty[i], place->to);
        }
    shmem_barrier_all();
    CHECK(memcmp(place->area, expected, AREA) == 0);
}

static void check_row(const struct row *row, const struct place *place)
{
    for (int form = 0; form < FORMS; form++) {
        for (int kind = 0; kind < KINDS; kind++) {
            if (!exists(row, kind))
                continue;
            for (const struct shape *s = shapes(kind); s->nblocks != 0; s++) {
                check_put(row, kind, form, place, s);
                check_get(row, kind, form, place, s);
            }
        }
        check_empty(row, form, place);
    }
}

/* Transfers of several megabytes and an odd length, blocking and not, several of them at once. */
static void check_large(int to, int from)
{
    enum { LENGTH = (2 << 20) + 13, PARTS = 2 };
    unsigned char *theirs = malloc(LENGTH), *mine = malloc(LENGTH), *got = malloc(LENGTH);
    unsigned char *area = shmem_malloc(PARTS * (LENGTH + 1));

    CHECK(theirs && mine && got && area);
    fill(mine, LENGTH, shmem_my_pe());
    fill(theirs, LENGTH, from);
    shmem_putmem_nbi(area + 1, mine, LENGTH, to);
    shmem_putmem(area + 1 + LENGTH, mine, LENGTH, to);
    shmem_quiet();
    shmem_barrier_all();
    CHECK(memcmp(area + 1, theirs, LENGTH) == 0);
    CHECK(memcmp(area + 1 + LENGTH, theirs, LENGTH) == 0);
    fill(theirs, LENGTH, shmem_my_pe());
    memset(got, 0, LENGTH);
    shmem_getmem_nbi(got, area + 1, LENGTH, to);
    shmem_quiet();
    CHECK(memcmp(got, theirs, LENGTH) == 0);
    memset(got, 0, LENGTH);
    shmem_getmem(got, area + 1 + LENGTH, LENGTH, to);
    CHECK(memcmp(got, theirs, LENGTH) == 0);
    free(theirs);
    free(mine);
    free(got);
    shmem_free(area);
}

int main(void)
{
    int me, npes, status;
    unsigned char *heap_area;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    heap_area = shmem_align(64, AREA);
    CHECK(heap_area != NULL);
    const struct place places[] = {
        {static_area, (me + 1) % npes, (me + npes - 1) % npes},
        {heap_area, (me + 1) % npes, (me + npes - 1) % npes},
        {static_area, me, me},
        {heap_area, me, me},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t j = 0; j < sizeof places / sizeof places[0]; j++) {
            check_case = rows[i].name;
            check_row(&rows[i], &places[j]);
        }
    check_case = "large transfers";
    check_large((me + 1) % npes, (me + npes - 1) % npes);
    shmem_free(heap_area);
    status = check_end("rma_typed");
    shmem_finalize();
    return status;
}
