/* The measured operations, by theme. Each runs n times and returns the seconds that took. */
#ifndef SY_BENCH_ROWS_H
#define SY_BENCH_ROWS_H

#include "bench/bench.h"

/* rows_rma.c */
bench_run rma_put8, rma_put8_static;
bench_run rma_get8, rma_get8_static;
bench_run rma_p_rate;
bench_run rma_put_block;

/* rows_amo.c */
bench_run amo_fetch_add, amo_fetch_add_static;

/* rows_coll.c */
bench_run coll_sum_one, coll_sum_many;
bench_run coll_broadcast, coll_fcollect, coll_alltoall;
const char *coll_needs_room(const struct bench *bench); /* why there is none, or NULL */

/* rows_far.c */
bench_run far_put8_nbi, far_atomic_add, far_get8_nbi;
bench_run far_random_add;
bench_run far_get_block;
bench_run far_put_fence_p;
bench_run far_busy_median, far_busy_p95;
const char *far_needs_table(const struct bench *bench); /* why there is none, or NULL */

/* rows_sync.c */
bench_run sync_ping_pong, sync_put_signal;
bench_run sync_barrier_all, sync_sync_all, sync_team_sync;
bench_run sync_lock;

/* rows_setup.c */
bench_run setup_init;

#endif
