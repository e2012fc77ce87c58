/* Streams: queues of operations that the library carries out later, one after another, while the
 * program goes on (docs/streams.md).
 *
 * A routine whose name ends in _on_stream has the arguments of the blocking routine without that
 * ending, and the stream. It adds the operation and returns. Pointers are used when the operation
 * is carried out: what they point to stays as it is until then. Values that the blocking routine
 * returns go to memory. PEs are numbers on the stream's team. An error of the program, such as a
 * bad address, ends the job with a message when the operation is carried out; what is none, such as
 * a lack of memory, comes out at shmemx_stream_synchronize. SHMEMX_STREAM_INVALID ends the job.
 *
 * Puts, atomic operations that fetch nothing, and signals are started in their order, and are
 * ordered at the target by shmemx_fence_on_stream alone, like those of a context. Every other
 * operation, and the end of the stream, waits until all before it is complete, and is itself
 * complete before what comes after it begins. */
#ifndef SY_API
#include "../shmemx.h"
#else

/* Makes a stream; not collective. config: NULL for the defaults. 0; otherwise *stream is
 * SHMEMX_STREAM_INVALID, and the log says why: below SHMEM_THREAD_FUNNELED there are no streams. */
int SY_API(shmemx_stream_create)(shmem_team_t team, const shmemx_stream_config_t *config,
                                 shmemx_stream_t *stream);

/* Waits until all that has been added is complete, and ends the stream. Of SHMEMX_STREAM_INVALID it
 * has no effect. */
void SY_API(shmemx_stream_destroy)(shmemx_stream_t stream);

/* Waits until all that has been added is complete. 0, or the negative errno of the first operation
 * that has failed since the last call; the log names its routine. */
int SY_API(shmemx_stream_synchronize)(shmemx_stream_t stream);

/* 1: all that has been added is complete; 0: not yet; below 0: an operation has failed. */
int SY_API(shmemx_stream_query)(shmemx_stream_t stream);

/* Adds a call of fn, on a thread of the library. It may call the library, but not wait for its own
 * stream; and it runs alone: calls of other streams wait for it. 0, or -1 for want of memory. */
int SY_API(shmemx_stream_call)(shmemx_stream_t stream, void (*fn)(void *), void *arg);

/* Events. record: the event stands for all that has been added to the stream before; what it stood
 * for until then no longer counts. wait_event: what is added to the stream later waits for what the
 * event stands for now. query: 1: that is complete, or nothing has been recorded; 0: not yet.
 * synchronize: waits for it. destroy: waits for nothing. 0, or -1 for want of memory. */
int SY_API(shmemx_event_create)(shmemx_event_t *event);
void SY_API(shmemx_event_destroy)(shmemx_event_t event);
int SY_API(shmemx_event_record)(shmemx_event_t event, shmemx_stream_t stream);
int SY_API(shmemx_event_query)(shmemx_event_t event);
int SY_API(shmemx_event_synchronize)(shmemx_event_t event);
int SY_API(shmemx_stream_wait_event)(shmemx_stream_t stream, shmemx_event_t event);

/* A routine that adds an operation to a stream, its last argument. */
#define SY_ON_STREAM(RESULT, NAME, ...)                                                            \
    RESULT SY_API(shmemx_##NAME##_on_stream)(__VA_ARGS__, shmemx_stream_t stream);

/* clang-format off */

/* Transfers. p copies its value at once; g writes to dest. */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_ON_STREAM(void, TYPENAME##_put, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    SY_ON_STREAM(void, TYPENAME##_get, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    SY_ON_STREAM(void, TYPENAME##_p, TYPE *dest, TYPE value, int pe) \
    SY_ON_STREAM(void, TYPENAME##_g, TYPE *dest, const TYPE *source, int pe) \
    SY_ON_STREAM(void, TYPENAME##_iput, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
                 ptrdiff_t sst, size_t nelems, int pe) \
    SY_ON_STREAM(void, TYPENAME##_iget, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
                 ptrdiff_t sst, size_t nelems, int pe) \
    SY_ON_STREAM(void, TYPENAME##_ibput, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
                 ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) \
    SY_ON_STREAM(void, TYPENAME##_ibget, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
                 ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) \
    SY_ON_STREAM(void, TYPENAME##_put_signal, TYPE *dest, const TYPE *source, size_t nelems, \
                 uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
SY_RMA_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(SIZE, BYTES) \
    SY_ON_STREAM(void, put##SIZE, void *dest, const void *source, size_t nelems, int pe) \
    SY_ON_STREAM(void, get##SIZE, void *dest, const void *source, size_t nelems, int pe) \
    SY_ON_STREAM(void, put##SIZE##_signal, void *dest, const void *source, size_t nelems, \
                 uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
SY_SIZES_AND_MEM(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(SIZE, BYTES) \
    SY_ON_STREAM(void, iput##SIZE, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                 size_t nelems, int pe) \
    SY_ON_STREAM(void, iget##SIZE, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                 size_t nelems, int pe) \
    SY_ON_STREAM(void, ibput##SIZE, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                 size_t bsize, size_t nblocks, int pe) \
    SY_ON_STREAM(void, ibget##SIZE, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                 size_t bsize, size_t nblocks, int pe)
SY_SIZES(SY_DECLARE)
#undef SY_DECLARE

/* The change of a signal without data. signal_op: by sig_op. */
SY_ON_STREAM(void, signal_op, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
SY_ON_STREAM(void, signal_add, uint64_t *sig_addr, uint64_t signal, int pe)
SY_ON_STREAM(void, signal_set, uint64_t *sig_addr, uint64_t signal, int pe)

/* Atomic memory operations; those that fetch write the old value to fetch. */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_ON_STREAM(void, TYPENAME##_atomic_fetch, TYPE *fetch, const TYPE *source, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_set, TYPE *dest, TYPE value, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_swap, TYPE *fetch, TYPE *dest, TYPE value, int pe)
SY_EXTENDED_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_ON_STREAM(void, TYPENAME##_atomic_compare_swap, TYPE *fetch, TYPE *dest, TYPE cond, \
                 TYPE value, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_fetch_inc, TYPE *fetch, TYPE *dest, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_inc, TYPE *dest, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_fetch_add, TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_add, TYPE *dest, TYPE value, int pe)
SY_STANDARD_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_ON_STREAM(void, TYPENAME##_atomic_fetch_and, TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_and, TYPE *dest, TYPE value, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_fetch_or, TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_or, TYPE *dest, TYPE value, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_fetch_xor, TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    SY_ON_STREAM(void, TYPENAME##_atomic_xor, TYPE *dest, TYPE value, int pe)
SY_BITWISE_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* Waits. wait: until the variable is not cmp_value. */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_ON_STREAM(void, TYPENAME##_wait_until, TYPE *ivar, int cmp, TYPE cmp_value) \
    SY_ON_STREAM(void, TYPENAME##_wait, TYPE *ivar, TYPE cmp_value)
SY_WAIT_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* The index that wait_until_any returns goes to *index, the number that wait_until_some returns to
 * *count. */
#define SY_SET(TYPE) TYPE *ivars, size_t nelems, const int *status, int cmp
#define SY_SOME(TYPE) TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_ON_STREAM(void, TYPENAME##_wait_until_all, SY_SET(TYPE), TYPE cmp_value) \
    SY_ON_STREAM(void, TYPENAME##_wait_until_any, SY_SET(TYPE), TYPE cmp_value, size_t *index) \
    SY_ON_STREAM(void, TYPENAME##_wait_until_some, SY_SOME(TYPE), TYPE cmp_value, size_t *count) \
    SY_ON_STREAM(void, TYPENAME##_wait_until_all_vector, SY_SET(TYPE), const TYPE *cmp_values) \
    SY_ON_STREAM(void, TYPENAME##_wait_until_any_vector, SY_SET(TYPE), const TYPE *cmp_values, \
                 size_t *index) \
    SY_ON_STREAM(void, TYPENAME##_wait_until_some_vector, SY_SOME(TYPE), const TYPE *cmp_values, \
                 size_t *count)
SY_STANDARD_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE
#undef SY_SET
#undef SY_SOME

SY_ON_STREAM(void, signal_wait_until, uint64_t *sig_addr, int cmp, uint64_t cmp_value)

/* fence orders the stream's own operations, quiet completes them, pe_quiet completes at least those
 * towards the PEs that are named. */
void SY_API(shmemx_fence_on_stream)(shmemx_stream_t stream);
void SY_API(shmemx_quiet_on_stream)(shmemx_stream_t stream);
SY_ON_STREAM(void, pe_quiet, const int *target_pes, size_t npes)

/* Collective routines. The team may be another than the stream's. The collectives of a team are
 * carried out one after another, in the order in which they have been added to whatever streams of
 * this PE, which must be the same on all members; those of different teams do not wait for each
 * other. None may run while the program itself is in a collective routine of the same team. They
 * return 0, or -1 where there is no such team or no memory, which synchronize says too. barrier
 * completes what the stream has started, on no other context. */
int SY_API(shmemx_barrier_all_on_stream)(shmemx_stream_t stream);
int SY_API(shmemx_sync_all_on_stream)(shmemx_stream_t stream);
SY_ON_STREAM(int, barrier, shmem_team_t team)
SY_ON_STREAM(int, team_sync, shmem_team_t team)

#define SY_TEAM_ROUTINE(NAME, ...) SY_ON_STREAM(int, NAME, shmem_team_t team, __VA_ARGS__)
#include "../shmem/team_data.h"
#undef SY_TEAM_ROUTINE

/* clang-format on */

#undef SY_ON_STREAM
#endif
