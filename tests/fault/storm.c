/* Traffic whose outcome is known to the last bit, to be run while connections break or hosts go
 * away.
 *
 *   storm amo COUNT            COUNT atomic operations of each PE on words of random PEs
 *   storm put COUNT BYTES      COUNT puts of so many bytes of each PE to the next one
 *   storm get COUNT BYTES      the same as gets
 *   storm sources COUNT        COUNT broadcasts and fcollects of up to 300,000 bytes each, whose
 *                              sources are overwritten as soon as the call returns
 *   storm forever [BYTES]      puts of so many bytes (8) and atomic operations, to be ended
 *   storm quiet SECONDS        no traffic for so long, then a little
 *   storm steady SECONDS [MICROSECONDS]  round trips for so long, with pauses of so many
 *                              microseconds (0); the slow ones are reported
 *   storm syncs SECONDS        syncs for so long; the slowest is reported, memory stays untouched
 *   storm among SECONDS        among strangers: first contact, then round trips, none of which
 *                              makes both PEs spend much processor time
 *
 * PE 0 prints "begun" once all PEs have met; with `among` before they do. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/check.h"
#include "tests/conformance/dice.h"

enum { WORDS = 64 };

static int me, npes;

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void begun(void)
{
    shmem_barrier_all();
    if (me == 0) {
        puts("begun");
        fflush(stdout);
    }
}

/* ---- atomic operations ---- */

/* What this PE has done to each PE's words, and the old values that it received; the sums over all
 * PEs are known. */
struct share {
    uint64_t sum[WORDS]; /* added to the words */
    uint64_t bits[WORDS];
    uint64_t drawn, drawn_sum, drawn_squares; /* tickets */
    uint64_t swapped_in, swapped_out;
};

static uint64_t sums[WORDS], bits[WORDS], ticket, hat; /* targets */

static void one_amo(struct share *share, int pe, uint64_t *later)
{
    uint64_t i = any(WORDS), value = any(1000000), number;

    switch (any(8)) {
    case 0:
        shmem_uint64_atomic_inc(&sums[i], pe);
        share->sum[i]++;
        break;
    case 1:
        shmem_uint64_atomic_fetch_add_nbi(later, &sums[i], value, pe);
        share->sum[i] += value;
        break;
    case 2:
        shmem_uint64_atomic_xor(&bits[i], value, pe);
        share->bits[i] ^= value;
        break;
    case 3: /* each ticket goes to one PE once */
        number = shmem_uint64_atomic_fetch_inc(&ticket, pe);
        share->drawn++;
        share->drawn_sum += number;
        share->drawn_squares += number * number;
        break;
    case 4: /* all that goes into the hat comes out of it, or is there at the end */
        share->swapped_in += value;
        share->swapped_out += shmem_uint64_atomic_swap(&hat, value, pe);
        break;
    default:
        shmem_uint64_atomic_add(&sums[i], value, pe);
        share->sum[i] += value;
    }
}

static void amo_storm(long count)
{
    struct share *shares = shmem_calloc((size_t)npes, sizeof *shares);
    uint64_t later = 0;
    uint64_t *all = shmem_malloc((size_t)npes * sizeof *shares);
    struct share *got = (struct share *)all, total = {0};

    begun();
    for (long i = 0; i < count; i++) {
        int pe = (int)any((uint64_t)npes);
        one_amo(&shares[pe], pe, &later);
        if (any(1000) == 0)
            shmem_quiet();
    }
    shmem_barrier_all();
    /* Every PE learns what the others have done to its words. */
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, all, (uint64_t *)shares, sizeof *shares / 8);
    for (int pe = 0; pe < npes; pe++) {
        for (int i = 0; i < WORDS; i++) {
            total.sum[i] += got[pe].sum[i];
            total.bits[i] ^= got[pe].bits[i];
        }
        total.drawn += got[pe].drawn;
        total.drawn_sum += got[pe].drawn_sum;
        total.drawn_squares += got[pe].drawn_squares;
        total.swapped_in += got[pe].swapped_in;
        total.swapped_out += got[pe].swapped_out;
    }
    for (int i = 0; i < WORDS; i++) {
        CHECK(sums[i] == total.sum[i]);
        CHECK(bits[i] == total.bits[i]);
    }
    uint64_t n = total.drawn, sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += i;
        squares += i * i;
    }
    CHECK(ticket == n);
    CHECK(total.drawn_sum == sum);
    CHECK(total.drawn_squares == squares);
    CHECK(total.swapped_in == total.swapped_out + hat);
    shmem_free(shares);
    shmem_free(all);
}

/* ---- large transfers ---- */

/* Each word tells its writer, place and round. */
static void fill(uint64_t *words, size_t count, int writer, long round)
{
    uint64_t first = (uint64_t)writer << 48 ^ (uint64_t)round << 32;

    for (size_t i = 0; i < count; i++)
        words[i] = first + i;
}

static size_t differing(const uint64_t *words, size_t count, int writer, long round)
{
    uint64_t first = (uint64_t)writer << 48 ^ (uint64_t)round << 32;
    size_t differ = 0;

    for (size_t i = 0; i < count; i++)
        differ += words[i] != first + i;
    return differ;
}

static void put_storm(long count, size_t bytes)
{
    size_t words = bytes / 8;
    uint64_t *dest = shmem_malloc(bytes), *source = malloc(bytes);
    static uint64_t arrived, taken;
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;

    CHECK(dest && source);
    begun();
    for (long round = 1; round <= count; round++) {
        fill(source, words, me, round);
        switch (round % 3) {
        case 0: /* the source is the caller's again at once */
            shmem_uint64_put(dest, source, words, next);
            memset(source, 0xee, bytes);
            shmem_fence();
            shmem_uint64_atomic_set(&arrived, (uint64_t)round, next);
            break;
        case 1:
            shmem_uint64_put_signal(dest, source, words, &arrived, (uint64_t)round,
                                    SHMEM_SIGNAL_SET, next);
            memset(source, 0xdd, bytes);
            break;
        default:
            shmem_uint64_put_nbi(dest, source, words, next);
            shmem_quiet();
            shmem_uint64_p(&arrived, (uint64_t)round, next);
            shmem_quiet();
        }
        shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, (uint64_t)round);
        CHECK(differing(dest, words, before, round) == 0);
        shmem_uint64_atomic_inc(&taken, before);
        shmem_signal_wait_until(&taken, SHMEM_CMP_GE, (uint64_t)round);
    }
    shmem_barrier_all();
    free(source);
    shmem_free(dest);
}

static void get_storm(long count, size_t bytes)
{
    size_t words = bytes / 8;
    uint64_t *source = shmem_malloc(bytes), *dest = malloc(bytes);
    int next = (me + 1) % npes;

    CHECK(dest && source);
    begun();
    for (long round = 1; round <= count; round++) {
        fill(source, words, me, round);
        memset(dest, 0, bytes);
        shmem_barrier_all();
        if (round % 2) {
            shmem_uint64_get(dest, source, words, next);
        } else {
            shmem_uint64_get_nbi(dest, source, words, next);
            shmem_quiet();
        }
        CHECK(differing(dest, words, next, round) == 0);
        shmem_barrier_all();
    }
    free(dest);
    shmem_free(source);
}

/* ---- the rest ---- */

static void forever(size_t bytes)
{
    char *dest = shmem_malloc(bytes), *source = calloc(1, bytes);

    begun();
    for (long i = 0;; i++) {
        int pe = (int)any((uint64_t)npes);
        shmem_putmem_nbi(dest, source, bytes, pe);
        shmem_uint64_atomic_inc(&sums[0], pe);
        if (i % 64 == 0)
            shmem_quiet();
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void steady(double length, unsigned pause)
{
    enum { ROOM = 1 << 20 };
    static double times[ROOM];
    double end, begin;
    size_t n = 0;

    begun();
    end = seconds() + length;
    while (n < ROOM && (begin = seconds()) < end) {
        shmem_uint64_atomic_fetch_inc(&sums[0], (me + (npes + 1) / 2) % npes);
        times[n++] = seconds() - begin;
        if (pause)
            usleep(pause);
    }
    shmem_barrier_all();
    qsort(times, n, sizeof *times, by_size);
    CHECK(n > 0);
    if (me == 0 && n > 0)
        printf("round trips: %zu median %.1f us, 99 of 100 below %.1f us, longest %.1f us\n", n,
               times[n / 2] * 1e6, times[n * 99 / 100] * 1e6, times[n - 1] * 1e6);
}

static void syncs(double length)
{
    enum { UNTOUCHED = 1 << 16 };
    static int over[2]; /* at PE 0; what it has decided, here */
    uint64_t *untouched = shmem_calloc(UNTOUCHED, sizeof *untouched);
    double longest = 0, begin, took;
    long n = 0;

    begun();
    double end = seconds() + length;
    for (bool more = true; more; n++) {
        begin = seconds();
        shmem_sync_all();
        took = seconds() - begin;
        longest = took > longest ? took : longest;
        if (n % 1000)
            continue;
        over[0] = me == 0 && begin > end;
        shmem_int_broadcast(SHMEM_TEAM_WORLD, &over[1], &over[0], 1, 0);
        more = !over[1];
    }
    for (int i = 0; i < UNTOUCHED; i++)
        CHECK(untouched[i] == 0);
    shmem_free(untouched);
    if (me == 0)
        printf("%ld syncs, the longest %.1f us\n", n, longest * 1e6);
}

static void quiet(unsigned length)
{
    begun();
    sleep(length);
    shmem_uint64_atomic_inc(&sums[0], (me + 1) % npes);
    shmem_barrier_all();
    CHECK(sums[0] == 1);
}

/* ---- among strangers ---- */

static double spent(clockid_t clock)
{
    struct timespec t = {0};

    CHECK(!clock_gettime(clock, &t));
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Strangers get 2 s to come before the first contact. The longest trip is the one during which both
 * PEs used most processor time: a PE that used it did other work than to answer, and time in which
 * one of them had no processor is not counted. */
static void among(double length)
{
    static int pid; /* of whoever owns it */
    int next = (me + 1) % npes;
    double own, theirs = 0, longest = 0, end;
    clockid_t clock;
    long n = 0;

    pid = getpid();
    if (me == 0)
        puts("begun");
    fflush(stdout);
    sleep(2);
    end = seconds() + length;
    own = spent(CLOCK_PROCESS_CPUTIME_ID);
    CHECK(!clock_getcpuclockid(shmem_int_atomic_fetch(&pid, next), &clock));
    for (; seconds() < end; n++) { /* what the partner has spent before it is known counts whole */
        double mine = spent(CLOCK_PROCESS_CPUTIME_ID) - own, other = spent(clock) - theirs;
        double both = mine < other ? mine : other;
        longest = both > longest ? both : longest;
        own = spent(CLOCK_PROCESS_CPUTIME_ID);
        theirs = spent(clock);
        shmem_uint64_atomic_fetch_inc(&sums[0], next);
        usleep(200); /* the processors are for whoever has something to do */
    }
    printf("PE %d: %ld round trips among strangers; both PEs spent %.1f ms on the longest\n", me, n,
           longest * 1e3);
    CHECK(longest < 0.1);
}

/* A collective may return while its source travels, or has to be sent again. */
static void sources(long count)
{
    enum { MOST = 300000 / 8 };
    uint64_t *source = shmem_malloc(MOST * 8), *dest = shmem_malloc((size_t)npes * MOST * 8);

    dice_state = (uint64_t)npes << 40; /* the same numbers on all PEs */
    begun();
    for (long i = 0; i < count; i++) {
        size_t words = 1 + (size_t)any(MOST);
        bool all = any(2);
        int root = (int)(i % npes), wrong = 0;

        for (size_t w = 0; w < words; w++)
            source[w] = (uint64_t)i << 40 | (uint64_t)me << 32 | w;
        if (all)
            shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, words * 8);
        else
            shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, words * 8, root);
        memset(source, 0xee, words * 8);
        for (int pe = 0; pe < (all ? npes : 1); pe++)
            for (size_t w = 0; w < words; w++)
                wrong += dest[(size_t)pe * words + w] !=
                         ((uint64_t)i << 40 | (uint64_t)(all ? pe : root) << 32 | w);
        CHECK(wrong == 0);
    }
    shmem_free(dest);
    shmem_free(source);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    long count = argc > 2 ? atol(argv[2]) : 8;
    size_t bytes = argc > 3 ? (size_t)atol(argv[3]) : 1 << 20;
    int status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    dice_state = (uint64_t)me << 32;
    if (!strcmp(what, "amo"))
        amo_storm(count);
    else if (!strcmp(what, "put"))
        put_storm(count, bytes);
    else if (!strcmp(what, "get"))
        get_storm(count, bytes);
    else if (!strcmp(what, "sources"))
        sources(count);
    else if (!strcmp(what, "forever"))
        forever((size_t)count);
    else if (!strcmp(what, "steady"))
        steady((double)count, argc > 3 ? (unsigned)bytes : 0);
    else if (!strcmp(what, "syncs"))
        syncs((double)count);
    else if (!strcmp(what, "among"))
        among((double)count);
    else if (!strcmp(what, "quiet"))
        quiet((unsigned)count);
    else
        CHECK(!"a known word");
    shmem_barrier_all();
    status = check_end("storm");
    shmem_finalize();
    return status;
}
