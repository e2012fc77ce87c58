/* What 2 PEs put on the wire: PE 0 asks the kernel how many bytes its own TCP connections have sent
 * and received, does many operations of one kind towards PE 1, which only waits, and asks again.
 *   wire COUNT             a line for each kind of operation: its name, the bytes sent and received
 * for each wire puts|amos|blocks COUNT   only that; for a count of system calls from outside */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/conformance/check.h"

enum { WORDS = 1 << 16, PART = 1 << 20 };

static uint64_t words[WORDS], signal_word, done;
static char *block;
static long count;

struct bytes {
    uint64_t sent, received;
};

static struct bytes now(void)
{
    struct bytes sum = {0};

    for (int fd = 0; fd < 1024; fd++) {
        struct tcp_info info = {0};
        socklen_t size = sizeof info;
        if (!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size)) {
            sum.sent += info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
            sum.received += info.tcpi_bytes_received;
        }
    }
    return sum;
}

/* Words that are not neighbours, in pseudo-random order. */
static uint64_t *scattered(long i)
{
    return &words[(uint64_t)i * 40503u % (WORDS / 2) * 2];
}

static void put_nbi(long n)
{
    static const uint64_t value = 1;

    for (long i = 0; i < n; i++)
        shmem_uint64_put_nbi(scattered(i), &value, 1, 1);
}

static void p(long n)
{
    for (long i = 0; i < n; i++)
        shmem_uint64_p(scattered(i), (uint64_t)i, 1);
}

static void p_in_a_row(long n)
{
    for (long i = 0; i < n; i++)
        shmem_uint64_p(&words[i % WORDS], (uint64_t)i, 1);
}

static void add(long n)
{
    for (long i = 0; i < n; i++)
        shmem_uint64_atomic_add(scattered(i), 1, 1);
}

static void fetch_add_nbi(long n)
{
    static uint64_t old[1024];

    for (long i = 0; i < n; i++)
        shmem_uint64_atomic_fetch_add_nbi(&old[i % 1024], scattered(i), 1, 1);
}

static void p_and_fence(long n)
{
    for (long i = 0; i < n; i++) {
        shmem_uint64_p(scattered(i), (uint64_t)i, 1);
        shmem_fence();
    }
}

static void put_signal_nbi(long n)
{
    static const uint64_t value = 1;

    for (long i = 0; i < n; i++)
        shmem_uint64_put_signal_nbi(scattered(i), &value, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, 1);
}

static void p_and_quiet(long n)
{
    for (long i = 0; i < n; i++) {
        shmem_uint64_p(scattered(i), (uint64_t)i, 1);
        shmem_quiet();
    }
}

static void quiet_alone(long n)
{
    for (long i = 0; i < n; i++)
        shmem_quiet();
}

static void fetch_add(long n)
{
    for (long i = 0; i < n; i++)
        shmem_uint64_atomic_fetch_add(scattered(i), 1, 1);
}

static void get(long n)
{
    for (long i = 0; i < n; i++)
        shmem_uint64_g(scattered(i), 1);
}

static void put_1MiB(long n)
{
    for (long i = 0; i < n; i++)
        shmem_putmem(block, block, PART, 1);
}

/* From the beginning of a page, and from behind it. */
static void get_page(long n)
{
    for (long i = 0; i < n; i++)
        shmem_getmem(words, block, 8192, 1);
}

static void get_behind(long n)
{
    for (long i = 0; i < n; i++)
        shmem_getmem(words, block + 64, 8192, 1);
}

static void iput_1000(long n)
{
    for (long i = 0; i < n; i++)
        shmem_uint64_iput(words, words, 2, 1, 1000, 1);
}

/* Each kind, and the part of COUNT that is enough for it. */
static const struct {
    const char *name;
    void (*run)(long n);
    long divisor;
} kinds[] = {
    {"put_nbi", put_nbi, 1},
    {"p", p, 1},
    {"p_in_a_row", p_in_a_row, 1},
    {"add", add, 1},
    {"fetch_add_nbi", fetch_add_nbi, 1},
    {"p_and_fence", p_and_fence, 1},
    {"put_signal_nbi", put_signal_nbi, 1},
    {"p_and_quiet", p_and_quiet, 100},
    {"quiet_alone", quiet_alone, 100},
    {"fetch_add", fetch_add, 100},
    {"get", get, 100},
    {"put_1MiB", put_1MiB, 10000},
    {"get_page", get_page, 1000},
    {"get_behind", get_behind, 1000},
    {"iput_1000", iput_1000, 1000},
};

static void measure(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        long n = count / kinds[i].divisor;
        struct bytes before, after;
        kinds[i].run(1); /* connections are made when first used */
        shmem_quiet();
        before = now();
        kinds[i].run(n);
        shmem_quiet();
        after = now();
        printf("%s %.2f %.2f\n", kinds[i].name, (double)(after.sent - before.sent) / (double)n,
               (double)(after.received - before.received) / (double)n);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "all";

    shmem_init();
    count = argc > 1 ? atol(argv[argc - 1]) : 100000;
    block = shmem_align(4096, PART);
    CHECK(shmem_n_pes() == 2 && block);
    memset(block, 0, PART);
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        if (!strcmp(what, "puts"))
            put_nbi(count);
        else if (!strcmp(what, "amos"))
            add(count);
        else if (!strcmp(what, "blocks"))
            put_1MiB(count);
        else
            measure();
        shmem_quiet();
        shmem_uint64_p(&done, 1, 1);
        shmem_quiet();
    } else {
        shmem_uint64_wait_until(&done, SHMEM_CMP_EQ, 1);
    }
    shmem_barrier_all();
    int status = check_end("wire");
    shmem_finalize();
    return status;
}
