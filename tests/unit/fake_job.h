/* A job of many PEs in one process and one thread: what the collectives (shmem/coll) need of the core. Each PE is a
 * coroutine that another one follows where it waits or looks at another PE's memory, in an order that a seed determines;
 * so a run can be repeated, and PEs that wait for ever are found by counting instead of by a clock.
 *
 * PEs of one node have each other's memory mapped. What goes between nodes is a message that arrives some time later,
 * before or after others of the same sender unless a fence is between them; a put that does not block takes its data
 * when it arrives. */
#ifndef TESTS_UNIT_FAKE_JOB_H
#define TESTS_UNIT_FAKE_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "coll/group.h"

enum {
    FAKE_PES = 40,
    FAKE_HEAP = 1 << 23 /* bytes of each PE */
};

/* Where a test sets it, messages arrive when no PE can go on without them, all at a time: each time is one latency of a
 * line that is long and has room for everything. They are counted. */
extern bool fake_long_line;
extern long fake_latencies;

/* Messages about failures in a job use this name. */
extern char fake_what[200];

/* Runs `body` on every PE: PE pe is on node place[pe], and gets the world team's group. */
void fake_run(uint64_t seed, int npes, const int *place, void (*body)(struct sy_group *world));

/* The group of start, start + stride, ... of this PE's job, of which this PE is a member; it lasts as long as the job. */
struct sy_group fake_team(int start, int stride, int size);

/* The same offset of this PE's heap on every PE: `bytes` at a multiple of a cache line. */
void *fake_alloc(size_t bytes);

/* Dice: a number below `limit` for this PE alone, and one that is the same on all PEs that have
 * drawn equally often. */
uint64_t fake_own(uint64_t limit);
uint64_t fake_common(uint64_t limit);

/* Lets other PEs run. */
void fake_yield(void);

/* Ends the test, naming the job and the PE, unless they are equal. */
#define FAKE_SAME(A, B, WHAT) fake_same((long)(A), (long)(B), WHAT, __LINE__)
void fake_same(long is, long wanted, const char *what, int line);

#endif
