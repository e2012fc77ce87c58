/* Whole blocks on a socket within a time limit, whatever mode the socket is in, since other
 * processes may share it. It keeps no state. */
#ifndef SY_UTIL_NET_IO_H
#define SY_UTIL_NET_IO_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Until the descriptor is ready, or has failed: 0, -ETIMEDOUT or another -errno. Here as below
 * *deadline, a time of sy_clock(), moves on by the time for which this process was stopped (Ctrl-Z)
 * meanwhile. */
int sy_net_wait(int fd, short events, double *deadline);

/* 0 or -errno; -ECONNRESET: the other end has closed the connection. */
int sy_net_send(int fd, const void *data, size_t length, double *deadline);
int sy_net_receive(int fd, void *data, size_t length, double *deadline);

/* Begins to connect a socket that does not block: 0 or -errno. */
int sy_net_begin(int fd, const struct sockaddr_storage *to);

/* Makes a TCP socket that does not block and begins to connect it: its descriptor or -errno. */
int sy_net_connect(const struct sockaddr_storage *to);

/* The outcome of connecting, once the socket is writable: 0 or -errno. */
int sy_net_connected(int fd);

/* What there is, at most `length` bytes: how many, or -errno as above. flags: 0 or MSG_PEEK. */
ssize_t sy_net_receive_some(int fd, void *data, size_t length, int flags, double *deadline);

#endif
