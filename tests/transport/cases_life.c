/* Cases of the suite that open and close the plugin themselves. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/transport/suite.h"

/* A little of everything, to check that a plugin works fully after it was opened again. */
static void use(uint64_t round)
{
    uint64_t base = suite_area(SUITE_UNMAPPED, suite.pe), value = round * 3 + 1, old = 0;

    for (int i = 0; i < suite.peers; i++) {
        struct suite_place to = {suite.peer[i], SUITE_UNMAPPED, base};
        suite_put(suite.ctx, to, &value, 8, SY_BLOCKING);
        suite_fence(suite.ctx);
        suite_amo(suite.ctx,
                  &(struct sy_amo){.pe = to.pe,
                                   .window = to.window,
                                   .offset = to.offset,
                                   .op = SY_AMO_ADD,
                                   .width = 8,
                                   .operand = 5,
                                   .result = &old},
                  SY_BLOCKING);
        CHECK(old == value, "%llu instead of %llu", (unsigned long long)old,
              (unsigned long long)value);
    }
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    for (int i = 0; i < suite.peers; i++) {
        uint64_t there;
        memcpy(&there,
               suite.window[SUITE_UNMAPPED].base + suite_area(SUITE_UNMAPPED, suite.peer[i]), 8);
        CHECK(there == value + 5, "PE %d left %llu", suite.peer[i], (unsigned long long)there);
    }
    suite_barrier();
}

static int open_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Puts of both instances in flight at once, from this PE to every other; `other` is not in use. */
static void use_both(struct suite *other)
{
    uint64_t base = suite_area(SUITE_UNMAPPED, suite.pe) + 64, there[2];
    const uint64_t values[2] = {1000 + (uint64_t)suite.pe, 2000 + (uint64_t)suite.pe};

    for (int side = 0; side < 2; side++, suite_swap(other))
        for (int i = 0; i < suite.peers; i++)
            suite_put(
                suite.ctx,
                (struct suite_place){suite.peer[i], SUITE_UNMAPPED, base + 8 * (unsigned)side},
                &values[side], 8, 0);
    for (int side = 0; side < 2; side++, suite_swap(other))
        suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    for (int i = 0; i < suite.peers; i++) {
        int pe = suite.peer[i];
        memcpy(there, suite.window[SUITE_UNMAPPED].base + suite_area(SUITE_UNMAPPED, pe) + 64, 16);
        CHECK(there[0] == 1000 + (uint64_t)pe && there[1] == 2000 + (uint64_t)pe,
              "PE %d left %llu and %llu", pe, (unsigned long long)there[0],
              (unsigned long long)there[1]);
    }
    suite_barrier();
}

/* Two instances in one process carry data side by side, and one continues when the other has been
 * closed. */
void case_beside(void)
{
    suite_up();
    struct suite other = suite;
    suite_up();
    CHECK(suite.self != other.self, "both opens gave the same instance");
    for (uint64_t round = 0; round < 4; round++, suite_swap(&other))
        use(round);
    use_both(&other);
    suite_barrier();
    suite_close();
    suite_swap(&other);
    use(4);
    suite_down();
}

/* ---- regions ---- */

/* Between two pages that nobody may touch; a sealed file, or fd -1. */
static struct sy_region new_region(size_t length, bool file)
{
    const size_t page = 4096;
    int fd = file ? memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    char *room = mmap(NULL, length + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (room == MAP_FAILED ||
        (file && (fd < 0 || ftruncate(fd, (off_t)(length + page)) ||
                  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))) ||
        mmap(room + page, length, PROT_READ | PROT_WRITE,
             MAP_FIXED | (file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS), fd,
             file ? (off_t)page : 0) == MAP_FAILED)
        suite_give_up("no memory for a region: %s", strerror(errno));
    return (struct sy_region){.kind = file ? SY_REGION_FILE : SY_REGION_CPU,
                              .base = room + page,
                              .length = length,
                              .fd = fd,
                              .fd_offset = page};
}

static void free_region(const struct sy_region *region)
{
    munmap(region->base - 4096, region->length + 2 * 4096);
    if (region->fd >= 0)
        close(region->fd);
}

/* Each PE has a part of everybody's region, at its end: puts, an atomic operation, gets. */
static void use_region(const struct sy_region *region, uint64_t seed)
{
    size_t part = region->length / (size_t)suite.npes / 64 * 64;
    uint64_t place = region->length - (size_t)(suite.pe + 1) * part;
    char *data = malloc(part), *back = malloc(part);

    for (int i = 0; i < suite.peers; i++) {
        int pe = suite.peer[i];
        suite_fill(data, part, seed + (uint64_t)pe);
        suite_put(suite.ctx, (struct suite_place){pe, SUITE_LATE, place}, data, part, SY_BLOCKING);
        suite_fence(suite.ctx);
        suite_add(suite.ctx, (struct suite_place){pe, SUITE_LATE, place}, 3);
        suite_quiet(suite.ctx, pe);
        suite_get(suite.ctx, back, (struct suite_place){pe, SUITE_LATE, place}, part, SY_BLOCKING);
        uint64_t word;
        memcpy(&word, back, 8);
        word -= 3;
        memcpy(back, &word, 8);
        CHECK(suite_differs(back, part, seed + (uint64_t)pe) < 0,
              "what PE %d has is not what was put", pe);
    }
    suite_barrier();
    for (int i = 0; i < suite.peers; i++) {
        char *there = region->base + region->length - (size_t)(suite.peer[i] + 1) * part;
        uint64_t word;
        memcpy(&word, there, 8);
        word -= 3;
        memcpy(there, &word, 8);
        CHECK(suite_differs(there, part, seed + (uint64_t)suite.pe) < 0,
              "PE %d has put something else", suite.peer[i]);
    }
    free(data);
    free(back);
}

/* A region is attached while there is traffic, used, detached and given back, and its number taken
 * by another one of another length elsewhere; of any kind of memory that the plugin takes. */
void case_regions(void)
{
    static const size_t lengths[] = {1 << 20, 1 << 16, 3 << 20, 1 << 18, 1 << 18};
    struct sy_error err = {""};
    int used = 0;

    for (size_t round = 0; round < sizeof lengths / sizeof *lengths; round++) {
        struct sy_region region = new_region(lengths[round], round % 2 == 0);
        int rc = suite_attach(SUITE_LATE, &region, &err);
        CHECK(!rc || rc == -EOPNOTSUPP || rc == -ECANCELED, "attach: %s: %s", strerror(-rc),
              err.text);
        CHECK(!rc || *err.text, "attach: no words for %s", strerror(-rc));
        use(round + 100);
        if (!rc) {
            use_region(&region, 1000 * round);
            suite_detach(SUITE_LATE);
            used++;
        }
        free_region(&region);
        use(round + 200);
    }
    CHECK(used >= 3, "only %d regions could be attached", used);
}

/* Opened, used and closed several times in one process; nothing is left over. */
void case_reopen(void)
{
    int descriptors = 0;

    for (uint64_t round = 0; round < 4; round++) {
        suite_up();
        use(round);
        suite_down();
        if (!round)
            descriptors = open_descriptors();
    }
    CHECK(open_descriptors() == descriptors, "%d descriptors were open, %d are after three more",
          descriptors, open_descriptors());
}

/* Closed without having been connected, and connected without any traffic. */
void case_unused(void)
{
    struct sy_error err;

    for (int round = 0; round < 3; round++) {
        int rc = suite_open(&err);
        CHECK(!rc, "open: %s", err.text);
        if (!rc)
            suite_close();
        suite_barrier_asleep();
    }
    suite_up();
    suite_close();
    suite_barrier_asleep();
}

/* One PE opens, publishes its address and then does not connect. The others connect all the same,
 * or get an error within the time; then all can close, and begin anew. */
void case_absent(void)
{
    enum { SECONDS = 2 };
    struct sy_error err;
    char address[128] = "";

    if (suite_open(&err))
        suite_give_up("open: %s", err.text);
    if (suite.pe == suite.npes - 1) {
        suite.table->address(suite.self, address, sizeof address);
        suite_exchange(address, sizeof address);
        suite_barrier_asleep();
        suite_close();
    } else {
        time_t begin = time(NULL);
        int rc = suite_connect(SECONDS, &err);
        CHECK(!rc || *err.text, "connect failed with %s, but without words", strerror(-rc));
        CHECK(time(NULL) - begin < SECONDS + 60, "connect took %ld s", (long)(time(NULL) - begin));
        suite_barrier_asleep();
        suite_close();
    }
    suite_barrier_asleep();
    suite_up();
    use(1);
    suite_down();
}

/* ---- what no PE may be able to do ---- */

static const struct {
    unsigned window;
    uint64_t offset; /* counted from the end of the window where it is negative */
    size_t length;
    enum { PUT, GET, AMO } kind;
} bad[SUITE_BOUNDS] = {
    {SUITE_UNMAPPED, (uint64_t)-4, 8, PUT},
    {SUITE_UNMAPPED, 0, 4 * SUITE_GUARD + 8, PUT},
    {SUITE_HEAP, (uint64_t)-1, 2, PUT},
    {SUITE_UNMAPPED, UINT64_MAX / 2, 16, PUT},
    {SUITE_WINDOWS, 0, 8, PUT},
    {SUITE_UNMAPPED, (uint64_t)-8, 16, GET},
    {1000, 64, 8, GET},
    {SUITE_UNMAPPED, (uint64_t)-4, 8, AMO},
    {SUITE_UNMAPPED, 3, 8, AMO},
    {SUITE_HEAP, 1 << 30, 8, AMO},
};

static int make(size_t which, int pe)
{
    static char local[5 * SUITE_GUARD];
    unsigned window = bad[which].window;
    uint64_t offset = bad[which].offset;
    uint64_t result;

    if ((int64_t)offset < 0)
        offset += suite.window[window].length;
    struct sy_transfer t = {
        .pe = pe, .window = window, .offset = offset, .local = local, .length = bad[which].length};
    struct sy_amo amo = {.pe = pe,
                         .window = window,
                         .offset = offset,
                         .op = SY_AMO_ADD,
                         .width = 8,
                         .operand = 1,
                         .result = &result};
    memset(local, 0x77, sizeof local);
    if (bad[which].kind == AMO)
        return suite.table->amo(suite.self, suite.ctx, &amo, SY_BLOCKING);
    return bad[which].kind == PUT ? suite.table->put(suite.self, suite.ctx, &t, SY_BLOCKING)
                                  : suite.table->get(suite.self, suite.ctx, &t, SY_BLOCKING);
}

/* Whether the call's outcome is known, or two seconds have passed. */
static bool settle(int answer, time_t begin)
{
    if (!answer)
        answer = suite.table->quiet(suite.self, suite.ctx, SY_ALL_PES);
    return answer != -EAGAIN || time(NULL) > begin + 2;
}

static void give_up_forging(int signal)
{
    (void)signal;
    atomic_store(&suite.shared->lost, 1);
    _exit(0);
}

/* The core never asks for such a thing; a message that has been damaged or forged does. The plugin
 * may answer with an error, drop it, keep the one who asks waiting, or report a PE as lost: but it
 * writes nothing outside the windows, here or there, and no process dies. Who looks at the memory
 * is main.c, behind the end of the job. */
void case_bounds(void)
{
    size_t which = (size_t)suite_bound;

    suite.may_lose = true;
    suite_up();
    if (!suite.pe) {
        time_t begin = time(NULL);
        int answer;
        signal(SIGALRM, give_up_forging);
        alarm(4);
        while ((answer = make(which, suite.peer[0])) == -EAGAIN && time(NULL) < begin + 2)
            suite_poll();
        while (!settle(answer, begin))
            suite_poll();
        usleep(50000); /* what was dropped in silence arrives */
        alarm(0);
    }
    suite_barrier();
    suite_close();
}
