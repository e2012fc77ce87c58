/* A mixture of all kinds of operations between all PEs, whose outcome each PE models:
 *   mix ROUNDS [SEED [BYTES]]
 * Every PE owns a part of each PE's arena and is the only one to write there, in random pieces of
 * up to BYTES and in all the ways there are; it reads back some, and at the end of each round the
 * owner of the memory compares its checksum with the writer's. Words that all PEs add to must have
 * the exact sums. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/conformance/check.h"
#include "tests/conformance/dice.h"

enum { WORDS = 16, OPERATIONS = 200 };

static int me, npes;
static size_t part; /* bytes of an arena that belong to one writer */
static char *arena; /* npes parts */
static char *model; /* what this PE has written: npes parts, one for each target */
static char *scratch;
static uint64_t added[WORDS], words[WORDS], told[1024], signals[1024], sent[1024];

static uint64_t checksum(const char *bytes, size_t length)
{
    uint64_t sum = length;

    for (size_t i = 0; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 29;
    }
    return sum;
}

/* Most pieces are small, some as long as they may be. */
static size_t any_length(void)
{
    size_t limit = any(4) ? 64 : any(4) ? 4096 : part;

    return 1 + any(limit < part ? limit : part);
}

/* Pieces may overlap: two puts in order may, and a nonblocking put's source stays as it is. */
static void put_some(int pe)
{
    static bool sending;
    size_t length = any_length(), at = any(part - length + 1);
    char *dest = arena + (size_t)me * part + at, *mine = model + (size_t)pe * part + at;

    if (sending)
        shmem_quiet();
    else
        shmem_fence();
    for (size_t i = 0; i < length; i++)
        mine[i] = (char)any(256);
    unsigned how = (unsigned)any(5);
    sending = how == 1 || how == 3;
    switch (how) {
    case 0:
        shmem_putmem(dest, mine, length, pe);
        break;
    case 1:
        shmem_putmem_nbi(dest, mine, length, pe);
        break;
    case 2:
        for (size_t i = 0; i < length && i < 64; i++)
            shmem_char_p(dest + i, mine[i], pe);
        if (length > 64)
            shmem_putmem(dest + 64, mine + 64, length - 64, pe);
        break;
    case 3:
        shmem_putmem_signal_nbi(dest, mine, length, &signals[me], 1, SHMEM_SIGNAL_ADD, pe);
        sent[pe]++;
        break;
    default: /* every second byte, then the others */
        shmem_char_iput(dest, mine, 2, 2, (length + 1) / 2, pe);
        if (length > 1)
            shmem_char_iput(dest + 1, mine + 1, 2, 2, length / 2, pe);
    }
}

static void get_some(int pe)
{
    size_t length = any_length(), at = any(part - length + 1);
    const char *source = arena + (size_t)me * part + at, *mine = model + (size_t)pe * part + at;

    shmem_quiet();
    switch (any(3)) {
    case 0:
        shmem_getmem(scratch, source, length, pe);
        break;
    case 1:
        memset(scratch, 0, length);
        shmem_getmem_nbi(scratch, source, length, pe);
        shmem_quiet();
        break;
    default:
        shmem_char_iget(scratch, source, 1, 1, length, pe);
    }
    CHECK(memcmp(scratch, mine, length) == 0);
}

static void add_some(int pe)
{
    uint64_t i = any(WORDS), value = any(1u << 20);

    added[i] += value;
    if (any(2))
        shmem_uint64_atomic_add(&words[i], value, pe);
    else
        CHECK(shmem_uint64_atomic_fetch_add(&words[i], value, pe) < UINT64_MAX / 2);
}

static void play(long round)
{
    for (int i = 0; i < OPERATIONS; i++) {
        int pe = (int)any((uint64_t)npes);
        switch (any(4)) {
        case 0:
            get_some(pe);
            break;
        case 1:
            add_some(pe);
            break;
        default:
            put_some(pe);
        }
    }
    shmem_quiet();
    for (int pe = 0; pe < npes; pe++)
        shmem_uint64_p(&told[me], checksum(model + (size_t)pe * part, part), pe);
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++) {
        CHECK(told[pe] == checksum(arena + (size_t)pe * part, part));
        if (told[pe] != checksum(arena + (size_t)pe * part, part))
            fprintf(stderr, "PE %d: what PE %d wrote differs in round %ld\n", me, pe, round);
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 10;
    uint64_t seed = argc > 2 ? (uint64_t)atol(argv[2]) : 1;
    static uint64_t here[WORDS], all_here[WORDS], all_added[WORDS], there[1024];

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    part = argc > 3 ? (size_t)atol(argv[3]) : 65536;
    dice_state = seed << 32 | (uint64_t)me << 16;
    arena = shmem_calloc((size_t)npes, part);
    model = calloc((size_t)npes, part);
    scratch = malloc(part);
    CHECK(arena && model && scratch && npes <= 1024);
    shmem_barrier_all();
    for (long round = 0; round < rounds; round++)
        play(round);
    memcpy(here, words, sizeof here);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all_here, here, WORDS);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all_added, added, WORDS);
    CHECK(memcmp(all_here, all_added, sizeof all_here) == 0);
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, there, sent, 1);
    for (int pe = 0; pe < npes; pe++)
        CHECK(there[pe] == signals[pe]);
    int status = check_end("mix");
    shmem_finalize();
    return status;
}
