/* The plugin's settings, as its option rows fill them in, and what an instance counts: tcp.c has
 * the rows of both. */
#ifndef TCP_SETTINGS_H
#define TCP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/count.h"

enum tcp_endpoints { TCP_ENDPOINTS_AUTO, TCP_ENDPOINTS_DIRECT, TCP_ENDPOINTS_NODE };

struct tcp_settings {
    const char *interfaces; /* SHMEM_TCP_INTERFACES: names, globs, CIDR, ! excludes; "auto" */
    const char *port_range; /* "": any; "5000:5100" */
    const char *advertise; /* "": the addresses listened on; otherwise addresses to publish in place
                              of them */
    int family;            /* enum sy_ip_family */
    int endpoints;         /* enum tcp_endpoints */
    long streams;          /* further sockets for large transfers */
    size_t stripe;         /* bytes from which a transfer uses them */
    size_t buffer;         /* bytes of a channel's buffer */
    long flush_delay;      /* microseconds */
    double connect_timeout; /* of one address */
    double reconnect_timeout;
    double keepalive;     /* seconds without traffic before probes; 0: none */
    double idle;          /* seconds without traffic before memory is given back; 0: never */
    size_t socket_buffer; /* SO_SNDBUF and SO_RCVBUF; 0: the system's choice */
    bool hints;           /* hint.h */
};

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
