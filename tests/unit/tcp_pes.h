/* The processes of a test of the tcp transport's connections: each has the conn layer and stand-ins
 * for streams and polling. They share what is in `shared`. */
#ifndef TESTS_UNIT_TCP_PES_H
#define TESTS_UNIT_TCP_PES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "transports/tcp/conn/candidates.h"
#include "transports/tcp/conn/handshake.h"
#include "transports/tcp/conn/pending.h"

#define PES    4
#define LANES  16
#define SECOND UINT64_C(1000000000)
#define HANG   (30 * SECOND)

struct shared {
    _Atomic int arrived;
    _Atomic bool over;
    _Atomic int step; /* of a test whose PEs act in turns */
    unsigned char address[PES][128];
    size_t length[PES];
    unsigned char keys[PES][32];
};

#define require(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "PE %d, line %d: %s\n", host.pe, __LINE__, #condition);                \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Polls until it holds. */
#define poll_until(condition)                                                                      \
    do {                                                                                           \
        for (uint64_t end = sy_tcp_now() + HANG; !(condition); poll_once(1))                       \
            require(sy_tcp_now() < end);                                                           \
    } while (0)

struct tcp_stream {
    int pe;
    unsigned number;
    int fd;
    bool connector;
    int adopted, frozen, unreachable;
    struct tcp_positions mine, theirs;
    unsigned char keys[32];
    unsigned seen;
    char why[400];
    uint64_t retry;
};

extern struct shared *shared;
extern struct tcp_settings settings;
extern unsigned char key[32];
extern int log_lines;
extern int refused_accepts; /* the next ones, for want of memory */
extern struct sy_host host;
extern struct tcp_net *net;
extern struct tcp_counters counters;
extern struct tcp_stream streams[PES][LANES];

/* Opens the layer once: 0, or 77 with the reason printed. */
int pes_probe(void);

/* Runs so many PEs. */
void run(int npes, void (*pe_main)(int pe));

/* All PEs of the test come here before one goes on; connections go on being made meanwhile. */
void meet(void);

void poll_once(int milliseconds);
struct tcp_stream *find(struct tcp *tcp, int pe, unsigned number);
void start(struct tcp_stream *stream);
void poll_until_adopted(struct tcp_stream *stream);

/* Both ends say a word over the stream, until each has heard the other's over the same connection:
 * it may be replaced meanwhile. Nothing but the words is in the stream. */
void exchange(struct tcp_stream *stream, uint32_t round);

#endif
