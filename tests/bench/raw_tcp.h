/* Raw limits between PEs that do not map each other's memory: the same work done over one TCP
 * connection of the loopback interface between PE 0 and PE 1. */
#ifndef SY_BENCH_RAW_TCP_H
#define SY_BENCH_RAW_TCP_H

#include "bench/bench.h"

/* Connects PE 0 and PE 1; collective over all PEs. Leaves -1 in bench->link where they are on two
 * machines, or cannot connect. */
void raw_tcp_open(struct bench *bench);
void raw_tcp_close(struct bench *bench);

bench_run raw_tcp_round_trips; /* n times 8 bytes there and back, both sides polling */
bench_run raw_tcp_barriers;    /* n times half a round trip for each doubling of the PEs */
bench_run raw_tcp_crossings;   /* the same of messages that cross: both sides send, then receive */
bench_run raw_tcp_batches;     /* n requests of 16 bytes, 64 in a write; n answers of 8 bytes */
bench_run raw_tcp_records; /* n records of 16 bytes in 64 KiB writes, applied as atomic additions */
bench_run raw_tcp_random;  /* 2 n of them, at random places of the table */
bench_run raw_tcp_stream;  /* n large blocks */
bench_run raw_tcp_busy;    /* n times the median round trip to a thread beside a computing one */

/* Why these limits are not what to compare with, or NULL. */
const char *raw_needs_far_peer(const struct bench *bench);

#endif
