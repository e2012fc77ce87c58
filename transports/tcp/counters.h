/* What an instance counts; tcp.c has the rows that say so. */
#ifndef TCP_COUNTERS_H
#define TCP_COUNTERS_H

#include "util/count.h"

struct tcp_counters {
    /* Under the poll lock: sy_count. */
    _Alignas(64) _Atomic uint64_t receives;
    _Atomic uint64_t bytes_received, bytes_in_place, frames_received;
    _Atomic uint64_t tried, accepted, made; /* connections, and what became of them: */
    _Atomic uint64_t busy;                  /* refused, by either side */
    _Atomic uint64_t replays;               /* of a HELLO */
    _Atomic uint64_t evicted;               /* strangers that made room */
    _Atomic uint64_t slowest; /* microseconds from connecting to the end of a handshake */
    _Atomic uint64_t broken;
    _Atomic uint64_t hints_heard;
    _Atomic uint64_t replies_mapped, replies_recalled, mappings;
    /* written by any thread, with sy_count_shared */
    _Alignas(64) _Atomic uint64_t sends;
    _Atomic uint64_t bytes_sent, frames_sent, sends_blocked;
    _Atomic uint64_t spread;
    _Atomic uint64_t hints_sent;
};

#endif
