/* The plugin's settings, as its option rows (tcp.c) fill them in. */
#ifndef TCP_SETTINGS_H
#define TCP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
