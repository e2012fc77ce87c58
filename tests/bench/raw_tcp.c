/* Raw limits, see raw_tcp.h. After the connection is made the library is not called. */
#include "bench/raw_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/stats.h"

enum { RECORDS = 4096, BATCH = 64, SPINS = 256 };

struct record {
    uint64_t header, operand;
};

const char *raw_needs_far_peer(const struct bench *bench)
{
    if (bench->npes < 2)
        return "needs 2 PEs";
    return bench->apart ? NULL : "needs PE 1 on another node, or SHMEM_TRANSPORTS=tcp";
}

/* ---- the connection ---- */

static struct sockaddr_in loopback(long port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* PE 1: a listening socket and its port, or -1. */
static int listen_here(long *port)
{
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (void *)&address, length) || listen(fd, 1) ||
        getsockname(fd, (void *)&address, &length)) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}

static int connect_there(long port)
{
    struct sockaddr_in address = loopback(port);
    int fd = port ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

    if (fd >= 0 && connect(fd, (void *)&address, sizeof(address))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int accept_one(int listener)
{
    struct pollfd wait = {.fd = listener, .events = POLLIN};

    return listener >= 0 && poll(&wait, 1, 2000) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC)
                                                      : -1;
}

/* On two machines another program may listen on the port: both sides send a word that they
 * exchanged through the library. */
static int make_sure(int fd, long word)
{
    const struct timeval patience = {.tv_sec = 3};
    int one = 1;
    long said = 0;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (send(fd, &word, sizeof(word), MSG_NOSIGNAL) == sizeof(word) &&
        recv(fd, &said, sizeof(said), MSG_WAITALL) == sizeof(said) && said == word)
        return fd;
    close(fd);
    return -1;
}

void raw_tcp_open(struct bench *bench)
{
    struct bench_shared *shared = bench->shared;
    int listener = -1;
    long port = 0, word = (long)getpid() << 32 ^ (long)(bench_now() * 1e9);

    bench->link = -1;
    if (bench->me == 1) {
        listener = listen_here(&port);
        shared->raw_word = word;
        shmem_long_p(&shared->ping, port, 0);
        shmem_long_p(&shared->word, word, 0);
    }
    shmem_barrier_all();
    if (bench->me == 0)
        bench->link = make_sure(connect_there(shared->ping), shared->word);
    else if (bench->me == 1)
        bench->link = make_sure(accept_one(listener), word);
    if (listener >= 0)
        close(listener);
    shmem_barrier_all();
    shared->ping = shared->word = 0;
    shared->raw_word = 0;
    shmem_barrier_all();
}

void raw_tcp_close(struct bench *bench)
{
    if (bench->link >= 0)
        close(bench->link);
}

/* ---- moving bytes ---- */

static void poll_for_data(const struct bench *bench, bool poll_it)
{
    int flags = fcntl(bench->link, F_GETFL);

    fcntl(bench->link, F_SETFL, poll_it ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

static void give_up(const char *what)
{
    fprintf(stderr, "oshbench: %s over the raw connection: %s\n", what, strerror(errno));
    exit(1);
}

static void send_all(const struct bench *bench, const void *from, size_t length)
{
    for (const char *at = from; length;) {
        ssize_t sent = send(bench->link, at, length, MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            give_up("send");
        if (sent > 0) {
            at += sent;
            length -= (size_t)sent;
        }
    }
}

/* At most `room` bytes, at least one. */
static size_t receive_some(const struct bench *bench, void *to, size_t room)
{
    for (long spins = 0;; spins++) {
        ssize_t got = recv(bench->link, to, room, 0);

        if (got > 0)
            return (size_t)got;
        if (!got || (errno != EAGAIN && errno != EINTR))
            give_up("receive");
        if (spins > SPINS)
            sched_yield();
    }
}

static void receive_all(const struct bench *bench, void *to, size_t length)
{
    for (char *at = to; length;) {
        size_t got = receive_some(bench, at, length);

        at += got;
        length -= got;
    }
}

/* ---- limits ---- */

/* `turns` round trips, with so many bytes each way. */
static double exchange(const struct bench *bench, long turns, size_t there, size_t back)
{
    static char bytes[BATCH * sizeof(struct record)];
    double begin = bench_now();

    for (long i = 0; i < turns; i++) {
        if (bench->me == 0)
            send_all(bench, bytes, there);
        receive_all(bench, bytes, bench->me == 0 ? back : there);
        if (bench->me != 0)
            send_all(bench, bytes, back);
    }
    return bench_now() - begin;
}

double raw_tcp_round_trips(struct bench *bench, long n)
{
    poll_for_data(bench, true);
    return exchange(bench, n, sizeof(uint64_t), sizeof(uint64_t));
}

/* How many doublings lead from one PE to all. */
static int doublings(const struct bench *bench)
{
    int rounds = 0;

    while (1 << rounds < bench->npes)
        rounds++;
    return rounds;
}

double raw_tcp_barriers(struct bench *bench, long n)
{
    return bench->me > 1 ? 0.0 : raw_tcp_round_trips(bench, n) / 2 * doublings(bench);
}

double raw_tcp_crossings(struct bench *bench, long n)
{
    uint64_t word = 0;

    if (bench->me > 1)
        return 0.0;
    poll_for_data(bench, true);
    double begin = bench_now();
    for (long i = 0; i < n; i++) {
        send_all(bench, &word, sizeof(word));
        receive_all(bench, &word, sizeof(word));
    }
    return (bench_now() - begin) * doublings(bench);
}

double raw_tcp_batches(struct bench *bench, long n)
{
    long turns = (n + BATCH - 1) / BATCH;

    poll_for_data(bench, true);
    return exchange(bench, turns, BATCH * sizeof(struct record), BATCH * sizeof(uint64_t)) *
           (double)n / (double)(turns * BATCH);
}

/* PE 0: sends n records that name words below `words`, in order or at random. */
static void send_records(const struct bench *bench, long n, uint64_t words, bool random)
{
    static struct record out[RECORDS];
    uint64_t dice = 88172645463325252u;
    size_t used = 0;

    for (long i = 0; i < n; i++) {
        uint64_t word = (uint64_t)i;

        if (random) {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            word = dice;
        }
        out[used++] = (struct record){1ul << 58 | (word & (words - 1)) * 8, (uint64_t)i};
        if (used == RECORDS) {
            send_all(bench, out, sizeof(out));
            used = 0;
        }
    }
    send_all(bench, out, used * sizeof(out[0]));
}

/* PE 1: applies n records to an array of `words`. */
static void apply_records(const struct bench *bench, long n, uint64_t *array, uint64_t words)
{
    static struct record in[2 * RECORDS];
    size_t have = 0;

    for (long left = n; left;) {
        have += receive_some(bench, (char *)in + have, sizeof(in) - have);
        size_t whole = have / sizeof(in[0]);

        for (size_t i = 0; i < whole; i++) {
            uint64_t offset = in[i].header & ((1ul << 44) - 1);

            if (offset > (words - 1) * 8)
                abort();
            __atomic_fetch_add(&array[offset / 8], in[i].operand, __ATOMIC_RELAXED);
        }
        left -= (long)whole;
        have -= whole * sizeof(in[0]);
        memmove(in, in + whole, have);
    }
}

static double records(struct bench *bench, long n, uint64_t *array, uint64_t words, bool random)
{
    double begin = bench_now();
    char done = 0;

    poll_for_data(bench, false);
    if (bench->me == 0) {
        send_records(bench, n, words, random);
        receive_all(bench, &done, 1);
    } else {
        apply_records(bench, n, array, words);
        send_all(bench, &done, 1);
    }
    return bench_now() - begin;
}

double raw_tcp_records(struct bench *bench, long n)
{
    return records(bench, n, (uint64_t *)bench->shared->words, BENCH_WORDS, false);
}

double raw_tcp_random(struct bench *bench, long n)
{
    return bench->me > 1 ? 0.0 : records(bench, 2 * n, bench->table, BENCH_TABLE, true);
}

double raw_tcp_stream(struct bench *bench, long n)
{
    double begin = bench_now();
    char done = 0;

    poll_for_data(bench, false);
    for (long i = 0; i < n; i++) {
        if (bench->me == 0)
            send_all(bench, bench->source, BENCH_BLOCK);
        else
            receive_all(bench, bench->shared->block, BENCH_BLOCK);
    }
    if (bench->me == 0)
        receive_all(bench, &done, 1);
    else
        send_all(bench, &done, 1);
    return bench_now() - begin;
}

/* PE 1's server thread, which runs while PE 1 computes. */
static void *serve(void *argument)
{
    const struct bench *bench = argument;
    uint64_t word;

    for (int i = 0; i < BENCH_SAMPLES; i++) {
        receive_all(bench, &word, sizeof(word));
        send_all(bench, &word, sizeof(word));
    }
    atomic_store(&bench->shared->raw_ping, 1);
    return NULL;
}

static double ask_in_turns(void *argument)
{
    const struct bench *bench = argument;
    uint64_t word = 0;
    double begin = bench_now();

    send_all(bench, &word, sizeof(word));
    receive_all(bench, &word, sizeof(word));
    return bench_now() - begin;
}

double raw_tcp_busy(struct bench *bench, long n)
{
    pthread_t server;

    poll_for_data(bench, bench->me == 0);
    if (bench->me == 0)
        return (double)n * stats_sample(ask_in_turns, bench, 0.5);
    if (pthread_create(&server, NULL, serve, bench))
        give_up("a thread");
    while (!atomic_load_explicit(&bench->shared->raw_ping, memory_order_relaxed))
        ;
    pthread_join(server, NULL);
    atomic_store(&bench->shared->raw_ping, 0);
    return 0.0;
}
