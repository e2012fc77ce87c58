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

/* clang-format off */

/* Transfers. p copies its value at once; g writes to dest. */
#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmemx_##TYPENAME##_put_on_stream)(TYPE *dest, const TYPE *source, size_t nelems, \
                                                   int pe, shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_get_on_stream)(TYPE *dest, const TYPE *source, size_t nelems, \
                                                   int pe, shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_p_on_stream)(TYPE *dest, TYPE value, int pe, \
                                                 shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_g_on_stream)(TYPE *dest, const TYPE *source, int pe, \
                                                 shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_iput_on_stream)(TYPE *dest, const TYPE *source, \
                                                    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                                                    int pe, shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_iget_on_stream)(TYPE *dest, const TYPE *source, \
                                                    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                                                    int pe, shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_ibput_on_stream)(TYPE *dest, const TYPE *source, \
                                                     ptrdiff_t dst, ptrdiff_t sst, size_t bsize, \
                                                     size_t nblocks, int pe, \
                                                     shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_ibget_on_stream)(TYPE *dest, const TYPE *source, \
                                                     ptrdiff_t dst, ptrdiff_t sst, size_t bsize, \
                                                     size_t nblocks, int pe, \
                                                     shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_put_signal_on_stream)(TYPE *dest, const TYPE *source, \
                                                          size_t nelems, uint64_t *sig_addr, \
                                                          uint64_t signal, int sig_op, int pe, \
                                                          shmemx_stream_t stream);
SY_RMA_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(SIZE, BYTES) \
    void SY_API(shmemx_put##SIZE##_on_stream)(void *dest, const void *source, size_t nelems, \
                                              int pe, shmemx_stream_t stream); \
    void SY_API(shmemx_get##SIZE##_on_stream)(void *dest, const void *source, size_t nelems, \
                                              int pe, shmemx_stream_t stream); \
    void SY_API(shmemx_put##SIZE##_signal_on_stream)(void *dest, const void *source, \
                                                     size_t nelems, uint64_t *sig_addr, \
                                                     uint64_t signal, int sig_op, int pe, \
                                                     shmemx_stream_t stream);
SY_SIZES_AND_MEM(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(SIZE, BYTES) \
    void SY_API(shmemx_iput##SIZE##_on_stream)(void *dest, const void *source, ptrdiff_t dst, \
                                               ptrdiff_t sst, size_t nelems, int pe, \
                                               shmemx_stream_t stream); \
    void SY_API(shmemx_iget##SIZE##_on_stream)(void *dest, const void *source, ptrdiff_t dst, \
                                               ptrdiff_t sst, size_t nelems, int pe, \
                                               shmemx_stream_t stream); \
    void SY_API(shmemx_ibput##SIZE##_on_stream)(void *dest, const void *source, ptrdiff_t dst, \
                                                ptrdiff_t sst, size_t bsize, size_t nblocks, \
                                                int pe, shmemx_stream_t stream); \
    void SY_API(shmemx_ibget##SIZE##_on_stream)(void *dest, const void *source, ptrdiff_t dst, \
                                                ptrdiff_t sst, size_t bsize, size_t nblocks, \
                                                int pe, shmemx_stream_t stream);
SY_SIZES(SY_DECLARE)
#undef SY_DECLARE

/* clang-format on */

/* The change of a signal without data. signal_op: by sig_op. */
void SY_API(shmemx_signal_op_on_stream)(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                        shmemx_stream_t stream);
void SY_API(shmemx_signal_add_on_stream)(uint64_t *sig_addr, uint64_t signal, int pe,
                                         shmemx_stream_t stream);
void SY_API(shmemx_signal_set_on_stream)(uint64_t *sig_addr, uint64_t signal, int pe,
                                         shmemx_stream_t stream);

/* clang-format off */

/* Atomic memory operations; those that fetch write the old value to fetch. */
#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmemx_##TYPENAME##_atomic_fetch_on_stream)(TYPE *fetch, const TYPE *source, \
                                                            int pe, shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_set_on_stream)(TYPE *dest, TYPE value, int pe, \
                                                          shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_swap_on_stream)(TYPE *fetch, TYPE *dest, TYPE value, \
                                                           int pe, shmemx_stream_t stream);
SY_EXTENDED_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmemx_##TYPENAME##_atomic_compare_swap_on_stream)(TYPE *fetch, TYPE *dest, \
                                                                   TYPE cond, TYPE value, int pe, \
                                                                   shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_fetch_inc_on_stream)(TYPE *fetch, TYPE *dest, int pe, \
                                                                shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_inc_on_stream)(TYPE *dest, int pe, \
                                                          shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_fetch_add_on_stream)(TYPE *fetch, TYPE *dest, \
                                                                TYPE value, int pe, \
                                                                shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_add_on_stream)(TYPE *dest, TYPE value, int pe, \
                                                          shmemx_stream_t stream);
SY_STANDARD_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmemx_##TYPENAME##_atomic_fetch_and_on_stream)(TYPE *fetch, TYPE *dest, \
                                                                TYPE value, int pe, \
                                                                shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_and_on_stream)(TYPE *dest, TYPE value, int pe, \
                                                          shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_fetch_or_on_stream)(TYPE *fetch, TYPE *dest, \
                                                               TYPE value, int pe, \
                                                               shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_or_on_stream)(TYPE *dest, TYPE value, int pe, \
                                                         shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_fetch_xor_on_stream)(TYPE *fetch, TYPE *dest, \
                                                                TYPE value, int pe, \
                                                                shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_atomic_xor_on_stream)(TYPE *dest, TYPE value, int pe, \
                                                          shmemx_stream_t stream);
SY_BITWISE_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* Waits. wait: until the variable is not cmp_value. */
#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmemx_##TYPENAME##_wait_until_on_stream)(TYPE *ivar, int cmp, TYPE cmp_value, \
                                                          shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_wait_on_stream)(TYPE *ivar, TYPE cmp_value, \
                                                    shmemx_stream_t stream);
SY_WAIT_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* The index that wait_until_any returns goes to *index, the number that wait_until_some returns to
 * *count. */
#define SY_DECLARE(TYPENAME, TYPE) \
    void SY_API(shmemx_##TYPENAME##_wait_until_all_on_stream)(TYPE *ivars, size_t nelems, \
                                                              const int *status, int cmp, \
                                                              TYPE cmp_value, \
                                                              shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_wait_until_any_on_stream)(TYPE *ivars, size_t nelems, \
                                                              const int *status, int cmp, \
                                                              TYPE cmp_value, size_t *index, \
                                                              shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_wait_until_some_on_stream)(TYPE *ivars, size_t nelems, \
                                                               size_t *indices, \
                                                               const int *status, int cmp, \
                                                               TYPE cmp_value, size_t *count, \
                                                               shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_wait_until_all_vector_on_stream)(TYPE *ivars, size_t nelems, \
                                                                     const int *status, int cmp, \
                                                                     const TYPE *cmp_values, \
                                                                     shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_wait_until_any_vector_on_stream)(TYPE *ivars, size_t nelems, \
                                                                     const int *status, int cmp, \
                                                                     const TYPE *cmp_values, \
                                                                     size_t *index, \
                                                                     shmemx_stream_t stream); \
    void SY_API(shmemx_##TYPENAME##_wait_until_some_vector_on_stream)(TYPE *ivars, size_t nelems, \
                                                                      size_t *indices, \
                                                                      const int *status, int cmp, \
                                                                      const TYPE *cmp_values, \
                                                                      size_t *count, \
                                                                      shmemx_stream_t stream);
SY_STANDARD_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* clang-format on */

void SY_API(shmemx_signal_wait_until_on_stream)(uint64_t *sig_addr, int cmp, uint64_t cmp_value,
                                                shmemx_stream_t stream);

/* fence orders the stream's own operations, quiet completes them, pe_quiet completes at least those
 * towards the PEs that are named. */
void SY_API(shmemx_fence_on_stream)(shmemx_stream_t stream);
void SY_API(shmemx_quiet_on_stream)(shmemx_stream_t stream);
void SY_API(shmemx_pe_quiet_on_stream)(const int *target_pes, size_t npes, shmemx_stream_t stream);

/* Collective routines. The team may be another than the stream's. The collectives of a team are
 * carried out one after another, in the order in which they have been added to whatever streams of
 * this PE, which must be the same on all members; those of different teams do not wait for each
 * other. None may run while the program itself is in a collective routine of the same team. They
 * return 0, or -1 where there is no such team or no memory, which synchronize says too. barrier
 * completes what the stream has started, on no other context. */
int SY_API(shmemx_barrier_all_on_stream)(shmemx_stream_t stream);
int SY_API(shmemx_sync_all_on_stream)(shmemx_stream_t stream);
int SY_API(shmemx_barrier_on_stream)(shmem_team_t team, shmemx_stream_t stream);
int SY_API(shmemx_team_sync_on_stream)(shmem_team_t team, shmemx_stream_t stream);

/* clang-format off */

#define SY_DECLARE(TYPENAME, TYPE) \
    int SY_API(shmemx_##TYPENAME##_alltoall_on_stream)(shmem_team_t team, TYPE *dest, \
                                                       const TYPE *source, size_t nelems, \
                                                       shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_alltoalls_on_stream)(shmem_team_t team, TYPE *dest, \
                                                        const TYPE *source, ptrdiff_t dst, \
                                                        ptrdiff_t sst, size_t nelems, \
                                                        shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_broadcast_on_stream)(shmem_team_t team, TYPE *dest, \
                                                        const TYPE *source, size_t nelems, \
                                                        int PE_root, shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_collect_on_stream)(shmem_team_t team, TYPE *dest, \
                                                      const TYPE *source, size_t nelems, \
                                                      shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_fcollect_on_stream)(shmem_team_t team, TYPE *dest, \
                                                       const TYPE *source, size_t nelems, \
                                                       shmemx_stream_t stream);
SY_RMA_TYPES(SY_DECLARE)
#undef SY_DECLARE

int SY_API(shmemx_alltoallmem_on_stream)(shmem_team_t team, void *dest, const void *source,
                                         size_t nelems, shmemx_stream_t stream);
int SY_API(shmemx_alltoallsmem_on_stream)(shmem_team_t team, void *dest, const void *source,
                                          ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                                          shmemx_stream_t stream);
int SY_API(shmemx_broadcastmem_on_stream)(shmem_team_t team, void *dest, const void *source,
                                          size_t nelems, int PE_root, shmemx_stream_t stream);
int SY_API(shmemx_collectmem_on_stream)(shmem_team_t team, void *dest, const void *source,
                                        size_t nelems, shmemx_stream_t stream);
int SY_API(shmemx_fcollectmem_on_stream)(shmem_team_t team, void *dest, const void *source,
                                         size_t nelems, shmemx_stream_t stream);

#define SY_DECLARE(TYPENAME, TYPE) \
    int SY_API(shmemx_##TYPENAME##_and_reduce_on_stream)(shmem_team_t team, TYPE *dest, \
                                                         const TYPE *source, size_t nreduce, \
                                                         shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_or_reduce_on_stream)(shmem_team_t team, TYPE *dest, \
                                                        const TYPE *source, size_t nreduce, \
                                                        shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_xor_reduce_on_stream)(shmem_team_t team, TYPE *dest, \
                                                         const TYPE *source, size_t nreduce, \
                                                         shmemx_stream_t stream);
SY_BITWISE_REDUCE_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    int SY_API(shmemx_##TYPENAME##_max_reduce_on_stream)(shmem_team_t team, TYPE *dest, \
                                                         const TYPE *source, size_t nreduce, \
                                                         shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_min_reduce_on_stream)(shmem_team_t team, TYPE *dest, \
                                                         const TYPE *source, size_t nreduce, \
                                                         shmemx_stream_t stream);
SY_COMPARE_REDUCE_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    int SY_API(shmemx_##TYPENAME##_sum_reduce_on_stream)(shmem_team_t team, TYPE *dest, \
                                                         const TYPE *source, size_t nreduce, \
                                                         shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_prod_reduce_on_stream)(shmem_team_t team, TYPE *dest, \
                                                          const TYPE *source, size_t nreduce, \
                                                          shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_sum_inscan_on_stream)(shmem_team_t team, TYPE *dest, \
                                                         const TYPE *source, size_t nelems, \
                                                         shmemx_stream_t stream); \
    int SY_API(shmemx_##TYPENAME##_sum_exscan_on_stream)(shmem_team_t team, TYPE *dest, \
                                                         const TYPE *source, size_t nelems, \
                                                         shmemx_stream_t stream);
SY_ARITHMETIC_REDUCE_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* clang-format on */

#endif
