/* The producer of the streams to a process: the one thread that may append to them now. It appends
 * tens of millions of operations a second, so that it is the producer must cost it next to nothing;
 * that somebody else wants to be, once in a while, may cost a system call.
 *
 * Where several threads of the program may call, and where the kernel lacks membarrier, `append` is
 * a lock like others. Else the program's thread only says by `producing` that it is at work and
 * looks at `append`, without a fence between the two. Who wants it out sets `append`, has the
 * kernel put a fence into all threads of the process, and then looks at `producing`: either it
 * finds the producer at work, and lets it be, or the producer finds `append` set, and waits. */
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transports/tcp/tcp.h"

static bool producer_fence(int command)
{
    return !syscall(SYS_membarrier, command, 0, 0);
}

void sy_tcp_producer_open(struct tcp *tcp)
{
    tcp->streams.locked = tcp->host->threads ||
                          !producer_fence(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

void sy_tcp_producer_wait(struct tcp_stream *stream)
{
    atomic_store_explicit(&stream->producing, false, memory_order_release);
    while (atomic_load_explicit(&stream->append, memory_order_acquire))
        sched_yield();
}

bool sy_tcp_producer_stop(struct tcp_stream *stream)
{
    if (atomic_exchange_explicit(&stream->append, true, memory_order_acquire))
        return false;
    if (stream->locked)
        return true;
    if (producer_fence(MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
        !atomic_load_explicit(&stream->producing, memory_order_acquire))
        return true;
    sy_tcp_producer_go(stream);
    return false;
}

void sy_tcp_producer_go(struct tcp_stream *stream)
{
    atomic_store_explicit(&stream->append, false, memory_order_release);
}
