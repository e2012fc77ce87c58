/* Raw limits: the same work done with plain loads, stores and atomics on the PEs' mapped memory. */
#ifndef SY_BENCH_RAW_H
#define SY_BENCH_RAW_H

#include "bench/bench.h"

bench_run raw_store;       /* n stores to one word of PE 1 */
bench_run raw_load;        /* n loads of it */
bench_run raw_call_store;  /* n calls of a function that stores one word, over an array of PE 1 */
bench_run raw_fetch_add;   /* n atomic additions to a word of this PE */
bench_run raw_copy;        /* n copies of the large block into PE 1 */
bench_run raw_copy_from;   /* PE 0: n copies of BENCH_MIDDLE bytes from PE 1 */
bench_run raw_two_passes;  /* PE 0: each of them twice */
bench_run raw_round_trips; /* n times a cache line there and another one back */
bench_run raw_barriers;    /* 2 PEs: round trips; more: a counter and a generation on PE 0 */
bench_run raw_spawn;       /* n times fork, exec and exit of a small program */

/* Why they cannot run here, or NULL. */
const char *raw_needs_peer(const struct bench *bench);

#endif
