/* Making connections: which addresses this PE listens on and publishes, trying the candidates of a
 * peer, and the greetings by which both sides prove that they belong to the job. Ends with a socket
 * that is handed to a lane; knows nothing of frames.
 *
 * All functions are called, and all lane functions below are called back, by the thread that holds
 * the poll lock (poll.h), so nothing here needs a lock. */
#ifndef TCP_CONNECT_H
#define TCP_CONNECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/error.h>

struct tcp;
struct tcp_lane;
struct tcp_net;

/* How far a side has applied the other side's channels; and its UDP port for what is said beside
 * the connection, or 0. */
struct tcp_positions {
    uint64_t requests, replies;
    uint32_t hears;
};

/* ---- what connect.c offers ---- */

/* Chooses the interfaces and listens: 0 or -errno with the reason in words. */
int sy_tcp_listen_open(struct tcp_net *net, struct sy_error *err);

/* Ends all sockets of this file: listening, connecting, greeting. */
void sy_tcp_listen_close(struct tcp_net *net);

/* Writes what peers need in order to connect (port, addresses): returns the length, at most `room`.
 */
size_t sy_tcp_listen_address(struct tcp_net *net, void *buffer, size_t room);

/* Whether two PEs that published these can be connected; the same answer on both sides. */
bool sy_tcp_address_reaches(const void *one, size_t one_size, const void *other, size_t other_size);

/* Has `lane`, of PE pe and number `number`, connected when its turn comes, to the addresses at
 * `address` (as published by sy_tcp_listen_address there), which stay. first: it has not been
 * connected before, so that the other side may be about to connect it too. Ends in
 * sy_tcp_lane_adopt or sy_tcp_lane_unreachable, never from inside this call. Calling it for a lane
 * that is being connected does nothing. */
void sy_tcp_connect_start(struct tcp_net *net, struct tcp_lane *lane, int pe, unsigned number,
                          const void *address, size_t size, bool first);

/* Whether an attempt has a connection on which the peer has not greeted for a while: its machine is
 * there, and it may be stopped. */
bool sy_tcp_attempt_ungreeted(struct tcp_net *net, int pe, unsigned number);

/* Ends that without a word. */
void sy_tcp_connect_cancel(struct tcp_net *net, struct tcp_lane *lane, int pe, unsigned number);

/* Acts on deadlines that have passed; returns nanoseconds until the next, or UINT64_MAX. */
uint64_t sy_tcp_connect_timers(struct tcp_net *net, uint64_t now);

/* ---- what lane.c offers to connect.c ---- */

/* The lane to PE pe with this number, made if need be; NULL where there can be none. */
struct tcp_lane *sy_tcp_lane_find(struct tcp *tcp, int pe, unsigned number);

/* A peer has proved itself and wants this lane on a new connection, `fd`: the old one, if any, is
 * closed, so that the positions returned no longer move. */
struct tcp_positions sy_tcp_lane_freeze(struct tcp_lane *lane, int fd);

/* The greetings are over: from now on the socket is the lane's. It is connected, non-blocking and
 * in no epoll set. keys: for what is said beside the connection, as made by greeting.h. connector:
 * this side opened the connection, and opens the next one should it break. */
void sy_tcp_lane_adopt(struct tcp_lane *lane, int fd, const struct tcp_positions *peer,
                       const unsigned char keys[32], bool connector);

/* Whether the last connections of this lane broke without having carried anything: large packets
 * may be getting lost on the way, so the next one asks for small ones. */
bool sy_tcp_lane_narrow(const struct tcp_lane *lane);

/* All candidates have failed this time; `why` tells of each, and `seen` (SY_WAY_, and TCP_SEEN_ of
 * outage.h) of all. The lane decides when to try again. */
void sy_tcp_lane_unreachable(struct tcp_lane *lane, const char *why, unsigned seen);

#endif
