/* Memory that CPUs cannot load and store: a region whose addresses are of no use, and whose bytes
 * are elsewhere, known to the two functions of struct sy_host alone. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/transport/suite.h"

enum { LENGTH = 3 << 20 };

/* The device of this PE; there is none while `bytes` is NULL. */
static struct {
    pthread_mutex_t lock;
    char *bytes;
    uint64_t copies, amos;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_outside(unsigned window, uint64_t offset, size_t length)
{
    return window != SUITE_LATE || !device.bytes || offset > LENGTH || length > LENGTH - offset;
}

int suite_device_copy(unsigned window, bool in, uint64_t offset, void *local, size_t length)
{
    pthread_mutex_lock(&device.lock);
    bool outside = is_outside(window, offset, length);
    if (!outside)
        memcpy(in ? device.bytes + offset : local, in ? local : device.bytes + offset, length);
    device.copies++;
    pthread_mutex_unlock(&device.lock);
    return outside ? -EFAULT : 0;
}

int suite_device_amo(unsigned window, enum sy_amo_op op, uint64_t offset, size_t width,
                     uint64_t operand, uint64_t compare, uint64_t *result)
{
    pthread_mutex_lock(&device.lock);
    bool outside = is_outside(window, offset, width);
    if (!outside)
        suite.host->amo(op, device.bytes + offset, width, operand, compare, result);
    device.amos++;
    pthread_mutex_unlock(&device.lock);
    return outside ? -EFAULT : 0;
}

/* ---- what every PE does to the part of each other one's memory that is its own ---- */

static const size_t lengths[] = {1, 2, 4, 8, 3, 24, 4096, 5000, 70001, 200000, 600000};

static uint64_t part_of(int pe)
{
    return (uint64_t)pe * (LENGTH / SUITE_PES) / 64 * 64;
}

/* Any length, at odd places too; what was put is there and nothing else. */
static void move(struct suite_place at, uint64_t seed)
{
    size_t room = LENGTH / (size_t)suite.npes / 64 * 64, length;
    char *data = malloc(room), *back = malloc(room);

    at.offset = (uint64_t)suite.pe * room;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        length = lengths[i] < room - 64 ? lengths[i] : room - 64;
        struct suite_place to = {at.pe, at.window, at.offset + 8 + i % 3};
        suite_fill(data, length, seed + i);
        suite_put(suite.ctx, to, data, length, SY_BLOCKING);
        suite_quiet(suite.ctx, at.pe);
        memset(back, 0, length);
        suite_get(suite.ctx, back, to, length, SY_BLOCKING);
        CHECK(suite_differs(back, length, seed + i) < 0, "%zu bytes came back as others", length);
    }
    free(data);
    free(back);
}

/* Blocks of 1, 8 and 24 bytes, forwards and backwards. */
static void stride(struct suite_place at, size_t block, ptrdiff_t apart)
{
    enum { BLOCKS = 50 };
    char data[BLOCKS * 24], back[BLOCKS * 24] = "";
    struct sy_strided s = {.first = {.pe = at.pe,
                                     .window = at.window,
                                     .offset = at.offset + (apart < 0 ? BLOCKS * 40 : 0),
                                     .local = data},
                           .block = block,
                           .blocks = BLOCKS,
                           .remote_stride = apart,
                           .local_stride = (ptrdiff_t)block};

    suite_fill(data, block * BLOCKS, block + (size_t)suite.pe);
    suite_strided(suite.ctx, true, &s);
    suite_quiet(suite.ctx, at.pe);
    s.first.local = back;
    suite_strided(suite.ctx, false, &s);
    suite_quiet(suite.ctx, at.pe);
    CHECK(!memcmp(data, back, block * BLOCKS), "blocks of %zu bytes came back as others", block);
}

static uint64_t fetch(struct suite_place at, enum sy_amo_op op, unsigned width, uint64_t operand,
                      uint64_t compare)
{
    uint64_t old = 0;

    suite_amo(suite.ctx,
              &(struct sy_amo){.pe = at.pe,
                               .window = at.window,
                               .offset = at.offset,
                               .op = op,
                               .width = width,
                               .operand = operand,
                               .compare = compare,
                               .result = &old},
              SY_BLOCKING);
    return old;
}

static void count(struct suite_place at)
{
    uint64_t value = 40 + (uint64_t)suite.pe;

    suite_put(suite.ctx, at, &value, 8, SY_BLOCKING);
    suite_fence(suite.ctx);
    suite_add(suite.ctx, at, 2);
    suite_quiet(suite.ctx, at.pe);
    CHECK(fetch(at, SY_AMO_FETCH, 8, 0, 0) == value + 2, "an addition is not there");
    CHECK(fetch(at, SY_AMO_CSWAP, 8, 7, value + 2) == value + 2, "compare and swap is not");
    CHECK(fetch(at, SY_AMO_SWAP, 4, 9, 0) == 7, "swap of 4 bytes is not");
    CHECK(fetch(at, SY_AMO_XOR, 8, 1, 0) == 9, "what was swapped in is not");
    suite_put_signal(suite.ctx, (struct suite_place){at.pe, at.window, at.offset + 16}, &value, 8,
                     at.offset, SY_AMO_ADD, 100, 0);
    suite_quiet(suite.ctx, at.pe);
    CHECK(fetch(at, SY_AMO_FETCH, 8, 0, 0) == 108, "a signal is not there");
    CHECK(fetch((struct suite_place){at.pe, at.window, at.offset + 16}, SY_AMO_FETCH, 8, 0, 0) ==
              value,
          "what was put before it is not");
}

static void use_device(void)
{
    for (int i = 0; i < suite.peers; i++) {
        struct suite_place at = {suite.peer[i], SUITE_LATE, part_of(suite.pe)};
        move(at, 77 * (uint64_t)suite.pe);
    }
    suite_barrier();
    for (int i = 0; i < suite.peers; i++) {
        struct suite_place at = {suite.peer[i], SUITE_LATE, part_of(suite.pe)};
        stride(at, 1, 3);
        stride(at, 8, -40);
        stride(at, 24, 32);
        count(at);
    }
    suite_barrier();
    for (int i = 0; i < suite.peers; i++) {
        uint64_t word;
        suite_device_copy(SUITE_LATE, false, part_of(suite.peer[i]), &word, 8);
        CHECK(word == 108, "PE %d has left %llu", suite.peer[i], (unsigned long long)word);
    }
}

/* Attached twice, since what was made for the first may be there for the second. */
void case_device(void)
{
    struct sy_region region = {.kind = SY_REGION_DEVICE, .length = LENGTH, .fd = -1};
    struct sy_error err = {""};

    region.base = mmap(NULL, LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int round = 0; round < 2; round++) {
        device.bytes = calloc(1, LENGTH);
        int rc = suite_attach(SUITE_LATE, &region, &err);
        CHECK(!rc || (rc == -EOPNOTSUPP && *err.text), "memory of a device: %s: %s", strerror(-rc),
              err.text);
        if (!rc) {
            use_device();
            suite_detach(SUITE_LATE);
        }
        pthread_mutex_lock(&device.lock);
        free(device.bytes);
        device.bytes = NULL;
        CHECK(rc || !suite.peers || (device.copies && device.amos), "the device was not used");
        pthread_mutex_unlock(&device.lock);
    }
    munmap(region.base, LENGTH);
}
